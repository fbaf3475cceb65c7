"""Interrupts, threads, processes and randomness."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from fitted import ESTIMATORS, learned, predictions, small_data
from skembed import EmbeddingBagClassifier
from skembed.kernels.cpu import _matrix
from skembed.solvers import SGD, SOLVERS, LazyAdam

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TESTS = Path(__file__).parent.parent
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def python(code, timeout=60, **env):
    """Run `code` beside the helpers of the tests; return what it printed."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])} | env
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


# ---------------------------------------------------------------- Ctrl-C
LONG_FIT = """
import os, signal, threading, time
from fitted import learned, small_data
from skembed import EmbeddingBagClassifier
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
X, y = small_data(20_000)
clf = EmbeddingBagClassifier(4, max_iter=2, random_state=0, n_jobs=N_JOBS).fit(X, y)
before, threads = learned(clf), threading.active_count()
clf.set_params(max_iter=1_000_000, tol=0, n_iter_no_change=1_000_000)
sent = []
def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(0.5, interrupt)
timer.start()
try:
    clf.fit(X, y)
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
    timer.join()
    handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    clf.set_params(max_iter=1)
    print(late, learned(clf) == before, threading.active_count() == threads, handler)
    clf.fit(X, y)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_fit_leaves_the_estimator_as_it_was(n_jobs):
    late, *checks = python(LONG_FIT.replace("N_JOBS", str(n_jobs)))
    assert float(late) < 0.5
    assert checks == ["True"] * 3


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a program that was started from a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class InterruptedSGD(SGD):
    """Sends an interrupt within a step."""

    at_step = 3

    def step(self, table, state, grad, *, lr, keep, step, backend):
        if step == self.at_step:
            signal.raise_signal(signal.SIGINT)
        super().step(table, state, grad, lr=lr, keep=keep, step=step, backend=backend)


@pytest.mark.parametrize("first", [True, False])
def test_interrupted_partial_fit_keeps_its_batches_and_goes_on(ctrl_c, first):
    X, y = small_data(96)
    settings, known = QUICK | dict(solver=SGD()), dict(classes=[0, 1])
    clf, part = EmbeddingBagClassifier(**settings), EmbeddingBagClassifier(**settings)
    solver = InterruptedSGD()
    if not first:
        clf.partial_fit(X, y, **known)
        part.partial_fit(X, y, **known)
        solver.at_step = 9
    clf.set_params(solver=solver)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X, y, **known)
    part.partial_fit(X[:48], y[:48], **known)
    assert clf._state.step == part._state.step == (3 if first else 9)
    for name in ("embedding_", "coef_", "intercept_", "n_updates_"):
        assert np.array_equal(getattr(clf, name), getattr(part, name)), name
    assert np.isfinite(clf.predict_proba(X)).all()
    clf.set_params(solver=SGD()).partial_fit(X[48:], y[48:])
    part.partial_fit(X[48:], y[48:])
    for name in ("embedding_", "coef_", "intercept_", "n_updates_"):
        assert np.array_equal(getattr(clf, name), getattr(part, name)), name


# ---------------------------------------------------------------- threads
@pytest.fixture
def threads_run(monkeypatch):
    """Wake the threads for batches of any size; list the number of shares of each hand-over."""
    shares, run = [], _matrix.Team.run

    def counted(team, fn, parts):
        shares.append(len(parts))
        return run(team, fn, parts)

    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    monkeypatch.setattr(_matrix.Team, "run", counted)
    return shares


@every_estimator
@pytest.mark.parametrize("solver", [*sorted(SOLVERS), "clipped"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_for_any_number_of_threads(threads_run, cls, solver, dtype):
    X, y = small_data(150, 40, dtype)
    solver = LazyAdam(clip_norm=0.01) if solver == "clipped" else solver
    fits = []
    for n_jobs in (1, 2, 4):
        threads_run.clear()
        options = dict(learning_rate_init=0.05, frozen_features=[5, 6], n_jobs=n_jobs)
        fit = cls(solver=solver, **options, **QUICK)
        fit.fit(X, y, np.arange(150) % 3).partial_fit(X, y)
        fits.append((learned(fit), [value.tobytes() for _, value in predictions(fit, X)]))
        assert max(threads_run) == n_jobs
    assert fits[0] == fits[1] == fits[2]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_at_the_same_time_equal_fits_in_turn(threads_run, n_jobs):
    X, y = small_data()

    def fit(seed):
        options = QUICK | dict(random_state=seed, n_jobs=n_jobs)
        return learned(EmbeddingBagClassifier(**options).fit(X, y))

    seeds = range(80)
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(fit, seeds))
    assert at_once == [fit(seed) for seed in seeds]
    assert at_once[0] != at_once[1]


def test_same_bits_with_and_without_kernels_for_little_work(monkeypatch):
    X, y = small_data(120)
    fits = []
    for few in (10**9, -1):
        monkeypatch.setattr(_matrix, "FEW", few)
        fits.append(learned(EmbeddingBagClassifier(**QUICK).fit(X, y)))
    assert fits[0] == fits[1]


def test_one_row_is_predicted_as_among_others():
    X, y = small_data(400)
    clf = EmbeddingBagClassifier(**QUICK).fit(X, y)
    want = clf.predict_proba(X)
    for i in range(0, 400, 40):
        assert np.array_equal(clf.predict_proba(X[[i]])[0], want[i])


def test_predictions_at_the_same_time():
    X, y = small_data(200)
    clf = EmbeddingBagClassifier(**QUICK).fit(X, y)
    want = clf.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: clf.predict_proba(X), range(80)):
            assert np.array_equal(got, want)


def test_no_thread_is_left(threads_run, monkeypatch):
    X, y = small_data()
    clf, before = EmbeddingBagClassifier(n_jobs=4, **QUICK), threading.active_count()
    clf.fit(X, y).partial_fit(X, y).predict(X)
    assert max(threads_run) == 4
    assert threading.active_count() == before
    work = _matrix._bag.bag_forward

    def fails_elsewhere(*args):
        if threading.current_thread() is not threading.main_thread():
            raise OSError("a worker failed")
        return work(*args)

    monkeypatch.setattr(_matrix._bag, "bag_forward", fails_elsewhere)
    model = learned(clf)
    many, _ = small_data(400)  # few rows are predicted without threads
    for method in (clf.fit, lambda X, y: clf.predict(many)):
        with pytest.raises(OSError, match="a worker failed"):
            method(X, y)
        assert threading.active_count() == before
        assert learned(clf) == model


# ---------------------------------------------------------------- processes
FORK = """
import multiprocessing
from fitted import learned, small_data
from skembed import EmbeddingBagClassifier
from skembed.kernels.cpu import _matrix
_matrix.MIN_SHARE = 1
X, y = small_data()
def fit():
    clf = EmbeddingBagClassifier(3, max_iter=3, random_state=0, n_jobs=2).fit(X, y)
    return learned(clf), clf.predict_proba(X).tobytes()
