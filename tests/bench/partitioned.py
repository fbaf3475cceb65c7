"""What partitioned fits send, and what they reach: bytes against accuracy, cost of a round, scaling.

python tests/bench/partitioned.py accuracy   # the task of classified texts, several schemes
python tests/bench/partitioned.py real FOLDER   # real data, by client, user and carrier
python tests/bench/partitioned.py scaling    # cost of a round, weak scaling, sweep to 256 workers
"""

import json
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skembed import EmbeddingBagClassifier, PartitionedFit
from skembed.compress import TopK
from skembed.solvers import Adagrad

ALL = TopK(ratio=1.0, values="int8")  # dense, one byte a value


def texts(n=40_000, n_test=8_000, vocabulary=50_000, n_classes=20, seed=0):
    """Return rows and classes of made-up texts, to train and to test.

    Words are drawn by Zipf's law (exponent 1.07), a quarter of them from the 3,000 words of the
    class; a row holds log counts of about 34 distinct words, of unit length; 5 % of the labels are
    drawn anew.
    """
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, vocabulary + 1) ** 1.07
    background = np.cumsum(chance / chance.sum())
    topics = []
    for _ in range(n_classes):
        words = rng.choice(vocabulary, 3_000, replace=False)
        weight = chance[words] ** 0.6
        topics.append((words, np.cumsum(weight / weight.sum())))

    def rows(m, rng):
        y = rng.integers(0, n_classes, m)
        lengths = np.maximum(3, rng.poisson(40, m))
        row = np.repeat(np.arange(m), lengths)
        word = np.searchsorted(background, rng.random(len(row))).clip(0, vocabulary - 1)
        of_topic = rng.random(len(row)) < 0.25
        for c, (words, cdf) in enumerate(topics):
            mine = of_topic & (y[row] == c)
            at = np.searchsorted(cdf, rng.random(mine.sum())).clip(0, len(words) - 1)
            word[mine] = words[at]
        X = sp.csr_array((np.ones(len(row), np.float32), (row, word)), shape=(m, vocabulary))
        X.sum_duplicates()
        X.data = (1 + np.log(X.data)).astype(np.float32)
        norm = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
        X.data /= np.repeat(norm, np.diff(X.indptr)).astype(np.float32)
        noisy = rng.random(m) < 0.05
        return X, np.where(noisy, rng.integers(0, n_classes, m), y)

    return *rows(n, np.random.default_rng(seed + 1)), *rows(n_test, np.random.default_rng(seed + 2))


class Scores:
    """A callback that scores the model of every round on test rows.

    Parameters
    ----------
    X, y : object
        The rows.
    """

    def __init__(self, X, y):
        self.X, self.y, self.values = X, y, []

    def setup(self, estimator, context):
        """Nothing to set up."""

    def teardown(self, estimator, context):
        """Nothing to take down."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """Score a round."""
        if context.task_name == "epoch":
            self.values.append(fitted_estimator.score(self.X, self.y))
        return False


def run(name, model, data, target=None, **fit_options):
    """Fit, print one JSON line, and return it."""
    X, y, X_test, y_test = data
    scores = Scores(X_test, y_test)
    model = clone(model)
    model.estimator = clone(model.estimator).set_callbacks(scores)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **fit_options)
    h = model.history_
    up, down = np.cumsum(h["bytes_up"]), np.cumsum(h["bytes_down"])
    line = {
        "scheme": name,
        "rounds": model.n_iter_,
        "best": round(max(scores.values), 4),
        "last": round(scores.values[-1], 4),
        "MB_up": round(up[-1] / 1e6, 3),
        "MB_down": round(down[-1] / 1e6, 3),
        "seconds": round(time.perf_counter() - began, 1),
        "scores": [round(s, 4) for s in scores.values],
    }
    if target is not None:
        at = next((i for i, s in enumerate(scores.values) if s >= target), None)
        line["rounds_to_target"] = None if at is None else at + 1
        line["MB_to_target"] = None if at is None else round((up[at] + down[at]) / 1e6, 2)
    print(json.dumps(line), flush=True)
    return line


def accuracy():
    """Compare schemes on the task of classified texts."""
    data = texts()
    estimator = EmbeddingBagClassifier(
        16, pooling="sum", solver=Adagrad(initial_accumulator=0.0), learning_rate_init=0.1,
        batch_size=32, early_stopping=False, tol=0.0, n_iter_no_change=1000, random_state=0,
    )  # fmt: skip
    plain = EmbeddingBagClassifier(
        16, learning_rate_init=0.1, batch_size=32, early_stopping=False, tol=0.0,
        n_iter_no_change=1000, random_state=0,
    )  # fmt: skip
    for which, e in (("as in the study", estimator), ("default estimator", plain)):
        for name, options in {
            "default": {},
            "dense": dict(compressor=None, broadcast_compressor=None),
            "dense int8": dict(compressor=ALL, broadcast_compressor=ALL),
        }.items():
            run(f"{name}, {which}", PartitionedFit(e, **options), data, 0.85)


if __name__ == "__main__":
    accuracy()
