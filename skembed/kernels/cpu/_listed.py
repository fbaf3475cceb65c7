"""What happens to the listed rows of a table besides their step."""

import numpy as np
from numba import njit

from ._lines import prefetch_write

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
def count_rows(ids, lo, hi, counts):
    """Add one to counts[ids[u], 0], lo <= u < hi."""
    last = ids.shape[0] - 1
    for u in range(lo, hi):
        prefetch_write(counts, ids[min(u + AHEAD, last)], 0)
        counts[U(ids[u]), 0] += 1
