"""TruncatedSVD beside scikit-learn's: seconds, accuracy, memory, and what it is good for.

Run as ``python tests/bench/svd.py [--rounds 3] [--small]`` for a matrix of 200,000 rows and columns
with 13.8 million values (`tasks.weighted`), 100 components, float32, two threads; every fit in a
process of its own, systems in turns. Printed are medians of seconds, their ratio to those of
skembed, the share of the squared values that the components capture, the largest relative error of
a singular value against a converged reference, the largest entry of V V.T - 1, and the memory that
the fit took beside X. ``--data FOLDER`` prints instead, for real sets in a folder (those of
`quality_data`, and MovieLens), what a model scores on the reduced rows, what batches capture, how
what is captured and scored depends on the number of iterations, and what components are worth as a
start of embeddings, at several sizes.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import quality_data
import scipy.sparse as sp
import sklearn.decomposition
import tasks
from sklearn.svm import LinearSVC

import skembed

OURS, THEIRS = skembed.TruncatedSVD, sklearn.decomposition.TruncatedSVD
SYSTEMS = {
    "skembed": (OURS, dict(n_jobs=2)),
    "skembed, one thread": (OURS, dict(n_jobs=1)),
    "skembed, n_iter='auto', tol='auto'": (OURS, dict(n_jobs=2, n_iter="auto", tol="auto")),
    "skembed, n_iter=12": (OURS, dict(n_jobs=2, n_iter=12)),
    "scikit-learn, randomized": (THEIRS, {}),
    "scikit-learn, arpack": (THEIRS, dict(algorithm="arpack")),
}
SMALL = dict(n_rows=4000, n_columns=3000, n_values=200_000, n_topics=30)
FACTORS = (0.1, 0.3, 1, 3, 10)  # sizes of a start, in those of drawn rows


# ------------------------------------------------------------------------------ one large matrix
def read(folder):
    """Return the matrix of a task, in float32."""
    task = tasks.load(folder)
    arrays = task["data"].astype(np.float32), task["indices"], task["indptr"].astype(np.int32)
    return sp.csr_matrix(arrays, shape=(len(task["indptr"]) - 1, int(task["n_columns"])))


def resident():
    """Return the megabytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def fit_once(name, folder, k, out):
    """Fit in this process, print a JSON line, and leave what was found in a file."""
    cls, options = SYSTEMS[name]
    X = read(folder)
    cls(k, random_state=0, **options).fit(X[: 4 * k, : 4 * k])  # kernels are compiled or loaded
    before, start = resident(), time.perf_counter()
    svd = cls(k, random_state=0, **options).fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    np.savez(out, V=svd.components_, values=svd.singular_values_)
    print(json.dumps({"seconds": seconds, "megabytes": peak - before}))


def reference(X, k):
    """Return singular values that more iterations would not change in the digits printed."""
    svd = OURS(k, n_iter="auto", tol=1e-9, n_oversamples=k, random_state=1, n_jobs=2).fit(X)
    return svd.singular_values_.astype(np.float64)


def accuracy(X, exact, found):
    """Return the share captured, the largest relative error of a value, and of orthogonality."""
    V = np.ascontiguousarray(found["V"].T)
    captured = (np.linalg.svd(X @ V, compute_uv=False).astype(np.float64) ** 2).sum()
    total = (X.data.astype(np.float64) ** 2).sum()
    error = np.abs(found["values"] / exact - 1).max()
    gram = V.T.astype(np.float64) @ V
    return captured / total, error, np.abs(gram - np.eye(len(gram))).max()


