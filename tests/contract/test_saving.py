"""Copies of estimators, by every way that Python offers, hold the same numbers and go on alike."""

import copy
import io
import pickle

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.base import clone

from fitted import ESTIMATORS, FACTORIZATIONS, learned, predictions, small_data
from skembed.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "pickle": lambda e: pickle.loads(pickle.dumps(e)),
    "old pickle": lambda e: pickle.loads(pickle.dumps(e, protocol=2)),
    "joblib": by_joblib,
    "cloudpickle": lambda e: cloudpickle.loads(cloudpickle.dumps(e)),
    "deepcopy": copy.deepcopy,
}


@every_estimator
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_copy_predicts_and_goes_on_with_the_same_bits(cls, way, solver):
    X, y = small_data()
    options = dict(solver=SOLVERS[solver](), learning_rate_init=0.05, frozen_features=[2], n_jobs=2)
    fit = cls(**options, **QUICK).fit(X[:30], y[:30])
    other = WAYS[way](fit)
    assert other is not fit
    assert repr(other) == repr(fit)
    assert learned(other) == learned(fit)
    for (name, a), (_, b) in zip(predictions(fit, X), predictions(other, X), strict=True):
        assert np.array_equal(a, b), name
    fit.partial_fit(X, y)
    assert learned(other) != learned(fit), "a copy does not move with the original"
    assert learned(other.partial_fit(X, y)) == learned(fit)
    a, b = (e.set_params(warm_start=True).fit(X, y) for e in (fit, other))
    assert learned(a) == learned(b)


@every_estimator
def test_unfitted_estimators(cls):
    X, y = small_data()
    fit = cls(**QUICK)
    for way in WAYS.values():
        assert learned(way(fit).fit(X, y)) == learned(cls(**QUICK).fit(X, y))
    clean = clone(fit.fit(X, y))
    assert not [name for name in vars(clean) if name.endswith("_")]
    assert not clean.__sklearn_is_fitted__()


@every_estimator
def test_pickle_holds_the_numbers_and_little_else(cls):
    X, y = small_data(300, 3_000)
    n, d = len(np.unique(X.indices)), 5
    fit = cls(n_components=d, max_iter=1, random_state=0).fit(X, y)
    width = d + (cls in FACTORIZATIONS)  # with a direct weight
    numbers = n * (width * 8 + width * 8 + 4 + 4 + 8 + 4)  # rows, Adagrad state, counters, ids
    assert n > 2_900
    assert len(pickle.dumps(fit)) < 1.02 * numbers + 8_000
