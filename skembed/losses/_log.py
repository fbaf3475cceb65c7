"""Log loss of independent sigmoids."""

import numpy as np

from ._base import LOSSES
from ._separable import ClassLoss, weights_of_sides


@LOSSES.register("ova")
@LOSSES.register("log_loss")
class LogLoss(ClassLoss):
    """Log loss of independent sigmoids: ``log(1 + exp(z)) - y z``, y in {0, 1}.

    The loss of two classes with one output, of several classes one against all, and of any number
    of labels; losses of several outputs are summed. The probability of each output is calibrated on
    its own. Training starts at the log odds, with half a row added to each side.

    See Also
    --------
    Softmax : Classes that exclude each other.

    References
    ----------
    C. M. Bishop, "Pattern recognition and machine learning", Springer, 2006, section 4.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import LogLoss
    >>> value, gradient = LogLoss().value_and_gradient(np.array([1, 0]), np.zeros((1, 2)), None, np)
    >>> round(value, 4)
    0.6931
    >>> gradient
    array([[-0.25,  0.25]])

    Any number of labels; `raw` has one row a label:

    >>> labels = np.array([[1, 1], [0, 1]])
    >>> LogLoss().value_and_gradient(labels, np.zeros((2, 2)), None, np)[1]
    array([[-0.25,  0.25],
           [-0.25, -0.25]])
    """

    name = "log_loss"
    probabilities = True

    def pointwise(self, target, raw, xp):
        small = xp.exp(-xp.abs(raw))
        losses = xp.maximum(raw, 0) + xp.log1p(small) - target * raw
        return losses, xp.where(raw >= 0, 1, small) / (1 + small) - target

    def inverse_link(self, raw, xp):
        small = xp.exp(-xp.abs(raw))
        return xp.where(raw >= 0, 1, small) / (1 + small)

    def start(self, y, sample_weight, n_outputs):
        true, false = weights_of_sides(y, sample_weight, n_outputs)
        return np.log((true + 0.5) / (false + 0.5))
