"""The operations that a backend offers, each with a plain array-code default.

A backend owns threads and work space: what `forward_and_group` returns is valid until the next
batch. Indices must have passed the input scan. What a prediction needs (`scan`, `map_columns`,
`scale`, `forward`, `fm_forward`, `linear`) gives the bits of the kernels: `get_backend` hands few
rows to the array code, which has nothing to compile or load.
"""

import numpy as np

from skembed.core import GOLDEN, LINE, Groups, hashed_uniform, mix

from ._blas import single_blas
from ._blocks import Blocks
from ._codecs import CodecOperations
from ._cooccurrence import CooccurrenceOperations
from ._pairs import PairOperations
from ._tokens import TokenOperations

FEW_OUTPUTS = 8  # of a head that BLAS does not make faster
STEP = 1 << 20  # stored values that array code turns into float64 at a time


class Backend(Blocks, CodecOperations, CooccurrenceOperations, PairOperations, TokenOperations):
    """Array code for every operation; `CPUBackend` replaces them by kernels with the same meaning.

    Attributes
    ----------
    xp : module
        The array library.
    row_updates : dict
        Solver name to a pair of kernels; a solver that is missing steps by its `rule`.
    losses : dict
        Loss name to a kernel; a missing loss is evaluated by its `value_and_gradient`.
    """

    xp = np
    row_updates, losses = {}, {}

    def prepare(self, indices, n_trainable):
        """Learn how the occurrences of the coming batches spread over table rows."""

    def close(self):
        """End the threads."""

    def __enter__(self):
        self._blas = single_blas()  # bits must not depend on the number of BLAS threads
        self._blas.__enter__()
        return self

    def __exit__(self, *exc):
        self._blas.__exit__(*exc)
        self.close()

    # ---------------------------------------------------------------- the user's matrix
    def scan(self, indptr, indices):
        """Return the smallest and largest index and whether every row strictly increases."""
        indices = indices[: indptr[-1]]
        rising = indices[1:] > indices[:-1]
        borders = indptr[1:-1]
        rising[borders[(borders > 0) & (borders < len(indices))] - 1] = True
        return int(indices.min(initial=0)), int(indices.max(initial=-1)), bool(rising.all())

    def count(self, indptr, indices, data, rows, n_features):
        """Return the columns with a value other than zero in `rows`, ascending, and how often."""
        pick = np.zeros(len(indptr) - 1, bool)
        pick[rows] = True
        inside = np.repeat(pick, np.diff(indptr)) & (data[: indptr[-1]] != 0)
        return np.unique(indices[: indptr[-1]][inside], return_counts=True)

    def map_columns(self, indptr, indices, data, index):
        """Return (indptr, table rows, data) with only the values whose feature has a row.

        Parameters
        ----------
        indptr, indices, data : ndarray
            A canonical CSR matrix.
        index : FeatureIndex
            The look-up.

        Returns
        -------
        indptr, table_rows, data : ndarray
            int64, int32 and the given dtype. `indptr` and `data` are the given arrays where
            nothing is left out.
        """
        nnz = indptr[-1]
        table_rows = index.look_up(indices[:nnz])
        keep = (table_rows >= 0) & (data[:nnz] != 0)
        if keep.all():
            return indptr, table_rows, data
        before = np.concatenate([[0], np.cumsum(keep)])
        return before[indptr], table_rows[keep], data[:nnz][keep]

    def scale(self, indptr, data, pooling):
        """Return one pooling factor a row: "sum", "max" 1, "mean" 1 / sum |x|, "sqrtn" 1 / ||x||.

        A row without values has factor 0 (1 for "sum" and "max").
        """
        n, nnz = len(indptr) - 1, indptr[-1]
        if pooling in ("sum", "max"):
            return np.ones(n, data.dtype)
        owner = np.repeat(np.arange(n), np.diff(indptr))
        x = np.abs(data[:nnz]).astype(np.float64)
        if pooling == "mean":
            norm = np.bincount(owner, x, n)
        else:
            largest = np.zeros(n)
            np.maximum.at(largest, owner, x)
            share = np.divide(x, largest[owner], out=np.zeros(nnz), where=x > 0)
            root = np.sqrt(np.bincount(owner, share**2, n))
            inverse = np.divide(1, largest, out=np.zeros(n), where=largest > 0)
            return np.divide(inverse, root, out=inverse, where=largest > 0).astype(data.dtype)
        return np.divide(1, norm, out=np.zeros(n), where=norm > 0).astype(data.dtype)

    def hash_rows(self, indptr, indices, data, seed):
        """Return a hash of (seed, columns and values other than zero) for each row, uint64."""
        bits = data.view(np.uint64 if data.itemsize == 8 else np.uint32).astype(np.uint64)
        out = np.full(len(indptr) - 1, mix(np.array([seed], np.uint64) + GOLDEN)[0])
        rows, at = np.flatnonzero(np.diff(indptr)), indptr[:-1].copy()
        while len(rows):  # the next value of every row that has one
            p = at[rows]
            counts = data[p] != 0
            here, p = rows[counts], p[counts]
            h = mix(out[here] ^ mix(indices[p].astype(np.uint64) + GOLDEN))
            out[here] = mix(h ^ (bits[p] + GOLDEN))
            at[rows] += 1
            rows = rows[at[rows] < indptr[rows + 1]]
        return out

    def times(self, X, block, out, rows=None, add=False):
        """Write X @ block, or only some rows of it, or add it to what is there.

        Parameters
        ----------
        X : object with indptr, indices and data
            A canonical CSR matrix.
        block : ndarray of shape (n_columns, width)
            Vectors, with rows of whole cache lines.
        out : ndarray of shape (n_rows, width)
            The product.
        rows : tuple of two int, default=None
            The first row, and the one behind the last; None for all.
        add : bool, default=False
            Whether the product is added to `out`.
        """
        rows = (0, len(X.indptr) - 1) if rows is None else rows
        if not add:
            out[: rows[1] - rows[0]] = 0
        self._add_weighted(X, range(*rows), block, out)

    def transposed_times(self, X, block, out):
        """Write X.T @ block, without a transposed copy of X."""
        out[:] = 0
        for i, row in enumerate(block):
            s, e = X.indptr[i], X.indptr[i + 1]
            out[X.indices[s:e]] += X.data[s:e, None] * row

    def add_columns(self, X, sums):
        """Add the sum of each column of X to `sums`; return the sum of all squares; in float64."""
        squares, nnz = 0.0, int(X.indptr[-1])
        for lo in range(0, nnz, STEP):
            part = X.data[lo : min(lo + STEP, nnz)].astype(np.float64)
            np.add.at(sums, X.indices[lo : lo + len(part)], part)
            squares += float(part @ part)
        return squares

    def transpose(self, X, n_columns):
        """Return (indptr, indices, data) of the transpose of X, without stored zeros."""
        kept = np.flatnonzero(X.data[: X.indptr[-1]])
        order = kept[np.argsort(X.indices[kept], kind="stable")]
        counts = np.bincount(X.indices[kept], minlength=n_columns)
        rows = np.searchsorted(X.indptr, order, side="right") - 1
        dtype = np.int32 if len(X.indptr) <= 1 << 31 else np.int64
        return np.append(0, np.cumsum(counts)), rows.astype(dtype), X.data[order]

    def start_uniform(self, seed, columns, limit, d, out):
        """Write out[:, :d] = uniform in [-limit, limit), a function of (seed, column, k) alone."""
        out[:, :d] = (2 * hashed_uniform(seed, columns, d) - 1) * limit

    def touch(self, rows):
        """Write zeros to new rows, which are zero: memory is given out now, not in an epoch."""
        np.copyto(rows, 0)

    # ---------------------------------------------------------------- the batch
    @staticmethod
    def _occurrences(batch):
        """Position in X and in the batch of every occurrence of a batch, in batch order."""
        sizes = batch.indptr[batch.rows + 1] - batch.indptr[batch.rows]
        source = np.repeat(np.arange(len(batch.rows)), sizes)
        within = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return batch.indptr[batch.rows][source] + within, source

    def _pool(self, batch, table, square=False):
        """Return the sum of x E over each bag, or of its squares; not scaled."""
        out = np.zeros((len(batch.rows), table.shape[1]), table.dtype)
        self._add_weighted(batch, batch.rows, table, out, square)
        return out

    def forward(self, batch, table):
        """Return the pooled rows of a batch, shape (b, width)."""
        out = self._pool(batch, table)
        out *= batch.scale[:, None]
        return out

    @staticmethod
    def _add_weighted(X, rows, table, out, square=False):
        """Add data[p] * table[indices[p]], or its square, over row rows[i] of X to out[i]."""
        for i, r in enumerate(rows):
            s, e = X.indptr[r], X.indptr[r + 1]
            x = X.data[s:e, None] * table[X.indices[s:e]]
            if square:
                x *= x
            whole = len(x) // 4 * 4  # kernels add up four at a time, then the rest one by one
            x[: whole // 4] = (x[:whole:4] + x[1:whole:4]) + (x[2:whole:4] + x[3:whole:4])
            x[whole // 4 : whole // 4 + len(x) - whole] = x[whole:].copy()
            parts = out[i : i + 1], x[: whole // 4 + len(x) - whole]
            out[i] = np.add.reduce(np.concatenate(parts), axis=0)

    def forward_and_group(self, batch, table, n_trainable):
        """Return the pooled rows and the `Groups` of the same batch.

        Neither needs the other, so that one hand-over to the threads does both.
        """
        return self.forward(batch, table), self.group(batch, table, n_trainable)

    def group(self, batch, table, n_trainable):
        """Return the `Groups` of a batch, without frozen rows."""
        at, source = self._occurrences(batch)
        ids = batch.indices[at]
        order = np.argsort(ids, kind="stable")
        order = order[ids[order] < n_trainable]
        ids, starts = np.unique(ids[order], return_index=True)
        keys = (batch.indices[at][order].astype(np.int64) << 32) | source[order]
        return Groups(ids, np.append(starts, len(order)), keys, batch.data[at][order])

    def d_pooled(self, b, width, dtype):
        """Return work space for the gradient of the pooled rows; columns of padding are zero."""
        return np.zeros((b, width), dtype)

    def loss(self, name, target, raw, weight):
        """Return the weighted mean loss and its gradient for aligned targets; weights or None."""
        raise KeyError(name)

    def linear(self, pooled, coef, intercept):
        """Return raw predictions coef @ pooled.T + intercept, shape (n_outputs, b)."""
        if len(coef) > FEW_OUTPUTS:
            raw = coef @ pooled[:, : coef.shape[1]].T
        else:
            raw = np.empty((len(coef), len(pooled)), coef.dtype)
            for c, row in enumerate(coef):
                x = np.zeros_like(pooled)
                np.multiply(row, pooled[:, : len(row)], out=x[:, : len(row)])
                x = x.reshape(len(x), -1, LINE // x.itemsize)  # kernels add up line by line,
                x = np.add.reduce(x, axis=1, initial=0)
                while x.shape[1] > 1:  # then the halves of the line
                    half = x.shape[1] // 2
                    x = x[:, :half] + x[:, half:]
                raw[c] = x[:, 0]
        raw += intercept
        return raw

    def linear_backward(self, pooled, coef, d_raw, scale):
        """Go back through raw = coef @ pooled.T + intercept, of pooled rows that were scaled.

        Parameters
        ----------
        pooled : ndarray of shape (b, width)
            Pooled rows; columns of padding are zero.
        coef : ndarray of shape (n_outputs, d)
            Weights of the head.
        d_raw : ndarray of shape (n_outputs, b)
            Gradient of the raw predictions.
        scale : ndarray of shape (b,)
            Pooling factors.

        Returns
        -------
        g_coef, g_intercept : ndarray of shape (n_outputs, d) and (n_outputs, 1)
            Gradients of the head.
        d_pooled : ndarray of shape (b, width)
            Gradient of the unscaled sums: work space.
        """
        d, d_pooled = coef.shape[1], self.d_pooled(*pooled.shape, pooled.dtype)
        np.multiply(d_raw.T @ coef, scale[:, None], out=d_pooled[:, :d])
        return d_raw @ pooled[:, :d], d_raw.sum(axis=1, keepdims=True), d_pooled

    def linear_loss(self, name, pooled, coef, intercept, target, weight, scale):
        """Run `linear`, `loss` and `linear_backward`; return the value and the gradients."""
        value, d_raw = self.loss(name, target, self.linear(pooled, coef, intercept), weight)
        return value, *self.linear_backward(pooled, coef, d_raw, scale)

    def forward_max(self, batch, table):
        """Return the componentwise maximum of x E over each bag, and the rows it was taken from.

        Of equal values the first counts. A bag without members gives zeros and row -1.
        """
        at, source = self._occurrences(batch)
        out = np.full((len(batch.rows), table.shape[1]), -np.inf, table.dtype)
        winners = np.full(out.shape, -1, np.int32)
        for i, j, x in zip(source, batch.indices[at], batch.data[at], strict=True):
            better = x * table[j] > out[i]
            out[i, better] = x * table[j, better]
            winners[i, better] = j
        out[winners < 0] = 0
        return out, winners

    def bag_backward(self, groups, d_pooled, winners=None):
        """Return the summed gradient of each touched row, shape (m, width).

        With `winners`, the gradient of a component goes to the row it was taken from alone.
        """
        source = groups.keys & 0xFFFFFFFF
        parts = groups.coef[:, None] * d_pooled[source]
        if winners is not None:
            owner = np.repeat(groups.ids, np.diff(groups.starts))
            parts *= winners[source] == owner[:, None]
        out = np.zeros((len(groups.ids), d_pooled.shape[1]), d_pooled.dtype)
        np.add.at(out, np.repeat(np.arange(len(groups.ids)), np.diff(groups.starts)), parts)
        return out

    def update_rows(self, name, grad, arrays, args):
        """Step the listed rows of `arrays` (the table, then the solver's slots) in place."""
        raise KeyError(name)

    def update_dense(self, name, g, arrays, args):
        """Step every row of `arrays` (a parameter of the head, then its slots) in place."""
        raise KeyError(name)

    def count_updates(self, n_updates, ids):
        """Add one to n_updates[ids]."""
        n_updates[ids] += 1

    # ---------------------------------------------------------------- rows that missed steps
    def catch_up_decay(self, ids, table, last, now, decay):
        """Multiply each listed row by decay[last], and set last = now."""
        table[ids] *= decay[last[ids, 0]].astype(table.dtype)[:, None]
        last[ids] = now

    def catch_up_adam(self, ids, table, m, v, last, now, *factors):
        """Make up for the missed Adam steps of the listed rows, and set last = now.

        w = decay w - m (size_1 / (sqrt(v) + eps_1) + size_2 / (sqrt(v) + eps_2)),
        m = m_keep m, v = v_keep v; `factors` are decay, m_keep, v_keep, size_1, eps_1, size_2 and
        eps_2, each an array by last.
        """
        rows = (f[last[ids, 0]].astype(table.dtype)[:, None] for f in factors)
        a, c, d, size_1, eps_1, size_2, eps_2 = rows
        root = np.sqrt(v[ids])
        move = np.zeros_like(root)
        for size, eps in ((size_1, eps_1), (size_2, eps_2)):
            move += np.divide(size, root + eps, out=np.zeros_like(root), where=root + eps > 0)
        table[ids] = a * table[ids] - m[ids] * move
        m[ids] *= c
        v[ids] *= d
        last[ids] = now

    def mark(self, ids, last, now):
        """Set last[ids] = now."""
        last[ids] = now

    def add_rows(self, ids, table, rows, share):
        """Add share * rows[ids] to the listed rows of a table of the same shape."""
        table[ids] += table.dtype.type(share) * rows[ids]

    def limit_norm(self, ids, table, bound):
        """Scale the listed rows whose Euclidean norm is above `bound` down to it."""
        norms = np.linalg.norm(table[ids].astype(np.float64), axis=1)
        factor = np.minimum(1, np.divide(bound, norms, out=np.ones_like(norms), where=norms > 0))
        table[ids] *= factor.astype(table.dtype)[:, None]
