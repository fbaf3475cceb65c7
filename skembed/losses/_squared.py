"""Half the squared error."""

import numpy as np

from ._base import LOSSES
from ._separable import NumberLoss, columns


@LOSSES.register("squared_error")
class SquaredError(NumberLoss):
    """Half the squared error, ``(z - y)^2 / 2``; several targets are summed.

    Predictions estimate the mean. Training starts at the weighted mean of each target.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import SquaredError
    >>> SquaredError().value_and_gradient(np.array([3.0]), np.array([[1.0]]), None, np)
    (2.0, array([[-2.]]))
    """

    def pointwise(self, target, raw, xp):
        error = raw - target
        return error * error / 2, error

    def start(self, y, sample_weight, n_outputs):
        return np.average(columns(y, n_outputs), axis=0, weights=sample_weight)
