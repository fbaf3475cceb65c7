"""Log loss of a softmax."""

import numpy as np

from ._base import LOSSES, Loss, shares, weighted_sum


@LOSSES.register("softmax")
class Softmax(Loss):
    """Log loss of a softmax over the outputs: ``log(sum exp(z)) - z[y]``.

    The loss of more than two classes that exclude each other, y in 0..n_outputs - 1; the
    probabilities are calibrated. Training starts at the log prior of each class, with half a row
    added to each.

    See Also
    --------
    LogLoss : Two classes, or any number of labels.

    References
    ----------
    C. M. Bishop, "Pattern recognition and machine learning", Springer, 2006, section 4.3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import Softmax
    >>> value, gradient = Softmax().value_and_gradient(np.array([2]), np.zeros((4, 1)), None, np)
    >>> round(value, 4)
    1.3863
    >>> gradient.ravel()
    array([ 0.25,  0.25, -0.75,  0.25])
    """

    name = "softmax"
    targets = "classes"
    probabilities = True

    def value_and_gradient(self, y, raw, sample_weight, xp):
        share = shares(sample_weight, raw, xp)
        at = y, xp.arange(len(y))
        z = raw - raw.max(axis=0)
        picked = z[at]
        xp.exp(z, out=z)
        total = z.sum(axis=0)
        value = weighted_sum(xp.log(total) - picked, share, xp)
        z /= total
        z[at] -= 1
        z *= share
        return value, z

    def inverse_link(self, raw, xp):
        z = xp.exp(raw - raw.max(axis=0))
        return z / z.sum(axis=0)

    def start(self, y, sample_weight, n_outputs):
        weight = np.bincount(y, sample_weight, n_outputs) + 0.5
        return np.log(weight / weight.sum())
