"""Group the occurrences of a batch by table row: a stable sort, its runs, and their chunks."""

from dataclasses import dataclass

import numpy as np

from ._kernels import I32, I64

LANES = 8  # that list the occurrences of a row of the batch


@dataclass(frozen=True, slots=True)
class Chunks:
    """Pieces of the runs of touched rows, of at most 128 occurrences, in order.

    Arrays are on the device. Of a run that is one chunk the sum is whole; the others' partial sums
    are added up in order, so that no bit depends on the device.

    Attributes
    ----------
    begins : array of shape (n + 1,), int64
        First occurrence of each chunk.
    runs, rows, slots : array of shape (n,), int32
        Number and table row of its run, and the place of its partial sum or -1.
    split_runs, split_rows : array of shape (n_split,), int32
        Number and table row of the runs of several chunks.
    first_slots : array of shape (n_split + 1,), int64
        Their first partial sums.
    n, n_split, n_partials : int
        How many there are.
    """

    begins: object
    runs: object
    rows: object
    slots: object
    split_runs: object
    split_rows: object
    first_slots: object
    n: int
    n_split: int
    n_partials: int


@dataclass(frozen=True, slots=True)
class DeviceGroups:
    """`Groups` on a device, with the chunks of the runs.

    Attributes
    ----------
    ids : array of shape (m,), int32
        Touched rows, strictly increasing, without frozen rows.
    starts : array of shape (m + 1,), int64
        The occurrences of ``ids[u]`` are ``starts[u]:starts[u + 1]``.
    keys : array of shape (n,), int32
        Position in the batch of each occurrence.
    coef : array of shape (n,)
        The stored value of each occurrence.
    chunks : Chunks
        Pieces of the runs.
    """

    ids: object
    starts: object
    keys: object
    coef: object
    chunks: Chunks


def group(kernels, batch, n_trainable):
    """Return the `DeviceGroups` of a batch. Reads four numbers back: how much there is of each."""
    xp, dtype, b = kernels.xp, batch.data.dtype, len(batch.rows)
    ends = xp.cumsum(batch.indptr[batch.rows + 1] - batch.indptr[batch.rows], dtype=I64)
    n = int(ends[-1]) if b else 0
    offsets = xp.zeros(b + 1, I64)
    offsets[1:] = ends
    ids, source = xp.empty(n, I32), xp.empty(n, I32)
    coef = xp.empty(n, dtype)
    x = batch.indptr, batch.indices, batch.data, batch.rows, offsets, ids, source, coef
    args = (*x, I32(b), I32(LANES))
    kernels.launch("group", "list_occurrences", dtype, args, threads=b * LANES)

    order, first = xp.argsort(ids), xp.empty(n, I32)
    keys, sorted_coef = xp.empty(n, I32), xp.empty(n, dtype)
    last = I64(n), I32(n_trainable)
    args = (order, ids, source, coef, keys, sorted_coef, first, *last)
    kernels.launch("group", "order_occurrences", dtype, args, threads=n)
    number = xp.cumsum(first, dtype=I32)
    m = int(number[-1]) if n else 0
    run_ids, starts = xp.empty(m, I32), xp.zeros(m + 1, I64)
    args = (order, ids, first, number, run_ids, starts, *last)
    kernels.launch("group", "list_runs", dtype, args, threads=n)
    return DeviceGroups(run_ids, starts, keys, sorted_coef, _cut(kernels, run_ids, starts, dtype))


def _cut(kernels, ids, starts, dtype):
    """Return the `Chunks` of runs."""
    xp, m = kernels.xp, len(ids)
    counts = [xp.empty(m, I32) for _ in range(3)]
    kernels.launch("group", "count_chunks", dtype, (starts, *counts, I32(m)), threads=m)
    totals = [xp.cumsum(part, dtype=I32) for part in counts]
    n, n_partials, n_split = (int(part[-1]) for part in totals) if m else (0, 0, 0)
    begins, first_slots = xp.zeros(n + 1, I64), xp.zeros(n_split + 1, I64)
    of_chunks = [xp.empty(n, I32) for _ in range(3)]
    of_splits = [xp.empty(n_split, I32) for _ in range(2)]
    args = (ids, starts, *totals, begins, *of_chunks, *of_splits, first_slots, I32(m))
    kernels.launch("group", "list_chunks", dtype, args, threads=m)
    return Chunks(begins, *of_chunks, *of_splits, first_slots, n, n_split, n_partials)


def identity(xp, n):
    """Return the borders of n items of one part each."""
    return xp.arange(n + 1, dtype=np.int64)
