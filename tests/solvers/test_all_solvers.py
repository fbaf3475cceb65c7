"""Every registered solver: kernels, rule, reference; rows that are not listed keep their bits."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from reference import ReferenceSolver
from skembed.core import CSRBatch, ParamTable, PendingRowGradient, SparseRowGradient
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix
from skembed.solvers import SGD, SOLVERS, AdamW
from skembed.solvers._lazy_adam import _corrections

N_ROWS, D = 60, 10
RTOL = {np.float64: 1e-12, np.float32: 2e-5}
CASES = [
    *((name, {}) for name in sorted(SOLVERS)),
    ("lazy_adam", {"bias_correction": "global"}),
    ("sgd", {"momentum": 0.9}),
    ("sgd", {"momentum": 0.9, "nesterov": True}),
    ("ftrl", {"l1": 0.05, "l2": 0.1}),
    *((name, {"decay_toward": "start"}) for name in sorted(SOLVERS.keys() - {"ftrl"})),
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join([case[0], *map(str, case[1].values())]))
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
    solver.start_rows(table, state, 0, N_ROWS, 0.1, 64)
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


def slow_twin(solver, lr, weight_decay=0.0):
    """The reference with the same parameters."""
    name = next(name for name, cls in SOLVERS.items() if type(solver) is cls)
    known = {
        "bias_correction": "bias",
        **{k: k for k in ("momentum", "nesterov", "beta", "l1", "l2", "decay_toward")},
    }
    options = {known[k]: v for k, v in solver.get_params().items() if k in known}
    decay = 0.0 if name == "ftrl" else weight_decay
    options["start"] = (0.0064 / 64) ** 2 if "adagrad" in name else 0.0
    return ReferenceSolver(name, lr, weight_decay=decay, **options)


def bits(table, state):
    return [table.values.tobytes(), *(a.values.tobytes() for a in state.values())]


def test_kernel_and_rule_equal_the_reference(solver, dtype):
    slow = slow_twin(solver, 0.1, 0.2)
    tables = {backend: new_table(solver, dtype) for backend in (get_backend(), Backend())}
    want = next(iter(tables.values()))[0].values[:, :D].astype(np.float64)
    for t, (ids, values) in enumerate(zipf_gradients(dtype), 1):
        if isinstance(solver, AdamW):  # every row, or rows that are not listed miss steps
            ids, values = np.arange(N_ROWS), np.resize(values, (N_ROWS, D))
        g = listed(ids, values)
        dense = np.zeros((N_ROWS, D))
        np.add.at(dense, ids, values.astype(np.float64))
        counts = np.bincount(ids, minlength=N_ROWS)
        slow.step("table", want, dense, counts > 0, t)
        keep = 1.0 if solver.name == "ftrl" else 1 - 0.1 * 0.2
        for backend, (table, state) in tables.items():
            solver.step(table, state, g, lr=0.1, keep=keep, step=t, backend=backend)
            np.testing.assert_allclose(
                table.values[:, :D], want, rtol=RTOL[dtype], atol=10 * RTOL[dtype]
            )
            assert not table.values[:, D:].any()


def test_both_forms_of_the_kernel_give_the_same_bits_on_any_number_of_threads(
    solver, dtype, monkeypatch
):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
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
        if getattr(solver, "l1", 0) == 0:
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
    if "initial_accumulator" in solver.get_params():
        solver.set_params(initial_accumulator=0.0)
    for backend in (get_backend(), Backend()):
        table, state = new_table(solver, dtype)
        before = table.values.tobytes()
        g = listed(np.array([1, 4]), np.zeros((2, D), dtype))
        solver.step(table, state, g, lr=0.1, keep=1.0, step=1, backend=backend)
        if solver.name == "ftrl":  # which finds w again from its state
            before = np.frombuffer(before, dtype).reshape(table.values.shape)
            np.testing.assert_allclose(table.values, before, rtol=RTOL[dtype])
        else:
            assert table.values.tobytes() == before


def test_the_head_takes_the_same_rule(solver, dtype):
    rng = np.random.default_rng(3)
    for name, backend in product(("coef", "intercept"), (Backend(), get_backend())):
        slow = slow_twin(solver, 0.1)
        param = rng.normal(size=(3, 5)).astype(dtype)
        want = param.astype(np.float64)
        state = solver.init_state(param, name, np, 0.1, 64)
        for t in range(1, 30):
            g = rng.normal(size=(3, 5)).astype(dtype)
            slow.step(name, want, g.astype(np.float64), np.ones(3, bool), t, dense=True)
            rates = dict(lr=0.1, keep=1.0, step=t)
            solver.step_dense(param, state, g, name=name, **rates, backend=backend)
            np.testing.assert_allclose(param, want, rtol=RTOL[dtype], atol=10 * RTOL[dtype])
        assert param.dtype == dtype


def test_parameters_are_validated(solver):
    for name, value in (("clip_norm", 0), ("eps", -1), ("beta_1", 1), ("bias_correction", "x")):
        if name in solver.get_params():
            with pytest.raises(ValueError, match=name):
                clone(solver).set_params(**{name: value})._validate_params()
    solver._validate_params()


def test_corrections_reach_one_and_stay_there():
    sizes = _corrections(0.9, 0.999)
    assert sizes[-1] == 1.0
    assert sizes[0] == np.sqrt(1 - 0.999) / (1 - 0.9)
    assert (_corrections(0.0, 0.0) == 1).all()


def test_max_norm_bounds_listed_rows_only(dtype):
    for backend in (get_backend(), Backend()):
        table, state = new_table(SGD(), dtype)
        table.values[:, :D] *= 100
        before = table.values.copy()
        g = listed(np.array([1, 4]), np.zeros((2, D), dtype))
        solver = SGD(max_norm=2.0)
        solver.step(table, state, g, lr=0.1, keep=1.0, step=1, backend=backend)
        np.testing.assert_allclose(np.linalg.norm(table.values[[1, 4]], axis=1), 2, rtol=1e-6)
        direction = table.values[1, :D] / before[1, :D]
        np.testing.assert_allclose(direction, direction[0], rtol=1e-5)
        others = np.setdiff1d(np.arange(N_ROWS), [1, 4])
        assert table.values[others].tobytes() == before[others].tobytes()


def test_ftrl_refuses_decay_and_finds_zeros(dtype):
    ftrl = SOLVERS["ftrl"](l1=8.0)
    with pytest.raises(ValueError, match="has no meaning for FTRL"):
        ftrl.catch_up(None, None, 0.1, 0)
    table, state = new_table(ftrl, dtype)
    table.values[:] *= 0.01
    state["z"].values[:] = 0
    ftrl.start_rows(table, state, 0, N_ROWS, 0.1, 64)
    touched = np.zeros(N_ROWS, bool)
    for t, (ids, values) in enumerate(zipf_gradients(dtype), 1):
        touched[ids] = True
        ftrl.step(
            table, state, listed(ids, values), lr=0.1, keep=1.0, step=t, backend=get_backend()
        )
    zeros = table.values[:, :D] == 0
    assert 0.3 < zeros[touched].mean() < 0.9
    assert not zeros[~touched].any()


def test_effective_rates_are_those_of_the_next_move(solver, dtype):
    """A gradient far smaller than the state moves a row by its rate times the gradient."""
    table, state = new_table(solver, dtype)
    backend = Backend()
    for t, (ids, values) in enumerate(zipf_gradients(dtype), start=1):
        solver.step(table, state, listed(ids, values), lr=0.1, keep=1.0, step=t, backend=backend)
    every = np.arange(N_ROWS)
    slots = {name: array.values[every, : min(D, array.d)] for name, array in state.items()}
    rates = np.broadcast_to(solver.row_rates(slots, lr=0.1, step=t), (N_ROWS,))
    seen = np.unique(np.concatenate([ids for ids, _ in zipf_gradients(dtype)]))
    assert np.isfinite(rates[seen]).all() and (rates[seen] > 0).all()
    for slot, steps in solver.memory.items():
        assert slot in state and steps >= 1
    if "adagrad" in solver.name or solver.name == "sgd":
        options = dict(lr=0.1, keep=1.0, step=t + 1, d=D, name="table", xp=np)
        small = np.full((N_ROWS, D), 1e-6, dtype)
        moved = -solver.rule(np.zeros_like(small), small, slots, **options)[0][seen] / 1e-6
        harmonic = D / (1 / moved).sum(axis=1)
        np.testing.assert_allclose(harmonic, rates[seen], rtol=1e-5)
