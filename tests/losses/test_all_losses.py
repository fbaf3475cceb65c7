"""Every registered loss."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_squared_error

from skembed.losses import LOSSES

N = 17


def case(name, rng):
    """Targets and raw scores that fit a loss."""
    n_outputs = {"log_loss": 1, "softmax": 4, "squared_error": 3}[name]
    raw = rng.normal(size=(n_outputs, N)) * 2
    if name == "squared_error":
        return rng.normal(size=(N, n_outputs)), raw
    return rng.integers(0, max(2, n_outputs), N), raw


@pytest.fixture(params=sorted(LOSSES))
def name(request):
    return request.param


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_slope(name, weighted):
    rng = np.random.default_rng(0)
    loss = LOSSES[name]()
    y, raw = case(name, rng)
    weight = rng.random(N) if weighted else None
    before = raw.copy()
    _, gradient = loss.value_and_gradient(y, raw, weight, np)
    assert np.array_equal(raw, before)
    assert gradient.shape == raw.shape
    for at in np.ndindex(raw.shape):
        sides = []
        for h in (1e-6, -1e-6):
            moved = raw.copy()
            moved[at] += h
            sides.append(loss.value_and_gradient(y, moved, weight, np)[0])
        assert abs((sides[0] - sides[1]) / 2e-6 - gradient[at]) < 1e-8


def test_integer_weights_equal_repetition(name):
    rng = np.random.default_rng(1)
    loss = LOSSES[name]()
    y, raw = case(name, rng)
    times = rng.integers(0, 4, N)
    value, gradient = loss.value_and_gradient(y, raw, times.astype(float), np)
    again = np.repeat(np.arange(N), times)
    value_2, gradient_2 = loss.value_and_gradient(y[again], raw[:, again], None, np)
    np.testing.assert_allclose(value, value_2)
    summed = np.zeros_like(gradient)
    np.add.at(summed.T, again, gradient_2.T)
    np.testing.assert_allclose(gradient, summed)
    n_outputs = len(raw)
    np.testing.assert_allclose(
        loss.start(y, times.astype(float), n_outputs), loss.start(y[again], None, n_outputs)
    )


def test_dtype_is_kept_and_the_value_is_close(name):
    y, raw = case(name, np.random.default_rng(2))
    loss = LOSSES[name]()
    value, _ = loss.value_and_gradient(y, raw, None, np)
    for weight in (None, np.ones(N, np.float32)):
        value_32, gradient = loss.value_and_gradient(y, raw.astype(np.float32), weight, np)
        assert gradient.dtype == loss.inverse_link(raw.astype(np.float32), np).dtype == np.float32
        np.testing.assert_allclose(value_32, value, rtol=1e-5)


def test_extreme_scores_stay_finite(name):
    y, raw = case(name, np.random.default_rng(3))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient = LOSSES[name]().value_and_gradient(y, raw * 500, None, np)
        prediction = LOSSES[name]().inverse_link(raw * 500, np)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.isfinite(prediction).all()


def test_it_is_a_plain_estimator(name):
    loss = LOSSES[name]()
    assert type(clone(loss)) is type(loss)


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(4)
    weight = rng.random(N)
    y, raw = case("log_loss", rng)
    loss = LOSSES["log_loss"]()
    value, _ = loss.value_and_gradient(y, raw, weight, np)
    want = log_loss(y, loss.inverse_link(raw, np)[0], sample_weight=weight)
    np.testing.assert_allclose(value, want)
    y, raw = case("softmax", rng)
    loss = LOSSES["softmax"]()
    value, _ = loss.value_and_gradient(y, raw, weight, np)
    proba = loss.inverse_link(raw, np).T
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(value, log_loss(y, proba, sample_weight=weight, labels=range(4)))
    y, raw = case("squared_error", rng)
    value, _ = LOSSES["squared_error"]().value_and_gradient(y, raw, weight, np)
    np.testing.assert_allclose(value, 1.5 * mean_squared_error(y, raw.T, sample_weight=weight))


def test_starts():
    np.testing.assert_allclose(
        LOSSES["log_loss"]().start(np.array([0, 1, 1, 1]), None, 1), [np.log(3.5 / 1.5)]
    )
    np.testing.assert_allclose(
        LOSSES["softmax"]().start(np.array([0, 2, 2]), np.array([1.0, 0.5, 0.5]), 3),
        np.log(np.array([1.5, 0.5, 1.5]) / 3.5),
    )
    y = np.array([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(
        LOSSES["squared_error"]().start(y, np.array([1.0, 3.0]), 2), [2.5, 5.0]
    )
