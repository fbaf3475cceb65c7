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


@njit(**OPTIONS)
def _owner(j, borders):
    """Number of the range of table rows that holds row j; rows that do not train have the last."""
    o = U(0)
    for t in range(borders.shape[0]):
        o += U(j >= borders[t])
    return o


@njit(**OPTIONS)
def deal(indptr, indices, data, rows, lo, hi, borders, digit, passes, t, counts, keys, coef):
    """Deal the occurrences of rows lo <= i < hi of the batch, as thread t of several.

    ``counts[t, p]`` counts digit p of the rows of each owner; ``counts[t, 0]`` becomes where the
    occurrences of an owner with that lowest digit end in ``keys[t]`` and ``coef[t]``. Owner o has
    the rows from border o - 1 to border o. passes >= 2 digits of `digit` bits cover all rows that
    train.
    """
    size, n_owners = 1 << digit, borders.shape[0] + 1
    mask, width, step = U(size - 1), U(digit), U(n_owners * size)
    mine, my_keys, my_coef = counts[t], keys[t], coef[t]
    for k in range(passes * n_owners * size):
        mine[k] = 0
    for i in range(lo, hi):
        r = rows[min(i + AHEAD, hi - 1)]
        for p in range(indptr[r], indptr[r + 1], 16):
            prefetch_item(indices, p)
            prefetch_item(data, p)
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = U(indices[p])
            first = _owner(indices[p], borders) << width
            mine[first | (j & mask)] += 1
            mine[step + (first | ((j >> width) & mask))] += 1
            for q in range(2, passes):
                mine[U(q) * step + (first | ((j >> (U(q) * width)) & mask))] += 1
    total = 0
    for k in range(n_owners * size):
        c = mine[k]
        mine[k] = total
        total += c
    for i in range(lo, hi):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = U(indices[p])
            c = (_owner(indices[p], borders) << width) | (j & mask)
            at = U(mine[c])
            mine[c] += 1
            my_keys[at] = (j << U(32)) | U(i)
            my_coef[at] = data[p]


@njit(**OPTIONS)
def _places(counts, first, size, start, places):
    """Write where each value of a digit begins: counts of all threads, added up from `start`."""
    for d in range(size):
        places[d] = start
        for t in range(counts.shape[0]):
            start += counts[t, first + d]


@njit(**OPTIONS)
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
def sort_owner(o, n_owners, digit, passes, counts, dealt, dealt_coef, places, a, a_coef, keys, coef,
               ids, starts):  # fmt: skip
    """Sort what owner o was dealt. Return (lo, hi, m): its piece of keys and coef, its rows.

    keys and coef are sorted by (row, position in the batch, place in the row of X); ids strictly
    increases. `a` and `places` are work space.
    """
    size, lo, hi = 1 << digit, 0, 0
    first = o * size
    for t in range(counts.shape[0]):
        before = counts[t, first - 1] if o > 0 else 0
        lo += before
        hi += counts[t, first + size - 1]
    mask = U(size - 1)
    for p in range(1, passes):
        shift = U(32 + p * digit)
        _places(counts, (p * n_owners + o) * size, size, lo, places)
        last = (passes - p) % 2 == 1  # passes take turns, the last one writes to keys
        out, out_coef = (keys, coef) if last else (a, a_coef)
        if p == 1 and counts.shape[0] == 1:
            s = counts[0, first - 1] if o > 0 else 0
            for q in range(s, counts[0, first + size - 1]):
                key = dealt[0, q]
                k = (U(key) >> shift) & mask
                at = U(places[k])
                places[k] += 1
                out[at] = key
                out_coef[at] = dealt_coef[0, q]
        elif p == 1:  # the lowest digit first, then the thread, which is the order of the batch
            for d in range(size):
                for t in range(counts.shape[0]):
                    c = first + d
                    s = counts[t, c - 1] if c > 0 else 0
                    for q in range(s, counts[t, c]):
                        key = dealt[t, q]
                        k = (U(key) >> shift) & mask
                        at = U(places[k])
                        places[k] += 1
                        out[at] = key
                        out_coef[at] = dealt_coef[t, q]
        else:
            source, source_coef = (a, a_coef) if last else (keys, coef)
            for q in range(lo, hi):
                key = source[q]
                k = (U(key) >> shift) & mask
                at = U(places[k])
                places[k] += 1
                out[at] = key
                out_coef[at] = source_coef[q]
    return lo, hi, _mark(keys, lo, hi, ids, starts)
