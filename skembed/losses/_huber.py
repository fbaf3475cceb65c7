"""Huber's loss."""

from numbers import Real

from sklearn.utils._param_validation import Interval

from ._base import LOSSES
from ._quantile import quantiles
from ._separable import NumberLoss


@LOSSES.register("huber")
class Huber(NumberLoss):
    """Huber's loss of ``e = z - y``: ``e^2 / 2`` up to `delta`, ``delta (|e| - delta / 2)`` beyond.

    An error beyond `delta` pulls with constant force, so outliers count for less than under the
    squared error; several targets are summed. Training starts at the weighted median of each
    target, which is close to the best constant and as robust.

    Parameters
    ----------
    delta : float, default=1.35
        Where the loss turns from a square to a line, on the scale of y.

    References
    ----------
    P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35,
    1964.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import Huber
    >>> y, raw = np.array([0.0, 0.0]), np.array([[1.0, -4.0]])
    >>> Huber(delta=2.0).value_and_gradient(y, raw, None, np)
    (3.25, array([[ 0.5, -1. ]]))
    """

    _parameter_constraints = {"delta": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, delta=1.35):
        self.delta = delta

    def pointwise(self, target, raw, xp):
        error = raw - target
        slopes = xp.clip(error, -self.delta, self.delta)
        return slopes * (error - slopes / 2), slopes

    def start(self, y, sample_weight, n_outputs):
        return quantiles(y, sample_weight, n_outputs, 0.5)
