"""Follow the regularized leader."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import SOLVERS, Solver, over_mean


@SOLVERS.register("ftrl")
class FTRL(Solver):
    """FTRL-proximal, per coordinate: sparse solutions through an exact L1 penalty.

    ``n' = n + g^2``, ``z = z + g - (sqrt(n') - sqrt(n)) / lr w``, and w is 0 where ``|z| <= l1``,
    else ``-(z - sign(z) l1) / ((beta + sqrt(n')) / lr + l2)``. A row that was not in the batch has
    the w that belongs to its z and n already: nothing to make up for. z starts at what gives the
    starting values. As in Vowpal Wabbit, `l2` counts once; xLearn adds it to the gradient as well.
    Intercepts are not penalised. `weight_decay` has no meaning here and must be 0.

    Parameters
    ----------
    beta : float, default=0.01
        Keeps the first steps small. Gradients here are means over a batch, much smaller than those
        of one row, for which 1 is common.
    l1 : float, default=0.0
        Penalty on absolute values, of the mean loss summed over steps.
    l2 : float, default=0.0
        Penalty on half the squares.
    clip_norm : float or None, default=None
        Largest Euclidean norm of the gradient of table and head together.
    clip_value : float or None, default=None
        Largest absolute value of a component of the gradient.
    frequency_scaling : {"inverse", "inverse_sqrt"} or None, default=None
        Divide the gradient of a row by its occurrences in the batch, or by their root.

    References
    ----------
    H. B. McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.solvers import FTRL
    >>> clf = EmbeddingBagClassifier(solver=FTRL(l1=1e-4))
    """

    name = "ftrl"
    default_learning_rate = 0.1
    slots = {"z": "element", "n": "element"}
    rows_from_state = True
    max_norm, decay_scope, decay_toward = None, "touched", "zero"  # w follows from z and n
    _parameter_constraints = {
        **{k: Solver._parameter_constraints[k]
           for k in ("clip_norm", "clip_value", "frequency_scaling")},
        "beta": [Interval(Real, 0, None, closed="neither")],
        "l1": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
    }  # fmt: skip

    def __init__(
        self,
        beta=0.01,
        l1=0.0,
        l2=0.0,
        *,
        clip_norm=None,
        clip_value=None,
        frequency_scaling=None,
    ):
        self.beta = beta
        self.l1 = l1
        self.l2 = l2
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.frequency_scaling = frequency_scaling

    def _penalties(self, name):
        return (0.0, 0.0) if name.startswith("intercept") else (self.l1, self.l2)

    def _z_of(self, w, name, lr, xp):
        l1, l2 = self._penalties(name)
        return -w * (self.beta / lr + l2) - xp.sign(w) * l1

    def init_state(self, param, name, xp, lr, batch_size):
        state = super().init_state(param, name, xp, lr, batch_size)
        state["z"] += self._z_of(param, name, lr, xp)
        return state

    def start_rows(self, table, state, lo, hi, lr, batch_size):
        state["z"].values[lo:hi] = self._z_of(table.values[lo:hi], "table", lr, np)

    def row_rates(self, slots, *, lr, step):
        l2 = self._penalties("table")[1]
        root = np.sqrt(slots["n"])
        return over_mean(1.0, (self.beta + root) / lr + l2)

    def catch_up(self, table, state, weight_decay, step):
        if weight_decay:
            raise ValueError(
                f"weight_decay={weight_decay} has no meaning for FTRL, whose weights follow from "
                "its state. Use its l1 and l2."
            )

    def kernel_args(self, *, lr, keep, step, d, name):
        return tuple(map(float, (lr, self.beta, *self._penalties(name))))

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        l1, l2 = self._penalties(name)
        n = slots["n"] + g * g
        root = xp.sqrt(n)
        z = slots["z"] + (g - (root - xp.sqrt(slots["n"])) / lr * w)
        size = (abs(z) - l1) / ((self.beta + root) / lr + l2)
        return xp.where(abs(z) > l1, -xp.sign(z) * size, 0).astype(w.dtype), {"z": z, "n": n}
