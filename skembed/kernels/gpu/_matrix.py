"""Operations on the user's matrix on a device, and choosing what is sent."""

import numpy as np

from skembed.core import CSRBatch

from ._group import group
from ._kernels import I32, I64, U32, VECTOR, group_size

DIGIT = 8  # bits
SUM_BLOCKS = 512  # that count digits each on its own
BINS = 1 << DIGIT


class DeviceMatrix:
    """CUDA kernels for what happens once a fit or a prediction; part of `CUDABackend`."""

    def map_columns(self, indptr, indices, data, index):
        """Return (indptr, table rows, data) with only the values whose feature has a row."""
        xp, nnz = self.xp, len(indices)
        table_rows, kept = xp.empty(nnz, I32), xp.empty(nnz, I32)
        if index.direct is not None:
            how, look_up = "direct", (self._on_device(index.direct),)
        else:
            rows = self._on_device(index.rows)
            columns = self._on_device(index.columns).astype(I64, copy=False)
            how, look_up = "sorted", (columns, rows, I64(len(index.columns)))
        args = (indices, data, *look_up, table_rows, kept, I64(nnz))
        name = f"map_{how}_{indices.dtype.name}"
        self.kernels.launch("columns", name, data.dtype, args, threads=nnz)
        before = xp.cumsum(kept, dtype=I64)
        n_kept = int(before[-1]) if nnz else 0
        if n_kept == nnz:
            return indptr, table_rows, data
        new_rows, new_data = xp.empty(n_kept, I32), xp.empty(n_kept, data.dtype)
        args = table_rows, data, before, new_rows, new_data, I64(nnz)
        self.kernels.launch("columns", "compact", data.dtype, args, threads=nnz)
        ends = xp.zeros(nnz + 1, I64)
        ends[1:] = before
        return ends[indptr], new_rows, new_data

    def scale(self, indptr, data, pooling):
        """Return one pooling factor a row: "sum" 1, "mean" 1 / sum |x|, "sqrtn" 1 / ||x||."""
        n = len(indptr) - 1
        out = self.xp.ones(n, data.dtype)
        if pooling in ("mean", "sqrtn"):
            args = indptr, data, out, I64(n)
            self.kernels.launch("bag", f"{pooling}_scale", data.dtype, args, threads=n)
        return out

    # The product with a sparse matrix has its own kernel: cuSPARSE wants the block of vectors in
    # Fortran order, which costs a copy of it each time, and its sums have an order of their own.
    def times(self, X, block, out, rows=None, add=False):
        """Write X @ block, or only some rows of it, or add it."""
        first, end = (0, len(X.indptr) - 1) if rows is None else rows
        if not add:
            out[: end - first] = 0
        vecs = block.shape[1] * block.itemsize // VECTOR
        size = group_size(vecs)
        numbers = I64(first), I64(end - first), I32(vecs), I32(size)
        args = (X.indptr, X.indices, X.data, block, out, *numbers)
        threads = (end - first) * size
        self.kernels.launch("bag", "times", block.dtype, args, threads=threads)

    def transposed_times(self, X, block, out):
        """Write X.T @ block: the sums of a batch of all rows, grouped once for each matrix."""
        kept = self._kept.get("transposed")
        if kept is None or kept[0] is not X.data:
            xp, n = self.xp, len(X.indptr) - 1
            every, ones = xp.arange(n, dtype=I64), xp.ones(n, X.data.dtype)
            batch = CSRBatch(X.indptr, X.indices, X.data, every, ones)
            kept = self._kept["transposed"] = X.data, group(self.kernels, batch, len(out))
        chunks = kept[1].chunks
        out[:] = 0
        targets = chunks.rows, chunks.split_rows
        self._over_chunks("bag", "keep", kept[1], block, (), None, targets, (out,))

    # ---------------------------------------------------------------- what is sent
    def select_topk(self, values, k):
        """Return where the k numbers of largest magnitude are, ascending; of equals, the first."""
        xp, n, dtype = self.xp, len(values), values.dtype
        state = xp.asarray(np.array([0, k], np.int64))
        threads, warps = self.kernels.threads, self.kernels.threads // 32
        blocks = min(self.kernels.blocks(n), SUM_BLOCKS)
        counts = xp.empty((blocks, BINS), I32)
        top = 8 * values.itemsize - 1
        while top > 0:
            args = values, state, counts, I64(n), I32(top)
            how = dict(threads=n, shared=warps * BINS * 4, blocks=blocks)
            self.kernels.launch("topk", "count_digits", dtype, args, **how)
            args = counts, state, I32(blocks), I32(top)
            how = dict(threads=1, block=BINS, shared=BINS * 8)
            self.kernels.launch("topk", "pick_digit", dtype, args, **how)
            top -= top % DIGIT or DIGIT
        blocks = max(1, -(-n // threads))
        larger, equal = xp.empty(blocks, I64), xp.empty(blocks, I64)
        how = dict(threads=n, shared=2 * warps * 4, blocks=blocks)
        args = values, state, larger, equal, I64(n)
        self.kernels.launch("topk", "count_taken", dtype, args, **how)
        larger, equal = xp.cumsum(larger, dtype=I64), xp.cumsum(equal, dtype=I64)
        n_taken = int(larger[-1]) + min(int(equal[-1]), int(state[1]))
        places = xp.empty(n_taken, I64)
        args = values, state, larger, equal, places, I64(n)
        self.kernels.launch("topk", "take_largest", dtype, args, **how)
        return places

    # ---------------------------------------------------------------- tokens
    def hash_spans(self, columns, seed):
        """Return the MurmurHash3 (x86, 32 bits) of tokens, one column for each `Spans`."""
        xp, n = self.xp, len(columns[0])
        out = xp.empty((n, len(columns)), I32)
        for c, spans in enumerate(columns):
            prefix = np.frombuffer(spans.prefix, np.uint8)
            arrays = (xp.asarray(part) for part in (spans.buffer, spans.starts, spans.ends))
            buffer, starts, ends = arrays
            x = xp.asarray(prefix), I32(len(prefix)), buffer, starts, ends, out
            args = (*x, I64(n), U32(seed), I32(c), I32(len(columns)))
            self.kernels.launch("hash", "hash_spans", "f4", args, threads=n)
        return out

    def hash_ids(self, ids, seed):
        """Return the MurmurHash3 of numbers as little-endian int64, shape (n,), int32."""
        out = self.xp.empty(len(ids), I32)
        args = self.xp.asarray(ids).astype(I64, copy=False), out, I64(len(ids)), U32(seed)
        self.kernels.launch("hash", "hash_ids", "f4", args, threads=len(ids))
        return out
