"""Solvers on touched rows: repeats, zero gradients, late rows, decay, clipping."""

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier
from skembed.core import SparseRowGradient
from skembed.solvers import SGD, SOLVERS, Adagrad, LazyAdam
from skembed.training import clip_by_norm
from steps import Stepper, bag_backward

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WITH_EPS = [name for name in sorted(SOLVERS) if "eps" in SOLVERS[name]().get_params()]
WITH_DECAY = [name for name in sorted(SOLVERS) if "decay_scope" in SOLVERS[name]().get_params()]
both_ways = pytest.mark.parametrize("way", ["bag", "list"])


@both_ways
def test_repeated_row_is_summed_before_it_is_squared(way):
    rows, grads = bag_backward(np.array([[2.0]]), np.zeros((5, 1)), [3, 3, 1], [0, 3])
    assert rows.tolist() == [1, 3]
    assert grads.tolist() == [[2.0], [4.0]]
    merged = Stepper(np.zeros((5, 1)), Adagrad(initial_accumulator=0.0), lr=0.5, way=way)
    merged.step(rows, grads)
    assert merged.slot("sum_sq")[3, 0] == 16.0
    assert abs(merged.rows()[3, 0] + 0.5) < 1e-8
    pieces = Stepper(np.zeros((5, 1)), Adagrad(initial_accumulator=0.0), lr=0.5, way=way)
    pieces.step([3, 1, 3], np.array([[2.0], [2.0], [2.0]]))
    assert np.array_equal(merged.rows(), pieces.rows())
    assert np.array_equal(merged.slot("sum_sq"), pieces.slot("sum_sq"))


def clipped(rows, grads, max_norm):
    """Clip the gradient of a table; return (rows, gradients, norm before)."""
    grad = SparseRowGradient.from_occurrences(rows, grads, (6, grads.shape[1]))
    out = clip_by_norm({"table": grad}, max_norm)["table"]
    return out.indices, out.values, grad.norm()


def test_norm_is_taken_over_merged_rows():
    rows, grads, norm = clipped([5, 5], np.array([[3.0, 0.0], [3.0, 0.0]]), 3.0)
    assert rows.tolist() == [5]
    assert abs(norm - 6.0) < 1e-12
    np.testing.assert_allclose(grads, [[3.0, 0.0]])


def test_pieces_that_cancel_have_norm_zero():
    _, grads, norm = clipped([1, 1], np.array([[2.0], [-2.0]]), 1.0)
    assert norm == 0.0
    assert np.all(grads == 0)


def test_first_step_of_a_fit_has_the_length_that_clipping_allows():
    X, y = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])), [0, 1]
    init = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    lengths = []
    for clip in (1e-3, None):
        solver = SGD(clip_norm=clip)
        clf = EmbeddingBagClassifier(
            2, solver=solver, learning_rate_init=1.0, max_iter=1, init=init
        )
        clf.fit(X, y)
        moved = np.concatenate([(clf.embedding_ - init).ravel(), clf.coef_.ravel(), clf.intercept_])
        lengths.append(np.linalg.norm(moved))
    assert abs(lengths[0] - 1e-3) < 1e-9
    assert lengths[1] > 0.1


@both_ways
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_step_without_rows_does_nothing(solver, way):
    stepper = Stepper(np.ones((5, 1)), SOLVERS[solver](), lr=0.1, padding=(0,), way=way)
    before = {name: stepper.slot(name).copy() for name in stepper.state}
    stepper.step(np.array([], dtype=np.int64), np.zeros((0, 1)))
    stepper.step([0], np.ones((1, 1)))
    assert np.array_equal(stepper.rows(), np.ones((5, 1)))
    assert all(np.array_equal(stepper.slot(name), before[name]) for name in before)


def test_fit_on_empty_rows_learns_the_intercept_only():
    X, y = sp.csr_matrix((6, 3)), np.array([0, 1, 0, 1, 0, 1])
    clf = EmbeddingBagClassifier(random_state=0).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert not clf.embedding_.any()
    assert not clf.coef_.any()


