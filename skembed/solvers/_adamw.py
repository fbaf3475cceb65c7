"""Dense AdamW, paid for on touched rows."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import SOLVERS, Solver, over_mean, with_row_options
from ._catch_up import AdamCatchUp
from ._lazy_adam import correction


@SOLVERS.register("adamw")
@with_row_options
class AdamW(Solver):
    """Adam and AdamW as dense training makes them, at the cost of the rows of the batch.

    ``m = b1 m + (1 - b1) g``, ``v = b2 v + (1 - b2) g^2``, ``w = (1 - lr weight_decay) w -
    lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)`` at every step t for every row, g being
    zero where a row was not in the batch. Such silent steps, which decay the row and move it on by
    its fading momentum, are made up for in one before the row is next read, and for all rows at the
    end of an epoch or of a call of `partial_fit`, which pays for a pass over the table.

    This is PyTorch's AdamW (and its Adam, without decay) on a dense gradient: exactly for
    ``eps=0``, to third order in ``eps / sqrt(v)`` else. PyTorch's SparseAdam and TensorFlow
    Addons' LazyAdam let untouched rows rest instead: that is `LazyAdam`.

    Parameters
    ----------
    beta_1 : float, default=0.9
        Decay of the mean m of the gradients, in [0, 1).
    beta_2 : float, default=0.999
        Decay of the mean v of their squares, in (0, 1), above the square of `beta_1`.
    eps : float, default=1e-8
        Added to the corrected root of v.
    {row_options}

    References
    ----------
    I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR 2019.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> clf = EmbeddingBagClassifier(solver="adamw", weight_decay=0.01)
    """

    name = "adam"
    default_learning_rate = 0.003
    slots = {"m": "element", "v": "element"}
    _parameter_constraints = {
        **Solver._parameter_constraints,
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="neither")],
        "eps": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        beta_1=0.9,
        beta_2=0.999,
        eps=1e-8,
        *,
        clip_norm=None,
        clip_value=None,
        max_norm=None,
        frequency_scaling=None,
        decay_scope="all",
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

    def _validate_params(self):
        super()._validate_params()
        if self.beta_1**2 >= self.beta_2:
            raise ValueError(
                f"beta_1={self.beta_1} squared must be below beta_2={self.beta_2}: otherwise the "
                "steps of a row that is not listed grow without end."
            )

    def catch_up(self, table, state, weight_decay, step):
        decays = self.decay_scope == "all"
        start = state.get("start") if decays and weight_decay > 0 else None
        moments = state["m"].values, state["v"].values
        return AdamCatchUp(table, start, *moments, self.beta_1, self.beta_2, self.eps, decays)

    def row_rates(self, slots, *, lr, step):
        root, step = np.sqrt(slots["v"]), max(step, 1)
        rates = over_mean(lr, np.where(root > 0, root + self._eps(step), 0))
        return rates * correction(self.beta_1, self.beta_2, step)

    def _eps(self, step):
        return self.eps * np.sqrt(1 - self.beta_2**step)

    def kernel_args(self, *, lr, keep, step, d, name):
        b1, b2 = self.beta_1, self.beta_2
        size = lr * correction(b1, b2, step)
        return tuple(map(float, (keep, size, b1, 1 - b1, b2, 1 - b2, self._eps(step))))

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        b1, b2, t = self.beta_1, self.beta_2, w.dtype.type
        m = t(b1) * slots["m"] + t(1 - b1) * g
        v = t(b2) * slots["v"] + t(1 - b2) * (g * g)
        root = xp.sqrt(v) + t(self._eps(step))
        size = t(lr * correction(b1, b2, step))
        move = xp.divide(size * m, root, out=xp.zeros_like(m), where=root > 0)
        return t(keep) * w - move, {"m": m, "v": v}
