"""What each feature, and each pair of features, adds to one score."""

from dataclasses import dataclass

import numpy as np

from skembed.models import BagModel, FactorizationModel

from ._features import named, names_of, state_of
from ._report import Report, Table, number

SHOWN = 10


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """The parts of the raw score of one row: they sum to it.

    A score is a log odds, a logit or a margin for classifiers, and a number (before the inverse
    link of the loss) for regressors.

    Parameters
    ----------
    names : ndarray of shape (m,)
        Names of the features of the row that have a vector, and of its numeric features: feature
        names, or column numbers.
    columns : ndarray of shape (m,)
        Their columns, ascending.
    linear : ndarray of shape (m,) or (m, n_outputs)
        What each adds by itself.
    pairs : ndarray of shape (n_pairs, 2)
        Places in `columns` of the two features of each pair; all m (m - 1) / 2 pairs for a
        factorization machine, none for a bag.
    interactions : ndarray of shape (n_pairs,) or (n_pairs, n_outputs)
        What each pair adds.
    intercept : float or ndarray of shape (n_outputs,)
        What is there before any feature.
    score : float or ndarray of shape (n_outputs,)
        The sum of all.
    outputs : ndarray of shape (n_outputs,), default=None
        What the outputs are, where there are several: classes or labels.

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
    outputs: np.ndarray | None = None

    _title = "What the score is made of"

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

    def _tables(self):
        scores = np.atleast_1d(self.score)
        tables, parts = [], len(self.linear) + len(self.interactions)
        for output in np.argsort(-scores, kind="stable")[:3]:
            rows = [(name, f"{part:+.4g}") for name, part in self.top(SHOWN, output)]
            if parts > SHOWN:
                shown = sum(part for _, part in self.top(SHOWN, output))
                rest = scores[output] - np.atleast_1d(self.intercept)[output] - shown
                rows.append((f"{parts - SHOWN:,} more", f"{rest:+.4g}"))
            rows.append(("intercept", f"{np.atleast_1d(self.intercept)[output]:+.4g}"))
            title = "Score"
            if len(scores) > 1:
                name = f"output {output}" if self.outputs is None else self.outputs[output]
                title = f"Score of {name}"
            tables.append(Table(f"{title}: {number(scores[output])}", (), rows))
        return tables


def explain(estimator, x, *, feature_names=None):
    """Tell what each feature, and each pair of features, adds to the score of one row.

    The parts sum to the score exactly, up to rounding. A factorization machine is a sum over
    features and pairs. A bag with a linear head is a sum over features; with max pooling, a feature
    has the components that were taken from it. A head with hidden layers is linear in the pooled
    row as long as the same units stay active: the parts are those of this linear function, which
    gives the score of the row, and the intercept is what it has before any feature. They tell what
    holds near the row, not what the score would be if a feature were gone.

    Parameters
    ----------
    estimator : estimator
        A fitted embedding bag or factorization machine.
    x : {array-like, sparse matrix, sparse array} of shape (1, n_features)
        The row.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns; None takes those of the fit.

    Returns
    -------
    Explanation
        The parts. Features that add nothing, having no vector, are left out. For a factorization
        machine a row of m features has m (m - 1) / 2 pairs.

    Raises
    ------
    TypeError
        If the estimator is neither a bag nor a factorization machine.
    ValueError
        If `x` has not exactly one row.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.inspection import explain
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(["good film", "bad film", "good play", "bad play"] * 25)
    >>> bag = EmbeddingBagClassifier(4, early_stopping=False, tol=0.01, random_state=0)
    >>> bag = bag.fit(X, ["no", "yes"] * 50)
    >>> found = explain(bag, X[:1], feature_names=words.get_feature_names_out())
    >>> name, part = found.top(1)[0]
    >>> name, part < -1
    ('good', True)
    >>> bool(abs(found.linear.sum() + found.intercept - bag.decision_function(X[:1])[0]) < 1e-9)
    True
    """
    state = state_of(estimator, "explain")
    names = names_of(estimator, feature_names)
    row = estimator._row(x)
    if isinstance(state.model, FactorizationModel):
        columns, linear, pairs, interactions, intercept = _machine(state, *row)
    elif isinstance(state.model, BagModel):
        columns, linear, intercept = _bag(estimator, state, *row)
        pairs, interactions = np.empty((0, 2), np.int64), linear[:0]
    else:
        raise TypeError(
            "explain needs an embedding bag or a factorization machine, got "
            f"{type(estimator).__name__}."
        )
    score = intercept + linear.sum(axis=0) + interactions.sum(axis=0)
    parts = linear, pairs, interactions, intercept, score
    if len(score) == 1:
        parts = linear[:, 0], pairs, interactions[:, 0], float(intercept[0]), float(score[0])
    outputs = estimator._target.classes if len(score) > 1 else None
    return Explanation(named(names, columns), columns, *parts, outputs)


def _machine(state, params, batch, columns):
    """Return columns, direct parts, pairs, their parts and intercepts of a machine."""
    table, pairs = params["table"], state.model.shape_of(params)
    rows, values = batch.indices, batch.data.astype(np.float64) * batch.scale[0]
    read = table.take(rows)
    vectors = pairs.blocks(read).astype(np.float64)
    fields = np.zeros(len(rows), np.int64) if batch.fields is None else batch.fields[rows]
    linear = np.zeros((len(rows), pairs.n_outputs))
    if table.n_linear:
        linear = values[:, None] * read[:, table.d_embedding : table.d]
    first, second = np.triu_indices(len(rows), 1)
    meet = vectors[first, fields[second]] * vectors[second, fields[first]]
    interactions = (values[first] * values[second])[:, None] * meet.sum(axis=2)
    intercept = params["intercept"][:, 0].astype(np.float64)
    return columns, linear, np.column_stack([first, second]), interactions, intercept


def _bag(estimator, state, params, batch, columns):
    """Return columns, parts, shape (m, n_outputs), and intercepts of a bag, in float64."""
    table, rows = params["table"], batch.indices
    each = batch.data.astype(np.float64) * batch.scale[0]
    vectors = table.take(rows)
    shares = each[:, None] * vectors[:, : table.d_embedding]
    if state.model.pooling == "max" and len(rows):
        wins = np.zeros(shares.shape, bool)
        wins[shares.argmax(axis=0), np.arange(shares.shape[1])] = True
        shares = np.where(wins, shares, 0.0)
    direct = np.zeros((len(rows), 1))
    if table.n_linear:
        direct = each[:, None] * vectors[:, table.d_embedding : table.d]
    numeric = np.empty(0) if batch.numeric is None else batch.numeric[0].astype(np.float64)
    coef, intercept = _slopes(estimator, np.concatenate([shares.sum(axis=0), numeric]))
    d = table.d_embedding
    parts = np.concatenate([shares @ coef[:, :d].T + direct, numeric[:, None] * coef[:, d:].T])
    columns = np.concatenate([columns, state.numeric])
    there = np.concatenate([np.ones(len(rows), bool), numeric != 0])
    order = np.argsort(columns[there])
    return columns[there][order], parts[there][order], intercept


def _slopes(estimator, x):
    """Return the linear function that the head of a bag is at x: coefficients and intercepts."""
    slope, constant = np.eye(len(x)), np.zeros(len(x))
    layers = list(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    for i, (coef, intercept) in enumerate(layers):
        coef = coef.astype(np.float64)
        slope, constant = coef @ slope, coef @ constant + intercept
        if i < len(layers) - 1:
            active = slope @ x + constant > 0
            slope, constant = slope * active[:, None], constant * active
    return slope, constant
