"""TruncatedSVD beside scikit-learn's, its batches, and what holds for every estimator."""

import copy
import io
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from scipy.sparse.linalg import svds
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from corruptions import CORRUPTIONS
from fitted import buffers, small_data
from skembed import TruncatedSVD
from skembed.kernels.cpu import _matrix

METHODS = ("fit", "fit_transform", "partial_fit", "transform")
LEARNED = (
    "components_", "singular_values_", "explained_variance_", "explained_variance_ratio_",
    "n_samples_seen_", "n_features_in_",
)  # fmt: skip


def learned(svd):
    """All that a fit has learned, as bytes."""
    names = (*LEARNED, "n_iter_") if isinstance(svd.n_iter_, int) else LEARNED
    state = [np.ascontiguousarray(svd._state[0].vectors.values[:, : svd._state[0].vectors.d])]
    state += [svd._state[0].values, svd._state[1].sums, np.array(svd._state[1].squares)]
    return b"".join(a.tobytes() for a in [*state, *(np.asarray(getattr(svd, n)) for n in names)])


def topics(n=600, m=400, n_topics=12, seed=0, dtype=np.float64):
    """Rows that mix a few topics, and noise."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.3, size=(n, n_topics)) @ rng.gamma(0.1, size=(n_topics, m))
    D = rng.poisson(weights * (0.2 / weights.mean()))
    return sp.csr_array(np.log1p(D).astype(dtype))


# ---------------------------------------------------------------- beside scikit-learn's
@pytest.mark.parametrize("shape", [(600, 400), (400, 600)])
def test_captures_what_scikit_learn_captures_and_more(shape):
    X = topics(*shape)
    exact = np.sort(svds(X, k=20, return_singular_vectors=False))[::-1]
    energy = []
    for cls in (sklearn.decomposition.TruncatedSVD, TruncatedSVD):
        svd = cls(20, n_iter=3, random_state=0).fit(X)
        energy.append(np.linalg.norm(X @ svd.components_.T) ** 2)
    assert energy[0] < energy[1] <= (exact**2).sum() * (1 + 1e-12)
    np.testing.assert_allclose(np.sqrt((svd.transform(X) ** 2).sum(axis=0)), svd.singular_values_)
    np.testing.assert_allclose(svd.singular_values_, exact, rtol=0.02)


def test_arpack_is_that_of_scikit_learn():
    X = topics()
    ours = TruncatedSVD(9, algorithm="arpack", random_state=3).fit(X)
    theirs = sklearn.decomposition.TruncatedSVD(9, algorithm="arpack", random_state=3).fit(X)
    for name in LEARNED[:4]:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9)
    loose = TruncatedSVD(9, algorithm="arpack", random_state=3, tol=0.1).fit(X)
    assert not np.array_equal(loose.components_, ours.components_)
    auto = TruncatedSVD(9, algorithm="arpack", random_state=3, tol="auto").fit(X)
    assert np.array_equal(auto.components_, ours.components_)
    assert ours.n_iter_ is None


@pytest.mark.parametrize("dtype, close", [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_explained_variance(dtype, close):
    X = topics(dtype=dtype)
    svd = TruncatedSVD(6, random_state=0)
    Z, dense = svd.fit_transform(X).astype(np.float64), X.toarray().astype(np.float64)
    np.testing.assert_allclose(svd.explained_variance_, Z.var(axis=0), rtol=close)
    share = Z.var(axis=0) / dense.var(axis=0).sum()
    np.testing.assert_allclose(svd.explained_variance_ratio_, share, rtol=close)


def test_rows_that_are_all_alike_have_no_variance():
    svd = TruncatedSVD(2, random_state=0).fit(sp.csr_array(np.full((50, 7), 0.3)))
    assert svd.explained_variance_ratio_.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(svd.singular_values_, [0.3 * np.sqrt(350), 0], atol=1e-12)


# ---------------------------------------------------------------- parameters
def test_more_iterations_and_vectors_capture_more():
    X = topics()
    found = [TruncatedSVD(20, n_iter=n, random_state=0).fit(X) for n in (0, 1, 3, 9)]
    energy = [(svd.singular_values_**2).sum() for svd in found]
    assert energy == sorted(energy)
    few, many = (TruncatedSVD(20, n_iter=2, n_oversamples=p, random_state=0) for p in (1, 60))
    assert (few.fit(X).singular_values_ ** 2).sum() < (many.fit(X).singular_values_ ** 2).sum()


def test_iterations_that_end_by_themselves():
    X = topics()
    auto = TruncatedSVD(20, n_iter="auto", tol="auto", random_state=0).fit(X)
    close = TruncatedSVD(20, n_iter="auto", tol=1e-8, random_state=0).fit(X)
    assert 0 < auto.n_iter_ < close.n_iter_ < 100
    exact = np.sort(svds(X, k=20, return_singular_vectors=False))[::-1]
    assert 0.99 * (exact**2).sum() < (auto.singular_values_**2).sum()
    np.testing.assert_allclose(close.singular_values_, exact, rtol=1e-3)


def test_iterations_that_do_not_end_are_told(monkeypatch):
    import skembed.estimators._svd as estimator
    import skembed.models._power as power

    for module in (estimator, power):
        monkeypatch.setattr(module, "MOST_ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="Raise tol"):
        svd = TruncatedSVD(20, n_iter="auto", random_state=0).fit(topics())
    assert svd.n_iter_ == 2


def test_normalizers():
    X = topics()
    fits = {
        name: TruncatedSVD(8, power_iteration_normalizer=name, random_state=0).fit(X)
        for name in ("auto", "QR", "LU", "none")
    }
    assert learned(fits["LU"]) == learned(fits["none"]) == learned(fits["auto"])
    assert learned(fits["QR"]) != learned(fits["auto"])
    close = dict(rtol=1e-9)
    np.testing.assert_allclose(fits["QR"].singular_values_, fits["auto"].singular_values_, **close)


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_seeds(algorithm):
    X, svd = topics(), TruncatedSVD(20, algorithm=algorithm, random_state=0)
    assert learned(clone(svd).fit(X)) == learned(svd.fit(X))
    assert learned(clone(svd).set_params(random_state=1).fit(X)) != learned(svd)
    state = np.random.RandomState(0)
    one, two = (TruncatedSVD(20, algorithm=algorithm, random_state=state).fit(X) for _ in "12")
    assert learned(one) != learned(two)


# ---------------------------------------------------------------- hard matrices
def hard_matrices():
    """Matrices of repeated, vanishing or no singular values, and of very large or small ones."""
    rng = np.random.default_rng(0)
    one_hot = sp.csr_array((np.ones(900), rng.integers(0, 200, 900), np.arange(901)))
    return {
        "no value": sp.csr_array((300, 200)),
        "identity": sp.eye_array(400, format="csr"),
        "one-hot": one_hot,
        "three blocks": sp.csr_array(np.kron(np.eye(3), np.ones((60, 50)))),
        "rank 3": sp.csr_array(rng.normal(size=(500, 3)) @ rng.normal(size=(3, 300))),
        "steep": sp.csr_array(np.diag(10.0 ** -np.arange(0, 30, 0.1))),
        "large": topics(300, 250) * 1e30,
        "small": topics(300, 250) * 1e-30,
    }


@pytest.mark.parametrize("dtype, most", [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("title", hard_matrices())
def test_components_are_orthonormal_whatever_the_rank(title, turned, dtype, most):
    X = hard_matrices()[title].astype(dtype)
    X = sp.csr_array(X.T) if turned else X
    exact = np.linalg.svd(X.toarray().astype(np.float64), compute_uv=False)
    for k, options in (
        (5, {}),
        (40, {}),
        (40, {"power_iteration_normalizer": "QR"}),
        (40, {"algorithm": "arpack"}),
        (40, {"n_iter": "auto", "tol": "auto"}),
        (40, {"batches": 3}),
    ):
        batches = options.pop("batches", 0)
        svd = TruncatedSVD(k, random_state=0, **options)
        for lo in range(0, X.shape[0], X.shape[0] // (batches or 1)):
            rows = X[lo : lo + X.shape[0] // (batches or 1)]
            svd = svd.partial_fit(rows) if batches else svd.fit(rows)
        V = svd.components_.astype(np.float64)
        assert np.abs(V @ V.T - np.eye(k)).max() <= most
        for array in (svd.transform(X), svd.singular_values_, svd.explained_variance_ratio_):
            assert np.isfinite(array).all()
        error = exact[:k] - svd.singular_values_  # merging forgets some of a flat spectrum
        assert -1e-6 * exact[0] <= error.min()
        assert error.max() <= (0.1 if batches else 0.01) * exact[0]


def test_squares_beyond_float64_are_refused():
    X = topics() * 1e200
    with pytest.raises(ValueError, match="Divide it by a constant"):
        TruncatedSVD().fit(X)


def test_vectors_that_are_too_long_are_refused_before_they_are_made():
    X = sp.csr_array(([1.0], ([0], [2**39])), shape=(3, 2**40))
    with pytest.raises(ValueError, match=r"1099511627776 features.* GiB.*Hash"):
        TruncatedSVD(2).fit(X)


# ---------------------------------------------------------------- batches
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_capture_what_one_fit_does(dtype):
    X = topics(2000, dtype=dtype)
    whole, parts = TruncatedSVD(20, random_state=0).fit(X), TruncatedSVD(20, random_state=0)
    for lo in range(0, 2000, 200):
        assert parts.partial_fit(X[lo : lo + 200]) is parts
    one, ten = (np.linalg.norm(X @ svd.components_.T) ** 2 for svd in (whole, parts))
    assert ten > 0.995 * one
    assert parts.n_samples_seen_ == 2000
    assert (parts.singular_values_ <= whole.singular_values_ * 1.01).all()
    total = X.toarray().astype(np.float64).var(axis=0).sum()
    shares = parts.explained_variance_ / parts.explained_variance_ratio_
    np.testing.assert_allclose(shares, total, rtol=1e-5)


def test_batches_go_on_after_a_fit():
    X = topics(800)
    svd = TruncatedSVD(20, random_state=0).fit(X[:400]).partial_fit(X[400:])
    assert svd.n_samples_seen_ == 800
    whole = TruncatedSVD(20, random_state=0).fit(X)
    assert (svd.singular_values_**2).sum() > 0.97 * (whole.singular_values_**2).sum()
    assert learned(svd.fit(X)) == learned(whole), "a fit forgets what was before it"


def test_memory_of_batches_does_not_grow():
    X, svd, peaks = topics(500, dtype=np.float32), TruncatedSVD(20, random_state=0), []
    svd.partial_fit(X)
    tracemalloc.start()
    for _ in range(6):
        tracemalloc.reset_peak()
        svd.partial_fit(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert max(peaks[2:]) < 1.01 * peaks[1]
    assert len(pickle.dumps(svd)) < 400 * 160 * 4 + 400 * 8 + 6000


def test_first_batch_needs_as_many_rows_as_components():
    X = topics(50)
    svd = TruncatedSVD(20, random_state=0)
    with pytest.raises(ValueError, match="n_samples=7"):
        svd.partial_fit(X[:7])
    assert not hasattr(svd, "n_features_in_")
    svd.partial_fit(X[:20]).partial_fit(X[20:21])
    assert svd.n_samples_seen_ == 21


# ---------------------------------------------------------------- memory and threads
def test_memory_of_a_fit():
    X, k = sp.random_array((20_000, 15_000), density=0.002, rng=0, format="csr"), 30
    X = X.astype(np.float32)
    size = X.data.nbytes + X.indices.nbytes
    TruncatedSVD(k, random_state=0).fit(X[:100])
    tracemalloc.start()
    TruncatedSVD(k, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    blocks = (3 * 15_000 + 20_000) * 48 * 4
    assert peak < size + 1.4 * blocks + 8 * 40_000 + 3_000_000


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    X = topics(3000, 500, dtype=np.float32)
    found = set()
    for n_jobs in (None, 1, 2, 3):
        svd = TruncatedSVD(20, random_state=0, n_jobs=n_jobs).fit(X)
        found.add(learned(svd) + svd.partial_fit(X[:900]).transform(X).tobytes() + learned(svd))
    assert len(found) == 1


def test_a_row_is_transformed_as_among_others():
    X = topics()
    svd = TruncatedSVD(20, random_state=0).fit(X)
    Z = svd.transform(X)
    for i in range(0, 600, 50):
        assert np.array_equal(svd.transform(X[[i]])[0], Z[i])


def test_no_thread_is_left(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    X, before = topics(), threading.active_count()
    svd = TruncatedSVD(5, n_jobs=3, random_state=0).fit(X)
    assert threading.active_count() == before
    work, have = _matrix._spmm.times, learned(svd)

    def fails_elsewhere(*args):
        if threading.current_thread() is not threading.main_thread():
            raise OSError("a worker failed")
        return work(*args)

    monkeypatch.setattr(_matrix._spmm, "times", fails_elsewhere)
    for method in (svd.fit, svd.partial_fit, svd.transform):
        with pytest.raises(OSError, match="a worker failed"):
            for _ in range(50):  # unless the caller was faster than every worker
                method(X)
        assert threading.active_count() == before
    monkeypatch.undo()
    assert learned(TruncatedSVD(5, random_state=0).fit(X)) == have


LONG_FIT = """
import os, signal, threading, time
import numpy as np, scipy.sparse as sp
from test_svd import learned, topics
from skembed import TruncatedSVD
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
X = topics()
svd = TruncatedSVD(5, n_jobs=N_JOBS, random_state=0).fit(X)
before, threads = learned(svd), threading.active_count()
big = sp.random_array((30_000, 25_000), density=0.004, rng=0, format="csr")
sent = []
def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
svd.set_params(n_iter=1_000_000, n_components=50)
fresh = TruncatedSVD(50, n_iter="auto", n_jobs=N_JOBS, random_state=0)
for method in (svd.fit, fresh.partial_fit):
    timer = threading.Timer(1.0, interrupt)
    timer.start()
    try:
        method(big)
    except KeyboardInterrupt:
        late = time.perf_counter() - sent.pop()
        timer.join()
        print(late, learned(svd) == before, threading.active_count() == threads)
