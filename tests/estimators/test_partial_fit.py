"""partial_fit and warm_start."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from lines import rough_csr
from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=120, n_features=40, classes=3, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rough_csr(rng, n, n_features, dtype))
    X.sum_duplicates()
    # every batch of 30 holds the class shares of the whole
    return X, np.tile(np.arange(classes), n)[:n]


def arrays(est):
    """All that a fit has learned, as bytes by name."""
    state = est._state
    found = {k: np.asarray(p if k != "table" else p.values) for k, p in state.params.items()}
    for name, slots in state.solver_state.items():
        for slot, a in slots.items():
            found[f"{name} {slot}"] = np.asarray(getattr(a, "values", a))
    found.update(n_updates=est.n_updates_, counts=est.feature_counts_, step=np.array(state.step))
    return {k: v.tobytes() for k, v in found.items()}


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_the_batches_of_an_epoch_equal_one_epoch_of_fit(solver):
    X, y = data()
    settings = dict(solver=solver, batch_size=30, random_state=3, n_components=5)
    whole = EmbeddingBagClassifier(shuffle=False, max_iter=1, **settings).fit(X, y)
    parts = EmbeddingBagClassifier(**settings)
    for s in range(0, 120, 30):
        parts.partial_fit(X[s : s + 30], y[s : s + 30], classes=[0, 1, 2])
    if solver == "adamw":  # its rows are made up for at other times: rounding differs
        np.testing.assert_allclose(parts.embedding_, whole.embedding_, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
        return
    by_column = [np.argsort(est._state.index.row_columns()) for est in (parts, whole)]
    np.testing.assert_array_equal(parts.embedding_, whole.embedding_)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.n_updates_, whole.n_updates_)
    np.testing.assert_array_equal(parts.feature_counts_, whole.feature_counts_)
    for slot, array in whole._state.solver_state["table"].items():
        got = parts._state.solver_state["table"][slot].values[by_column[0]]
        np.testing.assert_array_equal(got, array.values[by_column[1]])
    np.testing.assert_array_equal(parts.intercept_, whole.intercept_)


def test_continuing_after_a_pickle_equals_continuing():
    X, y = data()
    for est in (EmbeddingBagClassifier, EmbeddingBagRegressor):
        first = est(random_state=0, n_components=3, solver="lazy_adam").partial_fit(
            X[:50], y[:50], *([[0, 1, 2]] if est is EmbeddingBagClassifier else [])
        )
        again = pickle.loads(pickle.dumps(first))
        first.partial_fit(X[50:], y[50:])
        again.partial_fit(X[50:], y[50:])
        assert arrays(first) == arrays(again)


def test_a_feature_gets_its_row_when_its_count_is_reached():
    X = sp.csr_array(np.array([[1.0, 0, 1], [1, 0, 0]]))
    est = EmbeddingBagRegressor(min_count=3, n_components=2, random_state=0)
    est.partial_fit(X, [0.0, 1.0])
    assert est.active_features_.tolist() == []
    assert est.feature_counts_.tolist() == [2, 0, 1]
    est.partial_fit(X, [0.0, 1.0])
    assert est.active_features_.tolist() == [0]
    assert est.n_updates_.tolist() == [1, 0, 0]
    est.partial_fit(X, [0.0, 1.0])
    assert est.active_features_.tolist() == [0, 2]
    assert est.active_embedding_.shape == (2, 2)


def test_a_row_begins_the_same_whenever_it_comes():
    X, y = data()
    frozen = dict(frozen_features="all", random_state=1, n_components=4)
    at_once = EmbeddingBagClassifier(**frozen).fit(X, y)
    bit_by_bit = EmbeddingBagClassifier(**frozen)
    for i in range(0, 120, 10):
        bit_by_bit.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1, 2])
    np.testing.assert_array_equal(at_once.embedding_, bit_by_bit.embedding_)
    assert not at_once.n_updates_.any()


def test_the_first_call_may_bring_one_class_only():
    X, y = data()
    est = EmbeddingBagClassifier(random_state=0).partial_fit(X[:3], [1, 1, 1], classes=[0, 1, 2])
    est.partial_fit(X, y)
    assert est.classes_.tolist() == [0, 1, 2]
    assert set(est.predict(X)) <= {0, 1, 2}


def test_labels_and_classes_of_later_calls_are_checked():
    X, y = data()
    est = EmbeddingBagClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        est.partial_fit(X, y)
    est.partial_fit(X, y, classes=[0, 1, 2])
    before = pickle.dumps(est)
    with pytest.raises(ValueError, match=r"not among the classes of the first call: \[7\]"):
        est.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        est.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="n_components=7"):
        est.set_params(n_components=7).partial_fit(X, y)
    with pytest.raises(ValueError, match="solver was changed to 'sgd'"):
        est.set_params(n_components=64, solver="sgd").partial_fit(X, y)
    est.set_params(solver="adagrad")
    assert pickle.dumps(est) == before


def test_the_transformer_reads_the_task_from_the_targets():
    X, y = data()
    by_class = EmbeddingBag(random_state=0, n_components=2).partial_fit(X, y)
    assert by_class.coef_.shape == (3, 2)
    by_number = EmbeddingBag(random_state=0, n_components=2).partial_fit(X, y + 0.5)
    assert by_number.coef_.shape == (1, 2)
    named = EmbeddingBag(loss="squared_error", random_state=0).partial_fit(X, y)
    assert named.coef_.shape == (1, 64)


def test_warm_start_goes_on_from_a_copy():
    X, y = data()
    settings = dict(random_state=0, n_components=4, batch_size=30, max_iter=2, tol=0.0)
    est = EmbeddingBagClassifier(warm_start=True, **settings).fit(X[:90], y[:90])
    old_state = est._state
    before = arrays(est)
    steps = old_state.step
    est.fit(X, y)
    assert est._state is not old_state
    est._state, new_state = old_state, est._state
    assert arrays(est) == before
    est._state = new_state
    assert est._state.step == steps + 2 * 4
    assert est.n_iter_ == 2
    X_used = sp.csr_array(X)
    X_used.eliminate_zeros()
    assert est.feature_counts_.tolist() == np.bincount(X_used.indices, minlength=40).tolist()
    cold = EmbeddingBagClassifier(**settings).fit(X, y)
    assert est.loss_curve_[0] < cold.loss_curve_[0]


def test_warm_start_refuses_other_classes_widths_and_features():
    X, y = data()
    est = EmbeddingBagClassifier(warm_start=True, random_state=0, max_iter=1).fit(X, y)
    before = pickle.dumps(est)
    with pytest.raises(ValueError, match="warm_start=True needs the same classes"):
        est.fit(X, y + 1)
    with pytest.raises(ValueError, match="n_components=3"):
        est.set_params(n_components=3).fit(X, y)
    est.set_params(n_components=64)
    with pytest.raises(ValueError, match="features"):
        est.fit(X[:, :10], y)
    assert pickle.dumps(est) == before
    est.set_params(warm_start=False).fit(X[:, :10], y + 1)
    assert est.n_features_in_ == 10


def test_partial_fit_after_fit_goes_on():
    X, y = data()
    est = EmbeddingBagClassifier(random_state=0, max_iter=2).fit(X, y)
    step, counts = est._state.step, est.feature_counts_
    est.partial_fit(X[:30], y[:30])
    assert est._state.step == step + 1
    assert (est.feature_counts_ >= counts).all()
    assert est.feature_counts_.sum() > counts.sum()
