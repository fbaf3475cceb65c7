"""Every registered loss."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import huber
from sklearn.base import clone
from sklearn.metrics import (
    hinge_loss,
    log_loss,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
)

from skembed.kernels import get_backend
from skembed.losses import LOSSES, Huber, Poisson, Quantile

N = 17
FORMS = {
    "classes": ["two classes", "classes", "labels"],
    "numbers": ["number", "numbers"],
}
NOT_FOR = {"softmax": ["two classes", "labels"]}
CASES = [
    (name, form)
    for name, cls in sorted(LOSSES.items())
    for form in FORMS[cls.targets]
    if not cls.sampled  # tests/losses/test_sampled.py
    if form not in NOT_FOR.get(name, [])
]
OF_SEVERAL = [(name, form) for name, form in CASES if form in ("labels", "numbers")]
LARGE = {"poisson": 100}  # scale of extreme scores with a finite loss; 500 for the others


def case(form, rng):
    """Targets of a form, and raw scores."""
    n_outputs = {"two classes": 1, "classes": 4, "labels": 3, "number": 1, "numbers": 3}[form]
    y = {
        "two classes": lambda: rng.integers(0, 2, N),
        "classes": lambda: rng.integers(0, 4, N),
        "labels": lambda: rng.integers(0, 2, (N, 3)),
        "number": lambda: rng.poisson(1.5, N) * 1.5,
        "numbers": lambda: rng.poisson(1.5, (N, 3)) * 1.5,
    }[form]()
    return y, rng.normal(size=(n_outputs, N)) * 2


every_case = pytest.mark.parametrize("name, form", CASES)
every_name = pytest.mark.parametrize("name", sorted(LOSSES))


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_slope(name, form, weighted):
    rng = np.random.default_rng(0)
    loss = LOSSES[name]()
    y, raw = case(form, rng)
    weight = rng.random(N) if weighted else None
    before = raw.copy(), y.copy()
    value, gradient = loss.value_and_gradient(y, raw, weight, np)
    assert np.array_equal(raw, before[0])
    assert np.array_equal(y, before[1])
    assert gradient.shape == raw.shape
    for at in np.ndindex(raw.shape):
        sides = []
        for h in (1e-6, -1e-6):
            moved = raw.copy()
            moved[at] += h
            sides.append(loss.value_and_gradient(y, moved, weight, np)[0])
        assert abs((sides[0] - sides[1]) / 2e-6 - gradient[at]) < 1e-8 * max(1, value)


@pytest.mark.parametrize(
    "name, form", [case for case in CASES if LOSSES[case[0]].name in get_backend().losses]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_equal_the_array_code(name, form, weighted, dtype):
    rng = np.random.default_rng(5)
    loss, tolerance = LOSSES[name](), {np.float64: 1e-12, np.float32: 2e-6}[dtype]
    for scale in (1, 500):
        y, raw = case(form, rng)
        raw = (raw * scale).astype(dtype)
        weight = rng.random(N).astype(dtype) if weighted else None
        before = raw.copy()
        value, gradient = loss.evaluate(y, raw, weight, get_backend())
        assert np.array_equal(raw, before)
        assert gradient.dtype == dtype
        want_value, want = loss.value_and_gradient(y, raw, weight, np)
        np.testing.assert_allclose(value, want_value, rtol=tolerance)
        np.testing.assert_allclose(gradient, want, rtol=tolerance, atol=tolerance)


def test_kernels_pass_on_what_is_not_finite():
    backend = get_backend()
    for name, n_outputs in (("log_loss", 1), ("softmax", 3)):
        raw = np.zeros((n_outputs, 2))
        raw[0] = 0, np.nan
        value, gradient = LOSSES[name]().evaluate(np.array([0, 1]), raw, None, backend)
        assert np.isnan(value)
        assert np.isfinite(gradient[:, 0]).all()
        assert np.isnan(gradient[0, 1])


@every_case
def test_integer_weights_equal_repetition(name, form):
    rng = np.random.default_rng(1)
    loss = LOSSES[name]()
    y, raw = case(form, rng)
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


@every_case
def test_dtype_is_kept_and_the_value_is_close(name, form):
    y, raw = case(form, np.random.default_rng(2))
    loss = LOSSES[name]()
    value, _ = loss.value_and_gradient(y, raw, None, np)
    for weight in (None, np.ones(N, np.float32)):
        value_32, gradient = loss.value_and_gradient(y, raw.astype(np.float32), weight, np)
        assert type(value_32) is float
        assert gradient.dtype == loss.inverse_link(raw.astype(np.float32), np).dtype == np.float32
        np.testing.assert_allclose(value_32, value, rtol=1e-5)
        start = loss.start(y, weight, len(raw))
        assert start.dtype == np.float64
        assert start.shape == (len(raw),)


@pytest.mark.parametrize("cls", [Huber, Quantile])
def test_dtype_does_not_follow_a_parameter(cls):
    loss = cls(np.float64(0.25))
    raw = np.ones((1, N), np.float32)
    _, gradient = loss.value_and_gradient(np.zeros(N, np.float32), raw, None, np)
    assert gradient.dtype == np.float32


@every_case
def test_extreme_scores_stay_finite(name, form):
    y, raw = case(form, np.random.default_rng(3))
    raw *= LARGE.get(name, 500)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient = LOSSES[name]().value_and_gradient(y, raw, None, np)
        prediction = LOSSES[name]().inverse_link(raw, np)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.isfinite(prediction).all()


@pytest.mark.parametrize("name, form", [(name, form) for name, form in CASES if name != "huber"])
def test_the_start_is_the_best_constant(name, form):
    rng = np.random.default_rng(4)
    loss = LOSSES[name]()
    y, raw = case(form, rng)
    weight = rng.random(N) * 1e12  # half a row more is nothing against it
    start = loss.start(y, weight, len(raw))
    best, _ = loss.value_and_gradient(y, start[:, None] + 0 * raw, weight, np)
    for k in range(len(raw)):
        for shift in (-1e-3, 1e-3):
            moved = start + shift * (np.arange(len(raw)) == k)
            value, _ = loss.value_and_gradient(y, moved[:, None] + 0 * raw, weight, np)
            assert value >= best - 1e-13


@every_name
def test_it_is_a_plain_estimator(name):
    loss = LOSSES[name]()
    assert type(clone(loss)) is type(loss)
    assert loss.targets in FORMS
    loss._validate_params()


@every_case
def test_probabilities_are_from_0_to_1(name, form):
    loss = LOSSES[name]()
    _, raw = case(form, np.random.default_rng(5))
    p = loss.inverse_link(raw, np)
    if loss.probabilities:
        assert ((p > 0) & (p < 1)).all()
    elif loss.targets == "classes":
        assert np.array_equal(p, raw)


# ---------------------------------------------------------------- several outputs
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name, form", OF_SEVERAL)
def test_outputs_are_summed(name, form, weighted):
    rng = np.random.default_rng(6)
    loss = LOSSES[name]()
    y, raw = case(form, rng)
    weight = rng.random(N) if weighted else None
    value, gradient = loss.value_and_gradient(y, raw, weight, np)
    one = [loss.value_and_gradient(y[:, k], raw[k : k + 1], weight, np) for k in range(3)]
    np.testing.assert_allclose(value, sum(v for v, _ in one))
    np.testing.assert_allclose(gradient, np.vstack([g for _, g in one]))
    starts = [loss.start(y[:, k], weight, 1) for k in range(3)]
    np.testing.assert_allclose(loss.start(y, weight, 3), np.ravel(starts))
    as_column = loss.value_and_gradient(y[:, :1], raw[:1], weight, np)
    assert as_column[0] == one[0][0]
    assert np.array_equal(as_column[1], one[0][1])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name, form in CASES if form == "labels"])
def test_codes_and_indicators_are_the_same(name, dtype):
    rng = np.random.default_rng(7)
    loss = LOSSES[name]()
    y, raw = case("classes", rng)
    labels, weight = np.eye(4)[y].astype(dtype), rng.random(N)
    value, gradient = loss.value_and_gradient(y, raw, weight, np)
    value_2, gradient_2 = loss.value_and_gradient(labels, raw, weight, np)
    assert value == value_2
    assert np.array_equal(gradient, gradient_2)
    np.testing.assert_allclose(loss.start(y, weight, 4), loss.start(labels, weight, 4))


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
@pytest.mark.parametrize("name", [name for name, form in CASES if form == "labels"])
def test_a_sparse_indicator_starts_as_the_dense_one(name, dtype, container):
    rng = np.random.default_rng(8)
    loss = LOSSES[name]()
    y = rng.random((300, 5)) < 0.3  # more rows than int8 can count
    weight = rng.random(300).astype(np.float32)
    for w in (None, weight):
        got = loss.start(container(y.astype(dtype)), w, 5)
        assert got.shape == (5,)
        np.testing.assert_allclose(got, loss.start(y, w, 5))


# ---------------------------------------------------------------- values
def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(9)
    weight = rng.random(N)

    def value_of(name, y, raw):
        return LOSSES[name]().value_and_gradient(y, raw, weight, np)[0]

    y, raw = case("two classes", rng)
    proba = LOSSES["log_loss"]().inverse_link(raw, np)[0]
    want = log_loss(y, proba, sample_weight=weight)
    np.testing.assert_allclose(value_of("log_loss", y, raw), want)
    want = hinge_loss(y, raw[0], sample_weight=weight)
    np.testing.assert_allclose(value_of("hinge", y, raw), want)
    want = np.average(np.maximum(0, 1 - (2 * y - 1) * raw[0]) ** 2, weights=weight)
    np.testing.assert_allclose(value_of("squared_hinge", y, raw), want)
    y, raw = case("classes", rng)
    proba = LOSSES["softmax"]().inverse_link(raw, np).T
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    want = log_loss(y, proba, sample_weight=weight, labels=range(4))
    np.testing.assert_allclose(value_of("softmax", y, raw), want)
    y, raw = case("numbers", rng)
    want = 1.5 * mean_squared_error(y, raw.T, sample_weight=weight)
    np.testing.assert_allclose(value_of("squared_error", y, raw), want)
    want = np.average(huber(1.35, y - raw.T).sum(axis=1), weights=weight)
    np.testing.assert_allclose(value_of("huber", y, raw), want)
    y, raw = case("number", rng)
    assert (y == 0).any()
    want = mean_poisson_deviance(y, np.exp(raw[0]), sample_weight=weight) / 2
    np.testing.assert_allclose(value_of("poisson", y, raw), want)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantile_is_the_pinball_loss(quantile):
    rng = np.random.default_rng(10)
    y, raw = case("numbers", rng)
    weight = rng.random(N)
    value, _ = Quantile(quantile).value_and_gradient(y, raw, weight, np)
    want = 3 * mean_pinball_loss(y, raw.T, sample_weight=weight, alpha=quantile)
    np.testing.assert_allclose(value, want)


def test_starts():
    def start_of(name, y, weight, n_outputs):
        weight = None if weight is None else np.array(weight, float)
        return LOSSES[name]().start(np.array(y), weight, n_outputs)

    np.testing.assert_allclose(start_of("log_loss", [0, 1, 1, 1], None, 1), [np.log(3.5 / 1.5)])
    np.testing.assert_allclose(
        start_of("log_loss", [0, 2, 2], [1, 0.5, 0.5], 3), np.log([1.5 / 1.5, 0.5 / 2.5, 1.5 / 1.5])
    )
    np.testing.assert_allclose(
        start_of("softmax", [0, 2, 2], [1, 0.5, 0.5], 3), np.log(np.array([1.5, 0.5, 1.5]) / 3.5)
    )
    y = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]
    assert start_of("hinge", y, None, 3).tolist() == [1, -1, 0]
    assert start_of("squared_hinge", y, None, 3).tolist() == [0.5, -0.5, 0]
    y = [[1.0, 2.0], [3.0, 6.0]]
    np.testing.assert_allclose(start_of("squared_error", y, [1, 3], 2), [2.5, 5.0])
    np.testing.assert_allclose(start_of("poisson", y, [1, 3], 2), np.log([2.5, 5.0]))
    assert start_of("huber", y, [1, 3], 2).tolist() == [3.0, 6.0]
    assert start_of("quantile", [4.0, 1.0, 9.0], None, 1).tolist() == [4.0]


# ---------------------------------------------------------------- domains and parameters
def test_targets_of_poisson():
    loss, message = Poisson(), r"out of the valid range of the loss 'Poisson'\."
    loss.check(np.array([0.0, 2.0]))
    loss.check(np.zeros(2))  # a later part of the data may hold no counts
    with pytest.raises(ValueError, match=message):
        loss.check(np.array([[1.0, 2.0], [3.0, -1e-3]]))
    with pytest.raises(ValueError, match=message):
        loss.start(np.array([[0.0, 2.0], [0.0, 1.0]]), None, 2)
    for name in LOSSES.keys() - {"poisson"}:
        LOSSES[name]().check(np.array([-1.0, 0.0]))


def test_poisson_diverges_to_infinity():
    with np.errstate(over="ignore"):
        value, gradient = Poisson().value_and_gradient(
            np.array([0.0, 3.0]), np.full((1, 2), 1e3), None, np
        )
    assert value == np.inf
    assert (gradient == np.inf).all()


@pytest.mark.parametrize(
    "loss", [Huber(0), Huber(-1.0), Huber("a"), Quantile(0), Quantile(1), Quantile(None)]
)
def test_parameters_are_checked(loss):
    with pytest.raises(ValueError, match="parameter of"):
        loss._validate_params()
