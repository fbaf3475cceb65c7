"""What estimators owe to those who use them: shapes, labels, messages, seeds, searches."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from skembed import EmbeddingBagClassifier
from skembed.kernels.cpu import _matrix

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_one_row_keeps_its_axis_and_its_score():
    X = sp.csr_matrix(np.eye(4))
    clf = EmbeddingBagClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    assert clf.predict(X[:1]).shape == (1,)
    assert clf.predict_proba(X[:1]).shape == (1, 2)
    assert clf.decision_function(X[:1]).shape == (1,)
    assert clf.transform(X[:1]).shape == (1, clf.embedding_.shape[1])
    np.testing.assert_allclose(clf.predict_proba(X)[:1], clf.predict_proba(X[:1]), rtol=1e-6)


@pytest.mark.parametrize("width", [4, 7])
def test_other_number_of_columns_names_both_numbers(width):
    clf = EmbeddingBagClassifier(random_state=0).fit(sp.csr_matrix(np.eye(5)), [0, 1, 0, 1, 0])
    assert clf.n_features_in_ == 5
    with pytest.raises(ValueError, match=rf"{width} features.*expecting 5 features"):
        clf.predict(sp.csr_matrix((1, width)))


def test_partial_fit_on_more_columns_changes_nothing():
    clf = EmbeddingBagClassifier(random_state=0)
    clf.partial_fit(sp.csr_matrix(np.eye(3)), [0, 1, 0], classes=[0, 1])
    before, all_before = clf.embedding_.copy(), pickle.dumps(clf)
    with pytest.raises(ValueError, match="4 features"):
        clf.partial_fit(sp.csr_matrix(np.eye(4)), [0, 1, 0, 1])
    assert np.array_equal(before, clf.embedding_)
    assert pickle.dumps(clf) == all_before


def test_balanced_weights_are_refused_by_partial_fit():
    with pytest.raises(ValueError, match="sample_weight"):
        EmbeddingBagClassifier(class_weight="balanced").partial_fit(
            sp.csr_matrix(np.eye(2)), [0, 1], classes=[0, 1]
        )


def test_batch_of_weight_zero_is_an_exact_no_op():
    X, y = sp.csr_matrix(np.eye(3)), [0, 1, 0]
    clf = EmbeddingBagClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(clf)
    clf.partial_fit(X, y, sample_weight=np.zeros(3))
    assert pickle.dumps(clf) == before
    clf.partial_fit(X, y, sample_weight=np.ones(3))
    assert pickle.dumps(clf) != before


@pytest.mark.parametrize(
    "y", [["pear", "apple", "pear", "fig", "fig", "apple"], [20, 3, 20, 7, 7, 3]]
)
def test_any_sortable_labels_come_back_as_they_went_in(y):
    X = sp.csr_matrix(np.eye(6))
    clf = EmbeddingBagClassifier(random_state=0, max_iter=200, learning_rate_init=0.5).fit(X, y)
    assert clf.classes_.tolist() == sorted(set(y))
    assert clf.predict(X).tolist() == list(y)
    P = clf.predict_proba(X)
    assert P.shape == (6, 3)
    np.testing.assert_allclose(P.sum(1), 1.0, atol=1e-6)


def test_two_classes_have_two_columns_of_probabilities():
    X = sp.csr_matrix(np.eye(6))
    P = EmbeddingBagClassifier(random_state=0).fit(X, ["b", "a"] * 3).predict_proba(X)
    assert P.shape == (6, 2)


@pytest.mark.parametrize("kind", ["bool", "signs", "float", "column"])
def test_encodings_of_the_same_two_classes_give_the_same_model(kind):
    X, base = sp.csr_matrix(np.vstack([np.eye(4)] * 3)), np.array([1, 0, 1, 0] * 3)
    want = EmbeddingBagClassifier(random_state=0).fit(X, base).predict_proba(X)
    y = {
        "bool": base.astype(bool),
        "signs": np.where(base, 1, -1),
        "float": base.astype(float),
        "column": base.reshape(-1, 1),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        clf = EmbeddingBagClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(want, clf.predict_proba(X), rtol=1e-6)
    assert clf.predict(X).dtype == clf.classes_.dtype


@pytest.mark.parametrize("pooling", ["sqrtn", "mean", "sum"])
def test_unscaled_amounts_end_finite_or_in_advice(pooling):
    r = np.random.RandomState(0)
    X = sp.csr_matrix((r.rand(200, 10) < 0.3) * r.rand(200, 10) * 1e6)
    y = r.randint(0, 2, 200)
    clf = EmbeddingBagClassifier(
        pooling=pooling, learning_rate_init=10.0, max_iter=5, random_state=0
    )
    try:
        clf.fit(X, y)
    except ValueError as error:
        assert "learning_rate" in str(error)
    else:
        assert np.isfinite(clf.embedding_).all()
        assert np.isfinite(clf.predict_proba(X)).all()


def test_row_without_features_gets_the_probability_of_the_intercept():
    X = sp.csr_matrix(np.eye(4))
    clf = EmbeddingBagClassifier(random_state=0).fit(X, [0, 1, 1, 1])
    P = clf.predict_proba(sp.vstack([X[0], sp.csr_matrix((1, 4)), X[1]]).tocsr())
    assert P.shape == (3, 2)
    assert np.isfinite(P).all()
    alone = 1 / (1 + np.exp(-float(clf.intercept_[0])))
    np.testing.assert_allclose(P[1, 1], alone, rtol=1e-6)
    np.testing.assert_allclose(P[[0, 2]], clf.predict_proba(X[:2]), rtol=1e-6)


def test_sparse_indicator_targets_give_one_column_a_label():
    X = sp.csr_matrix(np.eye(4))
    Y = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0]]))
    clf = EmbeddingBagClassifier(random_state=0).fit(X, Y)
    assert clf.predict(X).shape == (4, 3)
    assert sp.issparse(clf.predict(X))


def test_width_is_searched_in_two_processes():
    r = np.random.RandomState(0)
    X = sp.csr_matrix((r.rand(60, 8) < 0.4).astype(float))
    y = (X.toarray()[:, 0] > 0).astype(int)
    pipe = make_pipeline(MaxAbsScaler(), EmbeddingBagClassifier(random_state=0, max_iter=3))
    name = "embeddingbagclassifier__n_components"
    search = GridSearchCV(pipe, {name: [2, 5]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_estimator_[-1].embedding_.shape[1] == search.best_params_[name]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_fit_leaves_parameters_and_set_params_takes_effect():
    r = np.random.RandomState(0)
    X = sp.csr_matrix((r.rand(60, 8) < 0.4).astype(float))
    y = (X.toarray()[:, 0] > 0).astype(int)
    clf = EmbeddingBagClassifier(n_components=3)
    before = dict(clf.get_params())
    clf.fit(X, y)
    assert clf.get_params() == before
    assert clone(clf).get_params() == before
    wide = EmbeddingBagClassifier().set_params(n_components=7).fit(X, y)
    assert wide.embedding_.shape[1] == 7


@pytest.mark.parametrize("always_threads", [False, True])
def test_same_seed_same_bits_for_any_number_of_threads(monkeypatch, always_threads):
    if always_threads:  # small batches would run in one thread
        monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    r = np.random.RandomState(0)
    X = sp.csr_matrix((r.rand(500, 30) < 0.2).astype(float))
    y = r.randint(0, 3, 500)
    fits = [
        EmbeddingBagClassifier(random_state=7, n_jobs=t, max_iter=3).fit(X, y).embedding_
        for t in (1, 2, 2)
    ]
    assert np.array_equal(fits[1], fits[2])
    assert np.array_equal(fits[0], fits[1])
