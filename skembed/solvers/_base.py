"""What every solver offers."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from skembed.core import PendingRowGradient, Registry, RowArray

SOLVERS = Registry("solver")
POSITIVE_OR_NONE = [Interval(Real, 0, None, closed="neither"), None]


class Solver(BaseEstimator):
    """Base of the solvers: hyper-parameters and a rule, no state.

    A row of a table that is not listed in the gradient keeps its bits. The parameters of the head
    are stepped by the same rule, as arrays whose every row is listed.

    Attributes
    ----------
    name : str
        Name in the registry, and of the kernels in a backend.
    default_learning_rate : float
        Used where the estimator's `learning_rate_init` is None.
    slots : dict of str to {"element", "row", "count"}
        State arrays: as wide as the row, one number a row, or one int a row.
    """

    name = None
    default_learning_rate = None
    slots = {}
    _parameter_constraints = {"clip_norm": POSITIVE_OR_NONE}

    def init_table_state(self, table):
        """Return the state of a table without rows.

        Parameters
        ----------
        table : ParamTable
            The table.

        Returns
        -------
        dict of str to RowArray
            One array a slot.
        """
        return {slot: self._rows(kind, table) for slot, kind in self.slots.items()}

    @staticmethod
    def _rows(kind, table):
        if kind == "element":
            return RowArray(0, table.d, table.dtype)
        return RowArray(0, 1, table.dtype if kind == "row" else np.int32, padded=False)

    def init_state(self, param, name, xp):
        """Return the state of a parameter of the head.

        Parameters
        ----------
        param : ndarray of shape (n, d)
            The parameter.
        name : str
            Its name in the model.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        dict of str to ndarray
            One array a slot.
        """
        n = len(param)
        make = {
            "element": lambda: xp.zeros_like(param),
            "row": lambda: xp.zeros((n, 1), param.dtype),
            "count": lambda: xp.zeros((n, 1), xp.int32),
        }
        return {slot: make[kind]() for slot, kind in self.slots.items()}

    def start_rows(self, state, lo, hi):
        """Write the state of new table rows; it is zero before.

        Parameters
        ----------
        state : dict of str to RowArray
            State of the table.
        lo, hi : int
            The new rows are lo, ..., hi - 1.
        """

    def kernel_args(self, *, lr, keep, step, d, dtype):
        """Return what the kernels take after the arrays.

        Parameters
        ----------
        lr : float
            Learning rate of this step.
        keep : float
            Factor on the row before the step.
        step : int
            Number of this step, from 1.
        d : int
            Components of a row.
        dtype : dtype
            Work dtype.

        Returns
        -------
        tuple
            Numbers in the work dtype, and small arrays.
        """
        raise NotImplementedError

    def rule(self, w, g, slots, *, lr, keep, step, d, dense, xp):
        """Return new rows and new slots.

        Parameters
        ----------
        w : ndarray of shape (m, width)
            Listed rows; columns from `d` on are zero.
        g : ndarray of shape (m, width)
            Their summed gradients.
        slots : dict of str to ndarray
            Their state.
        lr : float
            Learning rate of this step.
        keep : float
            Factor on the row before the step, 1 - lr * weight_decay.
        step : int
            Number of this step, from 1.
        d : int
            Components of a row.
        dense : bool
            Whether `w` is a parameter of the head rather than rows of a table.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        w : ndarray of shape (m, width)
            The new rows.
        slots : dict of str to ndarray
            The new state.
        """
        raise NotImplementedError

    def step(self, table, state, grad, *, lr, keep, step, backend):
        """Step the listed rows of a table in place, by the backend's kernel where it has one.

        Parameters
        ----------
        table : ParamTable
            The table.
        state : dict of str to RowArray
            Its state.
        grad : SparseRowGradient or PendingRowGradient
            The listed rows and their gradients.
        lr : float
            Learning rate of this step.
        keep : float
            Factor on a listed row before the step.
        step : int
            Number of this step, from 1.
        backend : Backend
            Runs the kernel.
        """
        w, d = table.values, table.d
        if self.name in backend.row_updates:
            arrays = [w, *(state[slot].values for slot in self.slots)]
            args = self.kernel_args(lr=lr, keep=keep, step=step, d=d, dtype=w.dtype)
            backend.update_rows(self.name, grad, arrays, args)
            return
        if isinstance(grad, PendingRowGradient):
            grad = grad.sum(backend)
        at = grad.indices
        old = {slot: state[slot].values[at] for slot in self.slots}
        w[at], new = self.rule(
            w[at], grad.values, old, lr=lr, keep=keep, step=step, d=d, dense=False, xp=np
        )
        for slot, rows in new.items():
            state[slot].values[at] = rows

    def step_dense(self, param, state, g, *, lr, keep, step, xp):
        """Step a parameter of the head in place.

        Parameters
        ----------
        param : ndarray of shape (n, d)
            The parameter.
        state : dict of str to ndarray
            Its state.
        g : ndarray of shape (n, d)
            Its gradient.
        lr : float
            Learning rate of this step.
        keep : float
            Factor on the parameter before the step.
        step : int
            Number of this step, from 1.
        xp : module
            The array library, numpy or cupy.
        """
        param[...], new = self.rule(
            param, g, state, lr=lr, keep=keep, step=step, d=param.shape[1], dense=True, xp=xp
        )
        state.update(new)
