"""The pinball loss."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import LOSSES
from ._separable import NumberLoss, columns


@LOSSES.register("quantile")
class Quantile(NumberLoss):
    """The pinball loss: ``quantile e`` for ``e = y - z >= 0``, ``(quantile - 1) e`` below.

    Predictions estimate the quantile of y; several targets are summed. The slope at e = 0
    is the mean of both sides. Training starts at the best constant, the weighted quantile of each
    target.

    Parameters
    ----------
    quantile : float, default=0.5
        Which quantile; 0.5 is the median, and its loss half the absolute error.

    References
    ----------
    R. Koenker, G. Bassett, "Regression quantiles", Econometrica 46, 1978.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import Quantile
    >>> y, raw = np.array([0.0, 0.0]), np.array([[1.0, -4.0]])
    >>> Quantile(quantile=0.75).value_and_gradient(y, raw, None, np)
    (1.625, array([[ 0.125, -0.375]]))
    """

    _parameter_constraints = {"quantile": [Interval(Real, 0, 1, closed="neither")]}

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def pointwise(self, target, raw, xp):
        error = target - raw
        slopes = (1 - xp.sign(error)) / 2 - self.quantile
        return -slopes * error, slopes

    def start(self, y, sample_weight, n_outputs):
        return quantiles(y, sample_weight, n_outputs, self.quantile)


def quantiles(y, sample_weight, n_outputs, q):
    """Return the weighted quantile of each target: the least one that has a share of q below it."""
    y = columns(y, n_outputs)
    # unit weights are passed too: NumPy rounds ranks in another way without weights
    weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
    return np.quantile(y, q, axis=0, weights=weight, method="inverted_cdf")