print(hasattr(fresh, "n_features_in_"))
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_fit_leaves_the_estimator_as_it_was(n_jobs):
    tests = Path(__file__).parent.parent
    paths = [str(tests.parent), str(tests), str(tests / "estimators")]
    command = [sys.executable, "-W", "ignore", "-c", LONG_FIT.replace("N_JOBS", str(n_jobs))]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    *lines, last = [line.split() for line in run.stdout.splitlines()]
    assert len(lines) == 2
    assert last == ["False"]
    for late, *checks in lines:
        assert float(late) < 0.5
        assert checks == ["True"] * 2


# ---------------------------------------------------------------- input
def test_the_same_matrix_in_any_form_gives_the_same_bits():
    X = topics(120, 40)
    want = learned(TruncatedSVD(5, random_state=0).fit(X))
    with_zeros = X.copy()
    with_zeros.data[::7] = 0
    clean = with_zeros.copy()
    clean.eliminate_zeros()
    reversed_ = X[:, ::-1].tocsc()[:, ::-1].tocsr()
    for same in (X.tocsc(), X.tocoo(), X.tolil(), sp.csr_matrix(X), X.toarray(), reversed_):
        assert learned(TruncatedSVD(5, random_state=0).fit(same)) == want
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    assert learned(TruncatedSVD(5, random_state=0).fit(wide)) == want
    one, two = (TruncatedSVD(5, random_state=0).fit(x) for x in (with_zeros, clean))
    assert learned(one) == learned(two)
    assert np.array_equal(one.transform(with_zeros), one.transform(clean))


