"""Data that come in parts."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples, column_or_1d


def stacked(X, y, sample_weight, partition):
    """Return parts in memory as one matrix, and the part of each row as its partition.

    What is one matrix already is returned as it is.
    """
    if not (isinstance(X, (list, tuple)) and len(X) and all(sp.issparse(part) for part in X)):
        return X, y, sample_weight, partition
    if partition is not None:
        raise ValueError("X is a list of parts, each a partition; partition must be None.")
    widths = [part.shape[1] for part in X]
    if len(set(widths)) > 1:
        raise ValueError(f"The parts of X must have the same features, but they have {widths}.")
    sizes = [part.shape[0] for part in X]
    y = joined(y, sizes, "y")
    sample_weight = joined(sample_weight, sizes, "sample_weight")
    X = sp.vstack([sp.csr_array(part) for part in X], format="csr")
    return X, y, sample_weight, np.repeat(np.arange(len(sizes)), sizes)


def joined(values, sizes, name):
    """Return a list with one array a part as one array."""
    if values is None:
        return None
    if len(values) != len(sizes):
        raise ValueError(f"{name} must have one array for each of {len(sizes)} parts of X, got "
                         f"{len(values)}.")  # fmt: skip
    found = [_num_samples(part) for part in values]
    if found != sizes:
        raise ValueError(f"The parts of X have {sizes} rows, those of {name} have {found}.")
    if sp.issparse(values[0]):
        return sp.vstack([sp.csr_array(part) for part in values], format="csr")
    return np.concatenate([np.asarray(part) for part in values])


def labels_of(partition, X):
    """Return the number of the partition of each row, from 0, and how many there are; or None."""
    if partition is None:
        return None
    labels = column_or_1d(partition)
    if len(labels) != _num_samples(X):
        raise ValueError(f"partition has {len(labels)} entries, but X has {_num_samples(X)} rows.")
    known, labels = np.unique(labels, return_inverse=True)
    return labels, len(known)
