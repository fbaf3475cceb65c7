"""Features left out of rows, on threads: who does which rows of a batch."""

import numpy as np

from . import _cooccurrence


class CooccurrenceKernels:
    """Numba kernels for the operations of `CooccurrenceOperations`; part of `CPUBackend`."""

    def _fill_lists(self, batch, keys, weight, noise, wanted, out):
        """Fill the bags and the lists."""
        x = batch.indptr, batch.indices, batch.data, batch.rows, keys, weight, batch.scale
        x = *x, noise.keep, noise.borders, noise.guide, noise.order
        jobs = self._threads(len(out[1]))
        shares = [(*x, lo, hi, *wanted, *out) for lo, hi in self._parts(len(keys), jobs)]
        self.team.run(_cooccurrence.leave_out, shares)

    def score_listed(self, left_out, pooled, table):
        """Return the score of every listed prediction, 0 between the lists."""
        raw, x = np.zeros(len(left_out.ids), table.dtype), (left_out.borders, left_out.ids)
        parts = self._parts(len(pooled), self._threads(len(raw)))
        y = pooled, table, left_out.offset, raw
        self.team.run(_cooccurrence.score_listed, [(*x, lo, hi, *y) for lo, hi in parts])
        return raw
