"""Joins kernels, threads and work space.

Kernels are serial over a range; this file alone decides who does which range.
"""

from functools import cache

import numpy as np

from skembed.core import Groups, PendingPairGradient, PendingRowGradient

from . import _bag, _catch_up, _group, _listed, _rows
from ._codecs import CodecKernels
from ._grams import TextKernels
from ._left_out import CooccurrenceKernels
from ._linear import HeadKernels
from ._matrix import CHUNK
from ._pairs import PairKernels

NO_BORDERS = np.empty(0, np.int64)
VALUES_A_ROW = 2  # stored values for each touched row of a usual batch


@cache
def _digits(span):
    """Width and number of the digits by which ids below `span` are sorted."""
    bits = max(2, (span - 1).bit_length())
    passes = max(2, -(-bits // _group.MAX_DIGIT))
    return -(-bits // passes), passes


class LateGroups:
    """`Groups` that are still being sorted; the first look at them waits for that.

    Parameters
    ----------
    finish : callable
        Ends the sort and returns the `Groups`.
    """

    def __init__(self, finish):
        self._finish = finish

    def settle(self):
        """Wait for the end of the sort."""
        if self._finish is not None:
            groups, self._finish = self._finish(), None
            vars(self).update({field: getattr(groups, field) for field in Groups.__slots__})

    def __getattr__(self, name):
        if name not in Groups.__slots__:
            raise AttributeError(name)
        self.settle()
        return vars(self)[name]


class CPUBackend(CodecKernels, CooccurrenceKernels, PairKernels, HeadKernels, TextKernels):
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
        super().__init__(n_jobs)
        self.inner = []  # borders between owners
        self.capacity = 0
        self.dealt = np.empty((n_jobs, 0)), np.empty((n_jobs, 0))
        self.ends = np.empty((n_jobs, 0), np.int32)
        self.places = np.empty((n_jobs, 1 << _group.MAX_DIGIT), np.int64)

    def prepare(self, indices, n_trainable):
        """Cut the trainable rows into one id range a thread, with about equal occurrences."""
        if self.n_jobs == 1:
            return
        sample = np.sort(indices[:: max(1, len(indices) // 20_000)])
        sample = np.append(sample[sample < n_trainable], n_trainable)
        cuts = len(sample) * np.arange(1, self.n_jobs) // self.n_jobs
        self.inner = sample[cuts].tolist()

    # ---------------------------------------------------------------- the batch
    def _reserve(self, sizes, dtype, n_ends):
        """Have work space to group so many occurrences a part of a batch."""
        n, share = sum(sizes), max(sizes)
        if n + 1 > self.capacity:
            self.capacity = size = (n + 1) * 5 // 4
            self.between = np.empty(size, np.int64), np.empty(size, dtype)
            places = np.empty(size, np.int32), np.empty(size, np.int64)
            self.sorted = np.empty(size, np.int64), np.empty(size, dtype), *places
        if share + 1 > self.dealt[0].shape[1]:
            shape = self.n_jobs, (share + 1) * 5 // 4
            self.dealt = np.empty(shape, np.int64), np.empty(shape, dtype)
        if n_ends > self.ends.shape[1]:
            self.ends = np.empty((self.n_jobs, n_ends), np.int32)

    def _chunk(self, n, jobs):
        """Rows of a batch that a thread takes at a time, so that a late one finds fewer left."""
        return n if jobs == 1 else max(16, n // (8 * jobs))

    @staticmethod
    def _todo():
        """A counter of the work that threads have taken."""
        return np.zeros(1, np.int64)

    def _bags(self, batch, table, jobs):
        """Return the pooled rows of a batch to be, and what `bag_forward` takes to fill them."""
        b = len(batch.rows)
        out = self._rows_of("pooled", b, table.shape[1], table.dtype)
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale
        return out, (*x, self._todo(), self._chunk(b, jobs), table, out)

    def forward(self, batch, table):
        """Return the pooled rows of a batch, shape (b, width)."""
        jobs = self._threads(_bag.count_occurrences(batch.indptr, batch.rows))
        out, bags = self._bags(batch, table, jobs)
        self.team.run(_bag.bag_forward, [bags] * jobs)
        return out

    def _owners(self, batch, table, n_trainable):
        """Return (borders of table rows, parts of the batch, digits) to group a batch by.

        Rows that do not train belong to one more owner, who does nothing.
        """
        indptr, rows, inner = batch.indptr, batch.rows, []
        sizes, parts = [_bag.count_occurrences(indptr, rows)], [(0, len(rows))]
        if self.inner and self._threads(sizes[0]) > 1:
            inner, parts = self.inner, self._parts(len(rows), self.n_jobs)
            sizes = [_bag.count_occurrences(indptr, rows[a:b]) for a, b in parts]
        frozen = [n_trainable] if n_trainable < len(table) else []
        digit, passes = _digits(n_trainable)
        self._reserve(sizes, table.dtype, len(parts) + len(frozen) << digit)
        borders = np.array([*inner, *frozen], np.int64) if inner or frozen else NO_BORDERS
        return borders, parts, (digit, passes)

    def forward_and_group(self, batch, table, n_trainable):
        """Return the pooled rows and the `Groups` of the same batch, without frozen rows."""
        owners = self._owners(batch, table, n_trainable)
        jobs = len(owners[1])
        out, bags = self._bags(batch, table, jobs)
        return out, self._pool_and_group(batch, owners, _bag.bag_forward, [bags] * jobs)

    def _pool_and_group(self, batch, owners, kernel, bags):
        """Return the `Groups` of a batch; kernel(*bags[t]) pools it, or a part of it, on thread t.

        Other threads sort while the caller goes on; the first look at the groups waits for them.
        """
        borders, parts, digits = owners
        if len(parts) == 1:
            self._deal_and_pool(batch, borders, parts[0], digits, 0, kernel, bags[0])
            return self._listed([self._sort(0, 1, *digits)])
        shares = [
            (batch, borders, part, digits, t, kernel, bags[t]) for t, part in enumerate(parts)
        ]
        self.team.run(self._deal_and_pool, shares)
        self.team.start(self._sort, [(o, len(parts), *digits) for o in range(len(parts))])
        self.late = LateGroups(lambda: self._listed(self.team.finish()))
        return self.late

    def group(self, batch, table, n_trainable):
        """Return the `Groups` of a batch, without frozen rows."""
        borders, parts, digits = self._owners(batch, table, n_trainable)
        shares = [(batch, borders, part, digits, t) for t, part in enumerate(parts)]
        self.team.run(self._deal, shares)
        owners = [(o, len(parts), *digits) for o in range(len(parts))]
        return self._listed(self.team.run(self._sort, owners))

    def _deal(self, batch, borders, part, digits, t):
        x = batch.indptr, batch.indices, batch.data, batch.rows
        _group.deal(*x, *part, borders, digits[0], t, self.ends, *self.dealt)

    def _deal_and_pool(self, batch, borders, part, digits, t, kernel, bags):
        self._deal(batch, borders, part, digits, t)
        kernel(*bags)  # who is done dealing pools more of the batch

    def _sort(self, o, jobs, digit, passes):
        size, places, (keys, coef, *_) = 1 << digit, self.places[o], self.sorted
        if jobs == 1:
            lo, hi = 0, int(self.ends[0, size - 1])
            source = self.dealt[0][0], self.dealt[1][0]
        else:  # passes take turns
            source = (keys, coef) if passes % 2 else self.between
            lo, hi = _group.join(o, size, self.ends[:jobs], *self.dealt, *source)
        m = _group.sort(lo, hi, digit, passes, *source, places, *self.between, *self.sorted)
        return lo, hi, m

    def _listed(self, pieces):
        """Move the owners' lists of rows together; keys and coef are in place already."""
        keys, coef, ids, starts = self.sorted
        _, n, m = pieces[0]
        for lo, hi, m_own in pieces[1:]:
            if m < lo:
                ids[m : m + m_own] = ids[lo : lo + m_own]
                starts[m : m + m_own] = starts[lo : lo + m_own]
            n, m = hi, m + m_own
        starts[m] = n
        return Groups(ids[:m], starts[: m + 1], keys[:n], coef[:n])

    def forward_max(self, batch, table):
        """Return the componentwise maximum of x E over each bag, and the rows it was taken from."""
        b, width = len(batch.rows), table.shape[1]
        out = self._rows_of("pooled", b, width, table.dtype)
        winners = self._rows_of("winners", b, width, np.dtype(np.int32))[:, :width]
        jobs = self._threads(_bag.count_occurrences(batch.indptr, batch.rows))
        x = batch.indptr, batch.indices, batch.data, batch.rows
        bags = (*x, self._todo(), self._chunk(b, jobs), table, out, winners)
        self.team.run(_bag.bag_max, [bags] * jobs)
        return out, winners

    def bag_backward(self, groups, d_pooled, winners=None):
        """Return the summed gradient of each touched row, shape (m, width)."""
        m = len(groups.ids)
        out = np.empty((m, d_pooled.shape[1]), d_pooled.dtype)
        x, todo = (groups.starts, groups.keys, groups.coef, d_pooled), self._todo()
        if winners is None:
            kernel, x = _rows.sum_groups, (groups.ids, *x, None, todo, out, out)
        else:
            kernel, x = _bag.sum_winners, (*x, winners, groups.ids, todo, out)
        self.team.run(kernel, [x] * self._threads(len(groups.keys)))
        return out

    def _occurrences_of(self, grad):
        """Return what kernels take to sum the rows of a gradient that is not summed yet."""
        g, pairs = grad.groups, None
        if isinstance(grad, PendingPairGradient):
            pairs = self._pairs_of(grad)
        return g.ids, g.starts, g.keys, g.coef, grad.d_pooled, pairs

    def update_rows(self, name, grad, arrays, args):
        """Step the listed rows of `arrays` (the table, then the solver's slots) in place."""
        by_rows, by_bag = self.row_updates[name]
        m = len(grad.indices)
        if m == 0:
            return
        if isinstance(grad, PendingRowGradient) and grad.winners is not None:
            grad = grad.sum(self)
        if not isinstance(grad, PendingRowGradient):
            x, jobs = (grad.indices, grad.values, 0), self._threads(m * VALUES_A_ROW)
            shares = [(*x, lo, hi, *arrays, *args) for lo, hi in self._parts(m, jobs)]
            self.team.run(by_rows, shares)
            return
        (_, width), dtype, x = grad.shape, grad.d_pooled.dtype, self._occurrences_of(grad)
        x = *x, self._todo()
        blocks = [
            self._rows_of(("block", t), _rows.BLOCK, width, dtype)
            for t in range(self._threads(len(grad.groups.keys)))
        ]
        self.team.run(by_bag, [(*x, block, *arrays, *args) for block in blocks])

    def update_dense(self, name, g, arrays, args):
        """Step every row of `arrays` (a parameter of the head, then its slots) in place."""
        n, kernel = len(g), self.row_updates[name][0]
        ids, g = self._line("ids", n, np.arange, np.int32), np.ascontiguousarray(g)
        if self._threads(g.size) == 1:
            kernel(ids, g, 0, 0, n, *arrays, *args)
            return
        parts = self._parts(n, self.n_jobs)
        self.team.run(kernel, [(ids, g, 0, lo, hi, *arrays, *args) for lo, hi in parts])

    # ---------------------------------------------------------------- rows, wherever they come from
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
        _listed.count_rows(ids, 0, len(ids), n_updates)  # less work than waking a thread

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

    def add_rows(self, ids, table, rows, share):
        """Add share * rows[ids] to the listed rows of a table of the same shape."""
        self._over_rows(_listed.add_rows, ids, table, rows, float(share))

    def limit_norm(self, ids, table, bound):
        """Scale the listed rows whose Euclidean norm is above `bound` down to it."""
        self._over_rows(_listed.limit_rows, ids, table, float(bound))
