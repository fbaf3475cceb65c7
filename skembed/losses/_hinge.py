"""The hinge."""

import numpy as np

from ._base import LOSSES
from ._separable import ClassLoss, weights_of_sides


@LOSSES.register("hinge")
class Hinge(ClassLoss):
    """The hinge of a linear SVM: ``max(0, 1 - t z)``, t in {-1, 1}.

    Several classes are one against the rest, and any number of labels may be true; losses of
    several outputs are summed. There are no probabilities. Training starts at the best constant,
    which is t of the heavier side, and 0 if both weigh the same.

    References
    ----------
    C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import Hinge
    >>> Hinge().value_and_gradient(np.array([1, 0]), np.array([[0.5, -3.0]]), None, np)
    (0.25, array([[-0.5, 0. ]]))
    """

    def pointwise(self, target, raw, xp):
        side = 2 * target - 1
        gap = xp.maximum(1 - side * raw, 0)
        return gap, xp.where(gap > 0, -side, 0)

    def start(self, y, sample_weight, n_outputs):
        true, false = weights_of_sides(y, sample_weight, n_outputs)
        return np.sign(true - false)
