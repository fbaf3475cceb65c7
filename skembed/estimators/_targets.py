"""What the targets are: classes or numbers."""

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from skembed.losses import LOSSES


class ClassTarget:
    """Classes, encoded as 0..K - 1.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Distinct labels, sorted.
    """

    def __init__(self, classes):
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes must be at least 2; got {len(classes)} class"
                f"{f' ({classes[0]!r})' if len(classes) else ''}."
            )
        self.classes = classes
        self.n_outputs = 1 if len(classes) == 2 else len(classes)
        self.loss = LOSSES["log_loss" if len(classes) == 2 else "softmax"]()

    @classmethod
    def of(cls, y, rows):
        """Return the target of a fit: the classes of the rows of positive weight."""
        check_classification_targets(y)
        return cls(np.unique(y[rows]))

    @classmethod
    def known(cls, classes):
        """Return the target of a first `partial_fit`."""
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return cls(np.unique(classes))

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, ClassTarget) and np.array_equal(self.classes, other.classes)

    def encode(self, y, rows, dtype):
        """Return codes of shape (n,); rows that are left out get 0."""
        check_classification_targets(y)
        at = np.searchsorted(self.classes, y[rows]).clip(max=len(self.classes) - 1)
        known = self.classes[at] == y[rows]
        if not np.all(known):
            new = np.unique(y[rows][~known])[:5].tolist()
            raise ValueError(
                f"y contains labels that are not among the classes of the first call: {new}. "
                f"The classes are {self.classes.tolist()[:20]}."
            )
        codes = np.zeros(len(y), np.int64)
        codes[rows] = at
        return codes

    def class_weights(self, class_weight, codes, rows, sample_weight):
        """Return the weight of each class, shape (K,), or None."""
        if class_weight is None:
            return None
        return compute_class_weight(
            class_weight,
            classes=self.classes,
            y=self.classes[codes[rows]],
            sample_weight=None if sample_weight is None else sample_weight[rows],
        )


class NumberTarget:
    """One number a row, or several.

    Parameters
    ----------
    n_outputs : int or None
        Columns of y; None for one-dimensional y.
    """

    def __init__(self, n_columns):
        self.n_columns = n_columns
        self.n_outputs = n_columns or 1
        self.loss = LOSSES["squared_error"]()

    @classmethod
    def of(cls, y, rows):
        """Return the target of a fit."""
        return cls(y.shape[1] if y.ndim == 2 else None)

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, NumberTarget) and self.n_columns == other.n_columns

    def encode(self, y, rows, dtype):
        """Return y in the work dtype."""
        return y.astype(dtype, copy=False)

    def class_weights(self, class_weight, codes, rows, sample_weight):
        """Return None: numbers have no classes."""
