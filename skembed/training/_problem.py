"""What an estimator hands to the loop."""

from dataclasses import dataclass, replace

import numpy as np

from skembed.core import CSRBatch, FeatureNoise, SparseRows, take_rows
from skembed.losses import Loss
from skembed.models import BagModel, FactorizationModel
from skembed.solvers import Solver

from ._schedule import Schedule


@dataclass(frozen=True, slots=True)
class FitProblem:
    """What to fit and how: everything about a fit that is neither data nor state.

    Attributes
    ----------
    model, loss, solver : BagModel or FactorizationModel, Loss, Solver
        The parts of the line.
    transforms : tuple of callable
        Functions of a dict of gradients, applied in order before the step.
    schedule : Schedule
        Rate of every step.
    weight_decay : float
        Decoupled decay; a row is multiplied by 1 - rate * weight_decay.
    batch_size : int
        Rows in a batch.
    shuffle : bool
        Whether each epoch draws a new order.
    trains_head : bool
        Whether other parameters than the table of features train.
    """

    model: BagModel | FactorizationModel
    loss: Loss
    solver: Solver
    transforms: tuple
    schedule: Schedule
    weight_decay: float
    batch_size: int
    shuffle: bool
    trains_head: bool = True

    def decay_of(self, name):
        """Return the decay of a parameter; an intercept has none."""
        return self.weight_decay if self.model.decays(name) else 0.0

    def trains(self, name):
        """Tell whether a parameter trains."""
        return self.trains_head or name == "table"


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The data of a fit: a CSR matrix in table rows, targets and weights.

    Attributes
    ----------
    indptr, indices, data : ndarray
        int64, int32 table rows, work dtype.
    scale : ndarray of shape (n,)
        Pooling factor of each row.
    y : ndarray of shape (n,) or (n, n_outputs), or SparseRows
        Encoded targets.
    sample_weight : ndarray of shape (n,) or None
        Weights; None weighs all rows alike.
    rows : ndarray of shape (m,), int64
        The rows to train on, all of positive weight.
    numeric : SparseRows or None
        Columns that go round the pooling.
    noise : ndarray of shape (n_outputs,), FeatureNoise or None
        For a sampled loss, the chance of each class or one before it to be drawn; or what features
        are drawn by.
    fields : ndarray of shape (n_table_rows,), int32, or None
        Field of each table row, where there are fields.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    scale: np.ndarray
    y: np.ndarray | SparseRows
    sample_weight: np.ndarray | None
    rows: np.ndarray
    numeric: SparseRows | None = None
    noise: np.ndarray | FeatureNoise | None = None
    fields: np.ndarray | None = None

    def batch(self, rows):
        """Return the given rows as a batch."""
        numeric = None if self.numeric is None else self.numeric[rows]
        x = self.indptr, self.indices, self.data, rows, self.scale[rows]
        return CSRBatch(*x, numeric, self.fields)

    def take(self, rows):
        """Return a copy of some rows, in the given order, all of them to train on."""
        indptr, indices, data = take_rows(self.indptr, self.indices, self.data, rows)
        return replace(
            self,
            indptr=indptr,
            indices=indices,
            data=data,
            scale=self.scale[rows],
            y=self.y.take(rows) if isinstance(self.y, SparseRows) else self.y[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            rows=np.arange(len(rows)),
            numeric=None if self.numeric is None else self.numeric.take(rows),
        )
