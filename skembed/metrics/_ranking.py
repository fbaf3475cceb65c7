"""Precision among the best scored labels."""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import make_scorer
from sklearn.utils import check_array, check_consistent_length, gen_batches
from sklearn.utils._param_validation import Interval, validate_params

BATCH_ENTRIES = 2**20  # scores that are ranked at once


@validate_params(
    {
        "y_true": ["array-like", "sparse matrix"],
        "y_score": ["array-like"],
        "k": [Interval(Integral, 1, None, closed="left")],
        "labels": ["array-like", None],
        "sample_weight": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
def precision_at_k_score(y_true, y_score, *, k=1, labels=None, sample_weight=None):
    """Share of true labels among the `k` best scored ones, as the mean over rows.

    Among equal scores the lowest column comes first. A row that has fewer than `k` true labels
    cannot reach 1, one without any gets 0.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels) or array-like of shape \
(n_samples,)
        Indicator of the true labels, 0 or 1; a sparse one is not densified. Or one class a row.
    y_score : array-like of shape (n_samples, n_labels)
        Scores, higher for labels that are more likely: probabilities or decision values.
    k : int, default=1
        How many labels count in each row.
    labels : array-like of shape (n_labels,), default=None
        Class of each column of `y_score`, where `y_true` holds classes; None stands for the
        sorted classes in `y_true`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The score, from 0 to 1.

    See Also
    --------
    precision_at_k_scorer : The same as a scorer of estimators.
    sklearn.metrics.top_k_accuracy_score : Whether the one true class is among the `k` best.

    Examples
    --------
    >>> from skembed.metrics import precision_at_k_score
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.2, 0.8], [0.5, 0.4, 0.1]]
    >>> precision_at_k_score(y_true, y_score, k=2)
    0.75
    >>> precision_at_k_score(["a", "b"], y_score, labels=["a", "b", "c"])
    0.5
    """
    y_score = check_array(y_score, ensure_2d=False, input_name="y_score")
    if y_score.ndim != 2:
        raise ValueError(
            f"y_score must have one column for each label; got an array of shape {y_score.shape}."
        )
    check_consistent_length(y_true, y_score, sample_weight)
    n, n_labels = y_score.shape
    if k > n_labels:
        raise ValueError(f"k={k} is larger than the number of labels, {n_labels}.")
    truth = _as_indicator(y_true, labels, n_labels)
    hits = np.empty(n)
    for rows in gen_batches(n, max(1, BATCH_ENTRIES // n_labels)):
        hits[rows] = truth[rows].multiply(_best(y_score[rows], k)).sum(axis=1)
    return float(np.average(hits / k, weights=sample_weight))


def precision_at_k_scorer(*, k=1, labels=None):
    """Make a scorer of `precision_at_k_score`, for the `scoring` of scikit-learn's tools.

    The scores are those of `predict_proba`, and of `decision_function` where there are no
    probabilities. Of two classes a scorer gets one number a row, which is refused: their measure is
    the accuracy.

    Parameters
    ----------
    k : int, default=1
        How many labels count in each row.
    labels : array-like of shape (n_labels,), default=None
        The `classes_` of the estimator, where y holds classes and one of them may be missing in a
        test set.

    Returns
    -------
    callable
        A scorer as `sklearn.metrics.make_scorer` returns it.

    See Also
    --------
    precision_at_k_score : The score itself.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skembed.metrics import precision_at_k_scorer
    >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
    >>> clf = MLPClassifier(solver="lbfgs", random_state=0)
    >>> cross_val_score(clf, X, Y, scoring=precision_at_k_scorer(k=2)).shape
    (5,)
    """
    return make_scorer(
        precision_at_k_score,
        response_method=("predict_proba", "decision_function"),
        k=k,
        labels=labels,
    )


def _as_indicator(y_true, labels, n_labels):
    """Return the true labels as a CSR indicator of `n_labels` columns."""
    y_true = check_array(
        y_true, accept_sparse="csr", ensure_2d=False, dtype=None, input_name="y_true"
    )
    if y_true.ndim == 1:
        columns = _columns_of(y_true, labels, n_labels)
        return _one_each(columns[:, None], n_labels)
    if labels is not None:
        raise ValueError("labels are for a y_true of classes, not for an indicator.")
    if y_true.shape[1] != n_labels:
        raise ValueError(f"y_true has {y_true.shape[1]} columns, y_score has {n_labels}.")
    truth = sp.csr_array(y_true)
    if not truth.has_canonical_format:
        truth = truth.copy()
        truth.sum_duplicates()
    if not np.isin(truth.data, [0, 1]).all():
        raise ValueError("An indicator y_true may hold only 0 and 1.")
    return truth


def _columns_of(y_true, labels, n_labels):
    """Return the column of the class of each row."""
    known, columns = np.unique(y_true if labels is None else labels, return_index=True)
    if labels is None:
        columns = np.arange(len(known))
    elif len(known) < len(labels):
        raise ValueError("labels must be distinct.")
    if len(known) != n_labels:
        raise ValueError(
            f"y_score has {n_labels} columns for {len(known)} classes. Pass labels, the class of "
            "each column, where y_true does not hold all classes."
        )
    at = np.searchsorted(known, y_true).clip(max=n_labels - 1)
    if np.any(known[at] != y_true):
        raise ValueError("y_true holds classes that are not in labels.")
    return columns[at]


def _best(scores, k):
    """Return a CSR indicator of the `k` best scores of each row, ties to the lowest column."""
    n_labels = scores.shape[1]
    least = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None]
    better, equal = scores > least, scores == least
    room = k - better.sum(axis=1, keepdims=True)
    taken = better | (equal & (equal.cumsum(axis=1) <= room))
    return _one_each(np.nonzero(taken)[1].reshape(-1, k), n_labels)


def _one_each(columns, n_labels):
    """Return a CSR array with a one in the given columns, shape (n, k), of each row."""
    n, k = columns.shape
    return sp.csr_array(
        (np.ones(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n_labels)
    )
