"""Pooled forward gather over bags of rows, and the pooling factors.

Every kernel works on a range, so that a thread can own the range. The order of additions depends on
the data alone. A view per row (table[j]) would cost reference counting, a signed j a wrap-around
test: kernels use array, unsigned j, k.
"""

import numpy as np
from numba import njit

from ._lines import add1, add4, prefetch

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 4  # read-ahead of the forward pass, in blocks of four occurrences
U = np.uint64
LOW = np.uint64(0xFFFFFFFF)


@njit(**OPTIONS)
def bag_forward(indptr, indices, data, rows, scale, lo, hi, table, out):
    """Write out[i] = scale[i] * sum_p data[p] * table[indices[p]], lo <= i < hi of the batch."""
    width, line = table.shape[1], 64 // table.itemsize
    ahead_i = lo
    ahead_p = ahead_e = np.int64(0)
    if lo < hi:
        ahead_p, ahead_e = indptr[rows[lo]], indptr[rows[lo] + 1]
    pending = AHEAD
    for i in range(lo, hi):
        p, e = indptr[rows[i]], indptr[rows[i] + 1]
        for k in range(width):
            out[i, k] = 0
        while p < e:
            while pending > 0:  # the cursor walks blocks in the order in which they will be read
                pending -= 1
                while ahead_p >= ahead_e and ahead_i + 1 < hi:
                    ahead_i += 1
                    ahead_p, ahead_e = indptr[rows[ahead_i]], indptr[rows[ahead_i] + 1]
                stop = min(ahead_p + 4, ahead_e)
                while ahead_p < stop:
                    for k in range(0, width, line):
                        prefetch(table, indices[ahead_p], k)
                    ahead_p += 1
            pending = 1
            if p + 4 <= e:
                x0, x1, x2, x3 = data[p], data[p + 1], data[p + 2], data[p + 3]
                j0, j1 = U(indices[p]), U(indices[p + 1])
                j2, j3 = U(indices[p + 2]), U(indices[p + 3])
                for k in range(0, width, line):
                    add4(out, i, table, j0, j1, j2, j3, x0, x1, x2, x3, k)
                p += 4
            else:
                while p < e:
                    x0, j0 = data[p], U(indices[p])
                    for k in range(0, width, line):
                        add1(out, i, table, j0, x0, k)
                    p += 1
        a = scale[i]
        for k in range(width):
            out[i, k] *= a


@njit(**OPTIONS)
def bag_max(indptr, indices, data, rows, lo, hi, table, out, winners):
    """Write the componentwise maximum of x E over each bag and the table row it is from.

    Of equal values the first counts. A bag without members gives zeros and row -1.
    """
    width = table.shape[1]
    for i in range(lo, hi):
        p, e = indptr[rows[i]], indptr[rows[i] + 1]
        for k in range(width):
            out[i, k] = 0
            winners[i, k] = -1
        if p < e:
            x, j = data[p], U(indices[p])
            for k in range(width):
                out[i, k] = x * table[j, k]
                winners[i, k] = indices[p]
        for q in range(p + 1, e):
            x, j = data[q], U(indices[q])
            for k in range(width):
                y = x * table[j, k]
                if y > out[i, k]:
                    out[i, k] = y
                    winners[i, k] = indices[q]


@njit(**OPTIONS)
def sum_winners(starts, keys, coef, d_pooled, winners, ids, lo, hi, values):
    """Write values[u] = sum of coef * d_pooled[source] over the components that row ids[u] won."""
    width = values.shape[1]
    for u in range(lo, hi):
        for k in range(width):
            values[u, k] = 0
        for p in range(starts[u], starts[u + 1]):
            x, i = coef[p], U(keys[p]) & LOW
            for k in range(width):
                if winners[i, k] == ids[u]:
                    values[u, k] += x * d_pooled[i, k]


@njit(**OPTIONS)
def mean_scale(indptr, data, lo, hi, out):
    """Write out[r] = 1 / sum |x| over row r, 0 for an empty row, lo <= r < hi."""
    for r in range(lo, hi):
        total = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            total += abs(np.float64(data[p]))
        out[r] = 1 / total if total > 0 else 0.0


@njit(**OPTIONS)
def sqrtn_scale(indptr, data, lo, hi, out):
    """Write out[r] = 1 / sqrt(sum x^2) over row r, 0 for an empty row, lo <= r < hi."""
    for r in range(lo, hi):
        largest = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            largest = max(largest, abs(np.float64(data[p])))
        total = 0.0
        if largest > 0:
            for p in range(indptr[r], indptr[r + 1]):
                x = data[p] / largest  # squares of the raw values may overflow
                total += x * x
        out[r] = 1 / largest / np.sqrt(total) if total > 0 else 0.0
