"""The loop against the reference: many steps, every solver."""

import numpy as np
import pytest

import reference
from lines import Line, rough_csr, targets
from skembed.kernels import get_backend
from skembed.solvers import SOLVERS, Adagrad
from skembed.training import LocalEpochs, Plateau, TrainingDiverged, fit_epochs, run_epoch


class Silent:
    """Hooks that nobody listens to."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after

    def begin_epoch(self):
        pass

    def end_epoch(self, state):
        return len(state.loss_curve) == self.stop_after


def train(line, n_epochs, stopping=None, hooks=None):
    stopping = stopping or Plateau(-np.inf, 10**6)
    parts = line.problem, line.state
    with line.backend:
        return fit_epochs(
            *parts, LocalEpochs(*parts, line.data, line.backend), line.backend,
            max_iter=n_epochs, stopping=stopping, hooks=hooks or Silent(),
        )  # fmt: skip


CASES = {
    **{name: (name, {}) for name in sorted(SOLVERS)},
    **{f"{name}, all decay": (name, {"decay_scope": "all"})
       for name in ("adagrad", "lazy_adam", "rowwise_adagrad", "sgd")},
    "ftrl": ("ftrl", {"beta": 0.01}),
    "momentum": ("sgd", {"momentum": 0.8}),
    "nesterov": ("sgd", {"momentum": 0.8, "nesterov": True, "decay_scope": "all"}),
    "penalised": ("ftrl", {"beta": 1.0, "l1": 0.05, "l2": 0.1}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "loss, pooling", [("log_loss", "mean"), ("softmax", "sqrtn"), ("squared_error", "sum")]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_training_equals_the_reference(case, loss, pooling, dtype):
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, dtype), targets(rng, loss, 40)
    weight = rng.random(40) * (rng.random(40) > 0.2)
    name, options = CASES[case]
    rate = 0.01 if dtype == np.float32 or "momentum" in options else 0.1
    decay = 0.0 if name == "ftrl" else 0.3
    start = (0.0064 / 8) ** 2 if "adagrad" in name else 0.0
    line = Line(
        X, y, get_backend(2), loss=loss, pooling=pooling, weight=weight, padding=(2, 6),
        frozen=(1, 4), solver=SOLVERS[name](**options), lr=rate, weight_decay=decay, shuffle=True,
        batch_size=8,
    )  # fmt: skip
    want = line.dense()
    curve = reference.fit(
        want, X, y, weight, line.orders(3), batch_size=8, pooling=pooling, loss=loss,
        solver=reference.ReferenceSolver(name, rate, weight_decay=decay, start=start, **options),
        active=line.active, frozen=line.frozen,
    )  # fmt: skip
    train(line, 3)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(line.state.loss_curve, curve, rtol=rtol)
    for got, expected in zip(line.dense(), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    fixed = line.start[[1, 4]].astype(dtype)
    assert np.array_equal(line.dense()[0][[1, 4]], fixed)
    assert line.state.step == 3 * -(-len(line.data.rows) // 8)


def plain_line(backend=None, **options):
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, np.float64), targets(rng, "softmax", 40)
    return Line(X, y, backend or get_backend(), loss="softmax", pooling="mean", **options)


def test_update_counts_are_the_steps_in_which_a_row_was_listed():
    line = plain_line(batch_size=7, frozen=(1,))
    train(line, 2)
    want = np.zeros(25, int)
    for order in line.orders(2):
        for s in range(0, 40, 7):
            pairs = [p for i in order[s : s + 7] for p in reference.entries(line.X, i)]
            want[sorted({j for j, _ in pairs if not line.frozen[j]})] += 1
    index = line.state.index
    assert np.array_equal(line.state.n_updates.values[index.rows, 0], want[index.columns])


def test_one_batch_draws_no_order():
    line = plain_line(batch_size=40, shuffle=True)
    other = plain_line(batch_size=40, shuffle=False)
    train(line, 3)
    train(other, 3)
    assert all(np.array_equal(a, b) for a, b in zip(line.dense(), other.dense(), strict=True))
    line = plain_line(batch_size=20, shuffle=True)
    other = plain_line(batch_size=20, shuffle=False)
    train(line, 1)
    train(other, 1)
    assert not np.array_equal(line.dense()[0], other.dense()[0])


def test_clipping_bounds_every_step():
    line = plain_line(solver=SOLVERS["sgd"](clip_norm=0.01), lr=1.0, batch_size=40)
    before = line.dense()
    train(line, 1)
    moved = [np.linalg.norm(a - b) for a, b in zip(line.dense(), before, strict=True)]
    np.testing.assert_allclose(np.linalg.norm(moved), 0.01)
    loose = plain_line(solver=Adagrad(clip_norm=1e6))
    plain = plain_line()
    train(loose, 2)
    train(plain, 2)
    assert all(np.array_equal(a, b) for a, b in zip(loose.dense(), plain.dense(), strict=True))


@pytest.mark.parametrize("what", ["table", "coef_0", "data"])
def test_divergence_is_noticed_before_anything_is_written(what):
    line = plain_line(batch_size=10)
    train(line, 1)
    params = line.state.params
    if what == "data":
        line.data.data[:] = 1e308
    else:
        array = params[what].values if what == "table" else params[what]
        array[...] = 1e300
    before = [a.copy() for a in (params["table"].values, params["coef_0"], params["intercept_0"])]
    with pytest.raises(
        TrainingDiverged, match=r"epoch 2, batch 1: .*learning_rate_init.*clip_norm"
    ):
        run_epoch(line.problem, line.state, line.data, line.data.rows, line.backend)
    after = params["table"].values, params["coef_0"], params["intercept_0"]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert line.state.step == 4


def test_the_fit_ends_at_a_plateau_or_when_asked():
    assert not train(plain_line(), 3)
    line = plain_line()
    assert train(line, 30, hooks=Silent(stop_after=2))
    assert len(line.state.loss_curve) == 2
    line = plain_line()
    assert train(line, 200, stopping=Plateau(tol=0.01, patience=3))
    curve = np.array(line.state.loss_curve)
    best = np.minimum.accumulate(curve)
    late = curve[-3:] >= best[-4:-1] - 0.01
    assert late.all()


def test_plateau():
    plateau = Plateau(tol=0.1, patience=2)
    assert [plateau.update(-v) for v in (1.0, 0.95, 0.8, 0.75, 0.72)] == [0, 0, 0, 0, 1]
    assert (plateau.best, plateau.best_epoch) == (-0.72, 5)
    plateau = Plateau(tol=0.0, patience=1)
    assert plateau.update(float("-inf"))
    assert not plateau.update(1.0)
    assert plateau.is_best
    assert plateau.update(1.0)
    assert not plateau.is_best
    assert plateau.best_epoch == 2
