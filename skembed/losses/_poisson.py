"""Half the Poisson deviance."""

import numpy as np

from ._base import LOSSES
from ._separable import NumberLoss, columns


@LOSSES.register("poisson")
class Poisson(NumberLoss):
    """Half the Poisson deviance: ``y log(y / m) - y + m`` at the predicted mean ``m = exp(z)``.

    The loss of counts and other numbers that are not negative; ``0 log 0`` is 0, and several
    targets are summed. Training starts at the log of the weighted mean, so each target needs a
    positive sum.

    References
    ----------
    P. McCullagh, J. A. Nelder, "Generalized linear models", Chapman and Hall, 2nd edition, 1989,
    section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import Poisson
    >>> Poisson().value_and_gradient(np.array([0.0, 1.0]), np.zeros((1, 2)), None, np)
    (0.5, array([[0.5, 0. ]]))
    """

    def check(self, y):
        if (y < 0).any():
            raise ValueError(self._out_of_range())

    def pointwise(self, target, raw, xp):
        mean = xp.exp(raw)
        log = xp.log(xp.where(target > 0, target, 1))
        return target * (log - raw) + (mean - target), mean - target

    def inverse_link(self, raw, xp):
        return xp.exp(raw)

    def start(self, y, sample_weight, n_outputs):
        mean = np.average(columns(y, n_outputs), axis=0, weights=sample_weight)
        if not (mean > 0).all():
            raise ValueError(self._out_of_range())
        return np.log(mean)

    def _out_of_range(self):
        return (
            f"Some value(s) of y are out of the valid range of the loss {type(self).__name__!r}. "
            "No value may be negative, and each target needs a positive sum."
        )
