"""What a sender still owes: a row list, nothing at first."""

from dataclasses import replace

import numpy as np

from skembed.core import SparseRowGradient


def owed(change, memory):
    """Return change + memory, each entry rounded once; its values belong to the caller.

    Parameters
    ----------
    change : SparseRowGradient
        Change of the table; its rows may be padded.
    memory : SparseRowGradient or None
        What was not sent so far; None for nothing.

    Returns
    -------
    SparseRowGradient
        Values of shape (m, width of the table).
    """
    values = np.array(change.values[:, : change.shape[1]], order="C")
    total = replace(change, values=values)
    return total if memory is None else total.add(memory)


def nothing(like):
    """Return a row list without rows for the same table."""
    values = np.empty((0, like.shape[1]), like.values.dtype)
    return SparseRowGradient(like.indices[:0], values, like.counts[:0], like.shape)


def listed(total):
    """Return the rows with an entry other than zero."""
    keep = total.values.any(axis=1)
    if keep.all():
        return total
    return replace(
        total, indices=total.indices[keep], values=total.values[keep], counts=total.counts[keep]
    )
