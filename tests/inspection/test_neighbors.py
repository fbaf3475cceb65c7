"""Nearest features beside a search by brute force."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fitted import BAGS, ESTIMATORS, small_data
from skembed import EmbeddingBagClassifier, FactorizationMachineClassifier
from skembed.inspection import nearest_features

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=5, max_iter=3, random_state=0)


def by_hand(fit, feature, n):
    """Sort all features by the cosine of whole arrays, then by column."""
    E = fit.embedding_.reshape(fit.n_features_in_, -1).astype(np.float64)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    cosine = E @ E[feature]
    order = sorted(set(fit.active_features_) - {feature}, key=lambda j: (-cosine[j], j))
    return order[:n], cosine[order[:n]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_neighbours_are_those_of_a_search_by_brute_force(cls, dtype):
    X, y = small_data(dtype=dtype)
    fit = cls(**QUICK).fit(X, y)
    found = nearest_features(fit, 3, 4)
    columns, cosine = by_hand(fit, 3, 4)
    assert found.columns.tolist() == columns
    np.testing.assert_allclose(found.similarity, cosine, rtol=1e-6)
    assert found.counts.tolist() == fit.feature_counts_[found.columns].tolist()
    assert len(nearest_features(fit, 3, 100).columns) == 11


def test_several_outputs_and_fields_count_as_one_vector():
    X, _ = small_data()
    fit = FactorizationMachineClassifier(interaction="ffm", fields=np.arange(12) % 2, **QUICK)
    fit.fit(X, np.arange(60) % 3)
    assert nearest_features(fit, 0, 5).columns.tolist() == by_hand(fit, 0, 5)[0]


def test_equal_similarity_goes_by_column():
    X, y = small_data()
    start = np.tile(np.random.default_rng(0).normal(size=(1, 5)), (12, 1))
    fit = EmbeddingBagClassifier(init=start, frozen_features="all", **QUICK).fit(X, y)
    found = nearest_features(fit, 6, 12)
    assert found.columns.tolist() == [j for j in range(12) if j != 6]
    np.testing.assert_allclose(found.similarity, 1)


def test_filters_by_count_and_by_name():
    X, y = small_data()
    names = [f"{'ab'[j % 2]}_{j}" for j in range(12)]
    fit = EmbeddingBagClassifier(**QUICK).fit(pd.DataFrame(X.toarray(), columns=names), y)
    counts = fit.feature_counts_
    least = int(np.median(counts))
    frequent = nearest_features(fit, "b_3", 12, min_count=least)
    assert set(frequent.columns) == {j for j in range(12) if counts[j] >= least} - {3}
    found = nearest_features(fit, "b_3", 12, match="^a_")
    assert all(name.startswith("a_") for name in found.names) and len(found.names) == 6
    frame = found.to_frame()
    assert frame.index.tolist() == found.names.tolist()
    bare = EmbeddingBagClassifier(**QUICK).fit(X, y)
    given = nearest_features(bare, "b_3", 12, match="^a_", feature_names=names)
    assert given.names.tolist() == found.names.tolist()
    np.testing.assert_array_equal(given.similarity, found.similarity)


def test_a_vector_instead_of_a_feature():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    found = nearest_features(fit, fit.embedding_[3], 1)
    assert found.columns.tolist() == [3] and found.similarity[0] == pytest.approx(1)
    for bad in (np.ones(4), np.zeros(5), [np.nan] * 5):
        with pytest.raises(ValueError, match="A vector to compare must"):
            nearest_features(fit, bad)


@pytest.mark.parametrize("cls", BAGS)
def test_what_has_no_neighbours(cls):
    X, y = small_data()
    X = sp.csr_array(sp.hstack([X, sp.csr_array((60, 1))]))
    fit = cls(padding_features=[1], **QUICK).fit(X, y)
    for feature in (1, 12):
        with pytest.raises(ValueError, match=f"Feature {feature} has no vector"):
            nearest_features(fit, feature)
    for feature in (-1, 13):
        with pytest.raises(ValueError, match=r"must lie in \[0, 13\)"):
            nearest_features(fit, feature)
    with pytest.raises(ValueError, match=r"'red' is a name.*get_feature_names_out"):
        nearest_features(fit, "red")
    with pytest.raises(ValueError, match="no feature named 'red'"):
        nearest_features(fit, "red", feature_names=[f"f{j}" for j in range(13)])
    with pytest.raises(ValueError, match="match='a' looks at names"):
        nearest_features(fit, 2, match="a")
    fit._state.params["table"].values[:] = 0
    with pytest.raises(ValueError, match="vector of feature 2 is zero"):
        nearest_features(fit, 2)


def test_text_and_html():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    found = nearest_features(fit, "<3>", 2, feature_names=[f"<{j}>" for j in range(12)])
    assert "Features near <3>" in str(found) and found.names[0] in str(found)
    assert "&lt;3&gt;" in found._repr_html_() and "<3>" not in found._repr_html_()
