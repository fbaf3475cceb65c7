"""Features that are left out of their rows, features drawn beside them, and the scores of both.

Draws of a row of the batch are SplitMix64 numbers that start at its key: they depend on nothing
else, so that threads can share the rows.
"""

import numpy as np
from numba import njit

from ._lines import dot, prefetch, prefetch_item

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
ROWS = 8  # read-ahead in X, whose rows lie anywhere, in rows of the batch
AHEAD = 8  # read-ahead in the table of the features that are predicted
FIRST = 64  # stored values of a row that are asked for ahead
U = np.uint64
GOLDEN = U(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)


@njit(inline="always", **OPTIONS)
def _uniform(state):
    """A number in [0, 1) from the state of a stream."""
    z = (state ^ (state >> U(30))) * MIX_1
    z = (z ^ (z >> U(27))) * MIX_2
    z = z ^ (z >> U(31))
    return np.float64(z >> U(11)) * 2.0**-53


@njit(inline="always", **OPTIONS)
def _keep_some(indices, data, p, e, keep, state, kept_ids, kept_data, at):
    """Copy the features of a row that stay; all of them where fewer than two would. Count them."""
    n = 0
    for q in range(p, e):
        state += GOLDEN
        if _uniform(state) < keep[U(indices[q])]:
            kept_ids[at + n] = indices[q]
            kept_data[at + n] = data[q]
            n += 1
    if n < 2:
        n = e - p
        for q in range(n):
            kept_ids[at + q] = indices[p + q]
            kept_data[at + q] = data[p + q]
    return n, state


@njit(inline="always", **OPTIONS)
def _move_targets(kept_ids, kept_data, at, n, n_targets, state):
    """Move random ones of n features to the end of them."""
    for last in range(n - 1, n - 1 - n_targets, -1):
        state += GOLDEN
        pick = np.int64(_uniform(state) * (last + 1))
        a, b = at + pick, at + last
        kept_ids[a], kept_ids[b] = kept_ids[b], kept_ids[a]
        kept_data[a], kept_data[b] = kept_data[b], kept_data[a]
    return state


@njit(inline="always", **OPTIONS)
def _add_drawn(indices, p, e, x, n_drawn, borders, guide, order, state, ids, weights, h):
    """Draw features and list those that row p..e does not have. Return the end of the list."""
    n_slots = guide.shape[0]
    for _ in range(n_drawn):
        state += GOLDEN
        u = _uniform(state)
        place = U(guide[U(u * n_slots)])
        while borders[place] <= u:
            place += U(1)
        j, same = order[place], np.int32(0)
        for q in range(p, e):
            same += np.int32(indices[q] == j)  # no branch, and of one width: vector code
        if same == 0:
            ids[h] = j
            weights[h] = x
            h += 1
    return h, state


@njit(**OPTIONS)
def leave_out(
    indptr, indices, data, rows, keys, weight, scale, keep, borders, guide, order, lo, hi,
    starts, most, n_drawn, bag_borders, bag_ids, bag_data, sums, head_borders, ids, labels, weights,
):  # fmt: skip
    """Write bags of rows lo..hi of the batch, and what is to be predicted from them.

    The bag of row i lies from ``bag_borders[2 * i]`` to ``bag_borders[2 * i + 1]``, its features
    to predict likewise in a place for `most` features left out with `n_drawn` drawn for each.
    `sums` receives the sums over a bag of abs(x) and x^2, x in units of the factor of the row.
    """
    for i in range(lo, hi):
        r = rows[min(i + ROWS, hi - 1)]
        for q in range(indptr[r], min(indptr[r] + FIRST, indptr[r + 1]), 16):
            prefetch_item(indices, q)
            prefetch_item(data, q)
        p, e, at, state = indptr[rows[i]], indptr[rows[i] + 1], starts[i], keys[i]
        n, state = _keep_some(indices, data, p, e, keep, state, bag_ids, bag_data, at)
        m = min(most, n // 2)
        state = _move_targets(bag_ids, bag_data, at, n, m, state)
        end = at + n - m
        size = square = 0.0
        for q in range(at, end):
            x = np.float64(bag_data[q]) * np.float64(scale[i])
            size += abs(x)
            square += x * x
        sums[0, i], sums[1, i] = size, square
        bag_borders[2 * i], bag_borders[2 * i + 1] = at, end
        h = i * most * (1 + n_drawn)
        head_borders[2 * i] = h
        for q in range(end, at + n):
            x = abs(bag_data[q]) * weight[i]
            ids[h], labels[h], weights[h] = bag_ids[q], 1, x
            h, state = _add_drawn(
                indices, p, e, x, n_drawn, borders, guide, order, state, ids, weights, h + 1
            )
        head_borders[2 * i + 1] = h


@njit(**OPTIONS)
def score_listed(borders, ids, lo, hi, pooled, table, offset, raw):
    """Write raw[p] = pooled[i] . table[ids[p]] + offset[ids[p]] for what rows lo..hi list."""
    width, line = table.shape[1], 64 // table.itemsize
    for i in range(lo, hi):
        s, e = borders[2 * i], borders[2 * i + 1]
        for p in range(s, e):
            if p == s or p + AHEAD < e:
                first = p if p == s else p + AHEAD
                for q in range(first, min(p + AHEAD + 1, e)):
                    for k in range(0, width, line):
                        prefetch(table, ids[q], k)
            j = U(ids[p])
            raw[p] = dot(pooled, U(i), table, j, width) + offset[j]
