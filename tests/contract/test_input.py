"""Every way to hand in the same matrix gives the same bits, and leaves the matrix as it was."""

import pickle
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV

from corruptions import calls
from fitted import BAGS, ESTIMATORS, FACTORIZATIONS, buffers, learned, predictions, small_data
from skembed import EmbeddingBagClassifier
from skembed.estimators._validation import check_csr

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The vectors that fit_transform returns:UserWarning"),
]
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def same(cls, X, other, y, **options):
    """Assert that a fit, a continued fit and predictions on both have the same bits."""
    one, two = cls(**QUICK | options).fit(X, y), cls(**QUICK | options).fit(other, y)
    assert learned(one) == learned(two)
    assert learned(one.partial_fit(X, y)) == learned(two.partial_fit(other, y))
    for (name, a), (_, b) in zip(predictions(one, X), predictions(one, other), strict=True):
        assert np.array_equal(a, b), name
    return one


def messy(X):
    """Return `X` with rows reversed, each value split in two and a stored zero a row."""
    n, m = X.shape
    indptr, indices, data = [0], [], []
    for i in range(n):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        columns, values = X.indices[lo:hi], X.data[lo:hi] / 2
        indices += [*columns[::-1], (i * 5) % m, *columns[::-1]]
        data += [*values[::-1], 0.0, *values[::-1]]
        indptr.append(len(indices))
    out = sp.csr_array((data, indices, indptr), shape=X.shape)
    assert not out.has_sorted_indices
    return out


# ---------------------------------------------------------------- containers and layouts
@pytest.mark.parametrize("interface", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_formats(form, interface):
    X, y = small_data()
    other = getattr(sp, f"{form}_{interface}")(X.toarray())
    assert other.format == form
    same(EmbeddingBagClassifier, X, other, y)


@every_estimator
@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "lists"])
def test_dense_layouts(cls, layout):
    X, y = small_data()
    D = X.toarray()
    wide = np.full((120, 24), 7.0)
    wide[::2, 1::2] = D
    other = {
        "C": D,
        "F": np.asfortranarray(D),
        "strided": wide[::2, 1::2],
        "backwards": D[::-1, ::-1].copy()[::-1, ::-1],
        "lists": D.tolist(),
    }[layout]
    same(cls, X, other, y)


def test_canonical_arrays_are_not_copied():
    X, _ = small_data()
    csr = check_csr(EmbeddingBagClassifier(), X, reset=True)
    assert np.shares_memory(csr.data, X.data)
    assert np.shares_memory(csr.indices, X.indices)


def test_frame_of_sparse_columns_is_not_densified():
    r = np.random.default_rng(0)
    X = sp.random_array((2_000, 3_000), density=0.002, rng=r, format="csr")
    y = np.arange(2_000) % 2
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=[f"c{j}" for j in range(3_000)])
    clf = EmbeddingBagClassifier(**QUICK)
    tracemalloc.start()
    try:
        clf.fit(frame, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24e6, "half of the dense copy"
    assert clf.feature_names_in_.tolist() == frame.columns.tolist()
    plain = learned(EmbeddingBagClassifier(**QUICK).fit(X, y))
    assert learned(clf) == plain


def test_frame_of_dense_and_sparse_columns_is_not_densified():
    X = sp.random_array((2_000, 2_000), density=0.01, rng=np.random.default_rng(0), format="csr")
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=[f"c{j}" for j in range(2_000)])
    frame.insert(0, "dense", np.arange(2_000))
    y = np.arange(2_000) % 2
    clf = EmbeddingBagClassifier(**QUICK)
    tracemalloc.start()
    try:
        clf.fit(frame, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16e6, "half of the dense copy"
    assert clf.feature_names_in_.tolist() == frame.columns.tolist()
    first = sp.csr_array(np.arange(2_000.0)[:, None])
    plain = EmbeddingBagClassifier(**QUICK).fit(sp.hstack([first, X], format="csr"), y)
    assert learned(clf) == learned(plain)


# ---------------------------------------------------------------- index arrays
@pytest.mark.parametrize("indptr", [np.int32, np.int64])
@pytest.mark.parametrize("indices", [np.int32, np.int64, np.uint32, np.uint64, np.int16, np.uint8])
def test_dtypes_of_index_arrays(indices, indptr):
    X, y = small_data()
    other = X.copy()
    other.indices, other.indptr = X.indices.astype(indices), X.indptr.astype(indptr)
    same(EmbeddingBagClassifier, X, other, y)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
def test_spare_places_behind_the_last_row_are_not_read(dtype):
    X, y = small_data()
    other = X.copy()
    other.indices = np.append(X.indices, [900, 901]).astype(dtype)
    other.data = np.append(X.data, [5.0, 6.0])
    same(EmbeddingBagClassifier, X, other, y)


@every_estimator
def test_unsorted_rows(cls):
    X, y = small_data()
    other = X.copy()
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        other.indices[part] = X.indices[part][::-1]
        other.data[part] = X.data[part][::-1]
    other = sp.csr_array((other.data, other.indices, other.indptr), shape=X.shape)
    assert not other.has_sorted_indices
    same(cls, X, other, y)


@every_estimator
def test_repeated_entries_are_one_occurrence_of_their_sum(cls):
    X, y = small_data()
    data, indices = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2)
    other = sp.csr_array((data, indices, 2 * X.indptr), shape=X.shape)
    same(cls, X, other, y)