want = fit()
def child(queue):
    queue.put(fit() == want)
fork = multiprocessing.get_context("fork")
queue = fork.Queue()
process = fork.Process(target=child, args=(queue,))
process.start()
print(queue.get(timeout=30))
process.join(30)
print(process.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_can_fit_and_predict():
    assert python(FORK) == ["True", "0"]


def test_search_in_two_processes_gives_the_scores_of_one():
    X, y = small_data(90)
    scores = []
    for n_jobs in (1, 2):
        clf = EmbeddingBagClassifier(**QUICK)
        grid = {"pooling": ["mean", "sum"], "solver": ["sgd", LazyAdam()], "n_jobs": [1, 2]}
        search = GridSearchCV(clf, grid, cv=3, n_jobs=n_jobs, error_score="raise").fit(X, y)
        scores.append(search.cv_results_["mean_test_score"])
    assert np.array_equal(*scores)
    assert len(set(scores[0].tolist())) > 1


def test_works_where_compiled_kernels_cannot_be_stored(tmp_path):
    package = tmp_path / "lib" / "skembed"
    shutil.copytree(TESTS.parent / "skembed", package, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where a folder would have to be made stops every user, root too.
    no_folder = tmp_path / "file"
    for place in (no_folder, package / "kernels" / "cpu" / "__pycache__"):
        place.touch()
    code = """
import skembed
from fitted import small_data
X, y = small_data()
clf = skembed.EmbeddingBagClassifier(3, max_iter=2, random_state=0).fit(X, y)
print(skembed.__file__, clf.predict(X).shape[0])
"""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "HOME"))}
    paths = {"PYTHONPATH": os.pathsep.join([str(package.parent), str(TESTS)])}
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "USERPROFILE"), str(no_folder))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        env=keep | paths | nowhere,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(package / "__init__.py"), "60"]


# ---------------------------------------------------------------- randomness
@every_estimator
def test_kinds_of_random_state(cls):
    X, y = small_data()
    options = {k: v for k, v in QUICK.items() if k != "random_state"}

    def fit(random_state):
        return cls(random_state=random_state, **options).fit(X, y)

    assert learned(fit(3)) == learned(fit(3))
    assert learned(fit(3)) != learned(fit(4))
    assert learned(fit(None)) != learned(fit(None))
    source = np.random.RandomState(3)
    first, second = fit(source), fit(source)
    assert first.random_state is source
    assert learned(first) == learned(fit(np.random.RandomState(3)))
    assert learned(first) == learned(fit(3))
    assert learned(first) != learned(second), "the generator moves on"
    np.random.seed(3)  # noqa: NPY002
    assert learned(fit(np.random.mtrand._rand)) == learned(first)
    with pytest.raises(ValueError, match="random_state"):
        fit(np.random.default_rng(3))


@every_estimator
def test_fit_again_forgets_the_fit_before(cls):
    X, y = small_data()
    other, z = small_data(40, 9, seed=1)
    fit = cls(**QUICK).fit(other, z)
    fit.partial_fit(other, z)
    assert learned(fit.fit(X, y)) == learned(cls(**QUICK).fit(X, y))
