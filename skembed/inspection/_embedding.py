"""Whether the vectors of a fitted estimator have learned."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from ._drift import effective_rates, norms_and_drift
from ._features import active, groups_by_frequency, named, names_of, state_of
from ._report import Report, Table, count, data_frame, number, percent, some

DEAD = 1e-3  # drift below which a listed row has not moved
EXPLODING = 10  # times the median norm of features that are about as frequent
NEIGHBOURS = 33  # features of which the median is taken


@dataclass(frozen=True, repr=False)
class EmbeddingReport(Report):
    """What `embedding_report` finds; arrays have one entry a feature with a vector.

    Parameters
    ----------
    columns : ndarray of shape (n,)
        Columns that have a vector, ascending.
    names : ndarray of shape (n,)
        Their names, or the column numbers.
    counts : ndarray of shape (n,)
        Training rows in which each was seen.
    n_updates : ndarray of shape (n,)
        Steps in which each was listed.
    frozen : ndarray of shape (n,), bool
        Whether the vector may not move.
    norm : ndarray of shape (n,)
        Euclidean norm of the vector.
    drift : ndarray of shape (n,)
        Distance from the starting vector, in units of that vector's norm (of the root mean square
        of all where its own is zero). NaN where the start is not known: for an `init` that was
        fitted within the fit.
    rate : ndarray of shape (n,)
        Effective learning rate: what the solver multiplies a lasting gradient of the row by, a
        mean over its coordinates. NaN where no gradient but zero was seen, or the solver's state
        was dropped.
    memory : float
        Steps after which dense training would have forgotten a gradient that the solver keeps until
        the row is next listed; infinite where nothing is kept that should fade.
    n_steps : int
        Steps of the fit.
    n_without : int
        Features that were seen and have no vector: in fewer than `min_count` rows, or padding.
    width : int
        Numbers of a vector; a factorization machine with several outputs or fields has the vectors
        of all of them in one.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed import EmbeddingBagRegressor
    >>> from skembed.inspection import embedding_report
    >>> X = sp.csr_array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]] * 20)
    >>> bag = EmbeddingBagRegressor(2, early_stopping=False, tol=10, n_iter_no_change=2)
    >>> report = embedding_report(bag.fit(X, [1.0, 2.0, 3.0] * 20))
    >>> report.n_updates.tolist(), len(report.untrained), len(report.exploding)
    ([3, 3, 3], 0, 0)
    """

    columns: np.ndarray
    names: np.ndarray
    counts: np.ndarray
    n_updates: np.ndarray
    frozen: np.ndarray
    norm: np.ndarray
    drift: np.ndarray
    rate: np.ndarray
    memory: float
    n_steps: int
    n_without: int
    width: int

    _title = "Embedding"

    def _where(self, mask):
        return self.columns[mask]

    @property
    def _untrained(self):
        return ~self.frozen & (self.n_updates == 0)

    @property
    def _dead(self):
        still = (self.drift < DEAD) | (self.norm == 0)
        return ~self.frozen & (self.n_updates > 0) & still

    @property
    def _exploding(self):
        out, train = np.zeros(len(self.columns), bool), np.flatnonzero(~self.frozen)
        train = train[np.argsort(-self.counts[train], kind="stable")]
        norms = self.norm[train]
        out[train] = norms > EXPLODING * median_filter(norms, NEIGHBOURS)
        return out

    @property
    def _stale(self):
        return ~self.frozen & (self.n_updates > 0) & (self.steps_between > self.memory)

    @property
    def untrained(self):
        """Columns whose vector may move but was in no step."""
        return self._where(self._untrained)

    @property
    def dead(self):
        """Columns that were in steps, but whose vector is zero or within 0.001 of its start."""
        return self._where(self._dead)

    @property
    def exploding(self):
        """Columns whose vector is over 10 times as long as the median of those as frequent.

        These are the 33 features around it in the order of frequency.
        """
        return self._where(self._exploding)

    @property
    def stale(self):
        """Columns whose solver state is older than it should be: see `memory`."""
        return self._where(self._stale)

    @property
    def steps_between(self):
        """Mean number of steps from one update of a feature to the next; infinite without any."""
        inf = np.full(len(self.columns), np.inf)
        return np.divide(self.n_steps, self.n_updates, out=inf, where=self.n_updates > 0)

    @property
    def learns(self):
        """Whether at least half of the vectors that may move have moved."""
        still = self._untrained | self._dead
        return bool((~self.frozen & ~still).sum() > still.sum()) or len(self.columns) == 0

    @property
    def deciles(self):
        """Tenths of the features by frequency, the most frequent first.

        A dict of arrays with one entry a tenth: ``"n_features"``, ``"most"`` and ``"least"`` (rows
        in which one of them was seen), ``"share"`` of all updates, and the medians of ``"norm"``,
        ``"drift"``, ``"steps_between"`` and ``"rate"``.
        """
        groups = groups_by_frequency(self.counts)
        total = max(self.n_updates.sum(), 1)
        out = {
            "n_features": np.array([len(g) for g in groups], int),
            "most": np.array([self.counts[g[0]] for g in groups], int),
            "least": np.array([self.counts[g[-1]] for g in groups], int),
            "share": np.array([self.n_updates[g].sum() / total for g in groups], float),
        }
        for name in ("norm", "drift", "steps_between", "rate"):
            values = getattr(self, name)
            out[name] = np.array([_median(values[g]) for g in groups], float)
        return out

    def to_frame(self):
        """Return one row a feature as a data frame.

        Returns
        -------
        pandas.DataFrame
            Indexed by feature name or column, with the arrays and marks of this report.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        marks = {name: getattr(self, f"_{name}") for name in MARKS}
        arrays = ("counts", "n_updates", "steps_between", "norm", "drift", "rate", "frozen")
        data = {**{name: getattr(self, name) for name in arrays}, **marks}
        return data_frame(data, self.names, "EmbeddingReport.to_frame")

    def _tables(self):
        train = ~self.frozen
        pairs = [
            ("features with a vector", count(len(self.columns))),
            ("seen, without a vector", count(self.n_without)),
            ("numbers in a vector", count(self.width)),
            ("steps", count(self.n_steps)),
            ("frozen", count(self.frozen.sum())),
            *((MARKS[name], count(getattr(self, f"_{name}").sum())) for name in MARKS),
            ("drift, median", number(_median(self.drift[train]))),
            ("drift, largest", number(self.drift[train].max(initial=0))),
        ]
        deciles = self.deciles
        rows = [
            (
                f"tenth {i}", count(n), f"{count(most)} to {count(least)}", percent(share),
                *map(number, medians),
            )
            for i, (n, most, least, share, *medians) in enumerate(
                zip(*deciles.values(), strict=True), 1
            )
        ]  # fmt: skip
        header = (
            "features by frequency", "features", "rows with one", "share of updates", "norm",
            "drift", "steps between", "effective rate",
        )  # fmt: skip
        return [Table("The vectors", (), pairs), Table("Medians by frequency", header, rows)]

    def _notes(self):
        notes = [
            f"{MARKS[name].capitalize()}: {some(self.names[mask])}."
            for name in ("untrained", "dead", "exploding")
            if (mask := getattr(self, f"_{name}")).any()
        ]
        return [*notes, *self.advice]

    @property
    def advice(self):
        """Sentences on what is wrong and what to do about it."""
        found = []
        if not self.learns:
            found.append(self._not_learning())
        if self._exploding.any():
            found.append(
                "Vectors much longer than those of features as frequent: set max_norm or clip_norm "
                "on the solver, lower learning_rate_init, or look at the values of these columns."
            )
        if self._stale.sum() > len(self.columns) / 2:
            found.append(
                f"Most features are listed so rarely that the solver moves them by gradients of "
                f"more than {number(self.memory)} steps ago. solver='adamw' lets these fade; "
                "solver='adagrad' keeps none."
            )
        if np.isnan(self.drift).all() and len(self.drift):
            found.append("The starting vectors were fitted within the fit, so drift is not known.")
        return found

    def _not_learning(self):
        train = (~self.frozen).sum()
        if train == 0:
            return "All vectors are frozen: only the head learns."
        return (
            f"{count((self._untrained | self._dead).sum())} of {count(train)} vectors that may "
            "move have not learned. Train for more epochs, raise learning_rate_init, or look at "
            "the loss: one that does not fall gives no gradient."
        )


