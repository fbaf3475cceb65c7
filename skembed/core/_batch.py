"""Rows of CSR matrices, batch by batch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class CSRBatch:
    """Some rows of a CSR matrix, in a given order: a view, nothing of the matrix is copied.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row borders of the whole matrix.
    indices : ndarray of shape (nnz,), int32
        Table row of each stored value.
    data : ndarray of shape (nnz,), work dtype
        Stored values; none of them is zero.
    rows : ndarray of shape (b,), int64
        Rows of the matrix in batch order.
    scale : ndarray of shape (b,), work dtype
        Pooling factor of each row of the batch.
    numeric : ndarray of shape (b, n_numeric) or None
        Columns that go round the pooling.
    fields : ndarray of shape (n_table_rows,), int32, or None
        Field of each table row, where there are fields.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    rows: np.ndarray
    scale: np.ndarray
    numeric: np.ndarray | None = None
    fields: np.ndarray | None = None


def _stored(indptr, rows):
    """Return how many values each of some rows has, and where they are."""
    starts = indptr[rows].astype(np.int64)
    sizes = indptr[np.asarray(rows) + 1] - starts
    return sizes, np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def take_rows(indptr, indices, data, rows):
    """Return (indptr, indices, data) of some rows of a CSR matrix, copied in the given order."""
    sizes, at = _stored(indptr, rows)
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), indices[at], data[at]


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A CSR matrix that hands out dense rows, a batch at a time: labels, or numeric columns.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,)
        Row borders.
    indices : ndarray of shape (nnz,)
        Column of each stored value; no column twice in a row.
    data : ndarray of shape (nnz,)
        Stored values.
    n_columns : int
        Number of columns.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_columns: int

    @property
    def shape(self):
        """Number of rows and columns."""
        return len(self.indptr) - 1, self.n_columns

    def __getitem__(self, rows):
        """Return the given rows, dense, shape (len(rows), n_columns)."""
        sizes, at = _stored(self.indptr, rows)
        owner = np.repeat(np.arange(len(rows)), sizes)
        out = np.zeros((len(rows), self.n_columns), self.data.dtype)
        out[owner, self.indices[at]] = self.data[at]
        return out

    def take(self, rows):
        """Return a copy of the given rows, sparse."""
        X = take_rows(self.indptr, self.indices, self.data, rows)
        return SparseRows(*X, self.n_columns)
