"""How much each partition should send: two short fits for each number of local steps, then laws."""

import warnings
from dataclasses import asdict
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skembed.compress import (
    OVERHEAD,
    CompressionPlan,
    Forecast,
    MessageLaw,
    RoundLaw,
    TopK,
    Workers,
)
from skembed.core import RowArray

from ._partitioned import PartitionedFit

SHARES = 0.3, 0.03  # of the entries that the two fits send, both ways
HELD_OUT = 0.2  # of the rows, for scores
WIDE_ROUNDS, REACHED = 8, 0.9  # without a target: rounds of the first fit, and how far it must come
COSTS = [Interval(Real, 0, None, closed="left"), "array-like"]
SPEEDS = [Interval(Real, 0, None, closed="neither"), "array-like"]


class Progress:
    """A callback that scores the model of each round, and stops the fit at a target.

    Parameters
    ----------
    scorer : callable
        Takes a fitted estimator, X and y.
    X, y : object
        The rows that scores are of.
    target : float
        Where to stop; infinite for never.
    """

    def __init__(self, scorer, X, y, target):
        self.scorer, self.X, self.y, self.target, self.scores = scorer, X, y, target, []

    def setup(self, estimator, context):
        """Nothing to set up."""

    def teardown(self, estimator, context):
        """Nothing to take down."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """Score the model; tell whether it is good enough."""
        if context.task_name != "epoch":
            return False
        self.scores.append(float(self.scorer(fitted_estimator, self.X, self.y)))
        return self.scores[-1] >= self.target

    def rounds(self, target):
        """Return the rounds to a score, with fractions between two rounds; NaN for never."""
        scores = np.array(self.scores)
        at = int(np.argmax(scores >= target))
        if not scores[at] >= target:
            return np.nan
        if at == 0:
            return 1.0
        return at + (target - scores[at - 1]) / (scores[at] - scores[at - 1])


class Pilots:
    """Short fits that send little or much.

    Parameters
    ----------
    model : PartitionedFit
        The fit to plan.
    rows : tuple
        X and y to train on, X and y to score on.
    partition : ndarray or None
        Partition of each row to train on.
    scorer : callable
        Scores a fitted estimator.
    max_rounds : int
        Rounds of a fit at most.
    """

    def __init__(self, model, rows, partition, scorer, max_rounds):
        self.model, self.rows, self.partition = model, rows, partition
        self.scorer, self.max_rounds = scorer, max_rounds

    def run(self, share, local_steps, target, max_rounds):
        """Return (the fitted model, its `Progress`) of one fit."""
        X, y, *held_out = self.rows
        progress = Progress(self.scorer, *held_out, target)
        model, compressor = clone(self.model), TopK(share)
        model.estimator.set_params(early_stopping=False, tol=0.0, n_iter_no_change=max_rounds)
        model.estimator.set_callbacks(progress)
        model.set_params(
            engine="joblib",
            compressor=compressor,
            broadcast_compressor=compressor,
            checkpoint_dir=None,
            local_steps=local_steps,
            max_iter=max_rounds,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, partition=self.partition)
        return model, progress

    def target(self, local_steps):
        """Return a score that a fit which sends much comes to in a few rounds."""
        scores = self.run(SHARES[0], local_steps, np.inf, WIDE_ROUNDS)[1].scores
        return scores[0] + REACHED * (max(scores) - scores[0])

    def laws(self, local_steps, target):
        """Return the laws of rounds, of messages up and down, and steps and filled rows."""
        rounds, up, down = [], [], []
        for share in SHARES:
            model, progress = self.run(share, local_steps, target, self.max_rounds)
            rounds.append(progress.rounds(target))
            if np.isnan(rounds[-1]):
                raise ValueError(
                    f"A fit that sends {share} of the entries, with local_steps={local_steps!r}, "
                    f"comes to a score of {max(progress.scores):.4g} in {self.max_rounds} rounds,"
                    f" not to {target:.4g}. Lower target, or raise max_rounds."
                )
            history, n = model.history_, model.n_partitions_
            up.append(8 * np.mean(history["bytes_up"]) / n)
            told = history["bytes_down"][1:] or history["bytes_up"]  # the first round hears nothing
            down.append(8 * np.mean(told) / n)
        size, fixed = sizes(model.estimator_)
        messages = (MessageLaw.fit(size, fixed, SHARES, bits) for bits in (up, down))
        filled = self.filled(n, model.estimator_._state.params["table"].n_rows)
        return RoundLaw.fit(SHARES, rounds), *messages, self.steps(model), filled

    def steps(self, model):
        """Return the steps of each partition in a round."""
        counts = self.counts(model.n_partitions_)
        most = model.estimator_._state.step / model.n_iter_
        if model.local_steps != "epoch":
            return np.full(len(counts), most)
        return np.ceil(most * counts / counts.max())

    def counts(self, n_partitions):
        """Return the rows of each partition."""
        if self.partition is None:
            return np.full(n_partitions, self.rows[0].shape[0] / n_partitions)
        return np.unique(self.partition, return_counts=True)[1].astype(np.float64)

    def filled(self, n_partitions, n_rows):
        """Return the share of the rows of the table that have data in each partition."""
        X, labels = self.rows[0].tocsr(), self.partition
        if labels is None:  # dealt at random
            labels = np.random.default_rng(0).permutation(X.shape[0]) % n_partitions
        seen = [len(np.unique(X[labels == p].indices)) for p in np.unique(labels)]
        return np.minimum(1.0, np.array(seen) / n_rows)


def sizes(estimator):
    """Return the entries of the table, and the bits of all that always travels, a head in int8."""
    params = dict(estimator._state.params)
    rows, d = params.pop("table").shape
    head = [p.values[:, : p.d] if isinstance(p, RowArray) else p for p in params.values()]
    return rows * d, 8 * (OVERHEAD + sum(OVERHEAD + p.size for p in head))


@validate_params(
    {
        "model": [PartitionedFit],
        "X": ["sparse matrix"],
        "y": ["array-like", "sparse matrix"],
        "upload": SPEEDS,
        "download": SPEEDS,
        "seconds_per_step": COSTS,
        "joules_per_step": COSTS,
        "watts": COSTS,
        "partition": ["array-like", None],
        "X_val": ["sparse matrix", None],
        "y_val": ["array-like", "sparse matrix", None],
        "minimize": [StrOptions({"seconds", "joules", "bytes"})],
        "budget": [Interval(Real, 0, None, closed="neither"), None],
        "local_steps": [Interval(Integral, 1, None, closed="left"), StrOptions({"epoch"}), list],
        "target": [Real, None],
        "scoring": [str, callable, None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def plan_compression(
    model,
    X,
    y,
    *,
    upload,
    download,
    seconds_per_step,
    joules_per_step=0.0,
    watts=0.0,
    partition=None,
    X_val=None,
    y_val=None,
    minimize="seconds",
    budget=None,
    local_steps="epoch",
    target=None,
    scoring=None,
    max_rounds=60,
):
    """Find how much each partition should send, from its link and what its steps cost.

    For each number of local steps two short fits run on this machine: one sends 0.3 of the entries,
    the other 0.03. They fix how many rounds lead to a score, and how many bytes a message has,
    for any share that partitions and coordinator might send. The best shares follow from there;
    the page on compression has the formulas.

    Parameters
    ----------
    model : PartitionedFit
        The fit to plan. It is not changed; its compressors are not used.
    X : sparse matrix of shape (n_samples, n_features)
        Training rows. Fewer than the fit will have give other numbers of rounds.
    y : array-like or sparse matrix
        Their targets.
    upload, download : float or array-like of shape (n_partitions,)
        Speed of the link of each partition, in bits a second.
    seconds_per_step : float or array-like of shape (n_partitions,)
        Time of a step, in s.
    joules_per_step : float or array-like of shape (n_partitions,), default=0.0
        Energy of a step, in J.
    watts : float or array-like of shape (n_partitions,), default=0.0
        Power that a partition draws while a message travels, in W.
    partition : array-like of shape (n_samples,), default=None
        Partition of each row, as in `PartitionedFit.fit`.
    X_val : sparse matrix of shape (n_val, n_features), default=None
        Rows that scores are of. None holds out a fifth of X.
    y_val : array-like or sparse matrix, default=None
        Their targets.
    minimize : {"seconds", "joules", "bytes"}, default="seconds"
        What is to be least on the way to the target.
    budget : float, default=None
        How much of it there is. The plan then has as many rounds as that allows, not only those
        to the target.
    local_steps : int, "epoch" or list of these, default="epoch"
        Steps in a round; of several, each gets its two fits, and the best is chosen.
    target : float, default=None
        Score on held-out rows that predictions are for. None makes one more short fit, and takes
        a score that sending much reaches in a few rounds.
    scoring : str or callable, default=None
        What scores are, as in scikit-learn; None means the `score` of the estimator.
    max_rounds : int, default=60
        Rounds of a short fit at most.

    Returns
    -------
    CompressionPlan
        What to send and what that will take. ``model.set_params(**plan.params)`` adopts it.

    Raises
    ------
    ValueError
        If a short fit does not reach the target, or a speed is not positive.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skembed import EmbeddingBagClassifier, PartitionedFit, plan_compression
    >>> X = sp.random(600, 300, density=0.03, format="csr", random_state=0)
    >>> y = np.asarray(X[:, :150].sum(axis=1) > X[:, 150:].sum(axis=1)).ravel()
    >>> bag = EmbeddingBagClassifier(n_components=8, early_stopping=False, random_state=0)
    >>> model = PartitionedFit(bag, n_partitions=2)
    >>> plan = plan_compression(
    ...     model, X, y, upload=[1e5, 4e5], download=1e6, seconds_per_step=1e-3, target=0.7
    ... )
    >>> plan.k[0] <= plan.k[1]
    True
    >>> model = model.set_params(**plan.params)
    """
    tried = local_steps if isinstance(local_steps, list) else [local_steps]
    if not tried:
        raise ValueError("local_steps must hold at least one number of steps, got [].")
    if minimize == "joules" and not (np.any(joules_per_step) or np.any(watts)):
        raise ValueError("To minimize joules, give joules_per_step or watts.")
    if (X_val is None) != (y_val is None):
        raise ValueError("Give both X_val and y_val, or neither.")
    costs = numbers(upload=upload, download=download, seconds=seconds_per_step,
                    joules=joules_per_step, watts=watts)  # fmt: skip
    rows, labels = (X, y, X_val, y_val), None if partition is None else np.asarray(partition)
    if X_val is None:
        rows, labels = held_out(X.tocsr(), y, labels, is_classifier(model.estimator))
    scorer = check_scoring(model.estimator, scoring)
    pilots = Pilots(model, rows, labels, scorer, max_rounds)
    if target is None:
        target = pilots.target(tried[0])
    best = None
    for each in tried:
        law, up, down, steps, filled = pilots.laws(each, target)
        counts = pilots.counts(len(steps))
        workers = workers_of(costs, counts / counts.sum(), filled)
        found = Forecast(law, up, down, workers, steps).best(minimize)
        if best is None or getattr(found[2], minimize) < getattr(best[2], minimize):
            best, chosen, size = found, each, up.size
    shares, broadcast, predicted = best
    return CompressionPlan(
        k=tuple(int(k) for k in np.maximum(1, np.rint(shares * size))),
        broadcast_k=max(1, round(broadcast * size)),
        local_steps=chosen,
        max_iter=rounds_within(budget, predicted, minimize),
        target=float(target),
        **asdict(predicted),
    )


def held_out(X, y, partition, stratify):
    """Return (X and y to train on, X and y to score on), and the partition of the former."""
    strata = y if stratify and np.ndim(y) == 1 else None
    at = np.arange(X.shape[0])
    train, test = train_test_split(at, test_size=HELD_OUT, random_state=0, stratify=strata)
    labels = None if partition is None else partition[train]
    return (X[train], _safe_indexing(y, train), X[test], _safe_indexing(y, test)), labels


def numbers(**costs):
    """Return costs and speeds as arrays of float64, checked."""
    arrays = {name: np.asarray(given, np.float64) for name, given in costs.items()}
    for name, values in arrays.items():
        least = np.min(values, initial=np.inf)
        if not np.isfinite(values).all() or least < 0 or (least == 0 and "load" in name):
            raise ValueError(f"Numbers for {name} must be finite and not negative, speeds not 0.")
    return arrays


def workers_of(costs, weights, filled):
    """Return the `Workers` of one number for all, or one for each."""
    for name, values in costs.items():
        if values.ndim and values.shape != weights.shape:
            raise ValueError(
                f"Expected one number, or one for each of {len(weights)} partitions, for {name}, "
                f"got an array of shape {values.shape}."
            )
    arrays = {name: np.broadcast_to(values, weights.shape) for name, values in costs.items()}
    return Workers(**arrays, weights=weights, filled=filled)


def rounds_within(budget, predicted, minimize):
    """Return the rounds to the target, or those that a budget allows."""
    needed = int(np.ceil(predicted.rounds))
    if budget is None:
        return needed
    each = getattr(predicted, minimize) / predicted.rounds
    allowed = max(1, int(budget / each))
    if allowed < needed:
        warnings.warn(
            f"The budget of {budget:g} {minimize} allows {allowed} rounds, but the target is "
            f"predicted to take {predicted.rounds:.1f}.",
            stacklevel=3,
        )
    return allowed