@every_estimator
@pytest.mark.parametrize("min_count", [1, 20])
def test_stored_zeros_count_for_nothing(cls, min_count):
    X, y = small_data()
    dense = np.ones(X.shape)
    other = sp.csr_array(dense)
    other.data[:] = X.toarray().ravel()
    assert other.nnz > X.nnz
    fit = same(cls, X, other, y, min_count=min_count)
    seen = (X.toarray() != 0).sum(axis=0)
    assert fit.feature_counts_.tolist() == (2 * seen).tolist(), "in two passes"


@every_estimator
def test_entries_that_cancel_count_for_nothing(cls):
    X, y = small_data()
    cancel = sp.csr_array(np.ones(X.shape))
    data = np.concatenate([X.data, cancel.data, -cancel.data])
    row = np.concatenate([X.tocoo().row, *[cancel.tocoo().row] * 2])
    order = np.argsort(row, kind="stable")
    col = np.concatenate([X.indices, *[cancel.indices] * 2])
    indptr = X.indptr + 2 * cancel.indptr
    same(cls, X, sp.csr_array((data[order], col[order], indptr), shape=X.shape), y)


def test_more_columns_than_32_bits_can_count():
    columns = np.array([5, 2**40 - 1, 2**33, 5, 2**33 + 7])
    X = sp.csr_array((np.ones(5), columns, np.array([0, 2, 3, 5])), shape=(3, 2**40))
    clf = EmbeddingBagClassifier(**QUICK).fit(X, [0, 1, 0])
    assert clf.active_features_.tolist() == [5, 2**33, 2**33 + 7, 2**40 - 1]
    assert clf.transform(X).shape == (3, 3)
    assert clf.transform(X).any(axis=1).all()
    clf.partial_fit(X, [0, 1, 0])
    unseen = sp.csr_array((np.ones(1), np.array([2**33 + 6]), np.array([0, 1])), shape=(1, 2**40))
    assert not clf.transform(unseen).any()


# ---------------------------------------------------------------- values
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16, np.float16, object])
def test_other_dtypes_become_float64(dtype):
    X, y = small_data()
    D = np.abs(X.toarray()) >= 1
    clf = same(EmbeddingBagClassifier, D.astype(float), D.astype(dtype), y)
    assert clf.embedding_.dtype == np.float64
    if dtype is not object and dtype is not np.float16:
        same(
            EmbeddingBagClassifier, sp.csr_array(D.astype(float)), sp.csr_array(D.astype(dtype)), y
        )


@every_estimator
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_work_dtype_follows_x(cls, dtype):
    X, y = small_data(dtype=dtype)
    fit = cls(**QUICK).fit(X, y)
    linear = "coef_" if cls in BAGS else "linear_"
    for name in ("embedding_", "active_embedding_", linear, "intercept_"):
        assert getattr(fit, name).dtype == dtype, name
    results = [(k, v) for k, v in predictions(fit, X) if v.dtype.kind == "f"]
    assert all(value.dtype == dtype for _, value in results)


# ---------------------------------------------------------------- little or nothing
@pytest.mark.parametrize("cls, options", [
    *((cls, dict(pooling=pooling)) for cls in BAGS for pooling in ("sum", "mean", "sqrtn")),
    *((cls, dict(normalize_rows=n)) for cls in FACTORIZATIONS for n in (True, False)),
], ids=str)  # fmt: skip
def test_empty_rows_pool_to_zero(cls, options):
    X, y = small_data()
    D = X.toarray()
    D[[0, 30, 59]] = 0
    fit = cls(**options, **QUICK).fit(sp.csr_array(D), y)
    pooled = fit.transform(sp.csr_array(D))
    assert np.isfinite(pooled).all()
    assert not pooled[[0, 30, 59]].any()
    assert pooled[D.any(axis=1)].any(axis=1).all()
    assert not fit.transform(sp.csr_array((4, 12))).any()


