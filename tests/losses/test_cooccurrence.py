"""What the loss of features that occur together makes of their counts."""

import numpy as np
import pytest

from skembed.kernels import Backend
from skembed.losses import Cooccurrence

COUNTS = np.array([100.0, 0, 16, 1])


def test_frequent_features_are_dropped():
    loss = Cooccurrence(frequent=0.1)
    np.testing.assert_allclose(loss.keep(np.array([0, 0.05, 0.1, 0.4])), [1, 1, 1, 0.5])
    assert (Cooccurrence(frequent=1).keep(np.array([0, 1.0])) == 1).all()


def test_noise():
    want = np.array([100**0.75, 0, 8, 1])
    np.testing.assert_allclose(Cooccurrence().noise(COUNTS), want / want.sum())
    np.testing.assert_allclose(Cooccurrence(power=0).noise(COUNTS), [1 / 3, 0, 1 / 3, 1 / 3])


def test_scores_start_with_the_ratio_of_chances():
    loss = Cooccurrence(n_negatives=4, frequent=0.25)
    left_out = COUNTS * [0.5, 1, 1, 1]
    left_out /= left_out.sum()
    got, seen = loss.offset(COUNTS, 100), COUNTS > 0
    np.testing.assert_allclose(np.exp(got[seen]), left_out[seen] / (4 * loss.noise(COUNTS)[seen]))
    assert got[1] == 0


def test_value_is_the_mean_over_what_was_left_out():
    y, raw = np.array([1.0, 0, 0, 1, 0]), np.array([0.3, -1.0, 2.0, -0.5, 7.0])
    weight = np.array([2.0, 2, 2, 1, 0])
    each = np.logaddexp(0, np.where(y == 1, -raw, raw))
    value, slope = Cooccurrence().evaluate(y, raw, weight, Backend())
    np.testing.assert_allclose(value, (weight * each).sum() / 3)
    np.testing.assert_allclose(slope, weight * (1 / (1 + np.exp(-raw)) - y) / 3)


@pytest.mark.parametrize(
    "params",
    [{"n_negatives": 0}, {"n_targets": 0}, {"power": -1}, {"frequent": 0}, {"frequent": 2}],
)
def test_parameters_are_validated(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        Cooccurrence(**params)._validate_params()
