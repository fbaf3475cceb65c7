"""What each feature and each pair of features adds to one score of a factorization machine."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skembed.models import FactorizationModel


@dataclass(frozen=True)
class Explanation:
    """The parts of the raw score of one row: they sum to it.

    A score is a log odds, a logit or a margin for classifiers, and a number (before the inverse
    link of the loss) for regressors.

    Parameters
    ----------
    names : ndarray of shape (m,)
        Names of the features of the row that have a vector: feature names, or column numbers.
    columns : ndarray of shape (m,)
        Their columns, ascending.
    linear : ndarray of shape (m,) or (m, n_outputs)
        What each adds by its direct weight.
    pairs : ndarray of shape (m * (m - 1) / 2, 2)
        Places in `columns` of the two features of each pair.
    interactions : ndarray of shape (len(pairs),) or (len(pairs), n_outputs)
        What each pair adds.
    intercept : float or ndarray of shape (n_outputs,)
        What is there before any feature.
    score : float or ndarray of shape (n_outputs,)
        The sum of all.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.inspection import Explanation
    >>> found = Explanation(
    ...     names=np.array(["red", "circle"]),
    ...     columns=np.array([0, 1]),
    ...     linear=np.array([0.5, 0.0]),
    ...     pairs=np.array([[0, 1]]),
    ...     interactions=np.array([2.0]),
    ...     intercept=-1.0,
    ...     score=1.5,
    ... )
    >>> found.top(1)
    [('red × circle', 2.0)]
    """

    names: np.ndarray
    columns: np.ndarray
    linear: np.ndarray
    pairs: np.ndarray
    interactions: np.ndarray
    intercept: float | np.ndarray
    score: float | np.ndarray

    def top(self, n, output=0):
        """Return the n largest parts by absolute value.

        Parameters
        ----------
        n : int
            How many.
        output : int
            Which output, where there are several.

        Returns
        -------
        list of tuple of (str, float)
            Names of a feature or of a pair, and what it adds; the largest first.
        """
        names = [str(name) for name in self.names]
        names += [f"{self.names[p]} × {self.names[q]}" for p, q in self.pairs]
        parts = np.concatenate([self.linear, self.interactions])
        parts = parts if parts.ndim == 1 else parts[:, output]
        order = np.argsort(-np.abs(parts), kind="stable")[:n]
        return [(names[i], float(parts[i])) for i in order]


def explain(estimator, x):
    """Tell what each feature and each pair of features adds to the score of one row.

    Parameters
    ----------
    estimator : FactorizationMachineClassifier or FactorizationMachineRegressor
        A fitted factorization machine.
    x : {array-like, sparse matrix, sparse array} of shape (1, n_features)
        The row.

    Returns
    -------
    Explanation
        The parts. Features without a vector add nothing and are left out. A row of m features has
        m (m - 1) / 2 pairs.

    Raises
    ------
    TypeError
        If the estimator is no factorization machine.
    ValueError
        If `x` has not exactly one row.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed import FactorizationMachineRegressor
    >>> from skembed.inspection import explain
    >>> X = sp.csr_array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]] * 20)
    >>> fm = FactorizationMachineRegressor(2, early_stopping=False, tol=10, n_iter_no_change=1)
    >>> found = explain(fm.fit(X, [1.0, 2.0, 3.0] * 20), X[:1])
    >>> found.columns.tolist(), len(found.interactions)
    ([0, 2], 1)
    """
    check_is_fitted(estimator)
    model = getattr(getattr(estimator, "_state", None), "model", None)
    if not isinstance(model, FactorizationModel):
        raise TypeError(
            "explain needs a factorization machine, whose score is a sum over features and pairs, "
            f"got {type(estimator).__name__}."
        )
    batch, columns = estimator._row(x)
    state = estimator._state
    table, pairs = state.params["table"], model.shape_of(state.params)
    rows, values = batch.indices, batch.data.astype(np.float64) * batch.scale[0]
    vectors = pairs.blocks(table.values[rows]).astype(np.float64)
    fields = np.zeros(len(rows), np.int64) if batch.fields is None else batch.fields[rows]
    linear = np.zeros((len(rows), pairs.n_outputs))
    if table.n_linear:
        linear = values[:, None] * table.values[rows, table.d_embedding : table.d]
    first, second = np.triu_indices(len(rows), 1)
    meet = vectors[first, fields[second]] * vectors[second, fields[first]]
    interactions = (values[first] * values[second])[:, None] * meet.sum(axis=2)
    intercept = state.params["intercept"][:, 0].astype(np.float64)
    score = intercept + linear.sum(axis=0) + interactions.sum(axis=0)
    names = getattr(estimator, "feature_names_in_", None)
    parts = [linear, interactions, intercept, score]
    if pairs.n_outputs == 1:
        parts = [linear[:, 0], interactions[:, 0], float(intercept[0]), float(score[0])]
    return Explanation(
        columns if names is None else names[columns], columns, parts[0],
        np.column_stack([first, second]), *parts[1:],
    )  # fmt: skip
