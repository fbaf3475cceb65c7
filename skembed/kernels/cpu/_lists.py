"""Lists of rows: their sum, without rows of zeros, and from single entries."""

import numpy as np
from numba import njit

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
U = np.uint64


@njit(**OPTIONS)
def merge_ids(a, b, ids, of_a, of_b):
    """Write the union of increasing ids, and where each is in `a` and `b`, or -1; return its size.

    In between it is interrupted by no one: an id takes a few nanoseconds.
    """
    i, j, m = 0, 0, 0
    while i < a.shape[0] and j < b.shape[0]:
        x, y = a[i], b[j]
        ids[m] = min(x, y)
        of_a[m] = i if x <= y else -1
        of_b[m] = j if y <= x else -1
        i += x <= y
        j += y <= x
        m += 1
    for k in range(i, a.shape[0]):
        ids[m], of_a[m], of_b[m] = a[k], k, -1
        m += 1
    for k in range(j, b.shape[0]):
        ids[m], of_a[m], of_b[m] = b[k], -1, k
        m += 1
    return m


@njit(**OPTIONS)
def add_lists(of_a, a, of_b, b, lo, hi, out):
    """Write a[of_a] + b[of_b] for rows lo to hi of the union; rows at -1 are zero."""
    width = out.shape[1]
    for i in range(lo, hi):
        p, q = of_a[i], of_b[i]
        if q < 0:
            for k in range(width):
                out[i, k] = a[U(p), k]
        elif p < 0:
            for k in range(width):
                out[i, k] = b[U(q), k]
        else:
            for k in range(width):
                out[i, k] = a[U(p), k] + b[U(q), k]


@njit(**OPTIONS)
def entry_rows(places, lo, hi, width, rows, of, m):
    """Write the rows of entries row * width + column to rows[m:], and the number of each one's.

    Returns the new m.
    """
    last = rows[m - 1] if m else np.int64(-1)
    for i in range(lo, hi):
        if places[i] >= (last + 1) * width:
            last = places[i] // width
            rows[m] = last
            m += 1
        of[i] = (m - 1) * width + places[i] - last * width
    return m


@njit(**OPTIONS)
def keep_rows(ids, values, lo, hi, m):
    """Move the rows with an entry other than zero together, in place, to m and behind it.

    Returns the new m.
    """
    width = values.shape[1]
    for i in range(lo, hi):
        some = False
        for k in range(width):
            some |= values[i, k] != 0
        if some:
            if m < i:
                ids[m] = ids[i]
                for k in range(width):
                    values[m, k] = values[i, k]
            m += 1
    return m
