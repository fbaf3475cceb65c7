"""Stochastic gradient descent."""

from ._base import SOLVERS, Solver


@SOLVERS.register("sgd")
class SGD(Solver):
    """Stochastic gradient descent: ``w = (1 - lr weight_decay) w - lr g``.

    Rows that were not in the batch do not move. The gradient is that of the mean over the batch, so
    a rate that suits one batch size is too small for a larger one.

    Parameters
    ----------
    clip_norm : float or None, default=None
        Largest Euclidean norm of the gradient of table and head together.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.solvers import SGD
    >>> clf = EmbeddingBagClassifier(solver=SGD(clip_norm=1.0), learning_rate_init=2.0)
    """

    name = "sgd"
    default_learning_rate = 2.0

    def __init__(self, clip_norm=None):
        self.clip_norm = clip_norm

    def kernel_args(self, *, lr, keep, step, d, dtype):
        return dtype.type(keep), dtype.type(lr)

    def rule(self, w, g, slots, *, lr, keep, step, d, dense, xp):
        return keep * w - lr * g, {}
