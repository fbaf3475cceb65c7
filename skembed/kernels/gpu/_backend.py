"""Operations on a batch, on a device; arrays in and out are CuPy's."""

from numpy import float64

from skembed.core import PendingPairGradient, PendingRowGradient

from .._backend import Backend
from ._group import group, identity
from ._kernels import I32, Kernels
from ._matrix import DeviceMatrix
from ._pairs import DevicePairs


def _numbers(kind, args):
    """Numbers of a solver in the work dtype."""
    return tuple(map(kind, args))


class CUDABackend(DeviceMatrix, DevicePairs, Backend):
    """CUDA kernels on one device, through CuPy; the bits are those of the kernels for the CPU.

    Only the run of a row with more than 128 occurrences in a batch is added up in another order:
    in chunks of 128, then these in order. What has no kernel here is array code.

    Parameters
    ----------
    xp : module
        CuPy, with the device in use.
    """

    # The kernels of a solver are found by its name.
    row_updates = dict.fromkeys(
        ("sgd", "momentum", "adagrad", "rowwise_adagrad", "adam", "lazy_adam", "ftrl")
    )

    def __init__(self, xp):
        self.xp, self.kernels, self._kept = xp, Kernels(xp), {}

    def _on_device(self, host):
        """Return the copy on the device of an array that does not change, made once."""
        if id(host) not in self._kept:
            self._kept[id(host)] = host, self.xp.asarray(host)
        return self._kept[id(host)][1]

    def close(self):
        """Forget what is kept on the device."""
        self._kept.clear()

    # ---------------------------------------------------------------- the batch
    def forward(self, batch, table):
        """Return the pooled rows of a batch, shape (b, width)."""
        b = len(batch.rows)
        out = self.xp.empty((b, table.shape[1]), table.dtype)
        x = batch.indptr, batch.indices, batch.data, batch.rows, batch.scale, table, out
        self.kernels.over_rows("bag", "bag_forward", b, table, x)
        return out

    def forward_max(self, batch, table):
        """Return the componentwise maximum of x E over each bag, and the rows it was taken from."""
        b, width = len(batch.rows), table.shape[1]
        out, winners = self.xp.empty((b, width), table.dtype), self.xp.empty((b, width), I32)
        x = batch.indptr, batch.indices, batch.data, batch.rows, table, out, winners
        self.kernels.over_rows("bag", "bag_max", b, table, x)
        return out, winners

    def group(self, batch, table, n_trainable):
        """Return the `DeviceGroups` of a batch, without frozen rows."""
        return group(self.kernels, batch, n_trainable)

    def d_pooled(self, b, width, dtype):
        """Return work space for the gradient of the pooled rows; columns of padding are zero."""
        return self.xp.zeros((b, width), dtype)

    def _over_chunks(self, source, name, groups, d_pooled, extra, join, targets, last):
        """Run a rule over touched rows: chunk by chunk, then over the runs of several chunks.

        Parameters
        ----------
        source : {"bag", "pairs", "winners"}
            What is summed.
        name : str
            The rule.
        groups : DeviceGroups
            The occurrences.
        d_pooled : array
            Gradient of the sums.
        extra : tuple
            What the source takes besides.
        join : callable or None
            Makes (borders, rows) that add up to gradients from partial sums that do not.
        targets : tuple of two array
            Target of each chunk, and of each run of several.
        last : tuple
            What the rule takes.
        """
        chunks, width = groups.chunks, d_pooled.shape[1]
        per_slot = 2 if source == "pairs" else 1
        partial = self.xp.empty((per_slot * chunks.n_partials, width), d_pooled.dtype)
        x = chunks.begins, targets[0], chunks.slots, groups.keys, groups.coef, d_pooled, partial
        self.kernels.rule(name, source, chunks.n, d_pooled, x, (*extra, *last))
        if chunks.n_split:
            begins, rows = join(partial) if join else (chunks.first_slots, partial)
            x = begins, targets[1], rows
            self.kernels.rule(name, "rows", chunks.n_split, rows, x, last)

    def bag_backward(self, groups, d_pooled, winners=None):
        """Return the summed gradient of each touched row, shape (m, width)."""
        out = self.xp.empty((len(groups.ids), d_pooled.shape[1]), d_pooled.dtype)
        chunks, source, extra = groups.chunks, "bag", ()
        if winners is not None:
            source, extra = "winners", (chunks.rows, winners)
        targets = chunks.runs, chunks.split_runs
        self._over_chunks(source, "keep", groups, d_pooled, extra, None, targets, (out,))
        return out

    # ---------------------------------------------------------------- solvers
    def _rule_args(self, name, kind, args):
        """Numbers of a solver in the types of its kernel."""
        if name != "lazy_adam":
            return _numbers(kind, args)
        keep, lr, corr, *rest = args
        corr = self._on_device(corr)
        return kind(keep), float64(lr), corr, I32(len(corr)), *_numbers(kind, rest)

    def update_rows(self, name, grad, arrays, args):
        """Step the listed rows of `arrays` (the table, then the solver's slots) in place."""
        if len(grad.indices) == 0:
            return
        if isinstance(grad, PendingRowGradient) and grad.winners is not None:
            grad = grad.sum(self)
        last = (*arrays, *self._rule_args(name, arrays[0].dtype.type, args))
        if not isinstance(grad, PendingRowGradient):
            m = len(grad.indices)
            x = identity(self.xp, m), grad.indices, grad.values
            self.kernels.rule(name, "rows", m, grad.values, x, last)
            return
        chunks = grad.groups.chunks
        source, extra, join = "bag", (), None
        if isinstance(grad, PendingPairGradient):
            source, extra, join = self._pairs_of(grad)
        targets = chunks.rows, chunks.split_rows
        self._over_chunks(source, name, grad.groups, grad.d_pooled, extra, join, targets, last)

    def update_dense(self, name, g, arrays, args):
        """Step every row of `arrays` (a parameter of the head, then its slots) in place."""
        n, targets = len(g), self.xp.arange(len(g), dtype=I32)
        last = (*arrays, *self._rule_args(name, g.dtype.type, args))
        x = identity(self.xp, n), targets, g
        self.kernels.rule(name, "rows", n, g, x, last, padded=False)

    # ---------------------------------------------------------------- listed rows
    def count_updates(self, n_updates, ids):
        """Add one to n_updates[ids]."""
        args = ids, n_updates, I32(len(ids))
        self.kernels.launch("listed", "count_rows", "f4", args, threads=len(ids))

    def mark(self, ids, last, now):
        """Set last[ids] = now."""
        args = ids, last, I32(len(ids)), I32(now)
        self.kernels.launch("listed", "mark_rows", "f4", args, threads=len(ids))

    def catch_up_decay(self, ids, table, last, now, decay):
        """Multiply each listed row by decay[last], and set last = now."""
        x = ids, table, last, self.xp.asarray(decay.astype(table.dtype))
        self.kernels.over_rows("listed", "decay_catch_up", len(ids), table, x, (I32(now),))

    def catch_up_adam(self, ids, table, m, v, last, now, *factors):
        """Make up for the missed Adam steps of the listed rows, and set last = now."""
        factors = [self.xp.asarray(f.astype(table.dtype)) for f in factors]
        x = ids, table, m, v, last, *factors
        self.kernels.over_rows("listed", "adam_catch_up", len(ids), table, x, (I32(now),))

    def limit_norm(self, ids, table, bound):
        """Scale the listed rows whose Euclidean norm is above `bound` down to it."""
        x = ids, table
        self.kernels.over_rows("listed", "limit_rows", len(ids), table, x, (float64(bound),))
