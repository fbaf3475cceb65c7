"""Scores on rows that are not trained on."""

from dataclasses import replace

import numpy as np

from skembed.core import NEGATIVES, mix, stream

BLOCK = 4096  # rows that are scored at a time


def accuracy(loss, y, raw, weight):
    """Return the share of rows whose largest raw score is that of their class."""
    return np.average(raw.argmax(axis=0) == y, weights=weight)


def precision_at_1(loss, y, raw, weight):
    """Return the share of rows whose largest raw score is that of a true label."""
    return np.average(y[np.arange(len(y)), raw.argmax(axis=0)] != 0, weights=weight)


def minus_loss(loss, y, raw, weight):
    """Return minus the mean loss."""
    return -loss.value_and_gradient(y, raw, weight, np)[0]


class HeldOut:
    """Rows to score after each epoch.

    Parameters
    ----------
    data : TrainingRows
        The rows, as `data.rows`.
    metric : callable
        ``metric(loss, y, raw, weight)``: a mean over the rows of a block; higher is better.
    """

    def __init__(self, data, metric):
        self.data, self.metric = data, metric

    def score(self, problem, state, backend):
        """Return the weighted mean of the metric."""
        data, scores, weights = self.data, [], []
        for s in range(0, len(data.rows), BLOCK):
            rows = data.rows[s : s + BLOCK]
            raw = problem.model.predict(state.params, data.batch(rows), backend)
            weight = None if data.sample_weight is None else data.sample_weight[rows]
            scores.append(self.metric(problem.loss, data.y[rows], raw, weight))
            weights.append(len(rows) if weight is None else weight.sum(dtype=np.float64))
        return float(np.average(scores, weights=weights))


class FeaturesHeldOut:
    """Rows some of whose features are to be predicted from the others after each epoch.

    The features to predict and those to tell them from are the same each time.

    Parameters
    ----------
    data : TrainingRows
        The rows, as `data.rows`.
    noise : FeatureNoise
        What to draw by.

    Raises
    ------
    ValueError
        If no row has two features with a vector.
    """

    def __init__(self, data, noise):
        rows = data.rows[np.diff(data.indptr)[data.rows] >= 2]
        if len(rows) == 0:
            raise ValueError(
                "No row that is held out has two features with a vector. Use "
                "early_stopping='auto', which holds no rows out for loss='cooccurrence'."
            )
        keys = mix(np.arange(len(data.indptr) - 1, dtype=np.uint64))
        self.data = replace(data, rows=rows, noise=replace(noise, keys=keys))

    def score(self, problem, state, backend):
        """Return minus the weighted mean loss."""
        data, found = self.data, []
        for s in range(0, len(data.rows), BLOCK):
            rows = data.rows[s : s + BLOCK]
            weight = None if data.sample_weight is None else data.sample_weight[rows]
            x = data, data.batch(rows), None, weight, stream(state.seed, NEGATIVES)
            _, _, named = problem.model.sample(problem.loss, *x, backend)
            found.append(problem.model.value(problem.loss, state.params, named, backend))
        values, weights = zip(*found, strict=True)
        return -float(np.average(values, weights=weights))
