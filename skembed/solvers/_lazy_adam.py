"""Adam on touched rows only."""

from functools import lru_cache
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import SOLVERS, Solver, over_mean, with_row_options

LONGEST = 1 << 16  # steps of a row after which its bias correction stays as it is


def correction(beta_1, beta_2, n):
    """Bias correction sqrt(1 - b2^n) / (1 - b1^n) of step n = 1, 2, ..."""
    return np.sqrt(1 - beta_2**n) / (1 - beta_1**n)


@lru_cache(maxsize=8)
def _corrections(beta_1, beta_2):
    """Corrections for n = 1, ..., LONGEST; read-only."""
    out = correction(beta_1, beta_2, np.arange(1, LONGEST + 1))
    out.flags.writeable = False
    return out


@SOLVERS.register("lazy_adam")
@with_row_options
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
    {row_options}

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

    default_learning_rate = 0.003
    _parameter_constraints = {
        **Solver._parameter_constraints,
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "eps": [Interval(Real, 0, None, closed="left")],
        "bias_correction": [StrOptions({"row", "global"})],
    }

    def __init__(
        self,
        beta_1=0.9,
        beta_2=0.999,
        eps=1e-8,
        bias_correction="row",
        *,
        clip_norm=None,
        clip_value=None,
        max_norm=None,
        frequency_scaling=None,
        decay_scope="touched",
        decay_toward="zero",
    ):
        super().__init__(
            clip_norm=clip_norm,
            clip_value=clip_value,
            max_norm=max_norm,
            frequency_scaling=frequency_scaling,
            decay_scope=decay_scope,
            decay_toward=decay_toward,
        )
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.eps = eps
        self.bias_correction = bias_correction

    @property
    def name(self):
        """Name of the kernels in a backend."""
        return "lazy_adam" if self.bias_correction == "row" else "adam"

    @property
    def slots(self):
        """State arrays by kind."""
        moments = {"m": "element", "v": "element"}
        return {**moments, "n_steps": "count"} if self.bias_correction == "row" else moments

    def _eps(self, name, step):
        """What is added to the root: torch's Adam adds eps after the correction, SparseAdam before.

        A parameter of the head has made every step of the fit.
        """
        return self.eps if name == "table" else self.eps * np.sqrt(1 - self.beta_2**step)

    @property
    def memory(self):
        return {"m": 1 / (1 - self.beta_1), "v": 1 / (1 - self.beta_2)}

    def row_rates(self, slots, *, lr, step):
        root = np.sqrt(slots["v"])
        rates = over_mean(lr, np.where(root > 0, root + self.eps, 0))
        if self.bias_correction == "row":
            n = slots["n_steps"][:, 0].clip(1, LONGEST)
            return rates * _corrections(self.beta_1, self.beta_2)[n - 1]
        return rates * correction(self.beta_1, self.beta_2, max(step, 1))

    def kernel_args(self, *, lr, keep, step, d, name):
        b1, b2, keep = self.beta_1, self.beta_2, float(keep)
        moments = tuple(map(float, (b1, 1 - b1, b2, 1 - b2, self._eps(name, step))))
        if self.bias_correction == "row":
            return keep, float(lr), _corrections(b1, b2), *moments
        return keep, float(lr * correction(b1, b2, step)), *moments

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        b1, b2, t = self.beta_1, self.beta_2, w.dtype.type
        m = t(b1) * slots["m"] + t(1 - b1) * g
        v = t(b2) * slots["v"] + t(1 - b2) * (g * g)
        new = {"m": m, "v": v}
        if self.bias_correction == "row":
            n = new["n_steps"] = slots["n_steps"] + 1
            size = (lr * _corrections(b1, b2)[xp.minimum(n, LONGEST) - 1]).astype(w.dtype)
        else:
            size = t(lr * correction(b1, b2, step))
        root = xp.sqrt(v) + t(self._eps(name, step))
        move = xp.divide(size * m, root, out=xp.zeros_like(m), where=root > 0)
        return t(keep) * w - move, new