def large(names, rounds, small):
    """Print the table of one large matrix."""
    folder = tasks.stored(tasks.weighted, **(SMALL if small else {}))
    k, X = 20 if small else 100, read(folder)
    seconds, memory, quality = ({name: [] for name in names} for _ in range(3))
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "found.npz"
        exact = reference(X, k)
        for i in range(rounds):
            for name in names:
                command = [sys.executable, __file__, "--child", name, str(folder), str(k), file]
                run = subprocess.run(command, check=True, capture_output=True, text=True)
                line = json.loads(run.stdout)
                seconds[name].append(line["seconds"])
                memory[name].append(line["megabytes"])
                if i == 0:
                    quality[name] = accuracy(X, exact, np.load(file))
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    best = (exact**2).sum() / (X.data.astype(np.float64) ** 2).sum()
    print(f"{X.shape}, {X.nnz} values, {size:.0f} MB, k={k}; captured at best {best:.6f}")
    print("| system | seconds | x skembed | captured | error | orthogonality | MB |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        median, taken = np.median(seconds[name]), np.median(memory[name])
        captured, error, orthogonality = quality[name]
        print(
            f"| {name} | {median:.2f} | {median / np.median(seconds[names[0]]):.2f} "
            f"| {captured:.6f} | {error:.1e} | {orthogonality:.1e} | {taken:.0f} |",
            flush=True,
        )


# ------------------------------------------------------------------------------ real sets
def films(folder):
    """Users by films, 1 where rated: the first four fifths of each user, and the rest."""
    table = pd.read_csv(folder / "ml_latest_small_2016/ratings.csv.gz")
    rank = table.groupby("userId").cumcount()
    test = (rank >= np.ceil(0.8 * table.groupby("userId").userId.transform("size"))).to_numpy()
    user, film = (np.unique(table[name], return_inverse=True)[1] for name in ("userId", "movieId"))
    shape, parts = (user.max() + 1, film.max() + 1), []
    for rows in (~test, test):
        pairs = np.ones(rows.sum(), np.float32), (user[rows], film[rows])
        parts.append(sp.csr_matrix(pairs, shape=shape))
    return parts


def recall(svd, train, test):
    """Share of the held-out films of a user among the ten best scored ones, mean over users."""
    scores = svd.inverse_transform(svd.fit_transform(train))
    scores[train.nonzero()] = -np.inf
    best = np.argsort(-scores, axis=1)[:, :10]
    hits = np.take_along_axis(test.toarray(), best, axis=1).sum(axis=1)
    return np.mean(hits / np.minimum(10, np.maximum(test.getnnz(axis=1), 1)))


def classified(svd, split):
    """Accuracy of a linear model on the reduced rows."""
    train = svd.fit_transform(split.X_train.astype(np.float64))
    model = LinearSVC(C=1, max_iter=20_000).fit(train, split.y_train)
    predicted = model.predict(svd.transform(split.X_test.astype(np.float64)))
    return quality_data.test_score(split, predicted)


def captured_by_batches(X, k, seed):
    """Energy that ten batches capture, as a share of that of one fit."""
    whole, parts = (OURS(k, random_state=seed) for _ in range(2))
    for rows in np.array_split(np.arange(X.shape[0]), 10):
        parts.partial_fit(X[rows])
    ten, one = (np.linalg.norm(X @ svd.components_.T) ** 2 for svd in (parts, whole.fit(X)))
    return ten / one


def downstream(folder, seeds):
    """Print scores of models on reduced rows, and what batches capture."""
    print("| set | width | skembed | scikit-learn | its arpack | ten batches |")
    print("|---|---|---|---|---|---|")
    train, test = films(folder)
    jobs = [("ml_latest_small", k, train, lambda s: recall(s, train, test)) for k in (16, 32, 64)]
    for name in ("banking77", "newsgroups20_counts"):
        split = quality_data.LOADERS[name](folder)
        jobs += [
            (name, k, split.X_train, lambda s, split=split: classified(s, split)) for k in (32, 128)
        ]
    for name, k, X, score in jobs:
        ours, theirs = (
            np.mean([score(cls(k, random_state=seed)) for seed in seeds]) for cls in (OURS, THEIRS)
        )
        exact = score(THEIRS(k, algorithm="arpack", random_state=0))
        ten = min(captured_by_batches(X, k, seed) for seed in seeds)
        print(f"| {name} | {k} | {ours:.4f} | {theirs:.4f} | {exact:.4f} | {ten:.4f} |", flush=True)


def by_iterations(folder, seeds, name="banking77"):
    """Print what the components capture, and the score on them, by the number of iterations."""
    print("| width | n_iter | captured, skembed | scikit-learn | score, skembed | scikit-learn |")
    print("|---|---|---|---|---|---|")
    split = quality_data.LOADERS[name](folder)
    for k in (32, 64):
        for n_iter in (1, 2, 3, 5, 10, 20):
            captured, scores = [], []
            for cls in (OURS, THEIRS):
                svds = [cls(k, n_iter=n_iter, random_state=seed) for seed in seeds]
                scores.append(np.mean([classified(svd, split) for svd in svds]))
                captured.append(np.mean([svd.explained_variance_ratio_.sum() for svd in svds]))
            cells = *(f"{c:.5f}" for c in captured), *(f"{score:.4f}" for score in scores)
            print(f"| {k} | {n_iter} | {' | '.join(cells)} |", flush=True)


def starts(folder, seeds, d=64):
    """Print test scores of classifiers by what their vectors start from."""
    names = [f"x {factor:g}" for factor in FACTORS]
    print(f"| set | drawn | components as scaled | {' | '.join(names)} |")
    print("|---" * (3 + len(names)) + "|")
    for name in ("trec6", "banking77", "newsgroups20_counts"):
        split = quality_data.LOADERS[name](folder)
        V = OURS(d, random_state=0).fit(split.X_train).components_.T.astype(np.float64)
        V /= np.sqrt(3 * np.mean(V**2)) * d
        inits = ["uniform", OURS(d), *(V * factor for factor in FACTORS)]
        line = []
        for init in inits:
            scores = []
            for seed in seeds:
                bag = skembed.EmbeddingBagClassifier(d, init=init, random_state=seed)
                bag.fit(split.X_train, split.y_train)
                scores.append(quality_data.test_score(split, bag.predict(split.X_test)))
            line.append(f"{np.mean(scores):.4f}")
        print(f"| {name} | {' | '.join(line)} |", flush=True)


def main():
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--small", action="store_true", help="a matrix for trying this script")
    parser.add_argument("--data", type=Path, help="folder of real sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        name, folder, k, out = args.child
        fit_once(name, folder, int(k), out)
    elif args.data:
        warnings.simplefilter("ignore")
        downstream(args.data, range(args.seeds))
        by_iterations(args.data, range(2 * args.seeds))
        starts(args.data, range(args.seeds))
    else:
        large(args.only, args.rounds, args.small)


if __name__ == "__main__":
    main()
