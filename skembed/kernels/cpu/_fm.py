"""Factorization machines: sums and scores of a batch, and the way back to the rows of the table.

Rows of the table are divided as `PairShape` tells: (n_fields, n_outputs, d) = (F, K, d), then
`n_linear` direct weights. `out` and `d_pooled` have one row for each row of the batch and field,
that of row i and field f at i * F + f. Every kernel works on a range, or takes ranges, and the
order of additions depends on the data alone.
"""

import numpy as np
from numba import njit

from ._lines import add1, add4, prefetch, prefetch_item, square1, square4, take

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
ROWS = 8  # read-ahead in X, whose rows lie anywhere, in rows of the batch
NEXT = 2  # read-ahead in the table, in rows of the batch
FIRST = 64  # stored values of a row whose table rows are asked for ahead
U = np.uint64


@njit(inline="always", **OPTIONS)
def _ask(indptr, indices, data, rows, lo, i, hi, table):
    """Ask for what the rows of the batch behind row i need, within lo..hi."""
    line = 64 // table.itemsize
    if i + 2 * ROWS < hi:
        prefetch_item(indptr, rows[i + 2 * ROWS])
    if lo <= i + ROWS < hi:
        p, e = indptr[rows[i + ROWS]], indptr[rows[i + ROWS] + 1]
        for q in range(p, min(e, p + FIRST) + 15, 16):
            prefetch_item(indices, q)
            prefetch_item(data, q)
    if lo <= i + NEXT < hi:
        p, e = indptr[rows[i + NEXT]], indptr[rows[i + NEXT] + 1]
        for q in range(p, min(e, p + FIRST)):
            for k in range(0, table.shape[1], line):
                prefetch(table, indices[q], k)


@njit(inline="always", **OPTIONS)
def _pool_pairs(
    indptr, indices, data, rows, scale, lo, hi, table, out, work, n_outputs, d, n_linear, raw
):
    """`fm_forward` of the rows lo..hi of the batch."""
    width, line, kind = table.shape[1], 64 // table.itemsize, table.dtype.type
    half = kind(0.5)
    for i in range(lo - 2 * ROWS, hi):
        _ask(indptr, indices, data, rows, lo, i, hi, table)
        if i < lo:
            continue
        p, e = indptr[rows[i]], indptr[rows[i] + 1]
        for k in range(width):
            out[i, k] = 0
            work[0, k] = 0
        while p + 4 <= e:
            for q in range(p + FIRST, min(p + FIRST + 4, e)):
                for k in range(0, width, line):
                    prefetch(table, indices[q], k)
            x0, x1, x2, x3 = data[p], data[p + 1], data[p + 2], data[p + 3]
            j0, j1 = U(indices[p]), U(indices[p + 1])
            j2, j3 = U(indices[p + 2]), U(indices[p + 3])
            for k in range(0, width, line):
                add4(out, i, table, j0, j1, j2, j3, x0, x1, x2, x3, k)
                square4(work, U(0), table, j0, j1, j2, j3, x0, x1, x2, x3, k)
            p += 4
        while p < e:
            for k in range(0, width, line):
                add1(out, i, table, U(indices[p]), data[p], k)
                square1(work, U(0), table, U(indices[p]), data[p], k)
            p += 1
        a = scale[i]
        for k in range(width):
            out[i, k] *= a
        for c in range(n_outputs):
            total = norm = kind(0)
            for k in range(c * d, c * d + d):
                total += out[i, k] * out[i, k]
                norm += work[0, k]
            score = half * total - half * (a * a * norm)
            raw[c, i] = score + out[i, n_outputs * d + c] if n_linear > 0 else score


@njit(**OPTIONS)
def fm_forward(
    indptr, indices, data, rows, scale, todo, chunk, table, out, work, n_outputs, d, n_linear, raw
):
    """Write the sums and scores of rows of a batch, `chunk` at a time, as long as `todo` has some.

    out[i] = s = scale[i] sum_p x_p e_p, the sum of table rows, and for each output c of which v
    and w are the vector and the direct weight in a row, raw[c, i] = w(s) + (v(s)^2 - scale[i]^2
    sum_p x_p^2 v_p^2) / 2. `work` is work space of one row.
    """
    n = rows.shape[0]
    lo = take(todo, chunk)
    while lo < n:
        _pool_pairs(
            indptr, indices, data, rows, scale, lo, min(lo + chunk, n), table, out, work,
            n_outputs, d, n_linear, raw,
        )  # fmt: skip
        lo = take(todo, chunk)


