"""Hashed tokens, some rows at a time, become one CSR matrix."""

from contextlib import suppress

import numpy as np
import scipy.sparse as sp

INT32_MAX = 2**31 - 1


class Assembly:
    """A CSR matrix in the making; it needs little more memory than the matrix.

    Parameters
    ----------
    backend : Backend
        Folds rows.
    n_features : int
        Number of columns, at most 2**31 - 1.
    dtype : dtype
        Of the values.
    alternate_sign : bool
        Whether a negative hash turns the sign of a value.
    n_tokens : int, default=0
        How many tokens will come, where that is known: memory that nothing is written to costs
        nothing, and what is left over is given back.
    n_rows : int, default=0
        How many rows will come, where that is known instead: the first ones tell about the rest.
    """

    def __init__(self, backend, n_features, dtype, alternate_sign, n_tokens=0, n_rows=0):
        self.backend, self.n_features, self.dtype = backend, n_features, np.dtype(dtype)
        self.alternate_sign = alternate_sign
        self.indices, self.data = np.empty(n_tokens, np.int32), np.empty(n_tokens, dtype)
        self.n_rows, self.nnz, self.counts, self.ones = n_rows, 0, [], np.empty(0)

    def add(self, indptr, hashes, values=None):
        """Append rows.

        Parameters
        ----------
        indptr : ndarray of shape (n_rows + 1,), int64
            Where the tokens of each row begin, from 0 on.
        hashes : ndarray of shape (n,), int32
            Their hashes.
        values : ndarray of shape (n,), float64, default=None
            Their weights, finite; 1 by default. A token of weight 0 is left out.
        """
        if values is None:
            if len(self.ones) < len(hashes):
                self.ones = np.ones(len(hashes))
            values = self.ones
        x = indptr, hashes, values, self.n_features, self.alternate_sign, self.dtype
        counts, pieces = self.backend.fold_rows(*x)
        self.counts.append(counts)
        if self.nnz == 0 and self.n_rows > len(counts):
            self._reserve(int(counts.sum()) * self.n_rows // len(counts) * 17 // 16)
        for columns, sums in pieces:
            end = self.nnz + len(columns)
            if end > len(self.indices):
                self._resize(max(end, len(self.indices) * 5 // 4))
            self.indices[self.nnz : end] = columns
            self.data[self.nnz : end] = sums
            self.nnz = end

    def _reserve(self, n):
        with suppress(MemoryError):  # the first rows may be long ones
            self.indices, self.data = np.empty(n, np.int32), np.empty(n, self.dtype)

    def _resize(self, n):
        # the system moves pages, not bytes; no view of the arrays is alive
        self.indices.resize(n, refcheck=False)
        self.data.resize(n, refcheck=False)

    def finish(self):
        """Return the matrix, a `csr_array`."""
        self._resize(self.nnz)
        n_rows = sum(map(len, self.counts))
        indptr = np.zeros(n_rows + 1, np.int32 if self.nnz <= INT32_MAX else np.int64)
        if self.counts:
            np.cumsum(np.concatenate(self.counts), out=indptr[1:])
        indices = self.indices.astype(indptr.dtype, copy=False)
        X = sp.csr_array((self.data, indices, indptr), shape=(n_rows, self.n_features))
        X.has_canonical_format = True
        return X
