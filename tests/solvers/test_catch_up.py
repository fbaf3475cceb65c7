"""Trajectories of 300 steps: touched rows, and rows that change without being listed."""

import numpy as np
import pytest

import reference
from lines import Line, rough_csr, targets
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix
from skembed.solvers import FTRL, SGD, SOLVERS, Adagrad, AdamW, LazyAdam, RowwiseAdagrad
from skembed.training import TrainingDiverged, run_epoch
from steps import Stepper

N, BATCH = 240, 4  # 60 steps an epoch, 5 epochs
RATE = 0.003


def data():
    rng = np.random.default_rng(0)
    return rough_csr(rng, N, 300, np.float64, rough=False), targets(rng, "softmax", N)


def line(solver, backend, **options):
    X, y = data()
    settings = {"lr": RATE, "weight_decay": 0.3, "d": 4, "frozen": (1, 4), **options}
    return Line(
        X, y, backend, loss="softmax", pooling="mean", batch_size=BATCH, shuffle=True,
        solver=solver, **settings,
    )  # fmt: skip


def both(solver, name, backend, known=(), **options):
    ours = line(solver, backend, **options)
    want = ours.dense()
    start = (0.0064 / BATCH) ** 2 if "adagrad" in name else 0.0
    slow = reference.ReferenceSolver(
        name, RATE, start=start, weight_decay=options.get("weight_decay", 0.3),
        **{k: getattr(solver, k) for k in ("eps", "decay_scope", "decay_toward")
           if hasattr(solver, k)},
        **dict(known),
    )  # fmt: skip
    reference.fit(
        want, ours.X, ours.y, np.ones(N), ours.orders(5), batch_size=BATCH, pooling="mean",
        loss="softmax", solver=slow, active=ours.active, frozen=ours.frozen,
    )  # fmt: skip
    for order in ours.orders(5):
        run_epoch(ours.problem, ours.state, ours.data, order, ours.backend)
    return ours.dense(), want


@pytest.mark.parametrize("kind", [get_backend, Backend])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("eps, tolerance", [(0.0, 1e-12), (1e-8, 1e-8)])
def test_adamw_is_dense_adamw(kind, weight_decay, eps, tolerance):
    got, want = both(AdamW(eps=eps), "adamw", kind(), weight_decay=weight_decay)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


TOUCHED = {
    "adagrad": (Adagrad(), "adagrad", {}),
    "ftrl": (FTRL(l1=1e-3, l2=0.1), "ftrl", {"beta": 0.01, "l1": 1e-3, "l2": 0.1}),
    "lazy adam": (LazyAdam(), "lazy_adam", {}),
    "rowwise adagrad": (RowwiseAdagrad(), "rowwise_adagrad", {}),
    "sgd": (SGD(), "sgd", {}),
    "nesterov": (SGD(0.9, True), "sgd", {"momentum": 0.9, "nesterov": True}),
}


@pytest.mark.parametrize("case", TOUCHED)
def test_touched_rows_over_many_steps(case):
    solver, name, known = TOUCHED[case]
    got, want = both(
        solver, name, get_backend(), known, weight_decay=0.0 if case == "ftrl" else 0.3
    )
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cls", [Adagrad, SGD, RowwiseAdagrad, LazyAdam])
def test_decay_of_all_rows_is_dense_decay(cls):
    name = {SGD: "sgd", Adagrad: "adagrad", RowwiseAdagrad: "rowwise_adagrad"}.get(cls, "lazy_adam")
    got, want = both(cls(decay_scope="all"), name, get_backend())
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


TOWARD = [
    *(cls(decay_scope=scope, decay_toward="start")
      for cls in (Adagrad, SGD, RowwiseAdagrad, LazyAdam) for scope in ("touched", "all")),
    AdamW(eps=0.0, decay_toward="start"),
]  # fmt: skip


@pytest.mark.parametrize("kind", [get_backend, Backend])
@pytest.mark.parametrize("solver", TOWARD, ids=str)
def test_decay_toward_the_start(kind, solver):
    name = next(name for name, cls in SOLVERS.items() if type(solver) is cls)
    got, want = both(solver, name, kind())
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    ours = line(type(solver)(**{**solver.get_params(), "decay_toward": "zero"}), kind())
    for order in ours.orders(5):
        run_epoch(ours.problem, ours.state, ours.data, order, ours.backend)
    assert np.abs(ours.dense()[0] - got[0]).max() > 1e-3, "another goal is another table"


