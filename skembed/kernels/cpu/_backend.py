"""Joins kernels, threads and work space.

Kernels are serial over a range; this file alone decides who does which range.
"""

from itertools import pairwise

import numpy as np

from skembed.core import Groups, PendingRowGradient, RowArray

from .._backend import Backend
from . import _bag, _catch_up, _columns, _group, _rows
from ._threads import Team, single_blas

ROW_COST = 4  # one row step costs about as much as this many added occurrences
MIN_SHARE = 5000  # occurrences that make it worth waking a thread (a hand-over costs 40-100 us)
CHUNK = 2_000_000  # stored values a kernel call may walk, so that Ctrl-C is heard


class CPUBackend(Backend):
    """Numba kernels on `n_jobs` threads; results do not depend on `n_jobs`.

    Parameters
    ----------
    n_jobs : int
        Number of threads.
    """

    row_updates = {
        "sgd": (_rows.sgd_rows, _rows.sgd_bag),
        "adagrad": (_rows.adagrad_rows, _rows.adagrad_bag),
        "rowwise_adagrad": (_rows.rowwise_adagrad_rows, _rows.rowwise_adagrad_bag),
        "lazy_adam": (_rows.lazy_adam_rows, _rows.lazy_adam_bag),
        "adam": (_rows.adam_rows, _rows.adam_bag),
        "momentum": (_rows.momentum_rows, _rows.momentum_bag),
        "ftrl": (_rows.ftrl_rows, _rows.ftrl_bag),
    }

    def __init__(self, n_jobs=1):
        self.n_jobs, self.team = n_jobs, Team(n_jobs)
        self.inner = []  # borders between owners
        self.capacity = 0
        self.cuts = np.zeros(n_jobs + 1, np.int64)
        self.space = {}

    def close(self):
        """End the threads."""
        self.team.close()

    def __enter__(self):
        self._blas = single_blas()  # bits must not depend on the number of BLAS threads
        self._blas.__enter__()
        return self

    def __exit__(self, *exc):
        self._blas.__exit__(*exc)
        self.close()

    def prepare(self, indices, n_trainable):
        """Cut the trainable rows into one id range a thread, with about equal occurrences."""
        sample = np.sort(indices[:: max(1, len(indices) // 20_000)])
        sample = sample[sample < n_trainable]
        self.inner = []
        if self.n_jobs > 1 and len(sample):
            cuts = len(sample) * np.arange(1, self.n_jobs) // self.n_jobs
            self.inner = sample[cuts].tolist()

    # ---------------------------------------------------------------- the user's matrix
    @staticmethod
    def _chunks(indptr):
        """Row ranges of at most `CHUNK` stored values (or one row)."""
        n, lo = len(indptr) - 1, 0
        while lo < n:
            hi = int(np.searchsorted(indptr, indptr[lo] + CHUNK, side="right")) - 1
            hi = min(max(hi, lo + 1), n)
            yield lo, hi
            lo = hi

    def scan(self, indptr, indices):
        """Return the smallest and largest index and whether every row strictly increases."""
        parts = [_columns.scan_indices(indptr, indices, *c) for c in self._chunks(indptr)]
        least, most, ordered = zip(*parts, strict=True) if parts else ((0,), (-1,), (True,))
        return min(least), max(most), all(ordered)

    def count(self, indptr, indices, data, rows, n_features):
        """Return the columns with a value other than zero in `rows`, ascending, and how often."""
        if n_features > max(1 << 22, 4 * int(indptr[-1])):  # sorting beats an array of all columns
            return super().count(indptr, indices, data, rows, n_features)
        counts = np.zeros(n_features, np.int32)
        step = max(1, CHUNK * len(rows) // max(1, int(indptr[-1])))
        for lo in range(0, len(rows), step):
            hi = min(lo + step, len(rows))
            _columns.count_columns(indptr, indices, data, rows, lo, hi, counts)
        columns = np.flatnonzero(counts)
        return columns, counts[columns]

    def map_columns(self, indptr, indices, data, index):
        """Return (indptr, table rows, data) with only the values whose feature has a row."""
        table_rows, ends = np.empty(int(indptr[-1]), np.int32), np.zeros_like(indptr)
        if index.direct is not None:
            kernel, look_up = _columns.map_direct, (index.direct,)
        else:
            kernel, look_up = _columns.map_sorted, (index.columns, index.rows)
        for lo, hi in self._chunks(indptr):
            kernel(indptr, indices, data, lo, hi, *look_up, table_rows, ends)
        np.cumsum(ends, out=ends)
        if ends[-1] == len(table_rows):
            return indptr, table_rows, data
        kept_rows, kept = np.empty(ends[-1], np.int32), np.empty(ends[-1], data.dtype)
        for lo, hi in self._chunks(indptr):
            _columns.compact(indptr, table_rows, data, lo, hi, ends, kept_rows, kept)
        return ends, kept_rows, kept

    def scale(self, indptr, data, pooling):
        """Return one pooling factor a row: "sum" 1, "mean" 1 / sum |x|, "sqrtn" 1 / ||x||."""
        out = np.ones(len(indptr) - 1, data.dtype)
        kernel = {"mean": _bag.mean_scale, "sqrtn": _bag.sqrtn_scale}.get(pooling)
        if kernel is not None:
            for lo, hi in self._chunks(indptr):
                kernel(indptr, data, lo, hi, out)
        return out

    def hash_rows(self, indptr, indices, data, seed):
        """Return a hash of (seed, columns and values other than zero) for each row, uint64."""
        out = np.empty(len(indptr) - 1, np.uint64)
        bits = data.view(np.uint64 if data.itemsize == 8 else np.uint32)
        sign = np.uint64(1 << (8 * data.itemsize - 1))  # the bits of minus zero
        for lo, hi in self._chunks(indptr):
            _columns.hash_rows(indptr, indices, bits, sign, lo, hi, seed, out)
        return out

    def start_uniform(self, seed, columns, limit, d, out):
        """Write out[:, :d] = uniform in [-limit, limit), a function of (seed, column, k) alone."""
        step = max(1, CHUNK // d)
        for lo in range(0, len(columns), step):
            hi = min(lo + step, len(columns))
            _columns.start_uniform(seed, columns, lo, hi, limit, d, out)

    # ---------------------------------------------------------------- the batch
    def _reserve(self, n, dtype):
        if n + 1 > self.capacity:
            self.capacity = size = (n + 1) * 5 // 4
            self.own = [
                (
                    np.empty(size, np.int64),
                    np.empty(size, dtype),
                    np.empty(size, np.int64),
                    np.empty(size, dtype),
                    np.empty(4 * (1 << _group.MAX_DIGIT), np.int32),
                )
                for _ in range(self.n_jobs)
            ]
            self.shared = (
                np.empty(size, np.int64),
                np.empty(size, dtype),
                np.empty(size, np.int32),
                np.empty(size, np.int64),
            )

    def _threads(self, work):
        """Threads worth waking for so many occurrences: one, or all."""
        return 1 if work < MIN_SHARE * self.n_jobs else self.n_jobs

    @staticmethod
    def _parts(n, jobs):
        """Cut range(n) into one part a thread."""
        return [(n * t // jobs, n * (t + 1) // jobs) for t in range(jobs)]

    def _rows_of(self, name, n, width, dtype):
        """Work space of n rows that start on cache lines."""
        if name not in self.space or self.space[name].n_rows < n:
            self.space[name] = RowArray(n * 5 // 4, width, dtype)
        return self.space[name].values[:n]

    def d_pooled(self, b, width, dtype):
        """Return work space for the gradient of the pooled rows; columns of padding are zero."""
        return self._rows_of("d_pooled", b, width, dtype)

    def forward(self, batch, table):
        """Return the pooled rows of a batch, shape (b, width)."""
        b = len(batch.rows)
        out = self._rows_of("pooled", b, table.shape[1], table.dtype)
        parts = self._parts(b, self._threads(batch.n_occurrences))
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale
        self.team.run(_bag.bag_forward, [(*x, *part, table, out) for part in parts])
        return out

    def _owners(self, batch, n_trainable):
        """Id ranges of the threads that group a batch: (number, first id, end) of each."""
        inner = self.inner if self._threads(batch.n_occurrences) > 1 else []
        bounds = [0, *inner, n_trainable]
        return [(t, *pair) for t, pair in enumerate(pairwise(bounds))]

    def forward_and_group(self, batch, table, n_trainable):
        """Return the pooled rows and the `Groups` of the same batch, without frozen rows."""
        b = len(batch.rows)
        self._reserve(batch.n_occurrences, table.dtype)
        out = self._rows_of("pooled", b, table.shape[1], table.dtype)
        owners = self._owners(batch, n_trainable)
        parts = self._parts(b, len(owners))
        shares = [(batch, table, out, *c, *o) for c, o in zip(parts, owners, strict=True)]
        return out, self._join(self.team.run(self._share, shares))

    def group(self, batch, n_trainable):
        """Return the `Groups` of a batch, without frozen rows."""
        self._reserve(batch.n_occurrences, batch.data.dtype)
        shares = [(batch, *owner) for owner in self._owners(batch, n_trainable)]
        return self._join(self.team.run(self._group_share, shares))

    def _share(self, batch, table, out, lo, hi, *owner):
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale
        _bag.bag_forward(*x, lo, hi, table, out)
        return self._group_share(batch, *owner)

    def _group_share(self, batch, t, first, end):
        x = batch.indptr, batch.indices, batch.data, batch.rows
        span = end - first
        bits = max(2, (span - 1).bit_length())
        passes = max(2, -(-bits // _group.MAX_DIGIT))
        digits = first, span, -(-bits // passes), passes
        return _group.group_range(*x, *digits, *self.own[t], *self.shared)

    def _join(self, pieces):
        """Move the owners' lists of rows together; keys and coef are in place already."""
        keys, coef, ids, starts = self.shared
        n = m = 0
        for offset, n_own, m_own in pieces:
            ids[m : m + m_own] = ids[offset : offset + m_own]
            starts[m : m + m_own] = starts[offset : offset + m_own]
            n, m = n + n_own, m + m_own
        starts[m] = n
        return Groups(ids[:m], starts[: m + 1], keys[:n], coef[:n])

    def _cuts(self, starts, m):
        if self._threads(int(starts[m])) == 1:
            return [(0, m)]
        _rows.split_rows(starts, m, self.n_jobs, ROW_COST, self.cuts)
        cuts = self.cuts.tolist()
        return list(pairwise(cuts))

    def forward_max(self, batch, table):
        """Return the componentwise maximum of x E over each bag, and the rows it was taken from."""
        b, width = len(batch.rows), table.shape[1]
        out = self._rows_of("pooled", b, width, table.dtype)
        winners = self._rows_of("winners", b, width, np.dtype(np.int32))[:, :width]
        parts = self._parts(b, self._threads(batch.n_occurrences))
        x = batch.indptr, batch.indices, batch.data, batch.rows
        self.team.run(_bag.bag_max, [(*x, *part, table, out, winners) for part in parts])
        return out, winners

    def bag_backward(self, groups, d_pooled, winners=None):
        """Return the summed gradient of each touched row, shape (m, width)."""
        m = len(groups.ids)
        out = self._rows_of("values", m, d_pooled.shape[1], d_pooled.dtype)
        x = groups.starts, groups.keys, groups.coef, d_pooled
        if winners is None:
            kernel, x = _rows.sum_rows, (*x, 0)
        else:
            kernel, x = _bag.sum_winners, (*x, winners, groups.ids)
        self.team.run(kernel, [(*x, lo, hi, out) for lo, hi in self._cuts(x[0], m)])
        return out

    def update_rows(self, name, grad, arrays, args):
        """Step the listed rows of `arrays` (the table, then the solver's slots) in place."""
        by_rows, by_bag = self.row_updates[name]
        m = len(grad.indices)
        if m == 0:
            return
        if isinstance(grad, PendingRowGradient) and grad.winners is not None:
            grad = grad.sum(self)
        if not isinstance(grad, PendingRowGradient):
            starts = np.concatenate([[0], np.cumsum(grad.counts)])
            x = grad.indices, grad.values, 0
            shares = [(*x, lo, hi, *arrays, *args) for lo, hi in self._cuts(starts, m)]
            self.team.run(by_rows, shares)
            return
        g, cuts = grad.groups, self._cuts(grad.groups.starts, m)
        x = g.ids, g.starts, g.keys, g.coef, grad.d_pooled
        width = grad.d_pooled.shape[1]
        blocks = self._rows_of("block", _rows.BLOCK * self.n_jobs, width, grad.d_pooled.dtype)
        blocks = blocks.reshape(self.n_jobs, _rows.BLOCK, width)
        shares = [(*x, lo, hi, blocks[t], *arrays, *args) for t, (lo, hi) in enumerate(cuts)]
        self.team.run(by_bag, shares)

    def _over_rows(self, kernel, ids, *args):
        """Run a kernel over the listed rows, each thread on a contiguous part of them."""
        m, width = len(ids), args[0].shape[1]
        jobs = self._threads(m * width)
        step = max(1, CHUNK * 4 // width) * jobs
        for lo in range(0, m, step):
            parts = self._parts(min(step, m - lo), jobs)
            self.team.run(kernel, [(ids, lo + a, lo + b, *args) for a, b in parts])

    def count_updates(self, n_updates, ids):
        """Add one to n_updates[ids]."""
        self._over_rows(_rows.count_rows, ids, n_updates)

    # ---------------------------------------------------------------- rows that missed steps
    def catch_up_decay(self, ids, table, last, now, decay):
        """Multiply each listed row by decay[last], and set last = now."""
        self._over_rows(_catch_up.decay_catch_up, ids, table, last, now, decay.astype(table.dtype))

    def catch_up_adam(self, ids, table, m, v, last, now, *factors):
        """Make up for the missed Adam steps of the listed rows, and set last = now."""
        factors = [f.astype(table.dtype) for f in factors]
        self._over_rows(_catch_up.adam_catch_up, ids, table, m, v, last, now, *factors)

    def mark(self, ids, last, now):
        """Set last[ids] = now."""
        self._over_rows(_catch_up.mark_rows, ids, last, now)

    def limit_norm(self, ids, table, bound):
        """Scale the listed rows whose Euclidean norm is above `bound` down to it."""
        self._over_rows(_rows.limit_rows, ids, table, float(bound))
