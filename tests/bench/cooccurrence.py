"""Time of the co-occurrence step beside that of the supervised step and of gensim's word2vec.

Run as ``python tests/bench/cooccurrence.py [--rounds 5] [--gensim]``; gensim must be installed for
the second part. Rows are drawn from planted topics. Printed are medians over interleaved rounds:
non-zeros for each second that processors worked, in an epoch with 5 negatives and in one of a
softmax over 20 classes on the same rows. With ``--gensim``: nanoseconds of a pair (a feature in a
bag, a feature predicted from it) at two threads, on the same rows, with windows that hold a whole
row; and the share of the ten nearest neighbours of a feature that are of its topic.
"""

import argparse
import time
import warnings

import numpy as np
import scipy.sparse as sp

from skembed import EmbeddingBag, EmbeddingBagClassifier
from skembed.losses import Cooccurrence

WIDTH, TOPICS, SIZE = 64, 100, 200


def topics(n, per_row, seed=0):
    """Return rows of distinct features, two thirds of them of the row's topic, and the topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, TOPICS, n)
    common = TOPICS * SIZE + np.minimum(rng.zipf(1.3, (n, per_row // 3)), 5000) - 1
    own = topic[:, None] * SIZE + np.minimum(rng.zipf(1.2, (n, 2 * per_row // 3)), SIZE) - 1
    columns = np.hstack([own, common])
    x = np.ones(columns.size, np.float32), columns.ravel(), np.arange(n + 1) * columns.shape[1]
    X = sp.csr_matrix(x, shape=(n, TOPICS * SIZE + 5000))
    X.sum_duplicates()
    X.data[:] = 1
    return X, topic


def epoch_seconds(estimator, *data, epochs=4):
    """Seconds of a processor for one epoch: from fits of one epoch and of some more."""
    settings = dict(tol=0, n_iter_no_change=1000)
    seconds = []
    for n in (1, 1 + epochs):
        start = time.process_time()
        estimator.set_params(max_iter=n, **settings).fit(*data)
        seconds.append(time.process_time() - start)
    return (seconds[1] - seconds[0]) / epochs


def beside_supervised(rounds, n_jobs):
    """Print non-zeros a second of both steps and their ratio."""
    X, topic = topics(20_000, 60)
    y = topic % 20
    settings = dict(n_components=WIDTH, batch_size=256, n_jobs=n_jobs, random_state=0)
    ours = {
        "supervised": (EmbeddingBagClassifier(early_stopping=False, **settings), (X, y)),
        "1 feature left out": (EmbeddingBag(loss=Cooccurrence(n_targets=1), **settings), (X,)),
        "5 features left out": (EmbeddingBag(loss="cooccurrence", **settings), (X,)),
    }
    seconds = {name: [] for name in ours}
    for estimator, data in ours.values():  # kernels are compiled or loaded
        estimator.set_params(max_iter=1).fit(*data)
    for _ in range(rounds):
        for name, (estimator, data) in ours.items():
            seconds[name].append(epoch_seconds(estimator, *data))
    base = np.median(seconds["supervised"])
    for name, found in seconds.items():
        rate, ratio = X.nnz / np.median(found) / 1e6, np.median(found) / base
        print(f"{n_jobs} threads, {name}: {rate:.1f} million non-zeros/s, {ratio:.2f} x the time")


def beside_gensim(rounds, epochs):
    """Print nanoseconds a pair of both libraries, and what their neighbours are worth."""
    from gensim.models import Word2Vec

    X, _ = topics(5_000, 60)
    X = X[np.diff(X.indptr) > 1]
    texts = [row.astype(str).tolist() for row in np.split(X.indices, X.indptr[1:-1])]
    sizes, found = np.diff(X.indptr).astype(np.int64), {}
    pairs = {}
    for n in (5, 20):
        targets = np.minimum(n, sizes // 2)
        pairs[f"skembed, {n} left out"] = int((targets * (sizes - targets)).sum())
    pairs |= dict.fromkeys(("gensim, bags", "gensim, skip-grams"), int((sizes * (sizes - 1)).sum()))

    def gensim(skip):
        model = Word2Vec(
            vector_size=WIDTH, window=1000, min_count=1, sg=skip, negative=5, sample=0,
            shrink_windows=False, workers=2, seed=0,
        )  # fmt: skip
        model.build_vocab(texts)
        n = epochs["skip-grams" if skip else "bags"]
        start, worked = time.perf_counter(), time.process_time()
        model.train(texts, total_examples=len(texts), epochs=n)
        seconds = time.perf_counter() - start, time.process_time() - worked
        vectors = np.zeros((TOPICS * SIZE, WIDTH), np.float32)
        for j in set(X.indices[X.indices < len(vectors)].tolist()):
            vectors[j] = model.wv[str(j)]
        return *seconds, n, vectors

    def skembed(n_targets):
        bag = EmbeddingBag(
            WIDTH, loss=Cooccurrence(n_targets=n_targets, frequent=1), n_jobs=2, random_state=0,
            tol=0, n_iter_no_change=1000, max_iter=epochs["skembed"], batch_size=1024,
        )  # fmt: skip
        start, worked = time.perf_counter(), time.process_time()
        bag.fit(X)
        seconds = time.perf_counter() - start, time.process_time() - worked
        return *seconds, epochs["skembed"], bag.embedding_[: TOPICS * SIZE]

    runs = {
        "skembed, 5 left out": lambda: skembed(5),
        "skembed, 20 left out": lambda: skembed(20),
        "gensim, bags": lambda: gensim(0),
        "gensim, skip-grams": lambda: gensim(1),
    }
    skembed(5)  # kernels are compiled or loaded
    for _ in range(rounds):
        for name, run in runs.items():
            found.setdefault(name, []).append(run())
    seen = np.flatnonzero(np.bincount(X.indices, minlength=TOPICS * SIZE)[: TOPICS * SIZE] >= 5)
    for name, results in found.items():
        wall, worked = (np.median([r[k] for r in results]) for k in (0, 1))
        n, vectors = results[-1][2:]
        each = 1e9 / n / pairs[name]
        print(
            f"{name}: {wall * each:.1f} ns a pair, {worked * each:.1f} of processors;"
            f" {n} epochs in {wall:.1f} s; "
            f"precision of neighbours {neighbours(vectors, seen):.3f}",
            flush=True,
        )


def neighbours(vectors, seen, k=10):
    """Share of the nearest neighbours of the given features that are of the same topic."""
    unit = vectors[seen] / np.maximum(np.linalg.norm(vectors[seen], axis=1, keepdims=True), 1e-12)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    near = np.argpartition(-cosine, k, axis=1)[:, :k]
    return np.mean(seen[near] // SIZE == seen[:, None] // SIZE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gensim", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.gensim:
        beside_gensim(args.rounds, {"skembed": 30, "bags": 2, "skip-grams": 1})
    else:
        for jobs in (1, 2):
            beside_supervised(args.rounds, jobs)
