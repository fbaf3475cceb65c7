"""Precision at k against a slow loop."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import top_k_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from skembed.metrics import _ranking, precision_at_k_score, precision_at_k_scorer


def slow(truth, scores, k, weight):
    """The definition: best score first, then lowest column."""
    total = 0.0
    for row, score, w in zip(truth, scores, weight, strict=True):
        best = sorted(range(len(score)), key=lambda j: (-score[j], j))[:k]
        total += w * sum(row[j] for j in best) / k
    return total / sum(weight)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_labels = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    truth = (rng.random((n, n_labels)) < 0.4).astype(draw(st.sampled_from([bool, int, float])))
    scores = rng.integers(-2, draw(st.integers(-1, 3)), (n, n_labels))  # with many ties
    scores = scores.astype(draw(st.sampled_from([np.int64, np.float32, np.float64])))
    return truth, scores, draw(st.integers(1, n_labels)), rng.integers(1, 4, n)


@given(problems(), st.integers(1, 20))
def test_it_is_the_slow_loop(problem, batch):
    truth, scores, k, weight = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ranking, "BATCH_ENTRIES", batch)
        got = precision_at_k_score(truth, scores, k=k, sample_weight=weight)
    assert got == pytest.approx(slow(truth, scores, k, weight))
    assert type(got) is float
    again = np.repeat(np.arange(len(truth)), weight)
    assert precision_at_k_score(truth[again], scores[again], k=k) == pytest.approx(got)
    for make in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix):
        assert precision_at_k_score(make(truth), scores, k=k, sample_weight=weight) == got


def test_ties_go_to_the_lowest_column():
    truth = np.eye(3)
    assert precision_at_k_score(truth, np.zeros((3, 3))) == pytest.approx(1 / 3)
    assert precision_at_k_score(truth[:1], np.zeros((1, 3))) == 1
    assert precision_at_k_score(truth[:1], [[0.0, 1.0, 0.0]], k=2) == 0.5
    assert precision_at_k_score(truth[2:], [[0.0, 1.0, 0.0]], k=2) == 0


@pytest.mark.parametrize("k", [1, 2, 4])
def test_classes_are_an_indicator_of_one_label(k):
    rng = np.random.default_rng(0)
    codes, scores = np.arange(40) % 5, rng.random((40, 5))
    want = precision_at_k_score(np.eye(5)[codes], scores, k=k)
    assert precision_at_k_score(codes, scores, k=k) == want
    assert k * want == pytest.approx(top_k_accuracy_score(codes, scores, k=k))
    names = np.array(["e", "b", "d", "a", "c"])
    assert precision_at_k_score(names[codes], scores, k=k, labels=names) == want
    few = codes < 2
    got = precision_at_k_score(names[codes[few]].tolist(), scores[few], k=k, labels=list(names))
    assert got == precision_at_k_score(np.eye(5)[codes[few]], scores[few], k=k)


def test_sparse_truth_of_a_user():
    # entries in two parts, out of order and with a stored zero; read-only
    truth = sp.csr_array(
        (np.array([0.5, 0.0, 1.0, 0.5]), np.array([2, 1, 0, 2]), np.array([0, 4, 4])), shape=(2, 3)
    )
    for a in (truth.data, truth.indices, truth.indptr):
        a.flags.writeable = False
    assert precision_at_k_score(truth, [[0.1, 0.9, 0.8], [0.1, 0.9, 0.8]], k=2) == 0.25
    assert truth.nnz == 4


def test_nothing_is_densified():
    def refuse(self, *args, **kwargs):
        raise AssertionError("densified")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("toarray", "todense"):
            patch.setattr(sp.csr_array, name, refuse)
        truth = sp.csr_array(np.eye(30))
        assert precision_at_k_score(truth, np.zeros((30, 30)), k=3) == pytest.approx(1 / 30)


@pytest.mark.parametrize(
    "y_true, y_score, options, message",
    [
        (np.eye(2), np.zeros((2, 2)), dict(k=3), "k=3 is larger than the number of labels, 2"),
        (np.eye(2), np.zeros((2, 2)), dict(k=0), "'k' parameter"),
        (np.eye(2), np.zeros((2, 2)), dict(k=1.0), "'k' parameter"),
        (np.eye(2), np.zeros(2), {}, "one column for each label"),
        (np.eye(2), np.zeros((3, 2)), {}, "inconsistent numbers of samples"),
        (np.eye(2), np.zeros((2, 2)), dict(sample_weight=[1.0]), "inconsistent numbers"),
        (np.eye(2), np.zeros((2, 3)), {}, "y_true has 2 columns, y_score has 3"),
        (2 * np.eye(2), np.zeros((2, 2)), {}, "only 0 and 1"),
        (np.eye(2), np.full((2, 2), np.nan), {}, "y_score contains NaN"),
        (np.eye(2), np.zeros((2, 2)), dict(labels=[0, 1]), "not for an indicator"),
        ([0, 1], np.zeros((2, 3)), {}, "3 columns for 2 classes. Pass labels"),
        ([0, 1], np.zeros((2, 3)), dict(labels=[0, 1]), "3 columns for 2 classes"),
        ([0, 1], np.zeros((2, 3)), dict(labels=[0, 1, 1]), "must be distinct"),
        ([0, 5], np.zeros((2, 3)), dict(labels=[0, 1, 2]), "classes that are not in labels"),
    ],
)
def test_errors(y_true, y_score, options, message):
    with pytest.raises(ValueError, match=message):
        precision_at_k_score(y_true, y_score, **options)


def test_scorer():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    scorer = precision_at_k_scorer(k=2)
    for clf in (LogisticRegression().fit(X, y), LinearSVC().fit(X, y)):  # the latter: decisions
        scores = getattr(clf, "predict_proba", clf.decision_function)(X)
        assert scorer(clf, X, y) == precision_at_k_score(y, scores, k=2)
        weight = rng.random(60)
        want = precision_at_k_score(y, scores, k=2, sample_weight=weight)
        assert scorer(clf, X, y, sample_weight=weight) == want
    part = y < 2
    known = precision_at_k_scorer(labels=clf.classes_)
    assert known(clf, X[part], y[part]) == clf.score(X[part], y[part])
    assert cross_val_score(DummyClassifier(), X, y, scoring=scorer, cv=3).shape == (3,)
