"""Operations on the user's matrix, before and beside training."""

from collections import deque
from itertools import pairwise

import numpy as np

from skembed.core import LINE

from .._backend import Backend
from . import _bag, _columns, _spmm
from ._threads import Team

MIN_SHARE = 10_000  # occurrences that make it worth waking a thread: three hand-overs of 40-100 us
FEW = 50_000  # stored values that are no work for a kernel
CHUNK = 2_000_000  # stored values a kernel call may walk, so that Ctrl-C is heard
CHUNK_LINES = 4_000_000  # and cache lines of a block that it may ask for
LEAST_AHEAD, MOST_AHEAD, LINES_AHEAD = 8, 24, 64  # stored values, and lines, asked for ahead


class MatrixKernels(Backend):
    """Numba kernels for what happens once a fit or a prediction.

    Array code, which gives the same bits, gets through little work before a kernel is loaded.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.
    """

    def __init__(self, n_jobs=1):
        self.n_jobs, self.team = n_jobs, Team(n_jobs)

    def close(self):
        """End the threads."""
        self.team.close()

    def _threads(self, work):
        """Threads worth waking for so many occurrences: one, or all."""
        return 1 if work < MIN_SHARE * self.n_jobs else self.n_jobs

    @staticmethod
    def _parts(n, jobs):
        """Cut range(n) into one part a thread."""
        return [(n * t // jobs, n * (t + 1) // jobs) for t in range(jobs)]

    @staticmethod
    def _chunks(indptr, lo=0, hi=None, values=CHUNK):
        """Row ranges of at most `values` stored values (or one row)."""
        n = len(indptr) - 1 if hi is None else hi
        while lo < n:
            hi = int(np.searchsorted(indptr, indptr[lo] + values, side="right")) - 1
            hi = min(max(hi, lo + 1), n)
            yield lo, hi
            lo = hi

    def _over_matrix(self, kernel, before, after):
        """Return the results of kernel(*before, lo, hi, *after) over all rows; before[0] is indptr.

        Threads take parts of about equal numbers of stored values.
        """
        indptr, results = before[0], []
        for lo, hi in self._chunks(indptr):
            s, e = indptr[[lo, hi]].tolist()
            jobs = self._threads(e - s)
            inner = [s + (e - s) * t // jobs for t in range(1, jobs)]
            borders = [lo, *(np.searchsorted(indptr[lo:hi], inner) + lo).tolist(), hi]
            shares = [(*before, *part, *after) for part in pairwise(borders)]
            results += self.team.run(kernel, shares)
        return results

    def scan(self, indptr, indices):
        """Return the smallest and largest index and whether every row strictly increases."""
        if indptr[-1] <= FEW:
            return super().scan(indptr, indices)
        parts = self._over_matrix(_columns.scan_indices, (indptr, indices), ())
        least, most, ordered = zip(*parts, strict=True) if parts else ((0,), (-1,), (True,))
        return min(least), max(most), all(ordered)

    def count(self, indptr, indices, data, rows, n_features):
        """Return the columns with a value other than zero in `rows`, ascending, and how often."""
        nnz = int(indptr[-1])
        wide = n_features > max(1 << 22, 4 * nnz)  # sorting beats an array of all columns
        if nnz <= FEW or wide:
            return super().count(indptr, indices, data, rows, n_features)
        counts = np.zeros(n_features, np.int32)
        step = max(1, CHUNK * len(rows) // max(1, nnz))
        for lo in range(0, len(rows), step):
            hi = min(lo + step, len(rows))
            _columns.count_columns(indptr, indices, data, rows, lo, hi, counts)
        columns = np.flatnonzero(counts)
        return columns, counts[columns]

    def map_columns(self, indptr, indices, data, index):
        """Return (indptr, table rows, data) with only the values whose feature has a row."""
        if indptr[-1] <= FEW:
            return super().map_columns(indptr, indices, data, index)
        table_rows, ends = np.empty(int(indptr[-1]), np.int32), np.zeros_like(indptr)
        if index.direct is not None:
            kernel, look_up = _columns.map_direct, (index.direct,)
        else:
            kernel, look_up = _columns.map_sorted, (index.columns, index.rows)
        self._over_matrix(kernel, (indptr, indices, data), (*look_up, table_rows, ends))
        np.cumsum(ends, out=ends)
        if ends[-1] == len(table_rows):
            return indptr, table_rows, data
        kept_rows, kept = np.empty(ends[-1], np.int32), np.empty(ends[-1], data.dtype)
        x = indptr, table_rows, data
        self._over_matrix(_columns.compact, x, (ends, kept_rows, kept))
        return ends, kept_rows, kept

    def scale(self, indptr, data, pooling):
        """Return one pooling factor a row: "sum" 1, "mean" 1 / sum |x|, "sqrtn" 1 / ||x||."""
        if indptr[-1] <= FEW:
            return super().scale(indptr, data, pooling)
        out = np.ones(len(indptr) - 1, data.dtype)
        kernel = {"mean": _bag.mean_scale, "sqrtn": _bag.sqrtn_scale}.get(pooling)
        if kernel is not None:
            self._over_matrix(kernel, (indptr, data), (out,))
        return out

    def hash_rows(self, indptr, indices, data, seed):
        """Return a hash of (seed, columns and values other than zero) for each row, uint64."""
        if indptr[-1] <= FEW:
            return super().hash_rows(indptr, indices, data, seed)
        out = np.empty(len(indptr) - 1, np.uint64)
        bits = data.view(np.uint64 if data.itemsize == 8 else np.uint32)
        sign = np.uint64(1 << (8 * data.itemsize - 1))  # the bits of minus zero
        self._over_matrix(_columns.hash_rows, (indptr, indices, bits, sign), (seed, out))
        return out

    # ---------------------------------------------------------------- blocks of vectors
    def share(self, parts, operation):
        """Return [operation(*part) for part in parts]; threads take the parts in turns."""
        todo, results = deque(enumerate(parts)), [None] * len(parts)

        def work():
            try:
                while True:
                    try:
                        i, part = todo.popleft()
                    except IndexError:
                        return
                    results[i] = operation(*part)
            finally:
                todo.clear()  # an interrupted thread stops the others

        self.team.run(work, [()] * min(self.n_jobs, max(len(parts), 1)))
        return results

    def times(self, X, block, out, rows=None, add=False):
        """Write X @ block, or only some rows of it, or add it."""
        first, end = (0, len(X.indptr) - 1) if rows is None else rows
        lines = max(1, block.shape[1] * block.itemsize // LINE)
        ahead = max(LEAST_AHEAD, min(MOST_AHEAD, LINES_AHEAD // lines))

        def product(lo, hi):
            part, x = out[lo - first : hi - first], (X.indptr, X.indices, X.data, lo, hi, ahead)
            if not add:
                part[:] = 0
            _spmm.times(*x, block, part)

        nnz = int(X.indptr[end] - X.indptr[first])
        size = min(CHUNK_LINES // lines, nnz // (8 * self.n_jobs) + 1)
        parts = list(self._chunks(X.indptr, first, end, max(size, MIN_SHARE)))
        self.share(parts, product)

    def _column_parts(self, X, n_columns):
        """Cut the columns of X into one range a thread, with about equal numbers of values."""
        nnz = int(X.indptr[-1])
        jobs = self._threads(nnz)
        sample = np.sort(X.indices[: nnz : max(1, nnz // 20_000)])
        inner = [int(sample[len(sample) * t // jobs]) for t in range(1, jobs)]
        return list(pairwise([0, *inner, n_columns]))

    def transposed_times(self, X, block, out):
        """Write X.T @ block, without a transposed copy of X."""
        self.touch(out)
        x, owners = (X.indptr, X.indices, X.data), self._column_parts(X, len(out))
        lines = max(1, block.shape[1] * block.itemsize // LINE)
        for lo, hi in self._chunks(X.indptr, values=CHUNK_LINES // lines):
            shares = [(*x, lo, hi, *owner, block, out) for owner in owners]
            self.team.run(_spmm.transposed_times, shares)

    def transpose(self, X, n_columns):
        """Return (indptr, indices, data) of the transpose of X, without stored zeros."""
        x, n = (X.indptr, X.indices, X.data), len(X.indptr) - 1
        counts, every = np.zeros(n_columns, np.int32), np.arange(n)
        for lo, hi in self._chunks(X.indptr):
            _columns.count_columns(*x, every, lo, hi, counts)
        indptr = np.append(0, np.cumsum(counts))
        rows = np.empty(indptr[-1], np.int32 if n < 1 << 31 else np.int64)
        values, at = np.empty(indptr[-1], X.data.dtype), indptr[:-1].copy()
        owners = self._column_parts(X, n_columns)
        for lo, hi in self._chunks(X.indptr):
            shares = [(*x, lo, hi, *owner, at, rows, values) for owner in owners]
            self.team.run(_spmm.place, shares)
        return indptr, rows, values

    def touch(self, rows):
        """Write zeros to new rows, which are zero: memory is given out now, not in an epoch."""
        parts = self._parts(len(rows), self._threads(rows.size))
        self.team.run(np.copyto, [(rows[a:b], 0) for a, b in parts])

    def start_uniform(self, seed, columns, limit, d, out):
        """Write out[:, :d] = uniform in [-limit, limit), a function of (seed, column, k) alone."""
        if len(columns) * d <= FEW:
            return super().start_uniform(seed, columns, limit, d, out)
        step = max(1, CHUNK // d) * self.n_jobs
        for lo in range(0, len(columns), step):
            n = min(step, len(columns) - lo)
            parts = self._parts(n, self._threads(n * d))
            shares = [(seed, columns, lo + a, lo + b, limit, d, out) for a, b in parts]
            self.team.run(_columns.start_uniform, shares)
