"""Group the occurrences of a batch by table row: a stable radix sort of packed keys.

A key is row << 32 | position in the batch. Threads share the sort: each deals the occurrences of
some rows of the batch to the owners of table rows, sorted by the lowest digit of the row; then each
owner, who has a range of table rows, sorts what it was dealt by the other digits. The order does
not depend on how many they are.
"""

import numpy as np
from numba import njit

from ._lines import prefetch_item

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
MAX_DIGIT = 12  # two passes reach 16 million rows
AHEAD = 8  # read-ahead in batch rows, which lie anywhere in X
U = np.uint64


@njit(inline="always", **OPTIONS)
def _owner(j, borders):
    """Number of the range of table rows that holds row j; rows that do not train have the last."""
    o = U(0)
    for t in range(borders.shape[0]):
        o += U(j >= borders[t])
    return o


@njit(**OPTIONS)
def deal(indptr, indices, data, rows, lo, hi, borders, digit, t, ends, keys, coef):
    """Deal the occurrences of rows lo <= i < hi of the batch, as thread t of several.

    ``keys[t]`` and ``coef[t]`` receive them by owner, then by the lowest digit of the row;
    ``ends[t]`` where those of each owner and digit end. Owner o has the rows from border o - 1 to
    border o.
    """
    size = 1 << digit
    n_places, mask, width = (borders.shape[0] + 1) * size, U(size - 1), U(digit)
    places, my_keys, my_coef = ends[t], keys[t], coef[t]
    for k in range(n_places):
        places[k] = 0
    for i in range(lo, hi):
        r = rows[min(i + AHEAD, hi - 1)]
        for p in range(indptr[r], indptr[r + 1], 16):
            prefetch_item(indices, p)
            prefetch_item(data, p)
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            places[(_owner(indices[p], borders) << width) | (U(indices[p]) & mask)] += 1
    total = 0
    for k in range(n_places):
        c = places[k]
        places[k] = total
        total += c
    for i in range(lo, hi):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = U(indices[p])
            c = (_owner(indices[p], borders) << width) | (j & mask)
            at = U(places[c])
            places[c] += 1
            my_keys[at] = (j << U(32)) | U(i)
            my_coef[at] = data[p]


@njit(inline="always", **OPTIONS)
def _mark(keys, lo, hi, ids, starts):
    """List the distinct rows of sorted keys from place `lo` on; return how many they are.

    Row lo + u of the list begins at starts[lo + u] and ends where the next one begins.
    """
    starts[lo] = lo
    if lo == hi:
        return np.int64(0)
    m, previous = U(lo), keys[lo] >> 32
    for q in range(lo, hi):
        j = keys[q] >> 32
        m += U(j != previous)  # no branch to mispredict: what is written too early is written again
        ids[m] = j
        starts[m + U(1)] = q + 1
        previous = j
    return np.int64(m) - lo + 1


@njit(**OPTIONS)
def join(o, size, ends, dealt, dealt_coef, keys, coef):
    """Put together what the threads dealt owner o. Return its piece (lo, hi) of keys and coef.

    The digit comes first, then the thread, which is the order of the batch.
    """
    lo, first = 0, o * size
    for t in range(ends.shape[0]):
        lo += ends[t, first - 1] if o > 0 else 0
    at = lo
    for d in range(first, first + size):
        for t in range(ends.shape[0]):
            for q in range(ends[t, d - 1] if d > 0 else 0, ends[t, d]):
                keys[at] = dealt[t, q]
                coef[at] = dealt_coef[t, q]
                at += 1
    return lo, at


@njit(**OPTIONS)
def sort(lo, hi, digit, passes, source, source_coef, places, a, a_coef, keys, coef, ids, starts):
    """Sort source[lo:hi], sorted by the lowest digit of the row, by the others. Count the rows.

    keys and coef are sorted by (row, position in the batch, place in the row of X); ids strictly
    increases. passes >= 2 digits of `digit` bits cover all rows. `a` and `places` are work space;
    passes take turns, and the last one writes to keys.
    """
    size = 1 << digit
    mask = U(size - 1)
    for p in range(1, passes):
        shift = U(32 + p * digit)
        for k in range(size):
            places[k] = 0
        for q in range(lo, hi):
            places[(U(source[q]) >> shift) & mask] += 1
        total = lo
        for k in range(size):
            c = places[k]
            places[k] = total
            total += c
        last = (passes - p) % 2 == 1
        out, out_coef = (keys, coef) if last else (a, a_coef)
        for q in range(lo, hi):
            key = source[q]
            k = (U(key) >> shift) & mask
            at = U(places[k])
            places[k] += 1
            out[at] = key
            out_coef[at] = source_coef[q]
        source, source_coef = out, out_coef
    return _mark(keys, lo, hi, ids, starts)
