"""Adagrad, one accumulator per coordinate."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import SOLVERS, Solver, over_mean, with_row_options

SMALL = 0.0064  # by measurement on real data, see the page on defaults
INTERCEPT_START = 1e-6  # its first full-batch gradient is rounding noise: no full step for that


@SOLVERS.register("adagrad")
@with_row_options
class Adagrad(Solver):
    """Adagrad: ``s = s + g^2``, ``w = (1 - lr weight_decay) w - lr g / (sqrt(s) + eps)``.

    Repeated rows are summed before g is squared; a row that was not in the batch keeps its bits,
    which is what dense Adagrad does as well. `eps` stands outside the root, as in PyTorch; Keras
    puts it inside, LightFM divides by the accumulator before this step's gradient is added.

    Parameters
    ----------
    eps : float, default=1e-10
        Added to the root. With 0 a gradient of zero moves nothing.
    initial_accumulator : float or "auto", default="auto"
        Start of s. ``"auto"`` is (0.0064 / rows in a batch)^2: a first gradient much smaller than
        that of one row of the batch is no reason for a full step.
    {row_options}

    References
    ----------
    J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", Journal of Machine Learning Research 12, 2011.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.solvers import Adagrad
    >>> clf = EmbeddingBagClassifier(solver=Adagrad(initial_accumulator=0.1))
    """

    name = "adagrad"
    default_learning_rate = 0.05
    slots = {"sum_sq": "element"}
    _parameter_constraints = {
        **Solver._parameter_constraints,
        "eps": [Interval(Real, 0, None, closed="left")],
        "initial_accumulator": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        eps=1e-10,
        initial_accumulator="auto",
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
        self.eps = eps
        self.initial_accumulator = initial_accumulator

    def _start(self, batch_size):
        """Start of the accumulators."""
        if self.initial_accumulator == "auto":
            return (SMALL / batch_size) ** 2
        return self.initial_accumulator

    def init_state(self, param, name, xp, lr, batch_size):
        state = super().init_state(param, name, xp, lr, batch_size)
        state["sum_sq"] += self._start(batch_size)
        if name.startswith("intercept"):
            state["sum_sq"] += INTERCEPT_START
        return state

    def start_rows(self, table, state, lo, hi, lr, batch_size):
        super().start_rows(table, state, lo, hi, lr, batch_size)
        state["sum_sq"].values[lo:hi, : state["sum_sq"].d] = self._start(batch_size)

    def row_rates(self, slots, *, lr, step):
        root = np.sqrt(slots["sum_sq"])
        return over_mean(lr, np.where(root > 0, root + self.eps, 0))

    def kernel_args(self, *, lr, keep, step, d, name):
        return float(keep), float(lr), float(self.eps)

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        s = slots["sum_sq"] + g * g
        root = xp.sqrt(s) + w.dtype.type(self.eps)
        move = xp.divide(lr * g, root, out=xp.zeros_like(g), where=root > 0)
        return keep * w - move, {"sum_sq": s}
