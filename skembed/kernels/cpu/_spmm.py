"""Sparse matrix times a block of vectors, both ways round, and the transpose of a matrix.

A block holds one vector a column; its rows are padded to whole cache lines. Rows of the product are
independent (`times`), or threads own ranges of columns of X (`transposed_times`, `place`), whose
indices increase in every row: the order of additions depends on the data alone.
"""

import numpy as np
from numba import njit

from ._lines import add1, add4, prefetch, prefetch_write

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
U = np.uint64


@njit(**OPTIONS)
def times(indptr, indices, data, lo, hi, ahead, block, out):
    """Add sum_p data[p] * block[indices[p]] over row i to out[i - lo], lo <= i < hi.

    Rows of `block` are asked for `ahead` stored values before they are needed.
    """
    width, line, last = block.shape[1], 64 // block.itemsize, indptr[hi] - 1
    for i in range(lo, hi):
        p, e, o = indptr[i], indptr[i + 1], i - lo
        while p + 4 <= e:
            for q in range(p + ahead, p + ahead + 4):
                j = indices[U(min(q, last))]
                for k in range(0, width, line):
                    prefetch(block, j, k)
            x0, x1, x2, x3 = data[p], data[p + 1], data[p + 2], data[p + 3]
            j0, j1, j2, j3 = U(indices[p]), U(indices[p + 1]), U(indices[p + 2]), U(indices[p + 3])
            for k in range(0, width, line):
                add4(out, o, block, j0, j1, j2, j3, x0, x1, x2, x3, k)
            p += 4
        while p < e:
            j = indices[U(min(p + ahead, last))]
            for k in range(0, width, line):
                prefetch(block, j, k)
            x0, j0 = data[p], U(indices[p])
            for k in range(0, width, line):
                add1(out, o, block, j0, x0, k)
            p += 1


@njit(inline="always", **OPTIONS)
def _first(indices, s, e, column):
    """Return the first p in s..e with indices[p] >= column, e for none."""
    while s < e:
        middle = (s + e) >> 1
        if indices[middle] < column:
            s = middle + 1
        else:
            e = middle
    return s


@njit(**OPTIONS)
def transposed_times(indptr, indices, data, lo, hi, first, end, block, out):
    """Add data[p] * block[i] to out[indices[p]], rows lo..hi, columns first..end."""
    width, line = block.shape[1], 64 // block.itemsize
    for i in range(lo, hi):
        e = indptr[i + 1]
        p = _first(indices, indptr[i], e, first)
        while p < e and indices[p] < end:
            if p + 2 < e:
                for k in range(0, width, line):
                    prefetch_write(out, indices[p + 2], k)
            x, j = data[p], U(indices[p])
            for k in range(0, width, line):
                add1(out, j, block, i, x, k)
            p += 1


@njit(**OPTIONS)
def place(indptr, indices, data, lo, hi, first, end, at, rows, values):
    """Put rows lo..hi into the transpose, columns first..end; stored zeros are left out.

    The next value of column j goes to at[j], which counts up.
    """
    for i in range(lo, hi):
        e = indptr[i + 1]
        p = _first(indices, indptr[i], e, first)
        while p < e and indices[p] < end:
            j = U(indices[p])
            if data[p] != 0:
                q = at[j]
                rows[q] = i
                values[q] = data[p]
                at[j] = q + 1
            p += 1
