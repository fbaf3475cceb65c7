"""What a fit has reached: features, parameters, solver state, counters."""

from copy import copy, deepcopy
from dataclasses import dataclass, replace

import numpy as np

from skembed.core import FeatureIndex, ParamTable, QuantizedTable, RowArray

QUANTIZED_VALUES = 1 << 17  # stored values whose rows are numbers again at a time


class FitState:
    """Everything that training changes, and nothing else; it pickles, and goes on after that.

    Attributes
    ----------
    seed : int
        The one seed of the fit.
    partition : int
        Number of the partition that is trained on, whose orders and draws are its own; else 0.
    index : FeatureIndex
        Features and their table rows.
    model : BagModel or FactorizationModel
        What the parameters are the parameters of.
    fields : ndarray of shape (n_rows,), int32, or None
        Field of each table row, where there are fields.
    numeric : ndarray of int64
        Columns that go round the pooling.
    params : dict
        Name to `ParamTable` or ndarray.
    slots : dict of str to str
        Kinds of state that the solver keeps of the table.
    solver_state : dict
        Name of a parameter to its slots, each a `RowArray` or ndarray.
    n_updates : RowArray
        Steps in which each table row was listed.
    class_counts : ndarray of shape (n_outputs,) or 0
        Weight of the rows of each class that a sampled loss has seen.
    row_counts, weight_seen : RowArray, float
        Weight of the rows that had the feature of each table row, and of all rows, where features
        are what is predicted.
    step : int
        Steps made.
    learning_rate, batch_size : float, int
        Initial rate, and rows in a batch, of the latest fit.
    loss_curve, validation_scores : list of float
        Weighted mean loss of each epoch of the present fit, and the score on rows held out.
    best_epoch : int
        The epoch of the fit whose state this is.
    """

    def __init__(self, seed, index, problem, params, numeric=()):
        solver = problem.solver
        self.seed, self.partition, self.index, self.params = seed, 0, index, params
        self.slots = dict(solver.table_slots)
        self.model, self.numeric = problem.model, np.asarray(numeric, np.int64)
        self.fields = self.model.fields_of_rows(index)
        self.learning_rate, self.batch_size = problem.schedule.initial, problem.batch_size
        self.solver_state = {}
        self.start_solver(solver)
        self.n_updates = RowArray(0, 1, np.int32, padded=False)
        self.class_counts = self.weight_seen = 0.0
        self.row_counts = RowArray(0, 1, np.float64, padded=False)
        self.step = 0
        self.loss_curve, self.validation_scores, self.best_epoch = [], [], 0

    def start_solver(self, solver):
        """Let the solver begin with the present parameters; where rows once started stays known."""
        options, old = (self.learning_rate, self.batch_size), self.solver_state
        self.solver_state = {}
        for name, p in self.params.items():
            if not isinstance(p, ParamTable):
                self.solver_state[name] = solver.init_state(p, name, np, *options)
                continue
            self.solver_state[name] = slots = solver.init_table_state(p)
            for array in slots.values():
                array.insert(0, p.n_rows)
            solver.start_rows(p, slots, 0, p.n_rows, *options)
            if "start" in old.get(name, ()):
                slots["start"] = old[name]["start"]

    def grow(self, index, start, solver, backend):
        """Take a larger index: insert its new rows with their starting values.

        Parameters
        ----------
        index : FeatureIndex
            A successor of the present index.
        start : UniformStart, NormalStart, ArrayStart or KnownStart
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
        for at, n in ((old.n_trainable, n_free), (index.n_rows - n_fixed, n_fixed)):
            if n == 0:
                continue
            for array in self._by_feature():
                array.insert(at, n)
                backend.touch(array.values[at : at + n])
            start.write(columns[at : at + n], table, at, backend)
            for name in ("table", *self.model.follows_table):
                slots, sizes = self.solver_state[name], (self.learning_rate, self.batch_size)
                solver.start_rows(self.params[name], slots, at, at + n, *sizes)
        self._take(index)

    def _by_feature(self):
        """Return the arrays with a row for each row of the table."""
        follows = self.model.follows_table
        tables = [self.params[name] for name in ("table", *follows)]
        slots = [a for name in ("table", *follows) for a in self.solver_state[name].values()]
        return [*tables, *slots, self.n_updates, *([self.row_counts] if follows else [])]

    def _take(self, index):
        self.params["table"].n_trainable = index.n_trainable
        for name in self.model.follows_table:
            self.params[name].n_trainable = index.n_rows
        self.index, self.fields = index, self.model.fields_of_rows(index)

    def shrink(self, index):
        """Go back to the index before the last growth: remove the rows that it inserted."""
        new = self.index
        n_free = new.n_trainable - index.n_trainable
        n_fixed = new.n_rows - index.n_rows - n_free
        for array in self._by_feature():
            array.remove(new.n_rows - n_fixed, n_fixed)
            array.remove(index.n_trainable, n_free)
        self._take(index)

    def restart(self, problem):
        """Begin the record, and the counts of features, of another fit."""
        self.learning_rate, self.batch_size = problem.schedule.initial, problem.batch_size
        self.loss_curve, self.validation_scores = [], []
        self.index = self.index.without_counts()
        self.class_counts = self.weight_seen = 0.0
        self.row_counts.values[:] = 0

    def arrays(self):
        """Return every array that training writes, always in the same order."""
        slots = [a for state in self.solver_state.values() for a in state.values()]
        arrays = [*self.params.values(), *slots, self.n_updates, self.row_counts]
        return [a.values if isinstance(a, RowArray) else a for a in arrays]

    def copy(self, into=None):
        """Return an independent copy, written over an earlier copy of the same fit if given."""
        if into is None:
            return deepcopy(self)
        for mine, other in zip(self.arrays(), into.arrays(), strict=True):
            np.copyto(other, mine)
        into.step = self.step
        return into

    def restore(self, copy):
        """Take back the parameters, the solver's state and the counters of a copy."""
        for name in ("params", "solver_state", "n_updates", "step"):
            setattr(self, name, getattr(copy, name))

    def read_at_a_time(self, most):
        """Return how many stored values, at most `most`, a batch of `to_read` should have."""
        is_quantized = isinstance(self.params["table"], QuantizedTable)
        return min(most, QUANTIZED_VALUES) if is_quantized else most

    @staticmethod
    def to_read(params, batch):
        """Return parameters as a batch is predicted with them, and the batch for them.

        Of a quantized table the rows that the batch reads are made numbers again.
        """
        table = params["table"]
        if not isinstance(table, QuantizedTable):
            return params, batch
        table, places, rows = table.part(batch.indices)
        fields = None if batch.fields is None else batch.fields[rows]
        return {**params, "table": table}, replace(batch, indices=places, fields=fields)

    def without_solver_state(self):
        """Return a state on the same arrays that predicts, without what only training needs."""
        other = copy(self)
        other.solver_state = {}
        return other

    def quantized(self, bits):
        """Return an independent state with a table in 8 or 16 bits, to predict with only."""
        other = self.without_solver_state()
        other.params = {**self.params, "table": QuantizedTable.of(self.params["table"], bits)}
        return deepcopy(other)

    def __setstate__(self, state):
        # what states of earlier versions lack
        none = RowArray(0, 1, np.float64, padded=False)
        later = dict(fields=None, class_counts=0.0, partition=0, weight_seen=0.0, row_counts=none)
        self.__dict__.update({**later, **state})

    def all_finite(self):
        """Tell whether every parameter is a finite number."""
        for p in self.params.values():
            flat = (p.values if isinstance(p, ParamTable) else p).ravel()
            with np.errstate(over="ignore", invalid="ignore"):
                if not np.isfinite(np.dot(flat, flat)) and not np.isfinite(flat).all():
                    return False
        return True


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the state of a new fit is made from: the same state wherever it is made.

    Attributes
    ----------
    seed : int
        The one seed of the fit.
    params : dict
        Parameters with an empty table.
    numeric : ndarray of int64
        Columns that go round the pooling.
    index : FeatureIndex
        Features and their table rows.
    start : UniformStart, NormalStart, ArrayStart or KnownStart
        Gives the rows.
    """

    seed: int
    params: dict
    numeric: np.ndarray
    index: FeatureIndex
    start: object

    def state(self, problem, backend):
        """Return a new state."""
        empty = FeatureIndex(self.index.n_features)
        state = FitState(self.seed, empty, problem, deepcopy(self.params), self.numeric)
        state.grow(self.index, self.start, problem.solver, backend)
        return state
