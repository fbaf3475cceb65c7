"""Embeddings from rows without targets."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.kernels.cpu import _matrix
from skembed.losses import Cooccurrence
from skembed.solvers import LazyAdam

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
GROUPS, SIZE, NOISE = 8, 10, 20
QUICK = dict(n_components=16, loss="cooccurrence", random_state=0, max_iter=3)


def planted(n=600, dtype=np.float32, seed=0):
    """Rows of six features of one group and three of none, and their groups."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, GROUPS, n)
    own = topic[:, None] * SIZE + rng.integers(0, SIZE, (n, 6))
    columns = np.hstack([own, GROUPS * SIZE + rng.integers(0, NOISE, (n, 3))])
    x = np.ones(columns.size, dtype), columns.ravel(), np.arange(0, columns.size + 1, 9)
    X = sp.csr_array(x, (n, GROUPS * SIZE + NOISE))
    X.sum_duplicates()
    return X, topic


def precision(vectors, k=5):
    """Share of the nearest neighbours of features of a group that are of the same group."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    near = np.argsort(-cosine[: GROUPS * SIZE], axis=1)[:, :k]
    return np.mean(near // SIZE == np.arange(GROUPS * SIZE)[:, None] // SIZE)


def learned(bag):
    return bag.embedding_.tobytes(), bag.coef_.tobytes(), tuple(bag.loss_curve_)


@pytest.mark.parametrize("solver", ["adagrad", "lazy_adam", "sgd"])
def test_neighbours_are_of_the_planted_group(solver):
    X, _ = planted()
    bag = EmbeddingBag(**QUICK | dict(max_iter=30, solver=solver)).fit(X)
    assert precision(bag.embedding_) >= 0.9
    assert precision(bag.coef_) >= 0.9
    assert bag.loss_curve_[-1] < bag.loss_curve_[0]
    assert bag.transform(X).shape == (600, 16)
    assert bag.embedding_.dtype == bag.coef_.dtype == np.float32


def test_bits_do_not_depend_on_threads_or_y(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    X, topic = planted()
    one, two, other = (EmbeddingBag(n_jobs=n, **QUICK) for n in (1, 3, 2))
    one.fit(X)
    assert learned(two.fit(X, topic)) == learned(one)
    assert np.array_equal(other.fit_transform(X, "not targets"), one.transform(X))
    assert learned(other) == learned(one)
    assert learned(clone(one).set_params(cv=3).fit(X)) == learned(one), "no fold is needed"
    assert learned(clone(one).set_params(random_state=1).fit(X)) != learned(one)


def test_a_pipeline_with_targets_does_not_teach_the_vectors():
    X, topic = planted()
    pipe = make_pipeline(EmbeddingBag(**QUICK), LogisticRegression()).fit(X, topic)
    assert learned(pipe[0]) == learned(EmbeddingBag(**QUICK).fit(X))
    assert pipe.score(X, topic) > 0.5


def test_fit_is_partial_fits_of_its_batches():
    X, _ = planted(512)
    whole = EmbeddingBag(**QUICK | dict(max_iter=1, shuffle=False, batch_size=256)).fit(X)
    parts = EmbeddingBag(**QUICK)
    parts.partial_fit(X)  # batches of 256 in the given order
    assert learned(parts) == learned(whole)


def test_streams_bring_features_and_pickles_go_on():
    X, _ = planted(2000)
    narrow = X[:1000, : GROUPS * SIZE]
    bag = EmbeddingBag(**QUICK).partial_fit(narrow)
    assert bag.embedding_.shape == bag.coef_.shape == (GROUPS * SIZE, 16)
    again = pickle.loads(pickle.dumps(bag))
    for b in (bag, again):
        b.partial_fit(X[1000:], grow=True)
    assert learned(bag) == learned(again)
    assert bag.embedding_.shape == bag.coef_.shape == (X.shape[1], 16)
    for _ in range(15):
        bag.partial_fit(X)
    assert precision(bag.embedding_) >= 0.9
    assert (bag.feature_counts_[: GROUPS * SIZE] > 0).all()


def test_weights_equal_repetition_and_values_weigh():
    X, _ = planted(50, np.float64)
    weight = np.random.default_rng(0).integers(0, 3, 50)
    settings = QUICK | dict(batch_size=1000, max_iter=5)
    weighed = EmbeddingBag(**settings).fit(X, sample_weight=weight)
    repeated = EmbeddingBag(**settings).fit(X[np.repeat(np.arange(50), weight)])
    np.testing.assert_allclose(weighed.embedding_, repeated.embedding_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
    double = X.copy()
    double.data[::2] = 2
    assert learned(EmbeddingBag(**settings).fit(double)) != learned(EmbeddingBag(**settings).fit(X))


def test_warm_start_goes_on():
    X, _ = planted()
    bag = EmbeddingBag(**QUICK, warm_start=True).fit(X)
    first = bag.loss_curve_[-1]
    assert bag.fit(X).loss_curve_[-1] < first


def test_early_stopping_keeps_the_best_epoch():
    X, _ = planted(900)
    settings = QUICK | dict(max_iter=25)
    bag = EmbeddingBag(early_stopping=True, **settings).fit(X)
    assert len(bag.validation_scores_) == bag.n_iter_
    assert bag.validation_scores_[bag.best_n_iter_ - 1] == bag.best_validation_score_
    assert bag.best_validation_score_ > bag.validation_scores_[0]
    given = EmbeddingBag(**settings).fit(X[:600], X_val=X[600:])
    assert given.validation_scores_
    assert not EmbeddingBag(**QUICK).fit(X).validation_scores_, "auto holds nothing out"


def test_frozen_vectors_stay_and_are_predicted():
    X, _ = planted()
    bag = EmbeddingBag(**QUICK, frozen_features=[0, 5]).fit(X)
    start = EmbeddingBag(**QUICK | dict(max_iter=1), frozen_features="all").fit(X)
    assert np.array_equal(bag.embedding_[[0, 5]], start.embedding_[[0, 5]])
    assert bag.coef_[[0, 5]].all()
    assert (bag.embedding_[1] != start.embedding_[1]).any()


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_rows_that_miss_steps_are_brought_up_to_date(pooling):
    X, _ = planted()
    solver = LazyAdam(decay_scope="all")
    settings = QUICK | dict(solver=solver, weight_decay=0.1, pooling=pooling, batch_size=50)
    bag = EmbeddingBag(**settings).fit(X)
    assert np.isfinite(bag.embedding_).all()
    assert bag.loss_curve_[-1] < bag.loss_curve_[0]


@pytest.mark.parametrize("frozen", [None, "all"])
def test_pretraining_helps_where_labels_are_few(frozen):
    X, topic = planted(1500)
    bag = EmbeddingBag(**QUICK | dict(max_iter=30)).fit(X)
    few = np.concatenate([np.flatnonzero(topic == t)[:1] for t in range(GROUPS)])
    settings = dict(n_components=16, random_state=0)
    scratch = EmbeddingBagClassifier(**settings).fit(X[few], topic[few])
    tuned = EmbeddingBagClassifier(
        init=FrozenEstimator(bag), frozen_features=frozen, **settings
    ).fit(X[few], topic[few])
    assert tuned.score(X, topic) > scratch.score(X, topic) + 0.04
    inside = EmbeddingBagClassifier(init=EmbeddingBag(**QUICK), **settings).fit(X, topic)
    assert inside.score(X, topic) > 0.8


def test_widths_and_attributes():
    X, _ = planted()
    assert EmbeddingBag(**QUICK | dict(n_components="auto")).fit(X).n_components_ == 64
    bag = EmbeddingBag(**QUICK).fit(X)
    assert not hasattr(bag, "intercept_")
    assert bag.coefs_[0].shape == bag.coef_.shape
    bag.drop_solver_state()
    assert bag.transform(X[:2]).shape == (2, 16)
    assert not bag.__sklearn_tags__().target_tags.required
    assert EmbeddingBag().__sklearn_tags__().target_tags.required


def test_what_does_not_fit_is_refused():
    X, topic = planted(60)
    for params, message in [
        (dict(hidden_layer_sizes=(4,)), "no hidden layers"),
        (dict(linear_term=True), "linear_term"),
        (dict(scoring="accuracy"), "scoring must be None"),
        (dict(loss=Cooccurrence(n_negatives=0)), "n_negatives"),
    ]:
        with pytest.raises(ValueError, match=message):
            EmbeddingBag(**QUICK | params).fit_transform(X)
    with pytest.raises(ValueError, match="is for features; a classifier"):
        EmbeddingBagClassifier(loss=Cooccurrence()).fit(X, topic)
    with pytest.raises(ValueError, match="is for features; a regressor"):
        EmbeddingBagRegressor(loss=Cooccurrence()).fit(X, topic)
    bag = EmbeddingBag(**QUICK)
    for lonely in (sp.eye_array(30).tocsr(), np.ones((30, 1))):
        with pytest.raises(ValueError, match="no row of X has two features"):
            bag.fit(lonely)
    assert not hasattr(bag, "embedding_")
    bag.partial_fit(X)
    before, counts = learned(bag), bag.feature_counts_
    with pytest.raises(ValueError, match="no row of X has two features"):
        bag.partial_fit(sp.csr_array(([1.0], ([0], [0])), (3, X.shape[1])))
    assert learned(bag) == before
    assert np.array_equal(bag.feature_counts_, counts)
    with pytest.raises(ValueError, match="was changed since"):
        bag.set_params(pooling="mean").partial_fit(X)
