"""What every solver offers."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from skembed.core import LaterDefaults, PendingRowGradient, Registry, RowArray

from ._catch_up import DecayCatchUp

SOLVERS = Registry("solver")
POSITIVE_OR_NONE = [Interval(Real, 0, None, closed="neither"), None]

ROW_OPTIONS = """
clip_norm : float or None, default=None
    Largest Euclidean norm of the gradient of table and head together.

clip_value : float or None, default=None
    Largest absolute value of a component of the gradient.

max_norm : float or None, default=None
    Largest Euclidean norm of a row of the table; a listed row beyond it is scaled after its step.

frequency_scaling : {"inverse", "inverse_sqrt"} or None, default=None
    Divide the gradient of a row by its occurrences in the batch, or by their root: an explicit
    reweighting in favour of rare features.

decay_scope : {"touched", "all"}, default="{decay_scope}"
    Which rows `weight_decay` shrinks: those of the batch, or all of them at every step. The
    latter is what decaying the whole table gives, paid for when a row is next listed and at the
    end of an epoch.

decay_toward : {"zero", "start"}, default="zero"
    Where `weight_decay` pulls the rows of the table: to zero, or to the values E0 in which they
    started, ``E = E - lr weight_decay (E - E0)``. For vectors that come from another fit by `init`.
    Takes a copy of the table in memory and in a pickle. The head decays to zero.
