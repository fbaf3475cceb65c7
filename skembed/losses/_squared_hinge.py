"""The square of the hinge."""

from ._base import LOSSES
from ._separable import ClassLoss, weights_of_sides


@LOSSES.register("squared_hinge")
class SquaredHinge(ClassLoss):
    """The square of the hinge: ``max(0, 1 - t z)^2``, t in {-1, 1}.

    Several classes are one against the rest, and any number of labels may be true; losses of
    several outputs are summed. There are no probabilities. Training starts at the best constant,
    the weighted mean of t.

    References
    ----------
    Y. Tang, "Deep learning using linear support vector machines", ICML workshop on challenges in
    representation learning, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import SquaredHinge
    >>> SquaredHinge().value_and_gradient(np.array([1, 0]), np.array([[0.5, -3.0]]), None, np)
    (0.125, array([[-0.5, 0. ]]))
    """

    def pointwise(self, target, raw, xp):
        side = 2 * target - 1
        gap = xp.maximum(1 - side * raw, 0)
        return gap * gap, -2 * side * gap

    def start(self, y, sample_weight, n_outputs):
        true, false = weights_of_sides(y, sample_weight, n_outputs)
        return (true - false) / (true + false)
