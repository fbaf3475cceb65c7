"""What happens to the listed rows of a table besides their step."""

import numpy as np
from numba import njit

from ._lines import prefetch, prefetch_write

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 16  # read-ahead in listed rows
U = np.uint64


@njit(**OPTIONS)
def limit_rows(ids, lo, hi, table, bound):
    """Scale the listed rows whose Euclidean norm is above `bound` down to it."""
    width = table.shape[1]
    for u in range(lo, hi):
        j, total = U(ids[u]), 0.0
        for k in range(width):
            total += np.float64(table[j, k]) * np.float64(table[j, k])
        if total > bound * bound:
            x = table.dtype.type(bound / np.sqrt(total))
            for k in range(width):
                table[j, k] *= x


@njit(**OPTIONS)
def add_rows(ids, lo, hi, table, rows, share):
    """Add share * rows[j] to row j = ids[u] of the table, lo <= u < hi."""
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    x = table.dtype.type(share)
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch(rows, ahead, k)
        j = U(ids[u])
        for k in range(width):
            table[j, k] += x * rows[j, k]


@njit(**OPTIONS)
def count_rows(ids, lo, hi, counts):
    """Add one to counts[ids[u], 0], lo <= u < hi."""
    last = ids.shape[0] - 1
    for u in range(lo, hi):
        prefetch_write(counts, ids[min(u + AHEAD, last)], 0)
        counts[U(ids[u]), 0] += 1
