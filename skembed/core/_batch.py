"""CSRBatch: some rows of a CSR matrix, in a given order."""

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
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    rows: np.ndarray
    scale: np.ndarray

    @property
    def n_occurrences(self):
        """Number of stored values in the batch."""
        return int((self.indptr[self.rows + 1] - self.indptr[self.rows]).sum())
