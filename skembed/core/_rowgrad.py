"""The gradient of a table is a list of touched rows.

`SparseRowGradient` is that list; `PendingRowGradient` is the same list before its rows are summed.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class SparseRowGradient:
    """Summed gradients of the touched rows of a table; every other row has gradient zero.

    Parameters
    ----------
    indices : ndarray of shape (m,), int32 or int64
        Touched rows, strictly increasing.
    values : ndarray of shape (m, width)
        Gradient of each touched row.
    counts : ndarray of shape (m,), int64
        Occurrences of each row in the batch.
    shape : tuple of two int
        Shape of the table.

    Examples
    --------
    >>> from skembed.inspection import SparseRowGradient
    >>> ids, slopes = [4, 1, 4], [[1.0], [2.0], [3.0]]  # row 4 occurs twice
    >>> gradient = SparseRowGradient.from_occurrences(ids, slopes, shape=(6, 1))
    >>> gradient.indices.tolist(), gradient.values.tolist(), gradient.counts.tolist()
    ([1, 4], [[2.0], [4.0]], [1, 2])
    """

    indices: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    shape: tuple

    @classmethod
    def from_occurrences(cls, indices, values, shape):
        """Sum the gradients of repeated rows, in the order in which they are given.

        Parameters
        ----------
        indices : array-like of shape (n,)
            Row of each occurrence, in any order, repeats allowed.
        values : array-like of shape (n, width)
            Gradient of each occurrence.
        shape : tuple of two int
            Shape of the table.

        Returns
        -------
        SparseRowGradient
            The list of distinct rows.

        Raises
        ------
        ValueError
            If a row lies outside the table or the shapes do not fit.
        """
        indices, values = np.asarray(indices), np.asarray(values)
        if indices.dtype.kind not in "iu" and len(indices):
            raise ValueError(f"Row ids must be integers, got dtype {indices.dtype}.")
        if values.shape != (len(indices), shape[1]):
            raise ValueError(
                f"Expected gradients of shape {(len(indices), shape[1])}, got {values.shape}."
            )
        if len(indices) and not 0 <= indices.min() <= indices.max() < shape[0]:
            raise ValueError(
                f"Row ids must lie in [0, {shape[0]}), got {indices.min()} to {indices.max()}."
            )
        groups, total = Groups.of(indices, values.dtype), np.zeros((0, shape[1]), values.dtype)
        if len(indices):
            total = np.add.reduceat(values[groups.keys], groups.starts[:-1], axis=0)
        return cls(groups.ids, total, np.diff(groups.starts), tuple(shape))

    def add(self, other):
        """Add a gradient of the same table.

        Parameters
        ----------
        other : SparseRowGradient
            The other one.

        Returns
        -------
        SparseRowGradient
            The sum.

        Raises
        ------
        ValueError
            If the shapes differ.
        """
        if self.shape != other.shape:
            raise ValueError(f"Cannot add gradients of shapes {self.shape} and {other.shape}.")
        rows, inverse = np.unique(
            np.concatenate([self.indices, other.indices]), return_inverse=True
        )
        values = np.zeros((len(rows), self.values.shape[1]), self.values.dtype)
        counts = np.zeros(len(rows), np.int64)
        mine, theirs = inverse[: len(self.indices)], inverse[len(self.indices) :]
        values[mine] = self.values
        counts[mine] = self.counts
        values[theirs] += other.values
        counts[theirs] += other.counts
        return SparseRowGradient(rows, values, counts, self.shape)

    def scale(self, factor):
        """Multiply the gradient.

        Parameters
        ----------
        factor : float or ndarray of shape (m, 1)
            One number, or one for each listed row.

        Returns
        -------
        SparseRowGradient
            The product.
        """
        return replace(self, values=self.values * np.asarray(factor, self.values.dtype))

    def norm(self):
        """Compute the Euclidean norm over all rows, in float64.

        Returns
        -------
        float
            The norm.
        """
        return float(np.linalg.norm(self.values.astype(np.float64, copy=False)))

    def to_csr(self):
        """Convert to a SciPy CSR array.

        Returns
        -------
        scipy.sparse.csr_array
            The gradient in the shape of the table.
        """
        m, d = len(self.indices), self.shape[1]
        indptr = np.zeros(self.shape[0] + 1, np.int64)
        indptr[self.indices + 1] = d
        columns = np.tile(np.arange(d), m)
        values = self.values[:, :d].ravel()
        return sp.csr_array((values, columns, np.cumsum(indptr)), shape=self.shape)


@dataclass(frozen=True, slots=True)
class Groups:
    """Occurrences of a batch sorted by table row.

    Those of a backend are its work space, valid until its next batch.

    Attributes
    ----------
    ids : ndarray of shape (m,), int32
        Touched rows, strictly increasing, without frozen rows.
    starts : ndarray of shape (m + 1,), int64
        The occurrences of ``ids[u]`` are ``starts[u]:starts[u + 1]``.
    keys : ndarray of shape (n,), int64
        Position in the batch of each occurrence in the low 32 bits; sorted by table row, then
        position.
    coef : ndarray of shape (n,)
        The stored value of each occurrence.
    """

    ids: np.ndarray
    starts: np.ndarray
    keys: np.ndarray
    coef: np.ndarray

    @classmethod
    def of(cls, rows, dtype):
        """Group a list of rows, shape (n,), whose values are all 1."""
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        ids, ends = rows[starts].astype(np.int32), np.append(starts, len(rows))
        return cls(ids, ends, order, np.ones(len(rows), dtype))


@dataclass(frozen=True, slots=True)
class PendingRowGradient:
    """A row gradient that is not summed yet: the grouping and the gradient of the pooled rows.

    Attributes
    ----------
    groups : Groups
        Occurrences sorted by table row.
    d_pooled : ndarray of shape (b, width)
        Gradient of the unscaled pooled sums.
    shape : tuple of two int
        Shape of the table.
    winners : ndarray of shape (b, width), int32, or None
        For max pooling, the table row that each component was taken from.
    """

    groups: Groups
    d_pooled: np.ndarray
    shape: tuple
    winners: np.ndarray | None = None

    @property
    def indices(self):
        """Touched rows, strictly increasing."""
        return self.groups.ids

    def sum(self, backend):
        """Return the `SparseRowGradient`, for those who need to look at the rows."""
        g = self.groups
        values = backend.bag_backward(g, self.d_pooled, self.winners)
        return SparseRowGradient(g.ids, values, np.diff(g.starts), self.shape)
