"""What a fit has reached: features, parameters, solver state, counters."""

from copy import deepcopy

import numpy as np

from skembed.core import ParamTable, RowArray


class FitState:
    """Everything that training changes, and nothing else; it pickles, and goes on after that.

    Attributes
    ----------
    seed : int
        The one seed of the fit.
    index : FeatureIndex
        Features and their table rows.
    params : dict
        Name to `ParamTable` or ndarray.
    solver_state : dict
        Name of a parameter to its slots, each a `RowArray` or ndarray.
    n_updates : RowArray
        Steps in which each table row was listed.
    step : int
        Steps made.
    learning_rate : float
        Initial rate of the latest fit.
    loss_curve : list of float
        Weighted mean loss of each epoch of the present fit.
    """

    def __init__(self, seed, index, params, solver, learning_rate):
        self.seed, self.index, self.params = seed, index, params
        self.solver_state = {
            name: solver.init_table_state(p)
            if isinstance(p, ParamTable)
            else solver.init_state(p, name, np, learning_rate)
            for name, p in params.items()
        }
        self.n_updates = RowArray(0, 1, np.int32, padded=False)
        self.step, self.learning_rate = 0, learning_rate
        self.loss_curve = []

    def grow(self, index, start, solver, backend):
        """Take a larger index: insert its new rows with their starting values.

        Parameters
        ----------
        index : FeatureIndex
            A successor of the present index.
        start : UniformStart, NormalStart or ArrayStart
            Gives the rows.
        solver : Solver
            Gives their state.
        backend : Backend
            Draws.
        """
        table, old = self.params["table"], self.index
        n_free = index.n_trainable - old.n_trainable
        n_fixed = index.n_rows - old.n_rows - n_free
        columns = index.row_columns()
        arrays = [table, self.n_updates, *self.solver_state["table"].values()]
        for at, n in ((old.n_trainable, n_free), (index.n_rows - n_fixed, n_fixed)):
            if n == 0:
                continue
            for array in arrays:
                array.insert(at, n)
            start.write(columns[at : at + n], table, at, backend)
            slots = self.solver_state["table"]
            solver.start_rows(table, slots, at, at + n, self.learning_rate)
        table.n_trainable = index.n_trainable
        self.index = index

    def restart(self):
        """Begin the curve, and the counts of features, of another fit."""
        self.loss_curve = []
        self.index = self.index.without_counts()

    def copy(self):
        """Return an independent copy."""
        return deepcopy(self)

    def all_finite(self):
        """Tell whether every parameter is a finite number."""
        for p in self.params.values():
            flat = (p.values if isinstance(p, ParamTable) else p).ravel()
            with np.errstate(over="ignore", invalid="ignore"):
                if not np.isfinite(np.dot(flat, flat)) and not np.isfinite(flat).all():
                    return False
        return True
