"""Columns of the user's matrix: scan, count, map to table rows, and starting values of rows.

`scan_indices` is the only kernel that may see unscanned indices. All others trust them.
"""

import numpy as np
from numba import njit

from ._lines import prefetch_item

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 16  # read-ahead in the map from columns to table rows, in stored values
U = np.uint64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(**OPTIONS)
def scan_indices(indptr, indices, lo, hi):
    """Return (smallest, largest) index of rows lo..hi and whether each row strictly increases."""
    least, most = np.int64(0), np.int64(-1)
    ordered = True
    for r in range(lo, hi):
        s, e = indptr[r], indptr[r + 1]
        rising = True
        for p in range(s + 1, e):
            rising &= indices[U(p)] > indices[U(p) - U(1)]
        if not rising:
            ordered = False
            for p in range(s, e):
                least, most = min(least, np.int64(indices[p])), max(most, np.int64(indices[p]))
        elif s < e:  # its ends are its extremes
            least, most = min(least, np.int64(indices[s])), max(most, np.int64(indices[e - 1]))
    return least, most, ordered


@njit(**OPTIONS)
def count_columns(indptr, indices, data, rows, lo, hi, counts):
    """Add one to counts[j] for each stored value other than zero in column j of rows[lo:hi]."""
    last = indptr[indptr.shape[0] - 1] - 1
    for i in range(lo, hi):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            prefetch_item(counts, indices[min(p + AHEAD, last)])
            counts[U(indices[p])] += data[p] != 0


@njit(**OPTIONS)
def map_direct(indptr, indices, data, lo, hi, table, out, ends):
    """Write the table row of each stored value, -1 for none or a stored zero; count per row.

    ``ends[r + 1]`` receives the number of values of row r that have a table row.
    """
    last = indptr[hi] - 1
    for r in range(lo, hi):
        n = 0
        for p in range(indptr[r], indptr[r + 1]):
            prefetch_item(table, indices[min(p + AHEAD, last)])
            j = table[U(indices[p])] if data[p] != 0 else np.int32(-1)
            out[p] = j
            n += j >= 0
        ends[r + 1] = n


@njit(**OPTIONS)
def map_sorted(indptr, indices, data, lo, hi, columns, table, out, ends):
    """`map_direct` by binary search in `columns`; table[k] is the row of columns[k]."""
    for r in range(lo, hi):
        n, floor = 0, 0
        for p in range(indptr[r], indptr[r + 1]):
            j, a, b = indices[p], floor, columns.shape[0]
            while a < b:
                mid = (a + b) >> 1
                if columns[mid] < j:
                    a = mid + 1
                else:
                    b = mid
            floor = a  # indices increase within a row
            row = np.int32(-1)
            if a < columns.shape[0] and columns[a] == j and data[p] != 0:
                row = table[a]
            out[p] = row
            n += row >= 0
        ends[r + 1] = n


@njit(**OPTIONS)
def compact(indptr, table_rows, data, lo, hi, new_indptr, new_rows, new_data):
    """Keep the values of rows lo..hi that have a table row."""
    for r in range(lo, hi):
        q = new_indptr[r]
        for p in range(indptr[r], indptr[r + 1]):
            if table_rows[p] >= 0:
                new_rows[q] = table_rows[p]
                new_data[q] = data[p]
                q += 1


@njit(inline="always", **OPTIONS)
def _mix(z):
    z = (z ^ (z >> U(30))) * MIX_1
    z = (z ^ (z >> U(27))) * MIX_2
    return z ^ (z >> U(31))


@njit(**OPTIONS)
def hash_rows(indptr, indices, bits, sign, lo, hi, seed, out):
    """Write a hash of (seed, columns and bits of the values) of rows lo..hi, zeros left out."""
    for r in range(lo, hi):
        h = _mix(U(seed) + GOLDEN)
        for p in range(indptr[r], indptr[r + 1]):
            x = U(bits[p])
            if x != 0 and x != sign:
                h = _mix(h ^ _mix(U(indices[p]) + GOLDEN))
                h = _mix(h ^ (x + GOLDEN))
        out[r] = h


@njit(**OPTIONS)
def start_uniform(seed, columns, lo, hi, limit, d, out):
    """Write out[i, :d] = uniform in [-limit, limit), a function of (seed, columns[i], k) alone."""
    key = _mix(U(seed) + GOLDEN)
    for i in range(lo, hi):
        z = _mix(key ^ _mix(U(columns[i]) + GOLDEN))
        for k in range(d):
            u = np.float64(_mix(z + U(k + 1) * GOLDEN) >> U(11)) * 2.0**-53
            out[i, k] = (2 * u - 1) * limit
