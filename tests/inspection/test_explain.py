"""Parts of a score."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from fitted import small_data
from skembed import (
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
)
from skembed.inspection import explain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=4, random_state=0)
FIELDS = np.arange(12) % 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [
    {}, dict(normalize_rows=False), dict(linear_term=False),
    dict(interaction="ffm", fields=FIELDS), dict(padding_features=[3], frozen_features=[5]),
], ids=lambda o: "-".join(o) or "default")  # fmt: skip
def test_parts_sum_to_the_score(options, n_classes, dtype):
    X, _ = small_data(dtype=dtype)
    y = np.arange(60) % n_classes
    fm = FactorizationMachineClassifier(**options, **QUICK).fit(X, y)
    scores = fm.decision_function(X)
    tol = 1e-10 if dtype == np.float64 else 1e-5
    for i in (0, 7, 31):
        found = explain(fm, X[[i]])
        m = len(found.columns)
        total = found.intercept + found.linear.sum(axis=0) + found.interactions.sum(axis=0)
        np.testing.assert_allclose(total, scores[i], rtol=tol, atol=tol)
        np.testing.assert_allclose(found.score, scores[i], rtol=tol, atol=tol)
        present = np.flatnonzero(X[[i]].toarray())
        assert found.columns.tolist() == [
            j for j in present if j not in options.get("padding_features", ())
        ]
        assert len(found.interactions) == len(found.pairs) == m * (m - 1) // 2
        assert len({tuple(p) for p in found.pairs.tolist()}) == len(found.pairs)


def test_a_pair_adds_what_the_vectors_say():
    X, y = small_data()
    fm = FactorizationMachineRegressor(normalize_rows=False, **QUICK).fit(X, y)
    found, row = explain(fm, X[[4]]), X[[4]].toarray()[0]
    for (p, q), part in zip(found.pairs, found.interactions, strict=True):
        j, k = found.columns[[p, q]]
        want = row[j] * row[k] * fm.embedding_[j] @ fm.embedding_[k]
        np.testing.assert_allclose(part, want, rtol=1e-12)
    np.testing.assert_allclose(found.linear, (row * fm.linear_[0])[found.columns], rtol=1e-12)
    fields = FactorizationMachineRegressor(
        normalize_rows=False, interaction="ffm", fields=FIELDS, **QUICK
    ).fit(X, y)
    found = explain(fields, X[[4]])
    assert fields.embedding_.shape == (12, 3, 3)
    for (p, q), part in zip(found.pairs, found.interactions, strict=True):
        j, k = found.columns[[p, q]]
        v, w = fields.embedding_[j, FIELDS[k]], fields.embedding_[k, FIELDS[j]]
        np.testing.assert_allclose(part, row[j] * row[k] * v @ w, rtol=1e-12)


def test_names_and_the_largest_parts():
    X, y = small_data()
    frame = pd.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(12)])
    fm = FactorizationMachineRegressor(**QUICK).fit(frame, y)
    found = explain(fm, frame.iloc[[2]])
    assert found.names.tolist() == [f"f{j}" for j in found.columns]
    parts = np.concatenate([found.linear, found.interactions])
    top = found.top(5)
    assert [value for _, value in top] == sorted(parts, key=abs, reverse=True)[:5]
    assert any(" × " in name for name, _ in found.top(len(parts)))
    several = FactorizationMachineRegressor(**QUICK).fit(X, np.column_stack([y, 1 - y]))
    found = explain(several, X[[2]])
    assert found.linear.shape[1] == 2
    assert found.top(3, output=1) != found.top(3)


def test_a_row_without_known_features_is_the_intercept():
    X, y = small_data()
    fm = FactorizationMachineClassifier(**QUICK).fit(X, y)
    found = explain(fm, sp.csr_array((1, 12)))
    assert found.score == found.intercept == fm.intercept_[0]
    assert len(found.columns) == len(found.pairs) == 0
    assert found.top(3) == []


def test_what_cannot_be_explained():
    X, y = small_data()
    fm = FactorizationMachineClassifier(**QUICK)
    with pytest.raises(NotFittedError):
        explain(fm, X[[0]])
    with pytest.raises(ValueError, match="Expected one row, got 2"):
        explain(fm.fit(X, y), X[:2])
    with pytest.raises(ValueError, match="features"):
        explain(fm, X[[0], :5])
    with pytest.raises(TypeError, match=r"factorization machine.*LogisticRegression"):
        explain(LogisticRegression().fit(X, y), X[[0]])


BAGS = [
    {}, dict(pooling="mean"), dict(pooling="sum"), dict(pooling="max"), dict(linear_term=True),
    dict(hidden_layer_sizes=(7,)), dict(hidden_layer_sizes=(7, 5)),
    dict(hidden_layer_sizes=(7, 5), pooling="max"), dict(hidden_layer_sizes=(7,), linear_term=True),
    dict(numeric_features=[1, 8]), dict(numeric_features=[1, 8], hidden_layer_sizes=(6,)),
    dict(numeric_features=[1], linear_term=True), dict(padding_features=[3], frozen_features=[5]),
]  # fmt: skip


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("options", BAGS, ids=str)
def test_parts_of_a_bag_sum_to_the_score(options, n_outputs):
    X, _ = small_data()
    y = np.random.default_rng(1).normal(size=(60, n_outputs))
    bag = EmbeddingBagRegressor(**options, **QUICK).fit(X, y[:, 0] if n_outputs == 1 else y)
    scores = bag.predict(X)
    for i in (0, 7, 31):
        found = explain(bag, X[[i]])
        total = found.intercept + found.linear.sum(axis=0)
        np.testing.assert_allclose(total, scores[i], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.score, scores[i], rtol=0, atol=1e-9)
        present = np.flatnonzero(X[[i]].toarray())
        assert found.columns.tolist() == [
            j for j in present if j not in options.get("padding_features", ())
        ]
        assert found.linear.shape[1:] == (() if n_outputs == 1 else (3,))
        assert len(found.pairs) == len(found.interactions) == 0


@pytest.mark.parametrize("loss", ["log_loss", "ova", "hinge", "negative_sampling"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_of_a_classifier_sum_to_its_scores(loss, dtype):
    X, _ = small_data(dtype=dtype)
    bag = EmbeddingBagClassifier(loss=loss, **QUICK).fit(X, np.arange(60) % 4)
    want, tol = bag.decision_function(X), 1e-9 if dtype == np.float64 else 1e-6
    for i in (2, 9):
        found = explain(bag, X[[i]])
        np.testing.assert_allclose(found.intercept + found.linear.sum(axis=0), want[i], atol=tol)


def test_parts_of_a_linear_bag_are_what_its_vectors_say():
    X, y = small_data()
    bag = EmbeddingBagClassifier(pooling="sum", numeric_features=[4], **QUICK).fit(X, y)
    found, row = explain(bag, X[[4]]), X[[4]].toarray()[0]
    want = row * (bag.embedding_ @ bag.coef_[0, :3])
    want[4] = row[4] * bag.coef_[0, 3]
    np.testing.assert_allclose(found.linear, want[found.columns], rtol=1e-12)
    assert found.intercept == bag.intercept_[0]


def test_parts_of_a_hidden_layer_are_the_slope_at_the_row():
    X, y = small_data()
    bag = EmbeddingBagClassifier(pooling="sum", hidden_layer_sizes=(9,), **QUICK)
    bag.fit(X, np.roll(y, 3))
    found, step = explain(bag, X[[4]]), 1e-6
    for j, part in zip(found.columns, found.linear, strict=True):
        near = X[[4]].toarray()
        near[0, j] *= 1 + step
        slope = (bag.decision_function(near)[0] - found.score) / step
        np.testing.assert_allclose(part, slope, atol=1e-6)


def test_a_bag_of_no_known_feature_is_the_head_at_zero():
    X, y = small_data()
    nothing = sp.csr_array((1, 12))
    for options in ({}, dict(hidden_layer_sizes=(4,)), dict(pooling="max")):
        bag = EmbeddingBagClassifier(**options, **QUICK).fit(X, y)
        found = explain(bag, nothing)
        assert found.score == found.intercept == pytest.approx(bag.decision_function(nothing)[0])
        assert len(found.columns) == 0


def test_names_can_be_given_and_text_shows_the_largest_parts():
    X, y = small_data()
    names = [f"<{j}>" for j in range(12)]
    bag = EmbeddingBagClassifier(**QUICK).fit(X, y)
    found = explain(bag, X[[2]], feature_names=names)
    assert found.names.tolist() == [f"<{j}>" for j in found.columns]
    assert found.top(1)[0][0] in str(found) and "intercept" in str(found)
    assert "&lt;" in found._repr_html_() and found.names[0] not in found._repr_html_()
    fm = FactorizationMachineClassifier(**QUICK).fit(X, np.arange(60) % 3)
    text = str(explain(fm, X[[int(np.argmax(np.diff(X.indptr)))]]))
    assert all(f"Score of {c}:" in text for c in fm.classes_) and " more" in text
    several = FactorizationMachineRegressor(**QUICK).fit(X, np.column_stack([y, 1 - y]))
    assert "Score of output 1:" in str(explain(several, X[[2]]))
    with pytest.raises(ValueError, match="one entry for each of 12 columns"):
        explain(bag, X[[2]], feature_names=names[:3])


@pytest.mark.parametrize("model", [
    EmbeddingBagRegressor(unseen="rare_mean", padding_features=[1], **QUICK),
    EmbeddingBagRegressor(unseen="rare_mean", pooling="max", **QUICK),
    FactorizationMachineRegressor(unseen="rare_mean", **QUICK),
    FactorizationMachineRegressor(unseen="rare_mean", interaction="ffm", fields=FIELDS, **QUICK),
], ids=["bag", "max", "fm", "ffm"])  # fmt: skip
def test_features_that_are_folded_in_have_parts(model):
    X, y = small_data()
    known = X.toarray()
    known[:, 8:] = 0
    model.fit(sp.csr_array(known), y)
    full = np.ones((1, 12))
    found = explain(model, full)
    total = found.linear.sum() + found.interactions.sum() + found.intercept
    np.testing.assert_allclose(total, model.predict(full)[0], rtol=1e-9)
    assert set(range(8, 12)) <= set(found.columns)
    assert 1 not in found.columns or not model.padding_features
