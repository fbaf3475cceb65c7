"""Parts of a score."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from fitted import small_data
from skembed import (
    EmbeddingBagClassifier,
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
    with pytest.raises(TypeError, match=r"factorization machine.*EmbeddingBagClassifier"):
        explain(EmbeddingBagClassifier(**QUICK).fit(X, y), X[[0]])
