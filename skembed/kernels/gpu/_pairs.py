"""Factorization machines on a device."""

from ._group import identity
from ._kernels import I32, VECTOR, group_size

FORWARD_BLOCKS = 512  # whose work space stays in the second-level cache


class DevicePairs:
    """CUDA kernels for the operations of `PairOperations`; part of `CUDABackend`."""

    def fm_forward(self, batch, table, pairs, n_linear):
        """Return the sums of each row and field, and the scores of the rows."""
        xp, b, width, dtype = self.xp, len(batch.rows), table.shape[1], table.dtype
        out = xp.empty((b * pairs.n_fields, width), dtype)
        raw = xp.empty((pairs.n_outputs, b), dtype)
        vecs = width * table.itemsize // VECTOR
        size = group_size(vecs)
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale
        shape = I32(b), I32(vecs), I32(size)
        numbers = I32(pairs.n_outputs), I32(pairs.d), I32(n_linear)
        if pairs.n_fields == 1:
            blocks = min(self.kernels.blocks(b * size), FORWARD_BLOCKS)
            work = xp.empty((blocks * self.kernels.threads // size, width), dtype)
            args = (*x, table, out, work, raw, *shape, *numbers)
            self.kernels.launch("fm", "fm_forward", dtype, args, threads=b * size, blocks=blocks)
            return out, raw
        n_fields = I32(pairs.n_fields)
        args = (*x, batch.fields, table, out, *shape, n_fields)
        self.kernels.launch("fm", "ffm_sums", dtype, args, threads=b * pairs.n_fields * size)
        args = (*x, batch.fields, table, out, raw, *shape, n_fields, *numbers)
        self.kernels.launch("fm", "ffm_scores", dtype, args, threads=b * pairs.n_outputs * size)
        return out, raw

    def fm_slopes(self, pooled, d_raw, scale, pairs, n_linear):
        """Return the gradients of the unscaled sums."""
        b, dtype = len(scale), pooled.dtype
        d_pooled = self.xp.empty(pooled.shape, dtype)
        own = self.xp.empty((b, pairs.n_outputs), dtype)
        numbers = pooled.shape[1], pairs.n_fields, pairs.n_outputs, pairs.d, n_linear
        args = (pooled, d_raw, scale, d_pooled, own, I32(b), *map(I32, numbers))
        self.kernels.launch("fm", "fm_slopes", dtype, args, threads=d_pooled.size)
        return d_pooled, own

    def fm_backward(self, grad):
        """Return the summed gradient of each touched row of a `PendingPairGradient`, (m, width)."""
        out = self.xp.empty((len(grad.groups.ids), grad.shape[1]), grad.d_pooled.dtype)
        chunks, (source, extra, join) = grad.groups.chunks, self._pairs_of(grad)
        targets = chunks.runs, chunks.split_runs
        self._over_chunks(source, "keep", grad.groups, grad.d_pooled, extra, join, targets, (out,))
        return out

    def _pairs_of(self, grad):
        """Return the source, what it takes besides, and what makes partial sums gradients."""
        chunks, pairs, xp = grad.groups.chunks, grad.pairs, self.xp
        fields = xp.empty(0, I32) if grad.fields is None else grad.fields
        numbers = I32(pairs.n_fields), I32(pairs.n_outputs), I32(pairs.d)

        def join(partial):
            rows = xp.empty((chunks.n_split, grad.shape[1]), partial.dtype)
            x = chunks.first_slots, chunks.split_rows, partial, grad.table, fields, rows
            self.kernels.over_rows("keep", "join_pairs", chunks.n_split, rows, x, numbers)
            return identity(xp, chunks.n_split), rows

        return "pairs", (chunks.rows, grad.own, fields, *numbers, grad.table), join
