"""Accuracy with few labels: vectors learned from all training rows, beside labels alone.

Run as ``python tests/bench/few_labels.py --data FOLDER [--only SETS] [--seeds 0 1 2 3 4]``. FOLDER
holds banking77 and newsgroups20_counts, see `quality_data.py`. For each set an `EmbeddingBag`
learns from the features of the training rows, once. For each share of labels and each seed a
stratified sample of the training rows keeps its labels; classifiers are trained on these and scored
on the test rows. Printed is a table in Markdown: means over the seeds and their standard
deviations. With ``--films`` instead: recall at 10 of films that users have seen later, from scores
of films for films, beside truncated SVD.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import quality_data
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from svd import films

import skembed
from skembed.losses import Cooccurrence

SHARES = (0.01, 0.05, 0.1)
# of the fit without labels; chosen with label samples of other seeds
WITHOUT_LABELS = {
    "banking77": dict(loss="cooccurrence", max_iter=100),
    "newsgroups20_counts": dict(loss=Cooccurrence(n_targets=20), max_iter=30),
}
NO_STOP = dict(tol=0, n_iter_no_change=1000)
# of the fit of films; chosen on the last fifth of each user's training films
FILMS = dict(loss=Cooccurrence(n_targets=50, frequent=1), min_count=10, max_iter=50)
POPULARITY = 1.5  # weight of the logarithm of a film's count in its score


def banking77(folder):
    """Return counts and tf-idf of words, and tf-idf of words and pairs, each (train, test)."""
    train, test = (pd.read_csv(folder / f"banking77/{name}.csv.gz") for name in ("train", "test"))
    words = CountVectorizer(token_pattern=r"(?u)\b\w+\b", dtype=np.float32)
    counts = words.fit_transform(train.text), words.transform(test.text)
    pairs = quality_data.tfidf_words()
    linear = pairs.fit_transform(train.text), pairs.transform(test.text)
    return counts, weighted(counts), linear, (train.category.to_numpy(), test.category.to_numpy())


def newsgroups20_counts(folder):
    """Return the same with words alone; what is learned without labels sees their tf-idf."""
    split = quality_data.LOADERS["newsgroups20_counts"](folder)
    idf = split.X_train, split.X_test
    return idf, idf, idf, (np.asarray(split.y_train), np.asarray(split.y_test))


def weighted(counts):
    """Return tf-idf, with the weights of the training rows."""
    idf = TfidfTransformer(sublinear_tf=True).fit(counts[0])
    return tuple(idf.transform(X).tocsr() for X in counts)


def classifiers(bag, seed):
    """Return by name whether a model reads the features of the linear one, and the model."""
    settings = dict(n_components=bag.n_components, early_stopping=False, random_state=seed)
    start = dict(init=FrozenEstimator(bag), learning_rate_init=0.01)
    head = make_pipeline(FrozenEstimator(bag), Normalizer(), LogisticRegression(C=10, max_iter=500))
    return {
        "TF-IDF and LinearSVC": (True, LinearSVC(C=1)),
        "EmbeddingBagClassifier": (False, skembed.EmbeddingBagClassifier(**settings)),
        "... from the vectors": (False, skembed.EmbeddingBagClassifier(**start, **settings)),
        "vectors and LogisticRegression": (False, head),
    }


def few_labels(name, folder, seeds):
    """Print the rows of a set."""
    bags, idf, linear, (y, y_test) = globals()[name](folder)
    settings = WITHOUT_LABELS[name] | NO_STOP
    start = time.process_time()
    bag = skembed.EmbeddingBag(64, random_state=0, **settings).fit(bags[0])
    print(f"{name}: {time.process_time() - start:.0f} s of a processor without labels", flush=True)
    scores = {}
    for share in SHARES:
        for seed in seeds:
            sample = StratifiedShuffleSplit(1, train_size=round(share * len(y)), random_state=seed)
            rows, _ = next(sample.split(y, y))
            for kind, (is_linear, model) in classifiers(bag, seed).items():
                X, X_test = linear if is_linear else idf
                score = model.fit(X[rows], y[rows]).score(X_test, y_test)
                scores.setdefault(kind, {}).setdefault(share, []).append(score)
    for kind, by_share in scores.items():
        cells = (f"{np.mean(s):.3f} ± {np.std(s):.3f}" for s in by_share.values())
        print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)


def recall(scores, train, test):
    """Return the share of later films among the ten best scored ones that are new to a user."""
    scores = np.array(scores)
    scores[train.nonzero()] = -np.inf
    best = np.argsort(-scores, axis=1)[:, :10]
    hits = np.take_along_axis(test.toarray(), best, axis=1).sum(axis=1)
    return np.mean(hits / np.minimum(10, np.maximum(test.getnnz(axis=1), 1)))


def recommended(folder, seeds):
    """Print recall at 10 of both, and neighbours of some films."""
    train, test = films(folder)
    svd = [skembed.TruncatedSVD(32, random_state=seed).fit(train) for seed in seeds]
    found = [recall(s.inverse_transform(s.transform(train)), train, test) for s in svd]
    print(f"TruncatedSVD(32): recall@10 {np.mean(found):.4f} ± {np.std(found):.4f}")
    count, found = np.asarray(train.sum(axis=0)).ravel(), []
    for seed in seeds:
        bag = skembed.EmbeddingBag(32, random_state=seed, **FILMS, **NO_STOP).fit(train)
        item_item = bag.embedding_ @ bag.coef_.T
        length = np.sqrt(np.maximum(train[:, bag.active_features_].getnnz(axis=1), 1))
        scores = (train @ item_item) / length[:, None]
        scores += POPULARITY * np.log(np.maximum(count, 1))
        scores[:, count < FILMS["min_count"]] = -np.inf
        found.append(recall(scores, train, test))
    print(f"EmbeddingBag(32): recall@10 {np.mean(found):.4f} ± {np.std(found):.4f}")
    titles = pd.read_csv(folder / "ml_latest_small_2016/movies.csv.gz").set_index("movieId").title
    ratings = pd.read_csv(folder / "ml_latest_small_2016/ratings.csv.gz")
    names = titles.reindex(np.unique(ratings.movieId)).to_numpy()
    unit = bag.active_embedding_ / np.linalg.norm(bag.active_embedding_, axis=1, keepdims=True)
    for at in np.argsort(-count[bag.active_features_])[[0, 5, 12, 20, 40]]:
        near = np.argsort(-unit @ unit[at])[:4]
        print(" ~ ".join(str(names[bag.active_features_[j]]) for j in near))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=WITHOUT_LABELS, default=list(WITHOUT_LABELS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--films", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.films:
        recommended(args.data, args.seeds)
    else:
        print("| set | model | 1 % | 5 % | 10 % |\n|---|---|---|---|---|")
        for name in args.only:
            few_labels(name, args.data, args.seeds)
