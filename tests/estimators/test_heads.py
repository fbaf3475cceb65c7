"""Heads of the estimators: numeric columns, hidden layers, direct weights; starts and widths."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skembed
from fitted import BAGS, learned, small_data, split_of
from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    suggest_n_components,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
NUMERIC = [2, 7]
every_estimator = pytest.mark.parametrize("cls", BAGS)


def pooled_by_hand(D, embedding, pooling, without=()):
    """Pooled vectors of a dense matrix, some columns left out."""
    D = np.array(D)
    D[:, list(without)] = 0
    if pooling == "max":
        out = [(r[r != 0, None] * embedding[r != 0]).max(axis=0, initial=-np.inf) for r in D]
        return np.where(np.isinf(out), 0, out)
    norm = {"sum": 1 + 0 * D[:, 0], "mean": abs(D).sum(1), "sqrtn": np.sqrt((D**2).sum(1))}[pooling]
    return D @ embedding / np.where(norm == 0, 1, norm)[:, None]


# ---------------------------------------------------------------- numeric columns
@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn", "max"])
def test_numeric_columns_join_behind_the_pooled_vector(pooling):
    X, _ = small_data()
    clf = EmbeddingBagClassifier(numeric_features=NUMERIC, pooling=pooling, **QUICK)
    clf.fit(X, np.arange(60) % 3)
    D, d = X.toarray(), 3
    pooled = pooled_by_hand(D, clf.embedding_, pooling, NUMERIC)
    np.testing.assert_allclose(clf.transform(X), pooled, atol=1e-13)
    assert clf.coef_.shape == (3, d + 2)
    assert clf.coef_[:, d:].all()
    want = pooled @ clf.coef_[:, :d].T + D[:, NUMERIC] @ clf.coef_[:, d:].T + clf.intercept_
    np.testing.assert_allclose(clf.decision_function(X), want, atol=1e-13)
    assert not np.isin(NUMERIC, clf.active_features_).any()
    assert not clf.embedding_[NUMERIC].any()
    assert clf.feature_counts_.tolist() == (D != 0).sum(axis=0).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_estimator
def test_pooled_vectors_do_not_depend_on_numeric_columns(cls, dtype):
    X, y = small_data(dtype=dtype)
    fit = cls(numeric_features=NUMERIC, **QUICK).fit(X, y)
    D = X.toarray()
    D[:, NUMERIC] += 5
    assert np.array_equal(fit.transform(sp.csr_array(D)), fit.transform(X))
    if cls is EmbeddingBagRegressor:
        moved = fit.predict(D) - fit.predict(X)
        np.testing.assert_allclose(moved, 5 * fit.coef_[0, -2:].sum(), rtol=1e-4)
        assert fit.predict(X).dtype == dtype


def test_numeric_columns_can_be_named_in_three_ways():
    X, y = small_data()
    frame = pd.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(12)])
    mask = np.isin(np.arange(12), NUMERIC)
    want = learned(EmbeddingBagClassifier(numeric_features=NUMERIC, **QUICK).fit(X, y))
    for given in (NUMERIC[::-1], mask, mask.tolist(), ["f7", "f2"]):
        clf = EmbeddingBagClassifier(numeric_features=given, **QUICK)
        assert learned(clf.fit(frame, y)) == want
    assert learned(EmbeddingBagClassifier(numeric_features=[], **QUICK).fit(X, y)) == learned(
        EmbeddingBagClassifier(**QUICK).fit(X, y)
    )


def test_numeric_columns_alone_are_logistic_regression():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(400, 3))
    y = (D @ [1.0, -2.0, 0.5] + rng.logistic(size=400) > 0).astype(int)
    clf = EmbeddingBagClassifier(
        numeric_features=[0, 1, 2], batch_size=400, max_iter=300, learning_rate_init=0.5, tol=0,
        early_stopping=False, random_state=0,
    ).fit(D, y)  # fmt: skip
    exact = LogisticRegression(C=np.inf).fit(D, y)
    np.testing.assert_allclose(clf.coef_[:, -3:], exact.coef_, atol=0.01)
    assert clf.embedding_.shape == (3, 64)
    assert not clf.transform(D).any()


def test_numeric_columns_of_storage_beyond_the_last_row():
    X, y = small_data()
    longer = X.copy()
    longer.indices = np.append(X.indices, [2, 2, 2]).astype(np.int32)
    want = learned(EmbeddingBagClassifier(numeric_features=NUMERIC, **QUICK).fit(X, y))
    clf = EmbeddingBagClassifier(numeric_features=NUMERIC, **QUICK).fit(longer, y)
    assert learned(clf) == want


@pytest.mark.parametrize("given, message", [([12], r"\[0, 12\)"), (["a"], "X has none")])
def test_wrong_numeric_columns(given, message):
    with pytest.raises(ValueError, match=f"numeric_features.*{message}"):
        EmbeddingBagClassifier(numeric_features=given, **QUICK).fit(*small_data())


def test_one_hot_and_scaled_columns_of_a_table():
    rng = np.random.default_rng(0)
    n, sizes = 3_000, (4, 15, 40)
    table = pd.DataFrame({f"c{j}": rng.integers(0, k, n) for j, k in enumerate(sizes)})
    table["amount"], table["age"] = rng.lognormal(size=n), rng.normal(40, 9, n)
    score = sum(rng.normal(size=k)[table[f"c{j}"]] for j, k in enumerate(sizes))
    score += 0.5 * np.log(table["amount"]) - (table["age"] - 40) / 9
    y = (score + rng.logistic(size=n) > 0).astype(int)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["c0", "c1", "c2"]),
        (StandardScaler(), ["amount", "age"]), sparse_threshold=1.0,
    )  # fmt: skip
    train, test = slice(0, 2_000), slice(2_000, None)
    X_train, X_test = columns.fit_transform(table[train]), columns.transform(table[test])
    assert sp.issparse(X_train)
    line = LogisticRegression(max_iter=1000).fit(X_train, y[train])
    last = [X_train.shape[1] - 2, X_train.shape[1] - 1]
    model = make_pipeline(
        columns, EmbeddingBagClassifier("auto", numeric_features=last, random_state=0)
    )
    model.fit(table[train], y[train])
    auc = roc_auc_score(y[test], model.predict_proba(table[test])[:, 1])
    best = roc_auc_score(y[test], line.predict_proba(X_test)[:, 1])
    assert best > 0.75
    assert auc > best - 0.015
    without = clone(model[-1]).set_params(numeric_features=None).fit(X_train[:, :-2], y[train])
    less = roc_auc_score(y[test], without.predict_proba(X_test[:, :-2])[:, 1])
    assert auc > less + 0.02


# ---------------------------------------------------------------- hidden layers
def test_hidden_layer_learns_exclusive_or():
    rng = np.random.default_rng(0)
    pairs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[np.arange(400) % 4]
    y = (pairs[:, 0] != pairs[:, 1]).astype(int)
    X = OneHotEncoder().fit_transform(pairs)
    at = rng.permutation(400)
    settings = dict(n_components=8, random_state=0, early_stopping=False)
    line = EmbeddingBagClassifier(**settings).fit(X[at], y[at])
    assert abs(line.predict_proba(X) - 0.5).max() < 0.1
    deep = EmbeddingBagClassifier(hidden_layer_sizes=(16,), **settings).fit(X[at], y[at])
    assert np.array_equal(deep.predict(X), y)
    assert deep.predict_proba(X)[np.arange(400), y].min() > 0.8


def test_hidden_layers_by_hand():
    X, _ = small_data()
    Y = np.random.default_rng(0).normal(size=(60, 2))
    fit = EmbeddingBagRegressor(
        hidden_layer_sizes=[5, 4], numeric_features=NUMERIC, linear_term=True, **QUICK
    ).fit(X, Y)
    assert [W.shape for W in fit.coefs_] == [(5, 5), (4, 5), (2, 4)]
    assert [b.shape for b in fit.intercepts_] == [(5,), (4,), (2,)]
    D = X.toarray()
    x = np.hstack([fit.transform(X), D[:, NUMERIC]])
    for W, b in zip(fit.coefs_[:-1], fit.intercepts_[:-1], strict=True):
        x = np.maximum(x @ W.T + b, 0)
    want = x @ fit.coefs_[-1].T + fit.intercepts_[-1]
    want += pooled_by_hand(D, fit.linear_.T, "sqrtn", NUMERIC)
    np.testing.assert_allclose(fit.predict(X), want, atol=1e-13)
    for name in ("coef_", "intercept_"):
        assert not hasattr(fit, name)
        with pytest.raises(AttributeError, match=f"{name[:-1]}s_"):
            getattr(fit, name)


def test_linear_head_is_a_list_of_one():
    fit = EmbeddingBagClassifier(**QUICK).fit(*small_data())
    assert np.array_equal(fit.coefs_[0], fit.coef_)
    assert np.array_equal(fit.intercepts_[0], fit.intercept_)
    assert len(fit.coefs_) == len(fit.intercepts_) == 1


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(hidden_layer_sizes=(0,)), "positive integers"),
        (dict(hidden_layer_sizes=(4, -1)), "positive integers"),
        (dict(hidden_layer_sizes=(1.5,)), "positive integers"),
        (dict(hidden_layer_sizes=[[4]]), "positive integers"),
        (dict(hidden_layer_sizes="a"), "'hidden_layer_sizes' parameter"),
        (dict(hidden_layer_sizes=4), "'hidden_layer_sizes' parameter"),
        (dict(linear_term=True, pooling="max"), "linear_term=True needs pooling="),
        (dict(linear_term="yes"), "'linear_term' parameter"),
        (dict(numeric_features="all"), "'numeric_features' parameter"),
        (dict(n_components="third"), "'n_components' parameter"),
    ],
    ids=str,
)
def test_wrong_parameters(options, message):
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    before = learned(fit)
    with pytest.raises(ValueError, match=message):
        fit.set_params(**options).fit(X, y)
    assert learned(fit) == before


@pytest.mark.parametrize(
    "options",
    [dict(hidden_layer_sizes=(4,)), dict(linear_term=True), dict(numeric_features=[1])],
    ids=str,
)
def test_a_fit_does_not_go_on_with_another_head(options):
    X, y = small_data()
    fit = EmbeddingBagClassifier(warm_start=True, **QUICK).fit(X, y)
    before = pickle.dumps(fit._state)
    fit.set_params(**options)
    for method in (fit.fit, fit.partial_fit):
        with pytest.raises(ValueError, match="Fit anew with warm_start=False"):
            method(X, y)
    assert pickle.dumps(fit._state) == before


# ---------------------------------------------------------------- direct weights
@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_direct_weights_are_pooled_beside_the_vectors(pooling, n_classes):
    X, _ = small_data()
    D, y = X.toarray(), np.arange(60) % n_classes
    D[:, 4] = 0
    clf = EmbeddingBagClassifier(linear_term=True, pooling=pooling, **QUICK).fit(D, y)
    K = 1 if n_classes == 2 else n_classes
    assert clf.linear_.shape == (K, 12)
    assert not clf.linear_[:, 4].any()
    assert np.delete(clf.linear_, 4, axis=1).all()
    pooled = pooled_by_hand(D, clf.embedding_, pooling)
    np.testing.assert_allclose(clf.transform(D), pooled, atol=1e-13)
    assert clf.embedding_.shape == (12, 3)
    want = pooled @ clf.coef_.T + clf.intercept_ + pooled_by_hand(D, clf.linear_.T, pooling)
    got = clf.decision_function(D).reshape(60, K)
    np.testing.assert_allclose(got, want, atol=1e-13)


def test_direct_weights_start_at_zero():
    X, y = small_data()
    fit = EmbeddingBagClassifier(linear_term=True, frozen_features="all", **QUICK).fit(X, y)
    assert not fit.linear_.any()
    plain = EmbeddingBagClassifier(frozen_features="all", **QUICK).fit(X, y)
    assert np.array_equal(plain.embedding_, fit.embedding_)
    assert not hasattr(plain, "linear_")
    with pytest.raises(AttributeError, match="linear_term=True"):
        _ = plain.linear_


# ---------------------------------------------------------------- starts
def start_of(init, X, y, **options):
    options = QUICK | dict(frozen_features="all", init=init) | options
    return EmbeddingBagClassifier(**options).fit(X, y)


def test_start_from_an_array_or_a_fitted_bag():
    X, y = small_data()
    rows = np.random.default_rng(0).normal(size=(12, 3))
    for given in (rows, rows.tolist(), rows.astype(np.float32)):
        assert np.array_equal(start_of(given, X, y).embedding_, np.asarray(given))
    bag = EmbeddingBag(**QUICK).fit(X, y)
    before = learned(bag)
    fit = start_of(FrozenEstimator(bag), X, y)
    assert np.array_equal(fit.embedding_, bag.embedding_)
    moving = start_of(FrozenEstimator(bag), X, y, frozen_features=None)
    assert not np.array_equal(moving.embedding_, bag.embedding_)
    assert learned(bag) == before
    with pytest.raises(NotFittedError):
        start_of(FrozenEstimator(EmbeddingBag(3)), X, y)


def test_start_from_a_bag_that_is_fitted_on_the_way():
    X, y = small_data()
    bag = EmbeddingBag(**QUICK)
    fit = start_of(bag, X, y)
    assert np.array_equal(fit.embedding_, clone(bag).fit(X, y).embedding_)
    assert not bag.__sklearn_is_fitted__()
    assert not clone(fit).init.__sklearn_is_fitted__()
    assert clone(fit).get_params()["init__n_components"] == 3


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cls", [TruncatedSVD, skembed.TruncatedSVD])
def test_start_from_components(cls, frozen):
    X, y = small_data()
    svd = cls(3, random_state=0)
    vectors = clone(svd).fit(X).components_.T
    fit = start_of(FrozenEstimator(svd.fit(X)) if frozen else svd, X, y)
    assert hasattr(svd, "components_") == frozen
    got = fit.embedding_
    np.testing.assert_allclose(got, vectors * (got[0, 0] / vectors[0, 0]), rtol=1e-9)
    np.testing.assert_allclose(np.sqrt((got**2).mean()), 1 / (3 * np.sqrt(3)))


def test_an_unfitted_start_without_a_seed_has_that_of_the_fit():
    X, y = small_data(400, 60)
    for init in (skembed.TruncatedSVD(3, n_iter=0, n_oversamples=1), EmbeddingBag(3, max_iter=1)):
        one, two = start_of(init, X, y), start_of(init, X, y)
        assert np.array_equal(one.embedding_, two.embedding_)
        assert init.random_state is None


def test_an_unfitted_start_sees_the_rows_to_train_on_only():
    X, y = small_data(80)
    svd = TruncatedSVD(3, random_state=0)
    fit = start_of(svd, X, y, early_stopping=True, validation_fraction=0.4)
    train, out = split_of(fit, X, y)
    assert len(train) == 48
    assert len(out) == 32
    ours, theirs = fit.embedding_, svd.fit(X[train]).components_.T
    np.testing.assert_allclose(ours, theirs * (ours[0, 0] / theirs[0, 0]), rtol=1e-9)
    everything = svd.fit(X).components_.T
    assert not np.allclose(ours, everything * (ours[0, 0] / everything[0, 0]), rtol=1e-3)


@pytest.mark.parametrize(
    "init",
    [
        np.zeros((12, 4)),
        TruncatedSVD(4),
        EmbeddingBag(4, max_iter=1),
        FrozenEstimator(TruncatedSVD(2).fit(small_data()[0])),
        FrozenEstimator(EmbeddingBag(3, max_iter=1)),
    ],
    ids=str,
)
def test_start_of_another_width(init):
    X, y = small_data()
    if isinstance(init, FrozenEstimator) and isinstance(init.estimator, EmbeddingBag):
        init.estimator.fit(X[:, :9], y)
    with pytest.raises(ValueError, match=r"n_components\) = \(12, 3\), got"):
        start_of(init, X, y)


def test_start_from_something_without_vectors():
    with pytest.raises(ValueError, match="neither embedding_ nor components_"):
        start_of(StandardScaler(with_mean=False), *small_data())
    fit = start_of(FrozenEstimator(PCA(3).fit(small_data()[0].toarray())), *small_data())
    assert fit.embedding_.any()


# ---------------------------------------------------------------- widths
def test_suggested_widths():
    assert suggest_n_components(10**6) == 8
    assert [suggest_n_components(50, n_outputs=k) for k in (3, 32, 33, 500)] == [6, 64, 64, 64]
    many = [suggest_n_components(50, n_outputs=k, multi_label=True) for k in (20, 100, 101)]
    assert many == [40, 64, 128]
    assert [suggest_n_components(c, rule="half") for c in (0, 1, 2, 9, 99, 10**6)] == [
        1, 1, 1, 5, 50, 50,
    ]  # fmt: skip
    roots = [suggest_n_components(c, rule="fourth_root") for c in (0, 1, 16, 10_000)]
    assert roots == [1, 1, 2, 10]
    with pytest.raises(ValueError, match="rule must be"):
        suggest_n_components(5, rule="third")


def test_width_of_many_labels():
    X, _ = small_data()
    Y = np.random.default_rng(0).integers(0, 2, (60, 102))
    clf = EmbeddingBagClassifier("auto", max_iter=1, random_state=0)
    assert clf.fit(X, Y).n_components_ == 128
    assert clf.fit(X, Y[:, :5]).n_components_ == 10


def test_many_classes_share_the_threads_with_the_sort():
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 3000, (900, 60)), axis=1)
    X = sp.csr_array((np.ones(indices.size), indices.ravel(), np.arange(0, 54_001, 60)))
    X.sum_duplicates()
    settings = dict(n_components=4, batch_size=450, max_iter=2, early_stopping=False)
    one, two = (
        EmbeddingBagClassifier(**settings, n_jobs=n, random_state=0).fit(X, np.arange(900) % 300)
        for n in (1, 2)
    )
    assert one.embedding_.tobytes() == two.embedding_.tobytes()
    assert one.coef_.tobytes() == two.coef_.tobytes()
