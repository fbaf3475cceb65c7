"""Sample weights; and what is left when training diverges or stops early."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fitted import ESTIMATORS, as_given, known_classes, learned, predictions, small_data
from skembed import EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.solvers import SGD, SOLVERS

ignore_convergence = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
pytestmark = ignore_convergence
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
every_solver = pytest.mark.parametrize("solver", sorted(SOLVERS))


# ---------------------------------------------------------------- weight zero, weight k
@every_solver
@every_estimator
@pytest.mark.parametrize("weights", ["ones", "many"])
@pytest.mark.parametrize("batch_size", [16, 1000])
def test_weight_zero_is_the_same_as_no_row(cls, solver, weights, batch_size):
    X, y = small_data(90)
    r = np.random.default_rng(1)
    w = (r.random(90) < 0.6) * (1.0 if weights == "ones" else r.integers(1, 5, 90).astype(float))
    D = X.toarray()
    D[w == 0, 3] = 9.0
    D[w > 0, 3] = 0  # a feature of rows without weight
    X, keep = sp.csr_array(D), w > 0
    options = QUICK | dict(batch_size=batch_size, solver=solver, min_count=10)
    options["learning_rate_init"] = 0.05
    all_rows, fewer = cls(**options), cls(**options)
    all_rows.fit(X, y, w).partial_fit(X, y, sample_weight=w)
    fewer.fit(X[keep], y[keep], w[keep]).partial_fit(X[keep], y[keep], sample_weight=w[keep])
    assert learned(all_rows) == learned(fewer)
    assert all_rows.feature_counts_[3] == 0
    if weights == "ones":
        plain = cls(**options).fit(X[keep], y[keep]).partial_fit(X[keep], y[keep])
        assert learned(all_rows) == learned(plain)


def test_weight_zero_removes_a_class():
    X, _ = small_data()
    y, w = np.arange(60) % 3, (np.arange(60) % 3 != 2).astype(float)
    clf = EmbeddingBagClassifier(class_weight="balanced", **QUICK).fit(X, y, w)
    assert clf.classes_.tolist() == [0, 1]
    keep = w > 0
    fewer = EmbeddingBagClassifier(class_weight="balanced", **QUICK).fit(X[keep], y[keep], w[keep])
    assert learned(clf) == learned(fewer)


@every_solver
@every_estimator
def test_whole_weights_repeat_rows(cls, solver):
    X, y = small_data()
    w = np.random.default_rng(0).integers(0, 4, 60)
    options = QUICK | dict(batch_size=1000, solver=solver, learning_rate_init=0.05)
    weighted = cls(**options).fit(X, y, w.astype(float))
    at = np.repeat(np.arange(60), w)
    repeated = cls(**options).fit(X[at], y[at])
    linear = "coef_" if hasattr(weighted, "coef_") else "linear_"
    for name in ("embedding_", linear, "intercept_", "loss_curve_"):
        a, b = getattr(weighted, name), getattr(repeated, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=name)


def test_scale_of_the_weights_does_not_matter():
    cls = EmbeddingBagRegressor  # a classifier's first intercepts count half a row more a class
    X, y = small_data()
    w = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    a, b = cls(**QUICK).fit(X, y, w), cls(**QUICK).fit(X, y, 8 * w)
    for name in ("embedding_", "coef_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9)
    assert not np.allclose(a.embedding_, cls(**QUICK).fit(X, y).embedding_, rtol=1e-9)


def test_class_weight_is_a_factor_on_the_weights():
    X, y = small_data()
    w = np.linspace(1, 2, 60)
    factor = EmbeddingBagClassifier(class_weight={0: 1.0, 1: 4.0}, **QUICK).fit(X, y, w)
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y, w * np.where(y == 1, 4.0, 1.0))
    assert learned(factor) == learned(plain)


# ---------------------------------------------------------------- other weights
@every_estimator
def test_no_weight_at_all(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    before, zero = learned(fit), np.zeros(60)
    match = "Sample weights must contain at least one non-zero number"
    with pytest.raises(ValueError, match=match):
        fit.fit(X, y, zero)
    with pytest.raises(ValueError, match=match):
        cls(**QUICK).partial_fit(X, y, sample_weight=zero, **known_classes(cls))
    fit.partial_fit(X, y, sample_weight=zero)
    assert learned(fit) == before


BAD_WEIGHTS = {
    "negative": (np.where(np.arange(60) == 5, -1.0, 1.0), "Negative values in data passed to"),
    "nan": (np.where(np.arange(60) == 5, np.nan, 1.0), "sample_weight contains NaN"),
    "infinite": (np.where(np.arange(60) == 5, np.inf, 1.0), "sample_weight contains infinity"),
    "short": (np.ones(59), "sample_weight.shape"),
    "table": (np.ones((60, 2)), "1D"),
    "text": (["a"] * 60, "could not convert|string"),
}


@every_estimator
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_weights_that_are_none(cls, kind):
    X, y = small_data()
    w, match = BAD_WEIGHTS[kind]
    fit = cls(**QUICK).fit(X, y)
    before = learned(fit)
    for method in (fit.fit, fit.partial_fit):
        with pytest.raises(ValueError, match=match):
            method(X, y, sample_weight=w)
        assert learned(fit) == before


@every_estimator
def test_scalar_list_and_series(cls):
    X, y = small_data()
    w = np.random.default_rng(0).integers(1, 4, 60)
    want = learned(cls(**QUICK).fit(X, y, w.astype(float)))
    for same in (w, w.tolist(), pd.Series(w), w.astype(np.float32)):
        assert learned(cls(**QUICK).fit(X, y, same)) == want
    plain = learned(cls(**QUICK).fit(X, y))
    assert learned(cls(**QUICK).fit(X, y, 2.0)) == plain
    assert learned(cls(**QUICK).fit(X, y, np.full(60, 0.5))) == plain


# ---------------------------------------------------------------- divergence
WORDS = r"Training diverged at epoch \d+, batch \d+: .*learning_rate_init.*clip_norm"


def diverging(cls, rate, solver="sgd", **options):
    settings = dict(solver=solver, learning_rate_init=rate, **as_given(cls), **options)
    return cls(**QUICK | settings | dict(max_iter=100))


@pytest.mark.parametrize("solver", ["sgd", "adagrad", "lazy_adam"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rate", [1e3, 1e100, 1e300])
def test_large_rates_end_in_advice_or_in_numbers(rate, dtype, solver):
    X, y = small_data(dtype=dtype)
    for cls in ESTIMATORS:
        fit = cls(**QUICK).fit(X, y)
        before = learned(fit)
        fit.set_params(solver=solver, learning_rate_init=rate, max_iter=100, **as_given(cls))
        try:
            fit.fit(X, y)
        except ValueError as error:
            assert re.search(WORDS, str(error))
            assert learned(fit) == before
        else:
            assert np.isfinite(fit.embedding_).all()
        assert all(np.isfinite(value).all() for _, value in predictions(fit, X))


@every_estimator
def test_divergence_names_place_and_cure_and_keeps_the_earlier_fit(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    before, values = learned(fit), predictions(fit, X)
    fit.set_params(solver="sgd", learning_rate_init=1e300, **as_given(cls))
    with pytest.raises(ValueError, match=WORDS):
        fit.fit(X, y)
    assert learned(fit) == before
    for (name, value), (_, old) in zip(predictions(fit, X), values, strict=True):
        assert np.array_equal(value, old), name
    unfitted = diverging(cls, 1e300)
    with pytest.raises(ValueError, match=WORDS):
        unfitted.fit(X, y)
    assert not [name for name in vars(unfitted) if name.endswith("_")]


@every_estimator
def test_huge_values_diverge_in_the_first_batch(cls):
    X, y = small_data()
    with pytest.raises(ValueError, match=r"epoch \d+, batch \d+"), warnings.catch_warnings():
        warnings.simplefilter("error")  # not even a warning of NumPy comes first
        warnings.simplefilter("ignore", ConvergenceWarning)
        diverging(cls, 0.5).fit(X * 1e200, y)


@every_estimator
def test_diverging_partial_fit_keeps_the_earlier_state(cls):
    X, y = small_data()
    D = X.toarray()
    D[:, 5] = 0
    fit = cls(**QUICK | as_given(cls)).fit(sp.csr_array(D), y)
    before = learned(fit)
    with pytest.raises(ValueError, match=r"diverged at epoch \d+, batch 1"):
        fit.partial_fit(X * 1e200, y)
    assert learned(fit) == before
    fit.partial_fit(X, y)
    assert np.isfinite(fit.embedding_).all()


def test_clipping_is_a_cure():
    X, y = small_data()
    y = 1e3 * y
    with pytest.raises(ValueError, match=WORDS):
        diverging(EmbeddingBagRegressor, 0.5).fit(X, y)
    clipped = diverging(EmbeddingBagRegressor, 0.5, solver=SGD(clip_norm=1.0)).fit(X, y)
    assert np.isfinite(clipped.embedding_).all()


# ---------------------------------------------------------------- stopping
@every_estimator
def test_stop_before_convergence_warns(cls):
    X, y = small_data()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 .*[Rr]aise max_iter"):
        fit = cls(max_iter=1, random_state=0).fit(X, y)
    assert fit.n_iter_ == 1
    assert len(fit.loss_curve_) == 1


@every_estimator
def test_stop_after_epochs_without_progress(cls):
    X, y = small_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = cls(max_iter=50, tol=1e9, n_iter_no_change=3, random_state=0).fit(X, y)
    assert fit.n_iter_ == 4, "the first epoch is an improvement on nothing"