@pytest.mark.parametrize("solver", TOWARD, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_have_not_left_the_start_keep_their_bits(solver, dtype):
    X, y = data()
    ours = Line(
        X.astype(dtype), y, get_backend(), loss="softmax", pooling="mean", batch_size=BATCH,
        solver=solver, lr=0.1, weight_decay=0.3, d=4,
    )  # fmt: skip
    order = np.arange(N // 2)
    seen = np.unique(X[order].indices)
    for _ in range(2):
        run_epoch(ours.problem, ours.state, ours.data, order, ours.backend)
    left = np.setdiff1d(np.flatnonzero(ours.active), seen)
    assert len(left) > 10
    table, start = ours.dense()[0], ours.start.astype(dtype).astype(np.float64)
    assert np.array_equal(table[left], start[left])
    assert (table[seen] != start[seen]).any(axis=1).all()


def test_without_slopes_rows_come_back_to_their_start():
    start = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    for solver in (SGD(decay_toward="start"), Adagrad(decay_scope="all", decay_toward="start")):
        stepper = Stepper(start, solver, lr=0.1, weight_decay=0.5)
        stepper.step([0, 1], np.full((2, 2), 5.0, np.float32))
        assert np.abs(stepper.rows() - start)[:2].min() > 0.01
        for _ in range(500):
            stepper.step([0, 1], np.zeros((2, 2), np.float32))
        np.testing.assert_allclose(stepper.rows(), start, rtol=1e-5, atol=1e-6)


def test_momentum_goes_on_without_decay_where_decay_is_for_touched_rows():
    dense, touched = (line(AdamW(decay_scope=s), get_backend()) for s in ("all", "touched"))
    for ours in (dense, touched):
        for order in ours.orders(5):
            run_epoch(ours.problem, ours.state, ours.data, order, ours.backend)
    counts = np.bincount(dense.X.indices, minlength=300)
    rare = dense.active & ~dense.frozen & (counts == 1)
    assert rare.any()
    far, near = (np.linalg.norm(ours.dense()[0][rare], axis=1) for ours in (touched, dense))
    assert (far > 1.1 * near).mean() > 0.9


def test_frozen_rows_do_not_decay():
    for solver in (AdamW(), Adagrad(decay_scope="all")):
        ours = line(solver, get_backend())
        run_epoch(ours.problem, ours.state, ours.data, np.arange(N), ours.backend)
        assert np.array_equal(ours.dense()[0][[1, 4]], ours.start[[1, 4]])


@pytest.mark.parametrize("solver", [AdamW(eps=0.0), Adagrad(decay_scope="all")])
def test_an_epoch_that_breaks_off_leaves_every_row_up_to_date(solver):
    whole, broken = (line(solver, get_backend()) for _ in range(2))
    run_epoch(whole.problem, whole.state, whole.data, np.arange(40), whole.backend)
    first_bad, x = broken.X.indptr[40], broken.data.data
    kept, x[first_bad:] = x[first_bad:].copy(), np.nan
    with pytest.raises(TrainingDiverged, match="batch 11"):
        run_epoch(broken.problem, broken.state, broken.data, np.arange(N), broken.backend)
    x[first_bad:] = kept
    assert broken.state.step == whole.state.step == 10
    # the rows of the refused batch were brought up to date before it, in one step more
    for a, b in zip(broken.dense(), whole.dense(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    results = set()
    for n_jobs in (1, 2, 3):
        with get_backend(n_jobs) as backend:
            ours = line(AdamW(max_norm=1.5), backend)
            backend.prepare(ours.data.indices, ours.state.params["table"].n_trainable)
            run_epoch(ours.problem, ours.state, ours.data, np.arange(N), backend)
            results.add(tuple(a.tobytes() for a in ours.dense()))
    assert len(results) == 1


def test_betas_that_grow_without_end_are_refused():
    with pytest.raises(ValueError, match="must be below beta_2"):
        AdamW(beta_1=0.99, beta_2=0.9)._validate_params()
