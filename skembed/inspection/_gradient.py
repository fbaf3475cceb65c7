"""The gradient of a batch, for those who want to look at it."""

import copy
from dataclasses import replace

import numpy as np

from skembed.core import NEGATIVES, stream
from skembed.kernels import get_backend

from ._features import state_of


def training_gradient(estimator, X, y, sample_weight=None):
    """Compute the gradient of the vectors that a batch of the given rows would have.

    It is that of the mean loss over the rows at the parameters of a fitted estimator, before the
    options of the solver (clipping, scaling by frequency) and before its step. The estimator stays
    as it is.

    Parameters
    ----------
    estimator : estimator
        A fitted embedding bag or factorization machine.
    X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
        The rows of the batch.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets, as in the fit.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.

    Returns
    -------
    SparseRowGradient
        The columns that occur and train, ascending, in `indices`; their gradients, with all
        occurrences in the batch added up, in `values`; and how often they occur in `counts`. A
        feature that is not listed has gradient zero. Behind the components of a vector come its
        direct weights, if any; a factorization machine with fields has its vectors field by field,
        and output by output within a field. Where classes are sampled, they are those that the next
        step would draw.

    Raises
    ------
    ValueError
        If the rows do not fit the estimator, or all weights are zero.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed import EmbeddingBagRegressor
    >>> from skembed.inspection import training_gradient
    >>> X = sp.csr_array([[1.0, 0, 1], [0, 1, 1], [1, 0, 0]] * 20)
    >>> bag = EmbeddingBagRegressor(2, early_stopping=False, tol=10, n_iter_no_change=1)
    >>> bag = bag.fit(X, [1.0, 2.0, 3.0] * 20)
    >>> gradient = training_gradient(bag, X[[0, 2]], [1.0, 3.0])
    >>> gradient.indices.tolist(), gradient.counts.tolist(), gradient.to_csr().shape
    ([0, 2], [2, 1], (3, 2))
    """
    state = copy.copy(state_of(estimator, "training_gradient"))
    sample, target = estimator._check(X, y, sample_weight, state=state, target=estimator._target)
    if len(sample.rows) == 0:
        raise ValueError("sample_weight must contain at least one non-zero number.")
    table, loss, named = state.params["table"], target.loss, None
    with get_backend() as backend, np.errstate(all="ignore"):
        data = estimator._training_rows(sample, state, backend, loss)
        rows = data.rows
        codes = data.y[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        if loss.sampled:
            drawn = loss.draw(data.noise, stream(state.seed, NEGATIVES, state.step + 1))
            codes = named = codes, drawn
        _, grads = state.model.loss_and_gradient(
            loss, state.params, data.batch(rows), codes, weight, backend, None, named
        )
        grad = grads["table"].sum(backend)
    columns = state.index.row_columns()[grad.indices]
    order = np.argsort(columns)
    return replace(
        grad,
        indices=columns[order],
        values=grad.values[order, : table.d],
        counts=grad.counts[order],
        shape=(state.index.n_features, table.d),
    )