@pytest.mark.parametrize("title", CORRUPTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_broken_csr_is_refused_and_nothing_changes(title, method):
    X, _ = small_data()
    svd = TruncatedSVD(3, random_state=0).fit(X)
    have, broken = learned(svd), CORRUPTIONS[title](X)
    given = buffers(broken)
    with pytest.raises(ValueError, match="X has an invalid CSR structure: "):
        getattr(svd, method)(broken)
    assert learned(svd) == have
    assert buffers(broken) == given


@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_not_finite_are_refused(method):
    X, _ = small_data()
    svd = TruncatedSVD(3, random_state=0).fit(X)
    have, broken = learned(svd), X.copy()
    broken.data[5] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        getattr(svd, method)(broken)
    if method in ("partial_fit", "transform"):
        with pytest.raises(ValueError, match="X has 11 features, but TruncatedSVD is expecting 12"):
            getattr(svd, method)(X[:, :11])
    assert learned(svd) == have


@pytest.mark.parametrize("method", METHODS)
def test_nothing_of_the_user_is_changed(method):
    X, _ = small_data()
    X.data[3] = 0
    svd, given = TruncatedSVD(3, random_state=0).fit(X), buffers(X)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    getattr(svd, method)(X)
    assert buffers(X) == given


# ---------------------------------------------------------------- copies, searches
def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("way", [copy.deepcopy, by_joblib, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_on_with_the_same_bits(way):
    X = topics(dtype=np.float32)
    svd = TruncatedSVD(5, random_state=0).fit(X[:300])
    other = way(svd)
    assert learned(other) == learned(svd)
    assert np.array_equal(other.transform(X), svd.transform(X))
    assert learned(other.partial_fit(X[300:])) == learned(svd.partial_fit(X[300:]))


def test_unfitted():
    svd = TruncatedSVD()
    for call in (svd.transform, svd.inverse_transform):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            call(np.ones((2, 2)))
    assert not hasattr(svd, "components_")


def test_a_grid_over_the_width():
    X = topics()
    y = (X.sum(axis=1) > np.median(X.sum(axis=1))).astype(int)
    model = make_pipeline(TruncatedSVD(random_state=0), KNeighborsClassifier())
    grid = {"truncatedsvd__n_components": [2, 10]}
    search = GridSearchCV(model, grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_estimator_[0].components_.shape[0] in (2, 10)