@njit(inline="always", **OPTIONS)
def _pool_fields(
    indptr, indices, data, rows, scale, lo, hi, table, out, fields, n_fields, n_outputs, d, raw
):
    """Write the sums by field of the rows lo..hi of the batch, and to raw the squares to leave."""
    width, line, kind = table.shape[1], 64 // table.itemsize, table.dtype.type
    for i in range(lo - 2 * ROWS, hi):
        _ask(indptr, indices, data, rows, lo, i, hi, table)
        if i < lo:
            continue
        first, a = i * n_fields, scale[i]
        for r in range(first, first + n_fields):
            for k in range(width):
                out[r, k] = 0
        for c in range(n_outputs):
            raw[c, i] = 0
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            x, j = data[p], U(indices[p])
            f = fields[j]
            for k in range(0, width, line):
                add1(out, first + f, table, j, x, k)
            for c in range(n_outputs):
                norm = kind(0)
                for k in range((f * n_outputs + c) * d, (f * n_outputs + c + 1) * d):
                    norm += (x * table[j, k]) * (x * table[j, k])
                raw[c, i] += norm
        for r in range(first, first + n_fields):
            for k in range(width):
                out[r, k] *= a


@njit(inline="always", **OPTIONS)
def _score_fields(out, scale, lo, hi, n_fields, n_outputs, d, n_linear, raw):
    """Write the scores of the rows lo..hi of the batch."""
    kind, direct = out.dtype.type, n_fields * n_outputs * d
    zero, half = kind(0), kind(0.5)
    for i in range(lo, hi):
        first = i * n_fields
        for c in range(n_outputs):
            total = linear = zero
            for f in range(n_fields):
                for g in range(f, n_fields):
                    pair, q = zero, (f * n_outputs + c) * d
                    for k in range((g * n_outputs + c) * d, (g * n_outputs + c + 1) * d):
                        pair += out[first + f, k] * out[first + g, q]
                        q += 1
                    total += half * pair if f == g else pair
                if n_linear > 0:
                    linear += out[first + f, direct + c]
            raw[c, i] = total - half * (scale[i] * scale[i] * raw[c, i]) + linear


@njit(**OPTIONS)
def ffm_forward(
    indptr, indices, data, rows, scale, todo, chunk, table, out, fields, n_fields, n_outputs, d,
    n_linear, raw,
):  # fmt: skip
    """`fm_forward` with fields: features of fields f and g meet by their vectors for g and f."""
    n = rows.shape[0]
    lo = take(todo, chunk)
    while lo < n:
        hi = min(lo + chunk, n)
        _pool_fields(
            indptr, indices, data, rows, scale, lo, hi, table, out, fields, n_fields, n_outputs, d,
            raw,
        )  # fmt: skip
        _score_fields(out, scale, lo, hi, n_fields, n_outputs, d, n_linear, raw)
        lo = take(todo, chunk)


@njit(**OPTIONS)
def fm_slopes(lo, hi, pooled, d_raw, scale, n_fields, n_outputs, d, n_linear, d_pooled, own):
    """Write the gradients of the unscaled sums of the rows lo..hi of the batch.

    The sum of field f for field g meets that of g for f; own[i, c] = scale[i]^2 d_raw[c, i].
    """
    direct = n_fields * n_outputs * d
    for i in range(lo, hi):
        first = i * n_fields
        for c in range(n_outputs):
            slope = d_raw[c, i] * scale[i]
            own[i, c] = slope * scale[i]
            for f in range(n_fields):
                for g in range(n_fields):
                    q = (f * n_outputs + c) * d
                    for k in range((g * n_outputs + c) * d, (g * n_outputs + c + 1) * d):
                        d_pooled[first + f, k] = slope * pooled[first + g, q]
                        q += 1
                if n_linear > 0:
                    d_pooled[first + f, direct + c] = slope
