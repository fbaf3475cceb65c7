"""Hidden layers, numeric columns, direct weights and max pooling: loops and finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from lines import N_OUTPUTS, Line, rough_csr, targets
from skembed.core import CSRBatch, Groups, PendingRowGradient, RowArray
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix

LOSSES = sorted(N_OUTPUTS)
PADDING, FROZEN = (2, 6), (1, 4)
# pooling, hidden layers, numeric columns, direct weights
CASES = [
    ("sqrtn", (4,), 0, False),
    ("mean", (4, 3), 2, False),
    ("sum", (), 2, True),
    ("sqrtn", (5,), 3, True),
    ("mean", (), 0, True),
    ("max", (), 0, False),
    ("max", (4,), 2, False),
    ("max", (3, 6), 1, False),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_loss = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture(params=["array code", 1, 3])
def backend(request, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    if request.param == "array code":
        yield Backend()
    else:
        with get_backend(request.param) as cpu:
            yield cpu


def make_line(case, loss, backend, dtype=np.float64, n=40, n_features=25, **options):
    """Return a line, its numeric columns as a dense array, its weights and its targets."""
    pooling, hidden, n_numeric, linear_term = case
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, n, n_features, dtype), targets(rng, loss, n)
    if pooling == "max":  # a fit hands over each column once a row
        X.sum_duplicates()
    weight = rng.random(n) * (rng.random(n) > 0.2)
    dense = rng.normal(size=(n, n_numeric)) * (rng.random((n, n_numeric)) < 0.6)
    numeric = sp.csr_array(dense) if n_numeric else None
    line = Line(
        X, y, backend, loss=loss, pooling=pooling, weight=weight, padding=PADDING, frozen=FROZEN,
        hidden=hidden, numeric=numeric, linear_term=linear_term, **options,
    )  # fmt: skip
    backend.prepare(line.data.indices, line.state.params["table"].n_trainable)
    return line, dense.astype(dtype).astype(float), weight, y


def dense_params(line):
    """The parameters as the reference takes them, in float64."""
    params, index = line.state.params, line.state.index
    table = params["table"]
    rows = np.zeros((index.n_features, table.d))
    has = index.rows >= 0
    rows[index.columns[has]] = table.values[index.rows[has], : table.d]
    layers = [
        (params[f"coef_{i}"].astype(float), params[f"intercept_{i}"].ravel().astype(float))
        for i in line.problem.model.layers
    ]
    d = table.d_embedding
    return rows[:, :d].copy(), rows[:, d:].copy() if table.n_linear else None, layers


def evaluate(line, rows):
    """Raw scores, loss and gradients of a batch; that of the table by column."""
    data, problem, params = line.data, line.problem, line.state.params
    batch, table = data.batch(rows), params["table"]
    raw, tape = problem.model.forward(params, batch, line.backend)
    raw = raw.copy()
    value, d_raw = problem.loss.value_and_gradient(data.y[rows], raw, data.sample_weight[rows], np)
    grads = problem.model.backward(params, batch, tape, d_raw, line.backend)
    g = grads.pop("table").sum(line.backend)
    assert not g.values[:, table.d :].any()
    by_column = np.zeros((line.state.index.n_features, table.d))
    by_column[line.state.index.row_columns()[g.indices]] = g.values[:, : table.d]
    return raw, value, by_column, grads


@every_case
@every_loss
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_and_gradients_equal_the_reference(backend, case, loss, dtype):
    line, numeric, weight, y = make_line(case, loss, backend, dtype)
    rows = np.random.default_rng(1).permutation(line.data.rows)[:25]
    raw, value, table, grads = evaluate(line, rows)
    params, options = dense_params(line), dict(pooling=case[0], active=line.active)
    want = [reference.deep_forward(params, line.X, i, numeric[i], **options)[0] for i in rows]
    rtol = 1e-12 if dtype == np.float64 else 2e-5
    close = dict(rtol=rtol, atol=20 * rtol)
    np.testing.assert_allclose(raw, np.transpose(want), **close)
    predicted = line.problem.model.predict(line.state.params, line.data.batch(rows), backend)
    assert np.array_equal(predicted, raw)
    loss_value, d_embedding, d_linear, layers = reference.deep_gradients(
        params, line.X, rows, y, weight, numeric, loss=loss, frozen=line.frozen, **options
    )
    np.testing.assert_allclose(value, loss_value, **close)
    d = d_embedding.shape[1]
    np.testing.assert_allclose(table[:, :d], d_embedding, **close)
    if d_linear is not None:
        np.testing.assert_allclose(table[:, d:], d_linear, **close)
    assert not table[[*PADDING, *FROZEN]].any()
    assert np.abs(table).max() > 0.01
    assert len(grads) == 2 * len(layers)
    for i, (d_coef, d_intercept) in enumerate(layers):
        np.testing.assert_allclose(grads[f"coef_{i}"], d_coef, **close)
        np.testing.assert_allclose(grads[f"intercept_{i}"].ravel(), d_intercept, **close)
        assert grads[f"coef_{i}"].dtype == dtype


@every_case
@every_loss
def test_gradients_are_slopes(case, loss):
    with get_backend() as backend:
        line, *_ = make_line(case, loss, backend, n=20, n_features=9)
        params, rows, index = line.state.params, line.data.rows, line.state.index
        _, _, table, grads = evaluate(line, rows)

        def slope(array, at):
            kept, sides = array[at], []
            for h in (1e-6, -1e-6):
                array[at] = kept + h
                sides.append(evaluate(line, rows)[1])
            array[at] = kept
            return (sides[0] - sides[1]) / 2e-6

        row_of = dict(zip(index.columns.tolist(), index.rows.tolist(), strict=True))
        for j, k in np.ndindex(table.shape):
            if row_of.get(j, -1) < 0 or line.frozen[j]:
                assert table[j, k] == 0
            else:
                assert abs(slope(params["table"].values, (row_of[j], k)) - table[j, k]) < 2e-8
        for name, grad in grads.items():
            for at in np.ndindex(grad.shape):
                assert abs(slope(params[name], at) - grad[at]) < 2e-8, name


def test_start_of_the_head():
    with get_backend() as backend:
        line, *_ = make_line(("sqrtn", (6, 4), 2, True), "softmax", backend)
    model, made = line.problem.model, {}
    for seed in (0, 0, 1):
        params = model.init_params(5, [1.0, 2.0, 3.0], np.float32, n_numeric=2, seed=seed)
        made.setdefault(seed, []).append(params)
        assert [params[f"coef_{i}"].shape for i in range(3)] == [(6, 7), (4, 6), (3, 4)]
        assert not params["coef_2"].any(), "the last layer starts at zero"
        assert params["intercept_2"].ravel().tolist() == [1.0, 2.0, 3.0]
        assert not params["intercept_0"].any()
        for i, (n_out, n_in) in enumerate([(6, 7), (4, 6)]):
            bound = np.sqrt(6 / (n_in + n_out))
            assert bound / 2 < np.abs(params[f"coef_{i}"]).max() <= np.float32(bound)
    (a, b), (other,) = made[0], made[1]
    assert np.array_equal(a["coef_0"], b["coef_0"])
    assert not np.array_equal(a["coef_0"], other["coef_0"])
    assert [n for n in a if n != "table" and not model.decays(n)] == [
        f"intercept_{i}" for i in range(3)
    ]


# ---------------------------------------------------------------- max pooling
def bags(X, dtype=np.float64):
    """A batch of all rows of a dense matrix whose columns are table rows."""
    X = sp.csr_array(np.asarray(X, dtype))
    indptr = X.indptr.astype(np.int64)
    n = X.shape[0]
    return CSRBatch(
        indptr, X.indices.astype(np.int32), X.data, np.arange(n), np.ones(n, dtype)
    )  # fmt: skip


def table_of(rows, dtype=np.float64):
    rows = np.asarray(rows, dtype)
    table = RowArray(*rows.shape, rows.dtype)
    table.values[:, : rows.shape[1]] = rows
    return table.values


def max_and_gradient(backend, batch, table, n_trainable, d_pooled):
    """Pooled rows, winners, ids and gradients, as copies."""
    pooled, winners = backend.forward_max(batch, table)
    pooled, winners = pooled.copy(), winners.copy()
    groups = backend.group(batch, table, n_trainable)
    grad = PendingRowGradient(groups, d_pooled, table.shape, winners).sum(backend)
    return pooled, winners, grad.indices.copy(), grad.values.copy()


def test_of_equal_values_the_first_wins(backend):
    table = table_of([[1.0, 5.0], [2.0, 3.0], [2.0, 5.0]])
    batch = bags([[1, 1, 1], [0, 1, 1], [2, 1, 0]])
    backend.prepare(batch.indices, 3)
    slopes = table_of([[1.0, 10.0], [100.0, 1000.0], [0.5, 0.25]])
    pooled, winners, ids, grads = max_and_gradient(backend, batch, table, 3, slopes)
    assert pooled[:, :2].tolist() == [[2, 5], [2, 5], [2, 10]]
    assert winners[:, :2].tolist() == [[1, 0], [1, 2], [0, 0]]
    assert ids.tolist() == [0, 1, 2]
    assert grads[:, :2].tolist() == [[2 * 0.5, 10 + 2 * 0.25], [1 + 100, 0], [0, 1000]]


def test_an_empty_bag_is_zero_and_has_no_winner(backend):
    table = table_of([[-1.0, -5.0], [-2.0, -3.0]])
    batch = bags([[0, 0], [1, 1], [0, 0]])
    backend.prepare(batch.indices, 2)
    backend.forward_max(bags([[1, 1]] * 3), table)  # leaves its numbers in the work space
    pooled, winners, ids, grads = max_and_gradient(
        backend, batch, table, 2, table_of([[7.0, 7], [1, 2], [9, 9]])
    )
    assert not pooled[[0, 2]].any()
    assert (winners[[0, 2]] == -1).all()
    assert pooled[1, :2].tolist() == [-1, -3], "zero is no member of a bag of negative values"
    assert winners[1, :2].tolist() == [0, 1]
    assert grads[:, :2].tolist() == [[1, 0], [0, 2]]
    assert ids.tolist() == [0, 1]


def test_a_frozen_winner_passes_its_gradient_to_nobody(backend):
    table = table_of([[1.0, 3.0], [1.0, 4.0], [2.0, 3.0]])  # row 2 is frozen
    batch = bags([[1, 1, 1]])
    backend.prepare(batch.indices, 2)
    pooled, winners, ids, grads = max_and_gradient(
        backend, batch, table, 2, table_of([[10.0, 20.0]])
    )
    assert pooled[0, :2].tolist() == [2, 4]
    assert winners[0, :2].tolist() == [2, 1]
    assert ids.tolist() == [0, 1], "listed, though it wins nothing"
    assert grads[:, :2].tolist() == [[0, 0], [0, 20]]


def test_padding_is_outside_the_maximum(backend):
    line, *_ = make_line(("max", (), 0, False), "log_loss", backend)
    start = line.start.copy()
    pooled = line.problem.model.pool(line.state.params, line.data.batch(np.arange(40)), backend)
    D = line.X.toarray()
    seen_padding = 0
    for i in range(40):
        members = [j for j in np.flatnonzero(D[i]) if j not in PADDING]
        want = (D[i, members, None] * start[members]).max(axis=0) if members else np.zeros(5)
        np.testing.assert_allclose(pooled[i], want, rtol=1e-12)
        every = np.flatnonzero(D[i])
        seen_padding += (
            len(every) > 0 and ((D[i, every, None] * start[every]).max(axis=0) != want).any()
        )
    assert seen_padding > 3, "padding would have won otherwise"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 8, 33])
@pytest.mark.parametrize("n_rows", [1, 7, 500])
def test_kernels_of_max_pooling_equal_array_code(dtype, d, n_rows, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    rng = np.random.default_rng(d + n_rows)
    X = (rng.random((90, n_rows)) < min(0.4, 8 / n_rows)) * rng.integers(-2, 3, (90, n_rows))
    whole = bags(X, dtype)
    at = rng.permutation(90)[:60]
    batch = CSRBatch(whole.indptr, whole.indices, whole.data, at, whole.scale[at])
    table = table_of(rng.integers(-3, 4, (n_rows, d)), dtype)  # many equal values
    slopes = table_of(rng.normal(size=(60, d)), dtype)
    rtol = 1e-12 if dtype == np.float64 else 2e-6
    for n_trainable in (n_rows, n_rows // 2, 0):
        want = max_and_gradient(Backend(), batch, table, n_trainable, slopes)
        found = []
        for n_jobs in (1, 3):
            with get_backend(n_jobs) as cpu:
                cpu.prepare(batch.indices, n_trainable)
                found.append(max_and_gradient(cpu, batch, table, n_trainable, slopes))
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True)), "bits by threads"
        for got, expected in zip(found[0][:3], want[:3], strict=True):
            assert np.array_equal(got, expected)
        np.testing.assert_allclose(found[0][3], want[3], rtol=rtol, atol=10 * rtol)
        assert (want[2] < n_trainable).all()


def test_without_winners_every_member_gets_its_share(backend):
    groups = Groups(
        np.array([0, 1], np.int32), np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([2.0, 1, 3])
    )
    slopes = table_of([[1.0, 10.0], [100.0, 1000.0]])
    plain = backend.bag_backward(groups, slopes).copy()
    assert plain[:, :2].tolist() == [[102, 1020], [300, 3000]]
    winners = np.full(slopes.shape, -1, np.int32)
    winners[:2, :2] = [[0, 1], [1, 0]]
    some = backend.bag_backward(groups, slopes, winners)
    assert some[:, :2].tolist() == [[2, 1000], [300, 0]]
