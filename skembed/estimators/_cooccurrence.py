"""What a fit without targets learns from: the features of its rows."""

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import _num_samples

from skembed.core import FeatureNoise
from skembed.losses import Cooccurrence


def is_cooccurrence(loss):
    """Tell whether a parameter `loss` needs no targets."""
    return isinstance(loss, Cooccurrence) or (isinstance(loss, str) and loss == "cooccurrence")


def no_targets(X):
    """Return zeros in the place of targets."""
    return None if X is None else np.zeros(_num_samples(X))


class FeatureTarget:
    """Features of the rows themselves, whatever y is.

    Parameters
    ----------
    loss : str or Cooccurrence
        Loss of the fit.
    """

    classes = n_outputs = metric = None

    def __init__(self, loss):
        self.loss = Cooccurrence() if isinstance(loss, str) else loss
        self.loss._validate_params()

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, FeatureTarget)

    def encode(self, y, rows, dtype):
        """Return y, which nobody reads."""
        return y

    def strata(self, codes, rows):
        """Return None: rows are split at random."""

    def ties(self, codes, rows):
        """Return what decides the order of rows with equal features in a split."""
        return ()

    def class_weights(self, class_weight, codes, rows, sample_weight):
        """Return None: there are no classes."""


def to_predict(data, sample, state, loss, backend):
    """Return the rows to train on, those of two features or more, with what to draw by.

    Parameters
    ----------
    data : TrainingRows
        The data of a call.
    sample : Sample
        The same before it was mapped to table rows.
    state : FitState
        Counts what is seen.
    loss : Cooccurrence
        Says how to draw.
    backend : Backend
        Runs the operations.

    Returns
    -------
    TrainingRows
        The data.

    Raises
    ------
    ValueError
        If no row has two features.
    """
    X, rows = sample.X, sample.rows
    rows = rows[np.diff(data.indptr)[rows] >= 2]
    if len(rows) == 0:
        raise ValueError(
            "loss='cooccurrence' predicts features of a row from others of it, but no row of X has "
            f"two features with a vector (n_features = {X.shape[1]})."
        )
    weight = np.zeros(X.shape[0])
    weight[sample.rows] = 1 if sample.weights is None else sample.weights[sample.rows]
    nnz = data.indptr[-1]
    each = np.repeat(weight, np.diff(data.indptr))
    counts = state.row_counts.values[:, 0]
    counts += np.bincount(data.indices[:nnz], each, len(counts))
    state.weight_seen += float(weight.sum())
    index = state.index
    order = index.rows[index.rows >= 0]
    borders = np.cumsum(loss.noise(counts)[order])
    borders /= borders[-1]
    slots = np.arange(1 << (len(order) - 1).bit_length()) / (1 << (len(order) - 1).bit_length())
    noise = FeatureNoise(
        keep=loss.keep(counts / state.weight_seen),
        order=order,
        borders=borders,
        guide=np.searchsorted(borders, slots, side="right").astype(np.int32),
        offset=loss.offset(counts, state.weight_seen).astype(data.data.dtype),
        keys=backend.hash_rows(X.indptr, X.indices, X.data, state.seed),
    )
    return replace(data, rows=rows, noise=noise)
