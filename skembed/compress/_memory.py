"""What a sender still owes: a row list, nothing at first."""

import numpy as np

from skembed.core import SparseRowGradient


def _rows(ids, values, shape):
    return SparseRowGradient(ids, values, np.ones(len(ids), np.int64), shape)


def owed(change, memory, backend):
    """Return change + memory, each entry rounded once; its arrays belong to the caller.

    Parameters
    ----------
    change : SparseRowGradient
        Change of the table; its rows may be padded.
    memory : SparseRowGradient or None
        What was not sent so far; None for nothing.
    backend : Backend
        Runs the kernels.

    Returns
    -------
    SparseRowGradient
        Values of shape (m, width of the table); each row counts once.
    """
    ids, values = change.indices, change.values[:, : change.shape[1]]
    if memory is None:
        return _rows(ids.copy(), values.copy(), change.shape)
    total = backend.merge_rows(ids, values, memory.indices.astype(ids.dtype), memory.values)
    return _rows(*total, change.shape)


def nothing(like):
    """Return a row list without rows for the same table."""
    return _rows(like.indices[:0].copy(), like.values[:0].copy(), like.shape)


def listed(total, backend):
    """Return the rows with an entry other than zero; `total` is no longer valid."""
    return _rows(*backend.keep_rows(total.indices, total.values), total.shape)
