"""FitState: growth and copies."""

import pickle

import numpy as np
import pytest

from lines import Line, rough_csr, targets
from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.losses import LOSSES
from skembed.models import BagModel, UniformStart
from skembed.solvers import SOLVERS, Adagrad
from skembed.training import FitProblem, FitState, Schedule, run_epoch


def snapshot(state):
    index, arrays = state.index, {"table": state.params["table"], "n": state.n_updates}
    arrays.update(state.solver_state["table"])
    columns = index.row_columns().tolist()
    return {c: [a.values[r].tobytes() for a in arrays.values()] for r, c in enumerate(columns)}


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_old_rows_keep_their_bits_when_the_table_grows(solver):
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, np.float64), targets(rng, "softmax", 40)
    line = Line(X, y, get_backend(), loss="softmax", pooling="mean", solver=solver, frozen=(1, 3))
    state = line.state
    run_epoch(line.problem, state, line.data, line.data.rows, line.backend)
    state.params["table"].values[:] += 1
    before = snapshot(state)
    new = np.array([0, 30, 31, 59])
    index = state.index.observe(new, np.ones(4, int), n_features=60, frozen=np.array([1, 3, 31]))
    state.grow(index, UniformStart(0), line.problem.solver, line.backend)
    after = snapshot(state)
    assert {c: after[c] for c in before} == before
    assert {30, 31, 59} <= set(after)
    table = state.params["table"]
    assert table.n_trainable == index.n_trainable == table.n_rows - 3
    assert index.row_columns()[table.n_trainable :].tolist() == [1, 3, 31]


def new_state(solver):
    problem = FitProblem(
        BagModel("sqrtn"), LOSSES["log_loss"](), solver, (), Schedule(0.1), 0.0, 16, False
    )
    params = problem.model.init_params(3, [0.0], np.float64)
    return FitState(0, FeatureIndex(9), problem, params)


def test_new_accumulators_start_where_the_solver_says():
    solver = Adagrad(initial_accumulator=0.5)
    state = new_state(solver)
    index = FeatureIndex(9).observe(np.array([2, 7]), np.array([1, 1]))
    state.grow(index, UniformStart(0), solver, get_backend())
    assert (state.solver_state["table"]["sum_sq"].values[:, :3] == 0.5).all()
    assert (state.solver_state["coef_0"]["sum_sq"] == 0.5).all()
    assert (state.solver_state["intercept_0"]["sum_sq"] == 0.5 + 1e-6).all()


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_copies_are_independent_and_go_on_with_the_same_bits(solver):
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, np.float32), targets(rng, "softmax", 40)
    line = Line(X, y, get_backend(), loss="softmax", pooling="mean", solver=solver)
    run_epoch(line.problem, line.state, line.data, line.data.rows[:30], line.backend)
    others = [line.state.copy(), pickle.loads(pickle.dumps(line.state))]
    for state in (line.state, *others):
        run_epoch(line.problem, state, line.data, line.data.rows, line.backend)
        assert snapshot(state) == snapshot(line.state)
        assert state.loss_curve == line.state.loss_curve


def test_finite_parameters():
    state = new_state(Adagrad())
    assert state.all_finite()
    state.params["coef_0"][:] = 1e200  # their square is no number any more, they are
    assert state.all_finite()
    state.params["coef_0"][0, 0] = np.nan
    assert not state.all_finite()


def test_growth_can_be_undone():
    rng = np.random.default_rng(0)
    X, y = rough_csr(rng, 40, 25, np.float64), targets(rng, "softmax", 40)
    line = Line(X, y, get_backend(), loss="softmax", pooling="mean", frozen=(1, 3))
    state, old = line.state, line.state.index
    before = snapshot(state)
    index = old.observe(
        np.array([0, 30, 31, 59]), np.ones(4, int), n_features=60, frozen=np.array([1, 3, 31])
    )
    state.grow(index, UniformStart(0), line.problem.solver, line.backend)
    assert snapshot(state) != before
    state.shrink(old)
    assert snapshot(state) == before
    assert state.params["table"].n_trainable == old.n_trainable