@every_estimator
def test_columns_without_values_have_no_row(cls):
    X, y = small_data()
    D = X.toarray()
    D[:, [0, 4]] = 0
    fit = cls(**QUICK).fit(sp.csr_array(D), y)
    assert not fit.embedding_[[0, 4]].any()
    assert fit.n_updates_[[0, 4]].tolist() == [0, 0]
    assert fit.active_features_.tolist() == [1, 2, 3, *range(5, 12)]
    nothing = cls(**QUICK).fit(sp.csr_array((60, 12)), y)
    assert nothing.embedding_.shape == (12, 3)
    assert not nothing.embedding_.any()
    assert all(np.isfinite(value).all() for _, value in predictions(nothing, X))


# ---------------------------------------------------------------- the user's buffers
@every_estimator
@pytest.mark.parametrize("form", [*FORMATS, "messy", "dense"])
def test_nothing_of_the_user_is_changed(cls, form):
    X, y = small_data()
    y = y.astype(float) if cls.__name__.endswith("Regressor") else y
    if form == "messy":
        X = messy(X)
    else:
        X = X.toarray() if form == "dense" else X.asformat(form)
    w = np.linspace(0, 2, 60)
    for name, call in calls(cls(**QUICK).fit(X, y)):
        before = buffers(X), y.tobytes()
        call(X, y)
        assert (buffers(X), y.tobytes()) == before, name
    before = buffers(X), y.tobytes(), w.tobytes()
    cls(**QUICK).fit(X, y, w).partial_fit(X, y, sample_weight=w)
    assert (buffers(X), y.tobytes(), w.tobytes()) == before


@pytest.mark.parametrize("fault", ["nan", "diverges", "unknown label"])
def test_nothing_of_the_user_is_changed_by_a_failure(fault):
    X, y = small_data()
    X, w = messy(X), np.linspace(0, 2, 60)
    clf = EmbeddingBagClassifier(pooling="sum", **QUICK).fit(X, y)
    if fault == "nan":
        X.data[-1] = np.nan
    elif fault == "diverges":
        clf.set_params(learning_rate_init=1e300)
    else:
        y = y + 1
    before = buffers(X), y.tobytes(), w.tobytes()
    with pytest.raises(ValueError):
        clf.partial_fit(X, y, sample_weight=w)
        clf.partial_fit(X, y, sample_weight=w)
    assert (buffers(X), y.tobytes(), w.tobytes()) == before


@every_estimator
def test_predictions_write_nothing_to_the_estimator(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    names, before = dict(vars(fit)), pickle.dumps(fit)
    predictions(fit, X)
    assert vars(fit).keys() == names.keys()
    assert pickle.dumps(fit) == before


@every_estimator
def test_read_only_buffers(cls):
    X, y = small_data()
    want = learned(cls(**QUICK).fit(X, y))
    for Z in (X, messy(X)):
        for a in (Z.data, Z.indices, Z.indptr):
            a.flags.writeable = False
        fit = cls(**QUICK).fit(Z, y)
        assert learned(fit) == want
        predictions(fit.partial_fit(Z, y), Z)


def test_memory_maps(tmp_path):
    X, y = small_data()
    want = learned(EmbeddingBagClassifier(**QUICK).fit(X, y))
    for Z in (X, messy(X)):
        joblib.dump(Z, tmp_path / "X")
        mapped = joblib.load(tmp_path / "X", mmap_mode="r")
        assert isinstance(mapped.data, np.memmap)
        fit = EmbeddingBagClassifier(**QUICK).fit(mapped, y)
        assert learned(fit) == want
        predictions(fit, mapped)


def test_search_in_two_processes_over_a_large_unsorted_matrix():
    r = np.random.default_rng(0)
    n, k = 20_000, 21
    indices = r.permuted(np.tile(np.arange(0, 420, 20), (n, 1)) + r.integers(0, 20, (n, k)), axis=1)
    X = sp.csr_array((np.ones(n * k), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, 420))
    assert X.data.nbytes + X.indices.nbytes > 5e6
    assert not X.has_sorted_indices
    y, before = np.arange(n) % 2, buffers(X)
    scores = []
    for n_jobs in (1, 2):
        clf = EmbeddingBagClassifier(2, max_iter=1, random_state=0)
        grid = {"pooling": ["mean", "sum"]}
        search = GridSearchCV(clf, grid, cv=2, n_jobs=n_jobs, refit=False, error_score="raise")
        scores.append(search.fit(X, y).cv_results_["mean_test_score"])
    assert np.array_equal(*scores)
    assert buffers(X) == before
