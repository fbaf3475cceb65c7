"""The bag with a linear head: loss and gradients against loops and finite differences."""

import numpy as np
import pytest

import reference
from lines import N_OUTPUTS, Line, rough_csr, targets
from skembed.core import CSRBatch
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix

LOSSES = sorted(N_OUTPUTS)
POOLINGS = ("sum", "mean", "sqrtn")
PADDING, FROZEN = (2, 6), (1, 4)


def evaluate(line, rows):
    """Loss and dense gradients of a batch from the package's own parts."""
    data, problem, params = line.data, line.problem, line.state.params
    batch = CSRBatch(data.indptr, data.indices, data.data, rows, data.scale[rows])
    raw, tape = problem.model.forward(params, batch, line.backend)
    value, d_raw = problem.loss.value_and_gradient(data.y[rows], raw, data.sample_weight[rows], np)
    grads = problem.model.backward(params, batch, tape, d_raw, line.backend)
    g, index = grads["table"].sum(line.backend), line.state.index
    columns = index.row_columns()[g.indices]
    table, counts = np.zeros(line.start.shape), np.zeros(len(line.start), int)
    table[columns] = g.values[:, : line.start.shape[1]]
    counts[columns] = g.counts
    assert not g.values[:, line.start.shape[1] :].any()
    return value, (table, grads["coef_0"], grads["intercept_0"].ravel()), counts


@pytest.fixture(params=["array code", 1, 2])
def backend(request, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    if request.param == "array code":
        yield Backend()
    else:
        with get_backend(request.param) as cpu:
            yield cpu


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
def test_loss_and_gradients_equal_the_reference(backend, loss, pooling, dtype, id_dtype):
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, dtype, id_dtype), targets(rng, loss, 40)
    weight = rng.random(40) * (rng.random(40) > 0.2)
    line = Line(
        X, y, backend, loss=loss, pooling=pooling, weight=weight, padding=PADDING, frozen=FROZEN
    )
    backend.prepare(line.data.indices, line.state.params["table"].n_trainable)
    rows = rng.permutation(line.data.rows)[:25]
    value, grads, counts = evaluate(line, rows)
    want = reference.gradients(
        line.dense(), X, rows, y, weight,
        pooling=pooling, loss=loss, active=line.active, frozen=line.frozen,
    )  # fmt: skip
    rtol = 1e-12 if dtype == np.float64 else 2e-6
    size = max(np.abs(g).max() for g in want[1])
    np.testing.assert_allclose(value, want[0], rtol=rtol)
    for got, expected in zip(grads, want[1], strict=True):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=5 * rtol * size)
    assert np.array_equal(counts, want[2])
    assert not counts[[*PADDING, *FROZEN]].any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_are_slopes_also_for_repeated_ids(loss, pooling):
    rng = np.random.default_rng(1)
    X, y = rough_csr(rng, 20, 8, np.float64), targets(rng, loss, 20)
    sizes = np.diff(X.indptr)
    assert any(len(set(X.indices[X.indptr[i] : X.indptr[i + 1]])) < sizes[i] for i in range(20))
    with get_backend() as backend:
        line = Line(X, y, backend, loss=loss, pooling=pooling, frozen=(1,))
        rows = np.arange(20)
        _, grads, _ = evaluate(line, rows)
        params, index = line.state.params, line.state.index
        row_of = dict(zip(index.columns.tolist(), index.rows.tolist(), strict=True))

        def slope(array, at):
            kept, sides = array[at], []
            for h in (1e-6, -1e-6):
                array[at] = kept + h
                sides.append(evaluate(line, rows)[0])
            array[at] = kept
            return (sides[0] - sides[1]) / 2e-6

        for j, k in np.ndindex(grads[0].shape):
            if row_of.get(j, -1) < 0 or line.frozen[j]:
                assert grads[0][j, k] == 0
            else:
                assert abs(slope(params["table"].values, (row_of[j], k)) - grads[0][j, k]) < 1e-8
        for at in np.ndindex(grads[1].shape):
            assert abs(slope(params["coef_0"], at) - grads[1][at]) < 1e-8
        for i in range(len(grads[2])):
            assert abs(slope(params["intercept_0"], (i, 0)) - grads[2][i]) < 1e-8
