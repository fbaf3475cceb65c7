"""What the targets are: classes, labels or numbers."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from skembed.core import SparseRows
from skembed.losses import LOSSES, NegativeSampling, Softmax
from skembed.training import accuracy, minus_loss, precision_at_1


def class_target(y, rows, loss):
    """Return the `ClassTarget` or `LabelTarget` of a fit, from the rows of positive weight."""
    try:
        if is_indicator(y):
            return LabelTarget(y.shape[1], sp.issparse(y), loss)
        check_classification_targets(y)
        return ClassTarget(np.unique(one_column(y)[rows]), loss)
    except TypeError as error:  # labels that cannot be sorted
        kinds = sorted({type(v).__name__ for v in np.ravel(y).tolist()})
        raise TypeError(
            f"The labels in y must be all strings or all numbers, got a mix of {kinds}."
        ) from error


def is_indicator(y):
    """Tell whether y marks any number of labels a row."""
    if sp.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        values = y.data if sp.issparse(y) else y
        of_labels = type_of_target(y, input_name="y") == "multilabel-indicator"
        if not of_labels or not ((values == 0) | (values == 1)).all():
            raise ValueError(
                "Unknown label type: y has several columns and must then hold 0 and 1 only, one "
                "column a label (multi-label). Several multi-class targets are not supported."
            )
        return True
    return False


def one_column(y):
    """Return y of shape (n,) from (n,) or (n, 1)."""
    return column_or_1d(y, warn=True)


class ClassTarget:
    """Classes that exclude each other, encoded as 0..K - 1.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Distinct labels, sorted.
    loss : str or Loss
        Loss of the fit.
    """

    def __init__(self, classes, loss):
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes must be at least 2; got {len(classes)} class"
                f"{f' ({classes[0]!r})' if len(classes) else ''}."
            )
        self.classes = classes
        self.n_outputs = 1 if len(classes) == 2 else len(classes)
        if loss in ("auto", "log_loss"):
            loss = "softmax" if len(classes) > 2 else "log_loss"
        self.loss = LOSSES.resolve(loss)
        if self.loss.sampled and len(classes) == 2:
            self.loss = LOSSES["log_loss"]()  # nothing to draw
        self.loss._validate_params()
        if isinstance(self.loss, Softmax) and self.n_outputs == 1:
            raise ValueError("Softmax needs more than two classes. Use loss='log_loss' for two.")
        self.metric = minus_loss if self.n_outputs == 1 else accuracy

    @classmethod
    def known(cls, classes, loss):
        """Return the target of a first `partial_fit`."""
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return cls(np.unique(classes), loss)

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, ClassTarget) and np.array_equal(self.classes, other.classes)

    def encode(self, y, rows, dtype):
        """Return codes of shape (n,); rows that are left out get 0."""
        if is_indicator(y):
            raise ValueError("y marks several labels a row, but the earlier fit had one class.")
        check_classification_targets(y)
        y = one_column(y)
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

    def strata(self, codes, rows):
        """Return the class of each row, for a split in equal shares."""
        return codes[rows]

    def ties(self, codes, rows):
        """Return what decides the order of rows with equal features in a split."""
        return ()

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

    def decide(self, raw):
        """Return labels for raw scores of shape (n, n_outputs)."""
        best = (raw[:, 0] > 0).astype(np.intp) if self.n_outputs == 1 else raw.argmax(axis=1)
        return self.classes[best]


class LabelTarget:
    """Any number of labels a row: one column of 0 and 1 each.

    Parameters
    ----------
    n_labels : int
        Number of columns.
    sparse_output : bool
        Whether y was sparse; predictions are as y was.
    loss : str or Loss
        Loss of the fit.
    """

    metric = staticmethod(precision_at_1)

    def __init__(self, n_labels, sparse_output, loss):
        self.classes, self.n_outputs = np.arange(n_labels), n_labels
        self.sparse_output = sparse_output
        self.loss = LOSSES.resolve("log_loss" if loss == "auto" else loss)
        self.loss._validate_params()
        if isinstance(self.loss, (Softmax, NegativeSampling)):
            name = type(self.loss).__name__
            raise ValueError(f"{name} allows one label a row; use loss='log_loss' for several.")

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, LabelTarget) and self.n_outputs == other.n_outputs

    def encode(self, y, rows, dtype):
        """Return y as `SparseRows`, or as an array of shape (n, K)."""
        if not is_indicator(y) or y.shape[1] != self.n_outputs:
            raise ValueError(
                f"y has shape {y.shape}, but the earlier fit had {self.n_outputs} labels, one "
                "column each."
            )
        if not sp.issparse(y):
            return y
        y = sp.csr_array(y)
        if not y.has_canonical_format or (y.data == 0).any():
            y = y.copy()
            y.sum_duplicates()
            y.eliminate_zeros()
        return SparseRows(y.indptr, y.indices, np.ones(len(y.data), dtype), self.n_outputs)

    def strata(self, codes, rows):
        """Return None: rows with several labels are split at random."""

    def ties(self, codes, rows):
        """Return what decides the order of rows with equal features in a split."""
        return ()

    def class_weights(self, class_weight, codes, rows, sample_weight):
        """Return None, or refuse class weights."""
        if class_weight is not None:
            raise ValueError(
                "class_weight is for classes that exclude each other. With several labels a row "
                "pass sample_weight."
            )

    def decide(self, raw):
        """Return 0 and 1, sparse if y was."""
        true = (raw > 0).astype(np.int64)
        return sp.csr_array(true) if self.sparse_output else true


class NumberTarget:
    """One number a row, or several.

    Parameters
    ----------
    n_columns : int or None
        Columns of y; None for one-dimensional y.
    loss : str or Loss
        Loss of the fit.
    """

    metric = staticmethod(minus_loss)
    classes = None

    def __init__(self, n_columns, loss):
        self.n_columns = n_columns
        self.n_outputs = n_columns or 1
        self.loss = LOSSES.resolve("squared_error" if loss == "auto" else loss)
        self.loss._validate_params()

    @classmethod
    def of(cls, y, loss):
        """Return the target of a fit."""
        return cls(y.shape[1] if y.ndim == 2 else None, loss)

    def same_as(self, other):
        """Tell whether a fit can go on with these targets."""
        return isinstance(other, NumberTarget) and self.n_columns == other.n_columns

    def encode(self, y, rows, dtype):
        """Return y in the work dtype."""
        if (y.shape[1] if y.ndim == 2 else None) != self.n_columns:
            shape = "one-dimensional" if self.n_columns is None else f"of {self.n_columns} columns"
            raise ValueError(
                f"y has shape {y.shape}, but the targets of the earlier fit were {shape}."
            )
        self.loss.check(y[rows])
        return y.astype(dtype, copy=False)

    def strata(self, codes, rows):
        """Return None: rows are split at random."""

    def ties(self, codes, rows):
        """Return what decides the order of rows with equal features in a split."""
        return tuple(np.atleast_2d(codes[rows].T))

    def class_weights(self, class_weight, codes, rows, sample_weight):
        """Return None: numbers have no classes."""

    def decide(self, raw):
        """Return predictions, shaped like the y of fit."""
        predicted = self.loss.inverse_link(raw.T, np).T
        return predicted[:, 0] if self.n_columns is None else predicted


def matrix_of(codes, rows):
    """Return encoded targets of some rows as losses take them to begin with."""
    if isinstance(codes, SparseRows):
        return sp.csr_array((codes.data, codes.indices, codes.indptr), codes.shape)[rows]
    return codes[rows]
