"""Factorization machines on threads: who does which rows of a batch."""

import numpy as np

from . import _bag, _fm, _rows

NO_FIELDS = np.empty(0, np.int32)


class PairKernels:
    """Numba kernels for the operations of `PairOperations`; part of `CPUBackend`."""

    def _sums(self, batch, table, pairs, n_linear, jobs):
        """Return (sums and scores to be, the kernel that writes them, its arguments by thread)."""
        b, (_, width) = len(batch.rows), table.shape
        out = self._rows_of("pooled", b * pairs.n_fields, width, table.dtype)
        raw = np.empty((pairs.n_outputs, b), table.dtype)
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale
        x = *x, self._todo(), self._chunk(b, jobs), table, out
        last = pairs.n_outputs, pairs.d, n_linear, raw
        if pairs.n_fields > 1:
            return (out, raw), _fm.ffm_forward, [(*x, batch.fields, pairs.n_fields, *last)] * jobs
        works = [self._rows_of(("work", t), 1, width, table.dtype) for t in range(jobs)]
        return (out, raw), _fm.fm_forward, [(*x, work, *last) for work in works]

    def fm_forward(self, batch, table, pairs, n_linear):
        """Return the sums of each row and field, and the scores of the rows."""
        jobs = self._threads(_bag.count_occurrences(batch.indptr, batch.rows))
        found, kernel, shares = self._sums(batch, table, pairs, n_linear, jobs)
        self.team.run(kernel, shares)
        return found

    def fm_forward_and_group(self, batch, table, n_trainable, pairs, n_linear):
        """Return what `fm_forward` does and the `Groups` of the batch."""
        owners = self._owners(batch, table, n_trainable)
        found, kernel, shares = self._sums(batch, table, pairs, n_linear, len(owners[1]))
        groups = self._pool_and_group(batch, owners, kernel, shares)
        if pairs.n_fields > 1:
            self._free_team()  # `fm_slopes` has work for them
        return *found, groups

    def fm_slopes(self, pooled, d_raw, scale, pairs, n_linear):
        """Return the gradients of the unscaled sums."""
        b, n_fields = len(scale), pairs.n_fields
        d_pooled = self.d_pooled(*pooled.shape, pooled.dtype)
        own = np.empty((b, pairs.n_outputs), pooled.dtype)
        x = pooled, d_raw, scale, n_fields, pairs.n_outputs, pairs.d, n_linear, d_pooled, own
        jobs = self._threads(b * n_fields**2) if n_fields > 1 else 1
        self.team.run(_fm.fm_slopes, [(*part, *x) for part in self._parts(b, jobs)])
        return d_pooled, own

    def fm_backward(self, grad):
        """Return the summed gradient of each touched row of a `PendingPairGradient`, (m, width)."""
        values = np.empty((len(grad.groups.ids), grad.shape[1]), grad.table.dtype)
        x = *self._occurrences_of(grad), self._todo(), grad.table, values
        self.team.run(_rows.sum_groups, [x] * self._threads(len(grad.groups.keys)))
        return values

    def _pairs_of(self, grad):
        """Return what kernels take as `pairs`."""
        pairs, fields = grad.pairs, NO_FIELDS if grad.fields is None else grad.fields
        return grad.own, fields, pairs.n_fields, pairs.n_outputs, pairs.d
