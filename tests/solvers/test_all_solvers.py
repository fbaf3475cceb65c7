"""Every registered solver: kernels, rule, reference; rows that are not listed keep their bits."""

import numpy as np
import pytest
from sklearn.base import clone

from reference import ReferenceSolver
from skembed.core import CSRBatch, ParamTable, PendingRowGradient, SparseRowGradient
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _backend
from skembed.solvers import SOLVERS, LazyAdam

N_ROWS, D = 60, 10
RTOL = {np.float64: 1e-12, np.float32: 2e-5}
CASES = [(name, {}) for name in sorted(SOLVERS)] + [("lazy_adam", {"bias_correction": "global"})]


@pytest.fixture(params=CASES, ids=lambda case: "-".join([case[0], *case[1].values()]))
def solver(request):
    name, options = request.param
    return SOLVERS[name](**options)


@pytest.fixture(params=[np.float64, np.float32])
def dtype(request):
    return request.param


def new_table(solver, dtype):
    rng = np.random.default_rng(0)
    table = ParamTable(D, dtype)
    state = solver.init_table_state(table)
    for array in (table, *state.values()):
        array.insert(0, N_ROWS)
    table.values[:, :D] = rng.normal(size=(N_ROWS, D))
    solver.start_rows(state, 0, N_ROWS)
    return table, state


def zipf_gradients(dtype, n_steps=40):
    """Occurrences of few hot rows and many rare ones, duplicates among them."""
    rng = np.random.default_rng(1)
    for _ in range(n_steps):
        ids = rng.zipf(1.3, 25) % N_ROWS
        yield ids, rng.normal(size=(25, D)).astype(dtype)


def padded(values):
    out = np.zeros((len(values), ParamTable(D, values.dtype).width), values.dtype)
    out[:, :D] = values
    return out


def listed(ids, values):
    g = SparseRowGradient.from_occurrences(ids, values, (N_ROWS, D))
    return SparseRowGradient(g.indices, padded(g.values), g.counts, g.shape)


def bits(table, state):
    return [table.values.tobytes(), *(a.values.tobytes() for a in state.values())]


def test_kernel_and_rule_equal_the_reference(solver, dtype):
    scope = getattr(solver, "bias_correction", "row")
    slow = ReferenceSolver(solver.name, 0.1, weight_decay=0.2, scope=scope)
    tables = {backend: new_table(solver, dtype) for backend in (get_backend(), Backend())}
    want = next(iter(tables.values()))[0].values[:, :D].astype(np.float64)
    for t, (ids, values) in enumerate(zipf_gradients(dtype), 1):
        g = listed(ids, values)
        dense = np.zeros((N_ROWS, D))
        np.add.at(dense, ids, values.astype(np.float64))
        counts = np.bincount(ids, minlength=N_ROWS)
        slow.step("table", want, dense, counts > 0, t)
        for backend, (table, state) in tables.items():
            solver.step(table, state, g, lr=0.1, keep=1 - 0.1 * 0.2, step=t, backend=backend)
            np.testing.assert_allclose(
                table.values[:, :D], want, rtol=RTOL[dtype], atol=10 * RTOL[dtype]
            )
            assert not table.values[:, D:].any()


def test_both_forms_of_the_kernel_give_the_same_bits_on_any_number_of_threads(
    solver, dtype, monkeypatch
):
    monkeypatch.setattr(_backend, "MIN_SHARE", 1)
    rng = np.random.default_rng(2)
    sizes = rng.integers(0, 9, 80)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = (rng.zipf(1.2, indptr[-1]) % N_ROWS).astype(np.int32)
    data = rng.normal(size=len(indices)).astype(dtype)
    d_pooled = padded(rng.normal(size=(80, D)).astype(dtype))
    results = set()
    for n_jobs in (1, 2, 4):
        for summed in (False, True):
            table, state = new_table(solver, dtype)
            with get_backend(n_jobs) as backend:
                backend.prepare(indices, N_ROWS)
                for t in range(1, 4):
                    batch = CSRBatch(indptr, indices, data, np.arange(80), np.ones(80, dtype))
                    _, groups = backend.forward_and_group(batch, table.values, N_ROWS)
                    g = PendingRowGradient(groups, d_pooled, table.values.shape)
                    g = g.sum(backend) if summed else g
                    solver.step(table, state, g, lr=0.1, keep=0.99, step=t, backend=backend)
            results.add(tuple(bits(table, state)))
    assert len(results) == 1


def test_rows_that_are_not_listed_keep_their_bits(solver, dtype):
    table, state = new_table(solver, dtype)
    backend = get_backend()
    for t, (ids, values) in enumerate(zipf_gradients(dtype, 5), 1):
        before = {k: a.values.copy() for k, a in {"table": table, **state}.items()}
        g = listed(ids, values)
        solver.step(table, state, g, lr=0.1, keep=0.9, step=t, backend=backend)
        others = np.setdiff1d(np.arange(N_ROWS), ids)
        for k, array in {"table": table, **state}.items():
            assert array.values[others].tobytes() == before[k][others].tobytes()
        assert (table.values[g.indices, :D] != before["table"][g.indices, :D]).all()


def test_an_empty_list_is_no_step(solver, dtype):
    table, state = new_table(solver, dtype)
    before = bits(table, state)
    g = listed(np.array([], int), np.zeros((0, D), dtype))
    solver.step(table, state, g, lr=0.1, keep=0.9, step=1, backend=get_backend())
    assert bits(table, state) == before


def test_a_gradient_of_zero_moves_nothing(solver, dtype):
    solver = clone(solver)
    if "eps" in solver.get_params():
        solver.set_params(eps=0.0)
    for backend in (get_backend(), Backend()):
        table, state = new_table(solver, dtype)
        before = table.values.tobytes()
        g = listed(np.array([1, 4]), np.zeros((2, D), dtype))
        solver.step(table, state, g, lr=0.1, keep=1.0, step=1, backend=backend)
        assert table.values.tobytes() == before


def test_the_head_takes_the_same_rule(solver, dtype):
    rng = np.random.default_rng(3)
    slow = ReferenceSolver(solver.name, 0.1, scope=getattr(solver, "bias_correction", "row"))
    for name in ("coef", "intercept"):
        param = rng.normal(size=(3, 4)).astype(dtype)
        want = param.astype(np.float64)
        state = solver.init_state(param, name, np)
        for t in range(1, 30):
            g = rng.normal(size=(3, 4)).astype(dtype)
            slow.step(name, want, g.astype(np.float64), np.ones(3, bool), t, dense=True)
            solver.step_dense(param, state, g, lr=0.1, keep=1.0, step=t, xp=np)
            np.testing.assert_allclose(param, want, rtol=RTOL[dtype], atol=10 * RTOL[dtype])
        assert param.dtype == dtype


def test_parameters_are_validated(solver):
    for name, value in (("clip_norm", 0), ("eps", -1), ("beta_1", 1), ("bias_correction", "x")):
        if name in solver.get_params():
            with pytest.raises(ValueError, match=name):
                clone(solver).set_params(**{name: value})._validate_params()
    solver._validate_params()


def test_corrections_reach_one_and_stay_there():
    sizes = LazyAdam()._sizes(1, np.float64)
    assert sizes[-1] == 1.0
    assert sizes[0] == np.sqrt(1 - 0.999) / (1 - 0.9)
    assert LazyAdam(beta_1=0.0, beta_2=0.0)._sizes(1, np.float64).tolist() == [1.0]
    one = LazyAdam(bias_correction="global")._sizes(10**9, np.float64)
    assert one.tolist() == [1.0]
