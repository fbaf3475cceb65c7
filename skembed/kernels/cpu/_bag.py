"""Pooled forward gather over bags of rows, and the pooling factors.

Every kernel works on a range, or takes ranges, so that threads can share a batch. The order of
additions depends on the data alone. A view per row (table[j]) would cost reference counting, a
signed j a wrap-around test: kernels use array, unsigned j, k.
"""

import numpy as np
from numba import njit

from ._lines import add1, add4, prefetch, prefetch_item, take

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 4  # read-ahead in the table, in blocks of four occurrences
ROWS = 8  # read-ahead in X, whose rows lie anywhere, in rows of the batch
CLAIM = 256  # touched rows that a thread takes at a time
FIRST = 64  # stored values of a row that are asked for ahead
U = np.uint64
LOW = np.uint64(0xFFFFFFFF)


@njit(**OPTIONS)
def count_occurrences(indptr, rows):
    """Return the number of stored values in the given rows."""
    n = np.int64(0)
    for i in range(rows.shape[0]):
        n += indptr[rows[i] + 1] - indptr[rows[i]]
    return n


@njit(inline="always", **OPTIONS)
def _pool(indptr, indices, data, rows, scale, lo, hi, table, out):
    """Write out[i] = scale[i] * sum_p data[p] * table[indices[p]], lo <= i < hi of the batch."""
    width, line = table.shape[1], 64 // table.itemsize
    ahead_i, pending = lo, AHEAD
    ahead_p, ahead_e = indptr[rows[lo]], indptr[rows[lo] + 1]
    for i in range(lo - 2 * ROWS, hi):
        if i + 2 * ROWS < hi:
            prefetch_item(indptr, rows[i + 2 * ROWS])
        if lo <= i + ROWS < hi:  # the processor foresees what comes after the first values
            p, e = indptr[rows[i + ROWS]], indptr[rows[i + ROWS] + 1]
            for q in range(p, min(e, p + FIRST) + 15, 16):
                prefetch_item(indices, q)
                prefetch_item(data, q)
        if i < lo:
            continue
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
def bag_forward(indptr, indices, data, rows, scale, todo, chunk, table, out):
    """Pool the rows of a batch, `chunk` at a time, as long as `todo` has some left."""
    n = rows.shape[0]
    lo = take(todo, chunk)
    while lo < n:
        _pool(indptr, indices, data, rows, scale, lo, min(lo + chunk, n), table, out)
        lo = take(todo, chunk)


@njit(**OPTIONS)
def bag_max(indptr, indices, data, rows, todo, chunk, table, out, winners):
    """Write the componentwise maximum of x E over each bag and the table row it is from.

    Of equal values the first counts. A bag without members gives zeros and row -1. Bags are taken
    as in `bag_forward`.
    """
    n, width = rows.shape[0], table.shape[1]
    lo = take(todo, chunk)
    while lo < n:
        for i in range(lo, min(lo + chunk, n)):
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
        lo = take(todo, chunk)


@njit(**OPTIONS)
def sum_winners(starts, keys, coef, d_pooled, winners, ids, todo, values):
    """Write values[u] = sum of coef * d_pooled[source] over the components that row ids[u] won."""
    m, width = ids.shape[0], values.shape[1]
    lo = take(todo, CLAIM)
    while lo < m:
        for u in range(lo, min(lo + CLAIM, m)):
            for k in range(width):
                values[u, k] = 0
            for p in range(starts[u], starts[u + 1]):
                x, i = coef[p], U(keys[p]) & LOW
                for k in range(width):
                    if winners[i, k] == ids[u]:
                        values[u, k] += x * d_pooled[i, k]
        lo = take(todo, CLAIM)


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
