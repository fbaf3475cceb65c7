"""Interactions of pairs of features: how a row of the table is divided, and its gradient."""

from dataclasses import dataclass

import numpy as np

from ._rowgrad import PendingRowGradient, SparseRowGradient


@dataclass(frozen=True, slots=True)
class PairShape:
    """How a row of the table of a factorization machine is divided.

    A row holds, for each field that it can meet and each output, a vector of d components: that of
    field f and output c begins at column ``(f * n_outputs + c) * d``. Direct weights, if any, come
    behind. A plain factorization machine has one field.

    Attributes
    ----------
    n_fields, n_outputs, d : int
        Fields, outputs, components.
    """

    n_fields: int
    n_outputs: int
    d: int

    @property
    def d_embedding(self):
        """Components of a row without its direct weights."""
        return self.n_fields * self.n_outputs * self.d

    def blocks(self, rows):
        """Return a view of rows of vectors, shape (len(rows), n_fields, n_outputs, d)."""
        shape = len(rows), self.n_fields, self.n_outputs, self.d
        return rows[:, : self.d_embedding].reshape(shape)


@dataclass(frozen=True, slots=True)
class PendingPairGradient(PendingRowGradient):
    """The row gradient of a factorization machine that is not summed yet.

    The score has no pair of a feature with itself, so that the gradient of a row is the sum over
    its occurrences, as in a bag, less a number times the row.

    Attributes
    ----------
    groups : Groups
        Occurrences sorted by table row.
    d_pooled : ndarray of shape (b * n_fields, width)
        Gradient of the unscaled sums of each row of the batch and field.
    shape : tuple of two int
        Shape of the table.
    winners : None
        There are none.
    own : ndarray of shape (b, n_outputs)
        What x^2 is multiplied by in that number.
    table : ndarray of shape (n_rows, width)
        The table, not changed since the forward pass.
    fields : ndarray of shape (n_rows,), int32, or None
        Field of each table row; None where there is one field.
    pairs : PairShape
        How the rows are divided.
    """

    own: np.ndarray = None
    table: np.ndarray = None
    fields: np.ndarray | None = None
    pairs: PairShape = None

    def sum(self, backend):
        """Return the `SparseRowGradient`, for those who need to look at the rows."""
        values = backend.fm_backward(self)
        return SparseRowGradient(self.groups.ids, values, np.diff(self.groups.starts), self.shape)
