"""In the hands of scikit-learn's meta-estimators, neighbours and clusterings."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, log_loss
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from skembed import EmbeddingBag, EmbeddingBagClassifier, FactorizationMachineClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CLASSIFIERS = [
    EmbeddingBagClassifier(8, max_iter=40, random_state=0),
    FactorizationMachineClassifier(4, max_iter=40, random_state=0),
]


def topics(n=300, seed=0, wrong=0.0):
    """Rows of words, most of them from one of three topics, and the topics, some of them wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    words = 20 * y[:, None] + rng.integers(0, 20, (n, 6))
    words = np.where(rng.random(words.shape) < 0.8, words, rng.integers(0, 60, words.shape))
    rows = np.repeat(np.arange(n), 6)
    X = sp.coo_array((np.ones(6 * n), (rows, words.ravel())), (n, 60)).tocsr()
    y = np.where(rng.random(n) < wrong, rng.integers(0, 3, n), y)
    return X, np.array(["art", "law", "sea"])[y]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_self_training_uses_rows_without_labels(classifier):
    X, y = topics()
    numbers = np.unique(y, return_inverse=True)[1]
    known = np.arange(300) < 30
    model = SelfTrainingClassifier(clone(classifier), threshold=0.8)
    model.fit(X, np.where(known, numbers, -1))
    assert (model.labeled_iter_ > 0).sum() > 100, "it has labelled rows by itself"
    assert np.array_equal(model.transduction_[known], numbers[known])
    assert model.score(X[~known], numbers[~known]) > 0.8
    assert model.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_calibration(classifier, method, ensemble):
    X, y = topics(wrong=0.3)
    X_new, y_new = topics(seed=1, wrong=0.3)
    over = clone(classifier).set_params(early_stopping=False, max_iter=100).fit(X, y)
    model = CalibratedClassifierCV(clone(over), method=method, cv=3, ensemble=ensemble)
    model.fit(X, y, sample_weight=np.arange(300) % 3 + 1.0)
    p = model.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert list(model.classes_) == ["art", "law", "sea"]
    if method == "sigmoid":
        assert log_loss(y_new, p) < log_loss(y_new, over.predict_proba(X_new))


def test_neighbours_by_cosine_in_a_pipeline():
    X, y = topics()
    X_new, y_new = topics(seed=1)
    bag = EmbeddingBag(8, max_iter=40, random_state=0)
    graph = KNeighborsTransformer(n_neighbors=10, metric="cosine")
    model = make_pipeline(
        MaxAbsScaler(), bag, graph, KNeighborsClassifier(n_neighbors=10, metric="precomputed")
    )
    assert model.fit(X, y).score(X_new, y_new) > 0.9
    distances = model[:-1].transform(X_new)
    assert sp.issparse(distances) and distances.shape == (300, 300)
    X, X_new = model[0].transform(X), model[0].transform(X_new)
    fitted = EmbeddingBag(8, max_iter=40, random_state=0).fit(X, y)
    a, b = fitted.transform(X_new), fitted.transform(X)
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    row = distances[[3]].toarray().ravel()
    nearest = np.flatnonzero(row)
    np.testing.assert_allclose(row[nearest], (1 - b @ a[3])[nearest], atol=1e-9)


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize(
    "clustering", [KMeans(3, n_init=3, random_state=0), HDBSCAN(min_cluster_size=30, copy=True)]
)
def test_clusters_of_pooled_vectors(clustering, cv):
    X, y = topics()
    bag = EmbeddingBag(8, max_iter=40, random_state=0, cv=cv)
    labels = make_pipeline(MaxAbsScaler(), bag, clone(clustering)).fit_predict(X, y)
    assert labels.shape == (300,)
    if isinstance(clustering, KMeans):
        assert adjusted_rand_score(y, labels) > (0.8 if cv is None else 0.5)


def test_a_cross_fitted_step_within_cross_validation():
    X, y = topics()
    bag = EmbeddingBag(8, max_iter=20, cv=3, random_state=0)
    model = make_pipeline(bag, KNeighborsClassifier(10, metric="cosine"))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8
