"""Log loss of independent sigmoids."""

import numpy as np

from ._base import LOSSES, Loss


@LOSSES.register("log_loss")
class LogLoss(Loss):
    """Log loss of a sigmoid: ``log(1 + exp(z)) - y z``.

    The loss of two classes, y in {0, 1}; the probability is calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import LogLoss
    >>> value, gradient = LogLoss().value_and_gradient(np.array([1, 0]), np.zeros((1, 2)), None, np)
    >>> round(value, 4)
    0.6931
    >>> gradient
    array([[-0.25,  0.25]])
    """

    def value_and_gradient(self, y, raw, sample_weight, xp):
        """Return the weighted mean loss and its gradient with respect to `raw`."""
        share = self.share(sample_weight, raw, xp)
        z = raw[0]
        target = y.astype(raw.dtype)
        value = self.mean(xp.logaddexp(0, z) - target * z, share, xp)
        return value, ((self.inverse_link(raw, xp) - target) * share).astype(raw.dtype, copy=False)

    def inverse_link(self, raw, xp):
        """Return the probability of class 1, shape (1, b)."""
        small = xp.exp(-xp.abs(raw))
        return xp.where(raw >= 0, 1 / (1 + small), small / (1 + small))

    def start(self, y, sample_weight, n_outputs):
        """Return the log odds of class 1, with half a row added to each class."""
        weight = np.bincount(y, sample_weight, 2) + 0.5
        return np.log(weight[1:] / weight[:1])
