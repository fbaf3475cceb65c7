"""Many changes become one, in the order of the partitions."""

import numpy as np

from skembed.core import SparseRowGradient

AGGREGATES = ("mean", "touch", "sqrt")


def merge(parts, shares, aggregate, backend, old=None):
    """Return the mean of changes, or of rows.

    An entry that some partitions did not send counts as unchanged there. ``"touch"`` divides by the
    shares of those that sent it, so that it keeps their full step, ``"sqrt"`` by their root.

    Parameters
    ----------
    parts : list of SparseRowGradient
        What was sent, by partition.
    shares : list of float
        Weight of each partition; they sum to 1.
    aggregate : {"mean", "touch", "sqrt"}
        How to divide.
    backend : Backend
        Runs the kernels.
    old : ndarray of shape (n_rows, width) or None
        With it, parts hold whole rows, not changes, and these are the rows before. A single
        partition then gives the bits that it sent.

    Returns
    -------
    SparseRowGradient
        The change, or the new rows, of every row that somebody sent.
    """
    like = parts[0]
    if aggregate == "mean" and old is None:
        return _mean(parts, shares, backend)
    indices = np.unique(np.concatenate([part.indices for part in parts]))
    total = np.full((len(indices), like.shape[1]), -0.0)  # -0.0 + x is x, bit by bit
    sent = np.zeros(total.shape)
    for part, share in zip(parts, shares, strict=True):
        at = np.searchsorted(indices, part.indices)
        total[at] += share * part.values.astype(np.float64)
        sent[at] += share * (part.values != 0) if old is None else share
    if aggregate != "mean":
        divisor = np.where(sent > 0, sent if aggregate == "touch" else np.sqrt(sent), 1)
        total /= divisor
        sent /= divisor
    if old is not None:
        rest = 1 - sent
        np.add(total, rest * old[indices, : like.shape[1]], out=total, where=rest != 0)
    counts = np.ones(len(indices), np.int64)
    return SparseRowGradient(indices, total.astype(like.values.dtype), counts, like.shape)


def _mean(parts, shares, backend):
    """Return the mean of changes, summed in float64 in their order."""
    total = None
    for part, share in zip(parts, shares, strict=True):
        rows = part.indices, share * part.values.astype(np.float64)
        total = rows if total is None else backend.merge_rows(*total, *rows)
    indices, values = total
    counts = np.ones(len(indices), np.int64)
    return SparseRowGradient(indices, values.astype(parts[0].values.dtype), counts, parts[0].shape)
