"""The map of vectors: points, which features, colours."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.spatial.distance import pdist

from fitted import ESTIMATORS, small_data
from skembed import EmbeddingBagClassifier
from skembed.inspection import EmbeddingMapDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = [f"{'ab'[j % 2]}_{j}" for j in range(12)]


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fit():
    X, y = small_data()
    return EmbeddingBagClassifier(4, max_iter=3, random_state=0, padding_features=[11]).fit(X, y)


def shown(display):
    return [label for label in display.labels]


def test_a_plane_is_drawn_as_it_is():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(20, 2)) @ np.linalg.qr(rng.normal(size=(6, 6)))[0][:2]
    display = EmbeddingMapDisplay.from_vectors(plane)
    np.testing.assert_allclose(pdist(display.points), pdist(plane), rtol=1e-9)
    np.testing.assert_allclose(np.sum(display.variance_ratio), 1)
    assert display.points[:, 0].var() > display.points[:, 1].var()
    assert display.labels_ == []


@pytest.mark.parametrize("vectors", [np.zeros((3, 4)), [[1.0], [2.0], [4.0]], np.eye(2)], ids=str)
def test_vectors_without_two_directions(vectors):
    display = EmbeddingMapDisplay.from_vectors(vectors, labels=["a"] * len(vectors))
    assert np.isfinite(display.points).all() and display.points.shape == (len(vectors), 2)
    display.figure_.draw_without_rendering()


def test_the_most_frequent_features_come_first(fit):
    display = EmbeddingMapDisplay.from_estimator(fit, n_features=5, feature_names=NAMES)
    order = np.argsort(-fit.feature_counts_[:11], kind="stable")[:5]
    assert shown(display) == [NAMES[j] for j in order]
    assert len(EmbeddingMapDisplay.from_estimator(fit).points) == 11


def test_features_by_name_and_pattern(fit):
    chosen = ["b_7", 2, "a_4"]
    display = EmbeddingMapDisplay.from_estimator(fit, features=chosen, feature_names=NAMES)
    assert shown(display) == ["b_7", "a_2", "a_4"]
    display = EmbeddingMapDisplay.from_estimator(fit, match="^a", feature_names=NAMES)
    assert all(name.startswith("a") for name in shown(display)) and len(display.points) == 6
    only = EmbeddingMapDisplay.from_estimator(fit, features=[1, 2, 4, 6], match="^a",
                                              feature_names=NAMES)  # fmt: skip
    assert shown(only) == ["a_2", "a_4", "a_6"]


def test_groups_have_colours_and_a_legend(fit):
    groups = [name[0] for name in NAMES]
    display = EmbeddingMapDisplay.from_estimator(fit, groups=groups, feature_names=NAMES)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["a", "b"]
    sizes = [len(points.get_offsets()) for points in display.ax_.collections]
    assert sizes == [6, 5], "feature 11 has no vector"


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_estimator_has_a_map(cls):
    X, y = small_data(dtype=np.float32)
    fit = cls(4, max_iter=2, random_state=0).fit(X, y)
    _, ax = plt.subplots()
    display = EmbeddingMapDisplay.from_estimator(fit, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure and len(display.points) == 12
    assert "% of the variance" in ax.get_xlabel()


def test_what_is_refused(fit, monkeypatch):
    with pytest.raises(ValueError, match="Feature 11 has no vector"):
        EmbeddingMapDisplay.from_estimator(fit, features=[1, 11])
    with pytest.raises(ValueError, match="minimum of 2"):
        EmbeddingMapDisplay.from_estimator(fit, features=[1])
    with pytest.raises(ValueError, match="groups must hold one entry for each of 12"):
        EmbeddingMapDisplay.from_estimator(fit, groups=[1, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EmbeddingMapDisplay.from_vectors(np.eye(3), labels=["a"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        EmbeddingMapDisplay.from_vectors(np.eye(3))