""".strip()


def with_row_options(cls):
    """Fill the shared text into the docstring of a solver; return the class."""
    if cls.__doc__ is not None:  # None under python -OO
        text = ROW_OPTIONS.replace("{decay_scope}", cls().decay_scope)
        text = text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
        cls.__doc__ = cls.__doc__.replace("{row_options}", text)
    return cls


def over_mean(lr, denominators):
    """Return `lr` over the mean of each row of denominators, NaN where all of them are zero."""
    mean = denominators.mean(axis=1, dtype=np.float64)
    return np.divide(lr, mean, out=np.full(len(mean), np.nan), where=mean > 0)


class Solver(LaterDefaults, BaseEstimator):
    """Base of the solvers: hyper-parameters and a rule, no state.

    A row of a table that is not listed in the gradient keeps its bits. The parameters of the head
    are stepped by the same rule, as arrays whose every row is listed.

    Parameters
    ----------
    {row_options}

    Attributes
    ----------
    name : str
        Name of the kernels in a backend.
    default_learning_rate : float
        Learning rate where none is given.
    slots : dict of str to {"element", "row", "count"}
        State arrays: as wide as the row, one number a row, or one int a row.
    rows_from_state : bool
        Whether a row follows from its state, so that rows written by others would be lost.
    """

    name = None
    default_learning_rate = None
    slots = {}
    rows_from_state = False
    _parameter_constraints = {
        "clip_norm": POSITIVE_OR_NONE,
        "clip_value": POSITIVE_OR_NONE,
        "max_norm": POSITIVE_OR_NONE,
        "frequency_scaling": [StrOptions({"inverse", "inverse_sqrt"}), None],
        "decay_scope": [StrOptions({"touched", "all"})],
        "decay_toward": [StrOptions({"zero", "start"})],
    }

    def __init__(
        self,
        *,
        clip_norm=None,
        clip_value=None,
        max_norm=None,
        frequency_scaling=None,
        decay_scope="touched",
        decay_toward="zero",
    ):
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.max_norm = max_norm
        self.frequency_scaling = frequency_scaling
        self.decay_scope = decay_scope
        self.decay_toward = decay_toward

    @property
    def table_slots(self):
        """State arrays of a table: `slots`, and its starting values where decay needs them."""
        return {**self.slots, "start": "element"} if self.decay_toward == "start" else self.slots

    def rate_for(self, loss):
        """Return the learning rate that is used where none is given.

        Parameters
        ----------
        loss : Loss
            Loss of the fit.

        Returns
        -------
        float
            The rate.
        """
        return self.default_learning_rate

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
        return {slot: self._rows(kind, table) for slot, kind in self.table_slots.items()}

    @staticmethod
    def _rows(kind, table):
        if kind == "element":
            return RowArray(0, table.d, table.dtype)
        return RowArray(0, 1, table.dtype if kind == "row" else np.int32, padded=False)

    def init_state(self, param, name, xp, lr, batch_size):
        """Return the state of a parameter of the head.

        Parameters
        ----------
        param : ndarray of shape (n, d)
            The parameter.
        name : str
            Its name in the model.
        xp : module
            The array library, numpy or cupy.
        lr : float
            First learning rate.
        batch_size : int
            Rows in a batch.

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

    def start_rows(self, table, state, lo, hi, lr, batch_size):
        """Write the state of new table rows; it is zero before.

        Parameters
        ----------
        table : ParamTable
            The table, with the starting values of the rows.
        state : dict of str to RowArray
            Its state.
        lo, hi : int
            The new rows are lo, ..., hi - 1.
        lr : float
            Learning rate.
        batch_size : int
            Rows in a batch.
        """
        if "start" in state:
            state["start"].values[lo:hi] = table.values[lo:hi]

    def catch_up(self, table, state, weight_decay, step):
        """Return what brings rows of a table up to date before they are read, or None.

        Parameters
        ----------
        table : ParamTable
            The table, up to date now.
        state : dict of str to RowArray
            Its state.
        weight_decay : float
            Decay of the fit.
        step : int
            Steps of the fit made before.

        Returns
        -------
        DecayCatchUp or None
            Lives for one epoch; None where a row that is not listed does not change.
        """
        if self.decay_scope == "all" and weight_decay > 0:
            return DecayCatchUp(table, state.get("start"))
        return None

    @property
    def memory(self):
        """Steps that dense training would remember a gradient in, by slot.

        Of the slots that fade only when their row is listed: what they hold may lie further back.
        """
        return {}

    def row_rates(self, slots, *, lr, step):
        """Return the effective learning rates: what a lasting gradient of a row is multiplied by.

        Parameters
        ----------
        slots : dict of str to ndarray of shape (m, d) or (m, 1)
            State of some rows.
        lr : float
            Learning rate.
        step : int
            Steps made.

        Returns
        -------
        ndarray of shape (m,), float, or None
            `lr` over the mean denominator of the coordinates of a row; NaN for a row that has
            known no gradient but zero; None where the solver does not tell.
        """
        return None

    def kernel_args(self, *, lr, keep, step, d, name):
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
        name : str
            Name of the parameter in the model; "table" holds the rows of a table.

        Returns
        -------
        tuple
            Numbers as float, and small arrays.
        """
        raise NotImplementedError

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
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
        name : str
            Name of the parameter in the model; "table" holds the rows of a table.
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
            args = self.kernel_args(lr=lr, keep=keep, step=step, d=d, name="table")
            backend.update_rows(self.name, grad, arrays, args)
        else:
            grad = grad.sum(backend) if isinstance(grad, PendingRowGradient) else grad
            at = grad.indices
            old = {slot: state[slot].values[at] for slot in self.slots}
            w[at], new = self.rule(
                w[at], grad.values, old, lr=lr, keep=keep, step=step, d=d, name="table", xp=np
            )
            for slot, rows in new.items():
                state[slot].values[at] = rows
        if "start" in state and keep != 1:
            share = 1 - float(table.dtype.type(keep))  # what the step has taken, to the bit
            backend.add_rows(grad.indices, w, state["start"].values, share)
        if self.max_norm is not None:
            backend.limit_norm(grad.indices, w, self.max_norm)

    def step_dense(self, param, state, g, *, name, lr, keep, step, backend):
        """Step a parameter of the head in place, by the backend's kernel where it has one.

        Parameters
        ----------
        param : ndarray of shape (n, d)
            The parameter.
        state : dict of str to ndarray
            Its state.
        g : ndarray of shape (n, d)
            Its gradient.
        name : str
            Its name in the model.
        lr : float
            Learning rate of this step.
        keep : float
            Factor on the parameter before the step.
        step : int
            Number of this step, from 1.
        backend : Backend
            Runs the kernel.
        """
        rates = dict(lr=lr, keep=keep, step=step, d=param.shape[1], name=name)
        if self.name in backend.row_updates:
            arrays = [param, *(state[slot] for slot in self.slots)]
            args = self.kernel_args(**rates)
            backend.update_dense(self.name, g, arrays, args)
            return
        param[...], new = self.rule(param, g, state, **rates, xp=backend.xp)
        state.update(new)
