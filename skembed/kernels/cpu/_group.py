"""Group the occurrences of a batch by table row: a stable radix sort of packed keys.

A key is row << 32 | position in the batch.
"""

import numpy as np
from numba import njit

from ._lines import prefetch_item

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
MAX_DIGIT = 12  # two passes reach 16 million rows
AHEAD = 8  # read-ahead in batch rows, which lie anywhere in X
U = np.uint64


@njit(**OPTIONS)
def _ranks(counts, first, n):
    """Turn counts into first places, in place."""
    total = 0
    for b in range(first, first + n):
        c = counts[b]
        counts[b] = total
        total += c
    return total


@njit(**OPTIONS)
def _count_digits(indptr, indices, data, rows, first, span, digit, passes, counts):
    """Count every digit of the owner's ids; return the number of occurrences of smaller ids."""
    size = 1 << digit
    mask, others, limit, width = U(size - 1), U(passes * size), U(span), U(digit)
    for k in range(passes * size + 1):
        counts[k] = 0
    offset, n_rows = 0, rows.shape[0]
    for i in range(n_rows):
        r = rows[min(i + AHEAD, n_rows - 1)]
        for p in range(indptr[r], indptr[r + 1], 16):
            prefetch_item(indices, p)
            prefetch_item(data, p)
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = indices[p] - first
            offset += j < 0
            own = U(j) < limit  # ids of others go to one more bucket: no branch to mispredict
            counts[(U(j) & mask) if own else others] += 1
            counts[(U(size) + ((U(j) >> width) & mask)) if own else others] += 1
            for t in range(2, passes):
                counts[(U(t * size) + ((U(j) >> U(t * digit)) & mask)) if own else others] += 1
    return offset


@njit(**OPTIONS)
def _scatter(keys, coef, counts, base, mask, shift, out, out_coef):
    """One stable pass over keys that are already sorted by all lower digits."""
    for q in range(keys.shape[0]):
        key = keys[q]
        c = base + ((U(key) >> shift) & mask)
        at = U(counts[c])
        counts[c] += 1
        out[at] = key
        out_coef[at] = coef[q]


@njit(**OPTIONS)
def _mark(keys, first, offset, ids, starts):
    """List the distinct rows of sorted keys and where each begins; the end of the last, too."""
    starts[offset] = offset
    if keys.shape[0] == 0:
        return np.int64(0)
    m, previous = U(offset), keys[0] >> 32
    for q in range(keys.shape[0]):
        j = keys[q] >> 32
        m += U(j != previous)  # no branch to mispredict: what is written too early is written again
        ids[m] = j + first
        starts[m + U(1)] = offset + q + 1
        previous = j
    return np.int64(m) - offset + 1


@njit(**OPTIONS)
def group_range(
    indptr, indices, data, rows, first, span, digit, passes,
    a, a_coef, b, b_coef, counts, keys, coef, ids, starts,
):  # fmt: skip
    """Sort the occurrences of table rows first <= id < first + span. Return (offset, n, m).

    The owner's piece of the shared outputs begins at `offset`, the number of occurrences of smaller
    ids, which every owner counts for itself. keys and coef are sorted by (row, position in the
    batch, place in the row of X); ids strictly increases; the occurrences of ids[offset + u] begin
    at starts[offset + u]. passes >= 2 digits of `digit` bits cover span; counts has
    passes * 2**digit + 1 places or more. The low half of a key is the position in the batch, its
    high half the row minus `first`.
    """
    offset = _count_digits(indptr, indices, data, rows, first, span, digit, passes, counts)
    size = 1 << digit
    mask, others, limit = U(size - 1), U(passes * size), U(span)
    n = 0
    for t in range(passes):
        n = _ranks(counts, t * size, size)
    counts[others] = n
    for i in range(rows.shape[0]):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = np.int64(indices[p]) - first
            c = (U(j) & mask) if U(j) < limit else others
            at = U(counts[c])
            counts[c] += 1
            a[at] = (j << 32) | i
            a_coef[at] = data[p]
    out, out_coef = keys[offset : offset + n], coef[offset : offset + n]
    for t in range(1, passes):
        shift, base = U(32 + t * digit), U(t * size)
        if t == passes - 1:
            _scatter(a[:n], a_coef[:n], counts, base, mask, shift, out, out_coef)
        else:
            _scatter(a[:n], a_coef[:n], counts, base, mask, shift, b[:n], b_coef[:n])
        a, b, a_coef, b_coef = b, a, b_coef, a_coef
    return offset, n, _mark(out, first, offset, ids, starts)
