"""Data for the benchmarks: seeded, sparse, in the shapes that people have.

A task is a dict of arrays: ``indptr``, ``indices`` and ``y`` of the training rows, the same with a
"test_" before the name for the rows to score, and ``n_columns``. All stored values are ones.
"""

import hashlib
import inspect
import os
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def _zipf(rng, n_items, power, size):
    """Draw item numbers from 0, the most frequent first."""
    borders = np.cumsum(np.arange(1.0, n_items + 1) ** -power)
    drawn = np.searchsorted(borders, rng.random(size) * borders[-1])
    return np.minimum(drawn, n_items - 1)


def text(
    n_train=200_000, n_test=20_000, n_columns=1_000_000, n_classes=4, length=75, topic=0.07,
    n_words=20_000, seed=1,
):  # fmt: skip
    """Documents as sets of words: a Zipf background, and words that belong to a class."""
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    y = rng.integers(0, n_classes, n)
    row = np.repeat(np.arange(n), np.maximum(5, rng.poisson(length, n)))
    word = _zipf(rng, n_columns, 1.05, len(row))
    of_class = rng.random(len(row)) < topic
    words = rng.integers(200, n_columns // 4, (n_classes, n_words), dtype=np.int32)
    word[of_class] = words[y[row[of_class]], _zipf(rng, n_words, 0.8, int(of_class.sum()))]
    pair = np.unique(row * n_columns + word)  # a word counts once
    row, word = np.divmod(pair, n_columns)
    column = rng.permutation(n_columns)[word]  # as hashing would spread them
    row, column = np.divmod(np.sort(row * n_columns + column), n_columns)
    return _parts(row, column, y, n_train, n_columns)


def clicks(n_train=500_000, n_test=50_000, n_columns=2_000_000, n_fields=39, seed=2):
    """One value of each field a row; a planted sum of effects decides between two classes."""
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    sizes = np.geomspace(4, n_columns / 4, n_fields)
    sizes = np.maximum(4, sizes * n_columns / sizes.sum()).astype(int)
    first = np.append(0, np.cumsum(sizes))
    columns = np.empty((n, n_fields), np.int64)
    for f, size in enumerate(sizes):
        columns[:, f] = first[f] + rng.permutation(size)[_zipf(rng, size, 1.1, n)]
    effect = rng.normal(0, 1.5 / np.sqrt(n_fields), first[-1])
    chance = 1 / (1 + np.exp(1 - effect[columns].sum(axis=1)))
    y = (rng.random(n) < chance).astype(int)
    row = np.repeat(np.arange(n), n_fields)
    return _parts(row, columns.ravel(), y, n_train, int(first[-1]))


def weighted(n_rows=200_000, n_columns=200_000, n_values=14_500_000, n_topics=150, seed=3):
    """Rows of length one, weighted as tf-idf would: a Zipf background, and runs of columns that
    belong to the topic of a row, so that the leading singular values stand out from the rest.
    """
    rng = np.random.default_rng(seed)
    row = rng.integers(0, n_rows, n_values)
    column = _zipf(rng, n_columns, 0.9, n_values)
    topics = rng.integers(0, n_topics, n_rows)
    of_topic = rng.random(n_values) < 0.3
    within = _zipf(rng, min(1500, n_columns), 0.7, int(of_topic.sum()))
    column[of_topic] = (topics[row[of_topic]] * 1237 + within) % n_columns
    column = rng.permutation(n_columns)[column]
    row, column = np.divmod(np.unique(row * n_columns + column), n_columns)
    seen_in = np.bincount(column, minlength=n_columns)
    data = np.log((1 + n_rows) / (1 + seen_in[column])) + 1
    data *= 1 + rng.exponential(0.5, len(data))
    data /= np.sqrt(np.bincount(row, data**2, n_rows))[row]
    indptr = np.append(0, np.cumsum(np.bincount(row, minlength=n_rows)))
    return {
        "indptr": indptr, "indices": column.astype(np.int32), "data": data,
        "n_columns": np.array(n_columns),
    }  # fmt: skip


def pairs(n_train=500_000, n_test=50_000, n_columns=2_000_000, rank=4, seed=2):
    """Make rows of 26 Zipf fields and 13 fields of 32 buckets, and clicks of a planted machine.

    The log odds are those of a factorization machine of the given rank.
    """
    rng, n = np.random.default_rng(seed), n_train + n_test
    sizes = np.geomspace(4, 480_000, 26)
    sizes = np.maximum(4, (sizes * n_columns / sizes.sum()).astype(int)).tolist() + 13 * [32]
    first = np.append(0, np.cumsum(sizes))
    columns = np.empty((n, 39), np.int64)
    for f, size in enumerate(sizes):
        exponent = 1.1 if f < 26 else 0.5
        columns[:, f] = first[f] + rng.permutation(size)[_zipf(rng, size, exponent, n)]
    raw = rng.normal(0, 0.15, first[-1])[columns].sum(axis=1)
    for _ in range(rank):
        v = rng.normal(0, 0.11, first[-1])[columns]
        raw += 0.5 * (v.sum(axis=1) ** 2 - (v**2).sum(axis=1))
    y = (rng.random(n) < 1 / (1 + np.exp(1.2 - raw + raw.mean()))).astype(int)
    row = np.repeat(np.arange(n), 39)
    return _parts(row, columns.ravel(), y, n_train, int(first[-1]))


def _parts(row, column, y, n_train, n_columns):
    """Cut rows, given as pairs in the order of rows, into those of training and test."""
    indptr = np.append(0, np.cumsum(np.bincount(row, minlength=len(y))))
    column, cut = column.astype(np.int32), indptr[n_train]
    return {
        "indptr": indptr[: n_train + 1], "indices": column[:cut], "y": y[:n_train],
        "test_indptr": indptr[n_train:] - cut, "test_indices": column[cut:],
        "test_y": y[n_train:], "n_columns": np.array(n_columns),
    }  # fmt: skip


def stored(make, **options):
    """Return the folder that holds a task as ``.npy`` files, made once for each kind of it."""
    key = hashlib.sha256((inspect.getsource(make) + repr(sorted(options.items()))).encode())
    root = Path(os.environ.get("SKEMBED_BENCH_DATA", tempfile.gettempdir() + "/skembed-bench"))
    folder = root / f"{make.__name__}-{key.hexdigest()[:12]}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in make(**options).items():
            np.save(folder / f"{name}.npy", array)
        (folder / "done").touch()
    return folder


def load(folder):
    """Read a task."""
    return {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}


def matrices(task, dtype=np.float32):
    """Return the training and test rows of a task as CSR arrays with int32 indices."""
    found = []
    for prefix in ("", "test_"):
        indptr, indices = (task[prefix + name] for name in ("indptr", "indices"))
        shape = len(indptr) - 1, int(task["n_columns"])
        x = np.ones(len(indices), dtype), indices, indptr.astype(np.int32)
        found.append(sp.csr_array(x, shape=shape))
    return found
