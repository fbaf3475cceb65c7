"""Array code for factorization machines: sums by field, scores of pairs, and the way back."""

import numpy as np


def _last_sum(x, axis):
    """Sum along an axis, one by one, as kernels do."""
    return np.add.accumulate(x, axis=axis).take(-1, axis=axis)


class PairOperations:
    """The operations of a backend on interactions of pairs; `PairShape` tells how rows divide.

    `fm_forward` gives the bits of the kernels.
    """

    def fm_forward(self, batch, table, pairs, n_linear):
        """Return the sums of each row and field, and the scores of the rows.

        Parameters
        ----------
        batch : CSRBatch
            The rows; with ``batch.fields`` where there are several fields.
        table : ndarray of shape (n_rows, width)
            The table.
        pairs : PairShape
            How its rows are divided.
        n_linear : int
            Direct weights behind the vectors of a row: none, or one an output.

        Returns
        -------
        pooled : ndarray of shape (b * n_fields, width)
            Scaled sums; that of row i and field f is row i * n_fields + f. Work space.
        raw : ndarray of shape (n_outputs, b)
            Scores without intercepts.
        """
        at, source = self._occurrences(batch)
        x, rows, b = batch.data[at, None], batch.indices[at], len(batch.rows)
        first, second = np.triu_indices(pairs.n_fields)
        if pairs.n_fields == 1:
            pooled, squares = self._pool(batch, table), self._pool(batch, table, square=True)
            norms = _last_sum(pairs.blocks(squares)[:, 0], axis=2)
        else:
            fields = batch.fields[rows]
            pooled = np.zeros((b * pairs.n_fields, table.shape[1]), table.dtype)
            np.add.at(pooled, source * pairs.n_fields + fields, x * table[rows])
            members = pairs.blocks(table[rows])[np.arange(len(rows)), fields]
            norms = np.zeros((b, pairs.n_outputs), table.dtype)
            np.add.at(norms, source, _last_sum((x[:, None] * members) ** 2, axis=2))
        pooled *= np.repeat(batch.scale, pairs.n_fields)[:, None]
        sums = pairs.blocks(pooled).reshape(b, pairs.n_fields, *pairs.blocks(pooled).shape[1:])
        each = _last_sum(sums[:, first, second] * sums[:, second, first], axis=3)
        half = table.dtype.type(0.5)
        each[:, first == second] *= half
        scale = batch.scale[:, None]
        raw = _last_sum(each, axis=1) - half * (scale * scale * norms)
        if n_linear:
            direct = pooled[:, pairs.d_embedding : pairs.d_embedding + n_linear]
            raw += _last_sum(direct.reshape(b, pairs.n_fields, n_linear), axis=1)
        return pooled, raw.T.copy()

    def fm_forward_and_group(self, batch, table, n_trainable, pairs, n_linear):
        """Return what `fm_forward` does and the `Groups` of the batch.

        Neither needs the other, so that one hand-over to the threads does both.
        """
        return *self.fm_forward(batch, table, pairs, n_linear), self.group(
            batch, table, n_trainable
        )

    def fm_slopes(self, pooled, d_raw, scale, pairs, n_linear):
        """Return the gradients of the unscaled sums.

        Parameters
        ----------
        pooled : ndarray of shape (b * n_fields, width)
            Scaled sums.
        d_raw : ndarray of shape (n_outputs, b)
            Gradient of the scores.
        scale : ndarray of shape (b,)
            Factor of each row.
        pairs : PairShape
            How rows are divided.
        n_linear : int
            Direct weights of a row.

        Returns
        -------
        d_pooled : ndarray of shape (b * n_fields, width)
            Gradient of each sum: work space.
        own : ndarray of shape (b, n_outputs)
            scale^2 d_raw, for the pairs that a sum has with itself and the score has not.
        """
        b, slopes = len(scale), (d_raw * scale).T
        d_pooled = self.d_pooled(*pooled.shape, pooled.dtype)
        shape = b, pairs.n_fields, pairs.n_fields, pairs.n_outputs, pairs.d
        sums, out = (pairs.blocks(rows).reshape(shape) for rows in (pooled, d_pooled))
        np.multiply(sums.swapaxes(1, 2), slopes[:, None, None, :, None], out=out)
        if n_linear:
            direct = d_pooled[:, pairs.d_embedding : pairs.d_embedding + n_linear]
            direct[:] = np.repeat(slopes, pairs.n_fields, axis=0)
        return d_pooled, slopes * scale[:, None]

    def fm_backward(self, grad):
        """Return the summed gradient of each touched row of a `PendingPairGradient`, (m, width)."""
        g, pairs = grad.groups, grad.pairs
        owner = np.repeat(np.arange(len(g.ids)), np.diff(g.starts))
        source, fields = g.keys & 0xFFFFFFFF, np.zeros(len(g.ids), np.int64)
        if grad.fields is not None:
            fields = grad.fields[g.ids]
        sums = grad.d_pooled[source * pairs.n_fields + fields[owner]]
        out = np.zeros((len(g.ids), grad.shape[1]), grad.d_pooled.dtype)
        np.add.at(out, owner, g.coef[:, None] * sums)
        factor = np.zeros((len(g.ids), pairs.n_outputs), out.dtype)
        np.add.at(factor, owner, g.coef[:, None] ** 2 * grad.own[source])
        listed = np.arange(len(g.ids)), fields
        own_vectors = pairs.blocks(grad.table[g.ids])[listed]
        pairs.blocks(out)[listed] -= factor[:, :, None] * own_vectors
        return out
