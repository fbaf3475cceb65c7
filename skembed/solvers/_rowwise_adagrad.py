"""Adagrad, one accumulator per row."""

from ._adagrad import Adagrad
from ._base import SOLVERS, with_row_options


@SOLVERS.register("rowwise_adagrad")
@with_row_options
class RowwiseAdagrad(Adagrad):
    """Adagrad with one accumulator a row.

    ``s = s + mean(g^2)``, ``w = (1 - lr weight_decay) w - lr / (sqrt(s) + eps) g``. The state takes
    one number a row instead of one a coordinate; rows that were not in the batch keep their bits.

    Parameters
    ----------
    eps : float, default=1e-10
        Added to the root. With 0 a gradient of zero moves nothing.
    initial_accumulator : float or "auto", default="auto"
        Start of s. ``"auto"`` is (0.0064 / rows in a batch)^2.
    {row_options}

    References
    ----------
    D. Mudigere et al., "Software-hardware co-design for fast and scalable training of deep learning
    recommendation models", ISCA 2022 (row-wise sparse Adagrad).

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> clf = EmbeddingBagClassifier(solver="rowwise_adagrad")
    """

    name = "rowwise_adagrad"
    slots = {"sum_sq": "row"}

    def kernel_args(self, *, lr, keep, step, d, name):
        return *super().kernel_args(lr=lr, keep=keep, step=step, d=d, name=name), 1 / d

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        s = slots["sum_sq"] + (g * g).sum(axis=1, keepdims=True) * w.dtype.type(1 / d)
        root = xp.sqrt(s) + w.dtype.type(self.eps)
        size = xp.divide(lr, root, out=xp.zeros_like(root), where=root > 0)
        return keep * w - size * g, {"sum_sq": s}