MARKS = {
    "untrained": "in no step",
    "dead": "dead",
    "exploding": "exploding",
    "stale": "stale solver state",
}


def _median(values):
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else np.nan


def embedding_report(estimator, *, feature_names=None):
    """Tell whether the vectors of a fitted estimator have learned, feature by feature.

    How often each feature was seen and updated, how far its vector has moved from where it started,
    and at what rate it goes on; which vectors were never updated, do not move, or are far too
    long; and all that by frequency, because rare features learn least. Starting vectors are drawn
    anew from the seed of the fit, so that nothing had to be stored.

    Parameters
    ----------
    estimator : estimator
        A fitted embedding bag or factorization machine.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns; None takes those of the fit.

    Returns
    -------
    EmbeddingReport
        The numbers; printed, or shown by a notebook, as tables.

    Raises
    ------
    TypeError
        If the estimator has no table of vectors.

    Warns
    -----
    UserWarning
        If less than half of the vectors have moved.

    See Also
    --------
    sparsity_report : What the data alone tell.
    activation_report : What a head with hidden layers does.

    Notes
    -----
    Parameters that were set after the fit are not those of the fit: with another `init` the drift
    would be measured from elsewhere. With vectors of another estimator as `init`, features that
    came in a later `partial_fit` started at drawn ones, which are not told apart.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.inspection import embedding_report
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(["good film", "bad film", "good play", "bad play"] * 25)
    >>> bag = EmbeddingBagClassifier(4, early_stopping=False, tol=0.01, random_state=0)
    >>> bag = bag.fit(X, ["yes", "no"] * 50)
    >>> report = embedding_report(bag, feature_names=words.get_feature_names_out())
    >>> report.learns
    True
    >>> print(report.names[report.drift > 5])
    ['bad' 'good']
    """
    state = state_of(estimator, "embedding_report")
    names = names_of(estimator, feature_names)
    index, table = state.index, state.params["table"]
    (columns, counts), rows = active(index), index.rows[index.rows >= 0]
    norm, drift = norms_and_drift(estimator, state)
    solver = estimator._resolve_solver()
    slots = state.solver_state.get("table", {})
    report = EmbeddingReport(
        columns=columns,
        names=named(names, columns),
        counts=counts,
        n_updates=state.n_updates.values[rows, 0].astype(np.int64),
        frozen=rows >= table.n_trainable,
        norm=norm[rows],
        drift=drift[rows],
        rate=effective_rates(solver, state)[rows],
        memory=min(solver.memory.values(), default=np.inf) if slots else np.inf,
        n_steps=state.step,
        n_without=len(index.columns) - len(columns),
        width=table.d_embedding,
    )
    if not report.learns and not report.frozen.all():
        warnings.warn(report._not_learning(), UserWarning, stacklevel=2)
    return report
