"""Steps that rows have missed while they were not listed, made up for in one.

``last[j]`` is the number of the last step, within the epoch, that row j has seen. The factors are
arrays by that number: what a row needs that has missed all steps since.
"""

import numpy as np
from numba import njit

from ._lines import prefetch_write

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 8  # read-ahead in listed rows
U = np.uint64


@njit(**OPTIONS)
def decay_catch_up(ids, lo, hi, table, last, now, decay):
    """Multiply row j by decay[last[j]], what it has missed, and set last[j] = now."""
    width, line, end = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, end)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
        j = U(ids[u])
        x = decay[U(last[j, 0])]
        last[j, 0] = now
        for k in range(width):
            table[j, k] *= x


@njit(**OPTIONS)
def adam_catch_up(
    ids, lo, hi, table, m, v, last, now, decay, m_keep, v_keep, size_1, eps_1, size_2, eps_2
):
    """Replay the silent Adam steps of row j since last[j] in one, and set last[j] = now.

    w = decay w - m (size_1 / (sqrt(v) + eps_1) + size_2 / (sqrt(v) + eps_2)), m = m_keep m,
    v = v_keep v; every factor by last[j]. eps_1 <= eps_2.
    """
    width, line, end = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, end)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(m, ahead, k)
            prefetch_write(v, ahead, k)
        j = U(ids[u])
        p = U(last[j, 0])
        last[j, 0] = now
        if m_keep[p] == 1:  # nothing missed
            continue
        a, c, d = decay[p], m_keep[p], v_keep[p]
        b1, e1, b2, e2 = size_1[p], eps_1[p], size_2[p], eps_2[p]
        for k in range(width):
            root = np.sqrt(v[j, k])
            low, high = root + e1, root + e2
            move = b1 / low + b2 / high
            table[j, k] = a * table[j, k] - m[j, k] * (move if low > 0 else low)
            m[j, k] *= c
            v[j, k] *= d


@njit(**OPTIONS)
def mark_rows(ids, lo, hi, last, now):
    """Set last[ids[u], 0] = now, lo <= u < hi."""
    for u in range(lo, hi):
        last[U(ids[u]), 0] = now
