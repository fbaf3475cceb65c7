"""Factorization machines: scores and gradients against all pairs and finite differences."""

import numpy as np
import pytest

import reference
from lines import rough_csr, targets
from skembed.core import FeatureIndex
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix
from skembed.losses import LOSSES
from skembed.models import ArrayStart, FactorizationModel
from skembed.solvers import SOLVERS
from skembed.training import FitProblem, FitState, Schedule, TrainingRows

PADDING, FROZEN, N_FEATURES = (2, 6), (1, 4), 25
# pooling, fields, direct weights
CASES = [
    ("sqrtn", 1, True),
    ("sum", 1, False),
    ("sqrtn", 4, True),
    ("sum", 3, False),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
SMOOTH = sorted(set(LOSSES) - {"negative_sampling"})


def targets_of(rng, loss, n, n_outputs):
    if loss in ("log_loss", "softmax", "squared_error"):
        return targets(rng, loss, n)
    if LOSSES[loss].targets == "classes":
        return rng.integers(0, max(2, n_outputs), n)
    return np.abs(rng.normal(size=(n, n_outputs)))


class PairLine:
    """Everything of a fit, with all parameters away from zero."""

    def __init__(self, case, loss, backend, dtype=np.float64, n=40, n_features=N_FEATURES, d=5):
        pooling, n_fields, linear_term = case
        rng = np.random.default_rng(0)
        self.backend, self.pooling = backend, pooling
        self.n_outputs = {"log_loss": 1, "softmax": 3}.get(loss, 2)
        self.X, self.y = rough_csr(rng, n, n_features, dtype), targets_of(rng, loss, n, 2)
        self.weight = rng.random(n) * (rng.random(n) > 0.2)
        self.fields = rng.permutation(np.arange(n_features) % n_fields).astype(np.int32)
        names = None if n_fields == 1 else np.arange(n_fields)
        model = FactorizationModel(pooling, None if n_fields == 1 else self.fields, names)
        self.problem = FitProblem(
            model, LOSSES[loss](), SOLVERS["adagrad"](), (), Schedule(0.1), 0.0, 16, False
        )
        x = self.X.indptr.astype(np.int64), self.X.indices, self.X.data
        rows = np.flatnonzero(self.weight > 0)
        seen = backend.count(*x, rows, n_features)
        index = FeatureIndex(n_features).observe(
            *seen, padding=np.array(PADDING), frozen=np.array(FROZEN)
        )
        intercept = rng.normal(size=self.n_outputs)
        params = model.init_params(d, intercept, dtype, linear_term=linear_term)
        self.state = FitState(0, FeatureIndex(n_features), self.problem, params)
        table = params["table"]
        start = ArrayStart(rng.normal(size=(n_features, table.d_embedding)))
        self.state.grow(index, start, self.problem.solver, backend)
        direct = table.values[:, table.d_embedding : table.d]
        direct[:] = rng.normal(size=direct.shape)
        mapped = backend.map_columns(*x, index)
        scale = backend.scale(mapped[0], mapped[2], pooling)
        y = self.y.astype(dtype) if LOSSES[loss].targets == "numbers" else self.y
        self.data = TrainingRows(
            *mapped, scale, y, self.weight.astype(dtype), rows, fields=self.state.fields
        )
        backend.prepare(mapped[1], table.n_trainable)
        self.active = np.isin(np.arange(n_features), index.columns[index.rows >= 0])
        self.frozen = np.isin(np.arange(n_features), FROZEN)

    def by_column(self, rows, ids=None):
        """Vectors (n_features, n_fields, n_outputs, d) and direct weights of table rows."""
        table, index = self.state.params["table"], self.state.index
        dense = np.zeros((index.n_features, table.width))
        dense[index.row_columns()[slice(None) if ids is None else ids]] = rows
        pairs = self.problem.model.shape_of(self.state.params)
        direct = dense[:, table.d_embedding : table.d] if table.n_linear else None
        return pairs.blocks(dense), direct

    def params(self):
        """The parameters as the reference takes them."""
        params = self.state.params
        return *self.by_column(params["table"].values), params["intercept"].ravel().astype(float)

    def evaluate(self, rows):
        """Raw scores, loss, gradients by column, occurrences."""
        problem, params, backend = self.problem, self.state.params, self.backend
        batch = self.data.batch(rows)
        raw, tape = problem.model.forward(params, batch, backend)
        raw, weight = raw.copy(), self.data.sample_weight[rows]
        value, d_raw = problem.loss.value_and_gradient(self.data.y[rows], raw, weight, np)
        grads = problem.model.backward(params, batch, tape, d_raw, backend)
        g = grads["table"].sum(backend)
        assert not g.values[:, params["table"].d :].any()
        counts = np.zeros(self.state.index.n_features, int)
        counts[self.state.index.row_columns()[g.indices]] = g.counts
        table = self.by_column(g.values, g.indices)
        return raw, value, (*table, grads["intercept"].ravel()), counts


@pytest.fixture(params=["array code", 1, 3])
def backend(request, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    if request.param == "array code":
        yield Backend()
    else:
        with get_backend(request.param) as cpu:
            yield cpu


@every_case
@pytest.mark.parametrize("loss", ["log_loss", "softmax", "squared_error"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_and_gradients_equal_those_of_all_pairs(backend, case, loss, dtype):
    line = PairLine(case, loss, backend, dtype)
    rows = np.random.default_rng(1).permutation(line.data.rows)[:25]
    sizes = np.diff(line.X.indptr)[rows]
    repeated = [len(set(line.X.indices[line.X.indptr[i] : line.X.indptr[i + 1]])) for i in rows]
    assert (np.array(repeated) < sizes).any(), "an id occurs twice in a row"
    options = dict(pooling=line.pooling, active=line.active, fields=line.fields)
    raw, value, grads, counts = line.evaluate(rows)
    params, rtol = line.params(), 1e-10 if dtype == np.float64 else 1e-4
    want = [reference.pair_forward(params, line.X, i, **options)[0] for i in rows]
    np.testing.assert_allclose(raw, np.transpose(want), rtol=rtol, atol=10 * rtol)
    predicted = line.problem.model.predict(line.state.params, line.data.batch(rows), backend)
    assert np.array_equal(predicted, raw)
    want = reference.pair_gradients(
        params, line.X, rows, line.y, line.weight, loss=loss, frozen=line.frozen, **options
    )
    np.testing.assert_allclose(value, want[0], rtol=rtol)
    for got, expected in zip(grads, want[1], strict=True):
        if expected is None:
            assert got is None
        else:
            size = np.abs(expected).max()
            assert size > 0.01
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * size)
    assert np.array_equal(counts, want[2])
    assert not grads[0][[*PADDING, *FROZEN]].any()


@every_case
@pytest.mark.parametrize("loss", SMOOTH)
def test_gradients_are_slopes(case, loss):
    with get_backend() as backend:
        line = PairLine(case, loss, backend, n=20, n_features=9, d=3)
        params, rows, index = line.state.params, line.data.rows, line.state.index
        params["table"].values[:] *= 0.3  # away from the kinks of hinges
        *_, (vectors, direct, intercept), _ = line.evaluate(rows)
        pairs = line.problem.model.shape_of(params)
        table = pairs.blocks(params["table"].values)

        def slope(array, at):
            kept, sides = array[at], []
            for h in (1e-6, -1e-6):
                array[at] = kept + h
                sides.append(line.evaluate(rows)[1])
            array[at] = kept
            return (sides[0] - sides[1]) / 2e-6

        row_of = dict(zip(index.columns.tolist(), index.rows.tolist(), strict=True))
        for j, *at in np.ndindex(vectors.shape):
            if row_of.get(j, -1) < 0 or line.frozen[j]:
                assert vectors[(j, *at)] == 0
            else:
                assert abs(slope(table, (row_of[j], *at)) - vectors[(j, *at)]) < 2e-8
        if direct is not None:
            own = params["table"].values[:, pairs.d_embedding :]
            for j, c in np.ndindex(direct.shape):
                if row_of.get(j, -1) >= 0 and not line.frozen[j]:
                    assert abs(slope(own, (row_of[j], c)) - direct[j, c]) < 2e-8
        for c in range(len(intercept)):
            assert abs(slope(params["intercept"], (c, 0)) - intercept[c]) < 2e-8


@every_case
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_stepping_at_once_has_the_bits_of_summing_first(case, solver):
    results = []
    for at_once in (True, False):
        with get_backend() as backend:
            line = PairLine(case, "softmax", backend, np.float32)
            params, rows = line.state.params, line.data.rows
            step = SOLVERS[solver]()
            slots = step.init_table_state(params["table"])
            for array in slots.values():
                array.insert(0, params["table"].n_rows)
            step.start_rows(params["table"], slots, 0, params["table"].n_rows, 0.1, 16)
            batch = line.data.batch(rows)
            _, grads = line.problem.model.loss_and_gradient(
                line.problem.loss, params, batch, line.y[rows], None, backend
            )
            grad = grads["table"] if at_once else grads["table"].sum(backend)
            table, n = params["table"].values, params["table"].n_trainable
            before = table.copy()
            step.step(params["table"], slots, grad, lr=0.1, keep=0.99, step=1, backend=backend)
            assert not np.array_equal(before[:n], table[:n])
            assert np.array_equal(before[n:], table[n:])
            arrays = [table, *(slots[name].values for name in step.slots)]
            results.append(b"".join(a.tobytes() for a in arrays))
    assert results[0] == results[1]


def test_many_rows_are_predicted_a_part_at_a_time(monkeypatch):
    with get_backend() as backend:
        line = PairLine(("sqrtn", 4, True), "softmax", backend)
        batch = line.data.batch(np.arange(40))
        whole = line.problem.model.predict(line.state.params, batch, backend)
        monkeypatch.setattr("skembed.models._factorization.PREDICTED_VALUES", 700)
        parts = line.problem.model.predict(line.state.params, batch, backend)
        assert np.array_equal(whole, parts)


def test_same_as():
    numbers, names = np.array([0, 1, 0], np.int32), np.array(["a", "b"])
    model = FactorizationModel("sqrtn", numbers, names)
    longer = FactorizationModel("sqrtn", np.append(numbers, np.int32(1)), names)
    assert model.same_as(longer) and longer.same_as(model)
    plain = FactorizationModel("sqrtn")
    assert plain.same_as(FactorizationModel("sqrtn"))
    for other in (
        plain,
        FactorizationModel("sum", numbers, names),
        FactorizationModel("sqrtn", numbers, np.array(["a", "c"])),
        FactorizationModel("sqrtn", numbers[::-1] ^ 1, names),
    ):
        assert not model.same_as(other)
        assert not other.same_as(model)
