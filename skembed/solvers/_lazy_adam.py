"""Adam on touched rows only."""

from functools import lru_cache
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import SOLVERS, Solver

LONGEST = 1 << 20  # steps after which a bias correction counts as 1


@lru_cache(maxsize=8)
def _corrections(beta_1, beta_2, dtype):
    """Bias corrections sqrt(1 - b2^n) / (1 - b1^n) for n = 1, 2, ... until they are 1."""
    slow = max(beta_1, beta_2)
    n = 1 if slow == 0 else int(np.ceil(np.log(np.finfo(np.float64).eps / 4) / np.log(slow)))
    n = np.arange(1, min(max(n, 1), LONGEST) + 1)
    out = (np.sqrt(1 - beta_2**n) / (1 - beta_1**n)).astype(dtype)
    out.flags.writeable = False
    return out


@SOLVERS.register("lazy_adam")
class LazyAdam(Solver):
    """Adam on the rows of the batch; all other rows, and their state, keep their bits.

    ``m = b1 m + (1 - b1) g``, ``v = b2 v + (1 - b2) g^2``,
    ``w = (1 - lr weight_decay) w - lr sqrt(1 - b2^n) / (1 - b1^n) m / (sqrt(v) + eps)``.

    With ``bias_correction="global"`` this is PyTorch's SparseAdam and TensorFlow Addons' LazyAdam:
    n is the number of steps of the fit. By default n is the number of steps of the row, so that a
    feature that is first seen late moves by the learning rate, not by several times as much. The
    head follows dense Adam, which adds `eps` to the corrected root.

    Parameters
    ----------
    beta_1 : float, default=0.9
        Decay of the mean m of the gradients, in [0, 1).
    beta_2 : float, default=0.999
        Decay of the mean v of their squares, in [0, 1).
    eps : float, default=1e-8
        Added to the root of v.
    bias_correction : {"row", "global"}, default="row"
        Which steps n counts.
    clip_norm : float or None, default=None
        Largest Euclidean norm of the gradient of table and head together.

    References
    ----------
    D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.solvers import LazyAdam
    >>> clf = EmbeddingBagClassifier(solver=LazyAdam())
    >>> clf.set_params(solver__beta_1=0.8).solver
    LazyAdam(beta_1=0.8)
    """

    name = "lazy_adam"
    default_learning_rate = 0.003
    slots = {"m": "element", "v": "element", "n_steps": "count"}
    _parameter_constraints = {
        **Solver._parameter_constraints,
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "eps": [Interval(Real, 0, None, closed="left")],
        "bias_correction": [StrOptions({"row", "global"})],
    }

    def __init__(self, beta_1=0.9, beta_2=0.999, eps=1e-8, bias_correction="row", clip_norm=None):
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.eps = eps
        self.bias_correction = bias_correction
        self.clip_norm = clip_norm

    def _sizes(self, step, dtype):
        """Corrections by the number of steps a row has made before; one for all if global."""
        every = _corrections(self.beta_1, self.beta_2, np.dtype(dtype))
        if self.bias_correction == "row":
            return every
        at = min(step, len(every)) - 1
        return every[at : at + 1]

    def kernel_args(self, *, lr, keep, step, d, dtype):
        b1, b2, t = self.beta_1, self.beta_2, dtype.type
        return (t(keep), t(lr), self._sizes(step, dtype), t(b1), t(1 - b1), t(b2), t(1 - b2),
                t(self.eps))  # fmt: skip

    def rule(self, w, g, slots, *, lr, keep, step, d, dense, xp):
        b1, b2, t = self.beta_1, self.beta_2, w.dtype.type
        m = t(b1) * slots["m"] + t(1 - b1) * g
        v = t(b2) * slots["v"] + t(1 - b2) * (g * g)
        n = slots["n_steps"] + 1
        sizes = self._sizes(step, w.dtype)
        size = t(lr) * sizes[xp.minimum(n, len(sizes)) - 1]
        eps = t(self.eps)
        if dense:  # torch's Adam adds eps after the correction, its SparseAdam before
            eps = eps * xp.sqrt(1 - b2 ** n.astype(np.float64)).astype(w.dtype)
        root = xp.sqrt(v) + eps
        move = xp.divide(size * m, root, out=xp.zeros_like(m), where=root > 0)
        return t(keep) * w - move, {"m": m, "v": v, "n_steps": n}
