"""The gradient of a batch: finite differences, what is listed, and that nothing is changed."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.metrics import log_loss

from fitted import ESTIMATORS, small_data
from skembed import (
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
)
from skembed.inspection import training_gradient

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, random_state=0)
FIELDS = np.arange(12) % 3

MODELS = [
    (EmbeddingBagRegressor, {}),
    (EmbeddingBagRegressor, dict(pooling="max")),
    (EmbeddingBagRegressor, dict(pooling="mean", linear_term=True)),
    (EmbeddingBagRegressor, dict(hidden_layer_sizes=(5,), numeric_features=[2])),
    (EmbeddingBagClassifier, {}),
    (FactorizationMachineRegressor, {}),
    (FactorizationMachineRegressor, dict(interaction="ffm", fields=FIELDS, linear_term=False)),
    (FactorizationMachineClassifier, {}),
]


def loss_of(fit, X, y, weights):
    """Return the mean loss that training makes smaller."""
    if hasattr(fit, "classes_"):
        return log_loss(y, fit.predict_proba(X), sample_weight=weights, labels=fit.classes_)
    return np.average((fit.predict(X) - y) ** 2, weights=weights) / 2


@pytest.mark.parametrize(("cls", "options"), MODELS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_slope_of_the_loss(cls, options, weighted):
    X, y = small_data()
    y = y if issubclass(cls, ClassifierMixin) else y + 0.1 * np.arange(60)
    fit = cls(**options, **QUICK).fit(X, y)
    batch, target = X[:8], y[:8]
    weights = np.arange(1.0, 9.0) if weighted else None
    gradient = training_gradient(fit, batch, target, weights)
    table, rows, step = fit._state.params["table"], fit._state.index.rows, 1e-6
    want = np.zeros((12, table.d))
    for j, row in zip(fit._state.index.columns, rows, strict=True):
        for k in range(table.d if row >= 0 else 0):
            sides = []
            for sign in (1, -1):
                table.values[row, k] += sign * step
                sides.append(loss_of(fit, batch, target, weights))
                table.values[row, k] -= sign * step
            want[j, k] = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(gradient.to_csr().toarray(), want, atol=1e-7)
    present = set(np.flatnonzero(abs(batch).sum(axis=0))) - set(options.get("numeric_features", ()))
    assert gradient.indices.tolist() == sorted(present)
    assert gradient.counts.tolist() == (batch != 0).sum(axis=0)[gradient.indices].tolist()
    assert gradient.shape == (12, table.d)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_estimator_stays_as_it_is(cls):
    X, y = small_data(dtype=np.float32)
    fit = cls(**QUICK).fit(X, y)
    before = pickle.dumps(fit)
    gradient = training_gradient(fit, X[:9], y[:9])
    assert pickle.dumps(fit) == before
    assert gradient.values.dtype == np.float32
    again = training_gradient(fit, X[:9], y[:9])
    assert np.array_equal(gradient.values, again.values)


def test_frozen_padding_and_unseen_features_are_not_listed():
    X, y = small_data()
    X = sp.csr_array(sp.hstack([X, sp.csr_array((60, 1))]))
    fit = EmbeddingBagClassifier(padding_features=[1], frozen_features=[2, 3], **QUICK).fit(X, y)
    D = X.toarray()
    D[:, 12] = 1
    gradient = training_gradient(fit, D, y)
    assert gradient.indices.tolist() == [0, *range(4, 12)]


def test_class_weights_and_zero_weights():
    X, y = small_data()
    fit = EmbeddingBagClassifier(class_weight={0: 1.0, 1: 3.0}, **QUICK).fit(X, y)
    plain = EmbeddingBagClassifier(class_weight={0: 1.0, 1: 3.0}, **QUICK).fit(X, y)
    plain.class_weight = None
    want = training_gradient(plain, X[:10], y[:10], np.where(y[:10], 3.0, 1.0))
    np.testing.assert_array_equal(training_gradient(fit, X[:10], y[:10]).values, want.values)
    some = training_gradient(fit, X[:10], y[:10], [1] * 5 + [0] * 5)
    np.testing.assert_array_equal(some.values, training_gradient(fit, X[:5], y[:5]).values)
    with pytest.raises(ValueError, match="at least one non-zero"):
        training_gradient(fit, X[:2], y[:2], [0, 0])


def test_drawn_classes_are_those_of_the_next_step():
    X, _ = small_data()
    y = np.arange(60) % 6
    fit = EmbeddingBagClassifier(loss="negative_sampling", solver="sgd", **QUICK).fit(X, y)
    before, rate = fit.embedding_, fit.learning_rate_init_
    gradient = training_gradient(fit, X[:20], y[:20])
    fit.partial_fit(X[:20], y[:20])
    want = before - rate * gradient.to_csr().toarray()
    np.testing.assert_allclose(fit.embedding_, want, atol=1e-12)


def test_rows_that_do_not_fit():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        training_gradient(fit, X[:, :5], y)
    with pytest.raises(ValueError, match="not among the classes"):
        training_gradient(fit, X[:2], [0, 7])
