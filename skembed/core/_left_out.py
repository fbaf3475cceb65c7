"""Features that are left out of rows, to be predicted from the others."""

from dataclasses import dataclass

import numpy as np

from ._batch import CSRBatch


@dataclass(frozen=True, slots=True)
class FeatureNoise:
    """What features of rows are left out and drawn by.

    Attributes
    ----------
    keep : ndarray of shape (n_rows,), float64
        By table row, the chance of a feature to stay in a row.
    order : ndarray of shape (n_rows,), int32
        Table rows by column: draws do not depend on the places of features in the table.
    borders : ndarray of shape (n_rows,), float64
        Chance to draw each of `order` or one before it; the last one is 1.
    guide : ndarray of shape (n_slots,), int32
        For each of as many equal parts of [0, 1), a power of two, the first place in `order` that a
        draw in it can have.
    offset : ndarray of shape (n_rows,), work dtype
        By table row, what its score starts with.
    keys : ndarray of shape (n,), uint64
        A number for each row of X, equal for equal rows.
    """

    keep: np.ndarray
    order: np.ndarray
    borders: np.ndarray
    guide: np.ndarray
    offset: np.ndarray
    keys: np.ndarray


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A batch from whose rows features are left out, and what is to be predicted.

    What row i predicts is listed from ``borders[2 * i]`` to ``borders[2 * i + 1]``; places between
    the lists have weight 0.

    Attributes
    ----------
    bag : CSRBatch
        The features that stay.
    borders : ndarray of shape (2 * b,), int64
        Where the lists begin and end.
    ids : ndarray of shape (n,), int32
        Table rows: features left out, and features drawn.
    labels : ndarray of shape (n,), work dtype
        1 for a feature left out, 0 for one drawn.
    weights : ndarray of shape (n,), work dtype
        Weight of each prediction.
    offset : ndarray of shape (n_rows,), work dtype
        By table row, what its score starts with.
    """

    bag: CSRBatch
    borders: np.ndarray
    ids: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    offset: np.ndarray

    @property
    def listed(self):
        """Table rows to predict, strictly increasing."""
        return np.unique(self.ids[self.weights > 0])

    def weigh(self, slopes):
        """Return the lists as a batch whose values are `slopes`; its rows are scaled as the bag."""
        return CSRBatch(self.borders, self.ids, slopes, self.bag.rows, self.bag.scale)