@both_ways
@pytest.mark.parametrize("eps", [0.0, 1e-10])
def test_first_gradient_of_zero_moves_nothing(eps, way):
    stepper = Stepper(np.ones((2, 2)), Adagrad(eps=eps, initial_accumulator=0.0), lr=0.1, way=way)
    stepper.step([1], np.array([[0.0, 2.0]]))
    W = stepper.rows()
    assert W[0].tolist() == [1.0, 1.0]
    assert W[1, 0] == 1.0
    assert abs(W[1, 1] - 0.9) < 1e-9


@both_ways
@pytest.mark.parametrize("solver", WITH_EPS)
def test_zero_gradient_without_eps_stays_finite(solver, way):
    stepper = Stepper(np.ones((2, 2)), SOLVERS[solver](eps=0.0), lr=0.1, way=way)
    stepper.step([1], np.zeros((1, 2)))
    assert np.array_equal(stepper.rows(), np.ones((2, 2)))


@both_ways
@pytest.mark.parametrize("solver", sorted(SOLVERS.keys() - {"adamw"}))  # moves all rows, by name
def test_rows_that_are_not_in_the_batch_keep_their_bits(solver, way):
    stepper = Stepper(np.ones((3, 2)), SOLVERS[solver](), lr=0.1, way=way)
    stepper.step([0, 2], np.ones((2, 2)))
    row = stepper.rows()[2].copy()
    state = {name: stepper.slot(name)[2].copy() for name in stepper.state}
    assert not np.array_equal(row, [1.0, 1.0])
    for _ in range(50):
        stepper.step([0], np.ones((1, 2)))
    assert np.array_equal(stepper.rows()[2], row)
    assert np.array_equal(stepper.rows()[1], [1.0, 1.0])
    assert all(np.array_equal(stepper.slot(name)[2], state[name]) for name in state)


@both_ways
def test_first_step_of_a_late_row_is_the_learning_rate(way):
    late = {}
    for correction in ("row", "global"):
        solver = LazyAdam(bias_correction=correction)
        stepper = Stepper(np.zeros((2, 1)), solver, lr=0.01, way=way)
        for _ in range(999):
            stepper.step([0], np.array([[0.3]]))
        stepper.step([1], np.array([[0.5]]))
        late[correction] = abs(stepper.rows()[1, 0])
    assert abs(late["row"] - 0.01) < 1e-6
    assert 0.02 < late["global"] < 0.03, "the other option is a different one"


@both_ways
@pytest.mark.parametrize("scope, others", [("touched", 1.0), ("all", 0.95)])
@pytest.mark.parametrize("solver", WITH_DECAY)
def test_decay_once_a_step_on_the_rows_in_its_scope(solver, scope, others, way):
    solver = SOLVERS[solver](decay_scope=scope)
    stepper = Stepper(np.ones((3, 1)), solver, lr=0.1, weight_decay=0.5, way=way)
    stepper.step([0, 0, 0], np.zeros((3, 1)))
    np.testing.assert_allclose(stepper.rows().ravel(), [0.95, others, others], atol=1e-12)
    if scope == "touched":
        assert stepper.rows()[1:].ravel().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_padding_column_stays_zero_and_without_influence(solver):
    r = np.random.RandomState(1)
    X = sp.csr_matrix(r.randint(0, 2, (40, 6)).astype(float))
    y = r.randint(0, 2, 40)
    decay = 0.1 if solver in WITH_DECAY else 0.0
    clf = EmbeddingBagClassifier(
        padding_features=[0], weight_decay=decay, max_iter=20, solver=solver, random_state=0
    ).fit(X, y)
    assert np.all(clf.embedding_[0] == 0.0)
    assert clf.embedding_[1:].any(axis=1).all()
    without = X.toarray()
    without[:, 0] = 0
    without = sp.csr_matrix(without)
    np.testing.assert_allclose(clf.predict_proba(X), clf.predict_proba(without), rtol=1e-6)
