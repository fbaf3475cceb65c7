"""Labels, probabilities and rankings of the classifier; losses of both predictors."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.base import clone

from fitted import learned, small_data
from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.estimators import _fitted
from skembed.losses import (
    Hinge,
    Huber,
    LogLoss,
    Poisson,
    Quantile,
    Softmax,
    SquaredError,
    SquaredHinge,
)
from skembed.metrics import precision_at_k_score

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
HINGES = ["hinge", "squared_hinge"]


def label_data(n=60, n_labels=4, seed=0):
    """Rows and an indicator that has rows without a label."""
    X, _ = small_data(n)
    Y = (np.random.default_rng(seed).random((n, n_labels)) < 0.4).astype(np.int64)
    Y[:3] = 0
    return X, Y


# ---------------------------------------------------------------- indicators
FORMS = {
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(np.float32),
    "lists": lambda Y: Y.tolist(),
    "fortran": np.asfortranarray,
    "csr matrix": sp.csr_matrix,
    "csr of bool": lambda Y: sp.csr_array(Y.astype(bool)),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "lil": sp.lil_array,
    "dok": sp.dok_array,
}


@pytest.mark.parametrize("cls", [EmbeddingBag, EmbeddingBagClassifier])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_indicator_gives_the_same_bits(cls, form):
    X, Y = label_data()
    weight = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    for w in (None, weight):
        want = learned(cls(**QUICK).fit(X, Y, w))
        assert learned(cls(**QUICK).fit(X, FORMS[form](Y), w)) == want


def test_stored_zeros_and_unsorted_rows_of_an_indicator():
    X, Y = label_data()
    want = learned(EmbeddingBagClassifier(**QUICK).fit(X, Y))
    rough = sp.csr_array(Y)
    rough.indices, rough.data = rough.indices.copy(), rough.data.copy()
    for i in range(60):
        row = slice(rough.indptr[i], rough.indptr[i + 1])
        rough.indices[row] = rough.indices[row][::-1].copy()
    rough.has_sorted_indices = False
    everywhere = sp.csr_array((Y.ravel(), np.tile(np.arange(4), 60), np.arange(0, 241, 4)))
    for given in (rough, everywhere):
        before = [a.tobytes() for a in (given.data, given.indices, given.indptr)]
        assert learned(EmbeddingBagClassifier(**QUICK).fit(X, given)) == want
        assert [a.tobytes() for a in (given.data, given.indices, given.indptr)] == before


def test_predicted_indicators_are_as_the_given_ones():
    X, Y = label_data()
    settings = QUICK | dict(max_iter=50)
    dense = EmbeddingBagClassifier(**settings).fit(X, Y)
    predicted = dense.predict(X)
    assert np.array_equal(predicted, (dense.decision_function(X) > 0).astype(int))
    assert 0 < predicted.sum() < predicted.size
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        sparse = EmbeddingBagClassifier(**settings).fit(X, kind(Y)).predict(X)
        assert sparse.format == "csr"
        assert np.array_equal(sparse.toarray(), predicted)
    fit = EmbeddingBagClassifier(**QUICK).fit(X, sp.csr_array(Y))
    for interface, kind in (("spmatrix", sp.csr_matrix), ("sparray", sp.csr_array)):
        with sklearn.config_context(sparse_interface=interface):
            assert isinstance(fit.predict(X), kind)


@pytest.mark.parametrize("loss", ["log_loss", *HINGES])
def test_labels_that_are_never_or_always_true(loss):
    X, Y = label_data()
    Y[:, 1], Y[:, 2] = 0, 1
    clf = EmbeddingBagClassifier(loss=loss, **QUICK).fit(X, sp.csr_array(Y))
    scores = clf.decision_function(X)
    assert np.isfinite(scores).all()
    predicted = clf.predict(X).toarray()
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    nothing = EmbeddingBagClassifier(loss=loss, **QUICK).fit(X, sp.csr_array(Y.shape, dtype=int))
    assert nothing.predict(X).nnz == 0


def test_labels_are_learned():
    X, _ = small_data(300)
    X = abs(X.sign())
    Y = sp.csr_array((X[:, :6] != 0).astype(int))
    clf = EmbeddingBagClassifier(
        16, random_state=0, early_stopping=False, learning_rate_init=0.2
    ).fit(X, Y)
    assert (clf.predict(X) != Y).sum() < 0.03 * Y.size
    some = np.asarray(Y.sum(axis=1)).ravel() > 0
    assert precision_at_k_score(Y[some], clf.decision_function(X[some])) > 0.99
    assert clf.score(X, Y) > 0.8


def test_precision_of_the_best_labels():
    X, Y = label_data()
    clf = EmbeddingBagClassifier(**QUICK).fit(X, Y)
    for k in (1, 2, 4):
        best, _ = clf.predict_top_k(X, k)
        want = np.take_along_axis(Y, best, axis=1).mean()
        np.testing.assert_allclose(precision_at_k_score(Y, clf.predict_proba(X), k=k), want)


def test_batches_of_labels_equal_one_epoch():
    X, _ = small_data(120)
    Y = np.stack([np.arange(120) % 2, np.arange(120) // 3 % 2], axis=1)  # half of every batch
    settings = QUICK | dict(batch_size=30)
    for kind in (np.asarray, sp.csr_array):
        whole = EmbeddingBagClassifier(shuffle=False, **settings | dict(max_iter=1))
        whole.fit(X, kind(Y))
        parts = EmbeddingBagClassifier(**settings)
        for s in range(0, 120, 30):
            parts.partial_fit(X[s : s + 30], kind(Y[s : s + 30]))
        assert np.array_equal(parts.embedding_, whole.embedding_)
        assert np.array_equal(parts.coef_, whole.coef_)
        assert parts.classes_.tolist() == [0, 1]
        assert sp.issparse(parts.predict(X)) == sp.issparse(kind(Y))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_going_on_with_labels(kind):
    X, Y = label_data()
    fit = EmbeddingBagClassifier(warm_start=True, **QUICK).fit(X, kind(Y))
    step = fit._state.step
    assert fit.fit(X, kind(Y))._state.step == 2 * step
    before = learned(fit)
    with pytest.raises(ValueError, match="warm_start=True needs"):
        fit.fit(X, np.arange(60) % 4)
    for other in (kind(Y[:, :3]), np.arange(60) % 4, kind(2 * Y)):
        with pytest.raises(ValueError, match=r"label|column"):
            fit.partial_fit(X, other)
        assert learned(fit) == before
    one = EmbeddingBagClassifier(**QUICK).fit(X, np.arange(60) % 4)
    with pytest.raises(ValueError, match="several labels a row"):
        one.partial_fit(X, kind(Y))


# ---------------------------------------------------------------- probabilities
KINDS = {
    "binary": ("log_loss", 2),
    "several": ("log_loss", 4),
    "ova": ("ova", 4),
    "two classes, ova": ("ova", 2),
    "labels": ("log_loss", None),
    "auto": ("auto", 3),
    "instance": (LogLoss(), 3),
    "softmax": (Softmax(), 3),
}


def fit_kind(kind):
    loss, n_classes = KINDS[kind]
    X, Y = label_data()
    y = Y if n_classes is None else np.arange(60) % n_classes
    return EmbeddingBagClassifier(loss=loss, **QUICK).fit(X, y), X


def log_probabilities(kind, raw):
    """Of decision values, by formula."""
    loss, n_classes = KINDS[kind]
    if n_classes is None:
        return log_expit(raw)
    if n_classes == 2:
        return np.stack([log_expit(-raw), log_expit(raw)], axis=1)
    if loss == "ova" or isinstance(loss, LogLoss):
        each = log_expit(raw)
        return each - logsumexp(each, axis=1, keepdims=True)
    return log_softmax(raw, axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities(kind, scale):
    clf, X = fit_kind(kind)
    params = clf._state.params
    params["coef_0"] *= scale / np.abs(clf.decision_function(X)).max() * 20
    raw, log_p = clf.decision_function(X), clf.predict_log_proba(X)
    assert np.isfinite(log_p).all(), "no underflow"
    assert (log_p <= 0).all()
    np.testing.assert_allclose(log_p, log_probabilities(kind, raw), rtol=1e-12, atol=1e-300)
    p = clf.predict_proba(X)
    assert np.array_equal(p, np.exp(log_p))
    if scale > 1:
        assert log_p.min() < -1000
        assert (p == 0).any()
    if kind != "labels":
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert np.array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X)) or scale > 1


@pytest.mark.parametrize("loss", [*HINGES, Hinge(), SquaredHinge()])
def test_hinges_have_no_probabilities(loss):
    X, Y = label_data()
    clf = EmbeddingBagClassifier(loss=loss, **QUICK)
    for target in (None, np.arange(60) % 2, np.arange(60) % 3, Y):
        if target is not None:
            clf.fit(X, target)
            assert clf.predict(X).shape == target.shape
            assert clf.decision_function(X).shape[0] == 60
        for name in ("predict_proba", "predict_log_proba"):
            assert not hasattr(clf, name)
            with pytest.raises(AttributeError, match=name):
                getattr(clf, name)
    assert hasattr(clone(clf).set_params(loss="log_loss"), "predict_proba")
    assert not hasattr(EmbeddingBagClassifier(loss="no such loss"), "predict_proba")


# ---------------------------------------------------------------- the best k
@pytest.mark.parametrize("kind", ["binary", "several", "ova", "labels"])
@pytest.mark.parametrize("block", [1, 7, 50_000])
def test_best_k_equal_a_sort_of_all_scores(kind, block, monkeypatch):
    monkeypatch.setattr(_fitted, "BLOCK_ROWS", block)
    clf, X = fit_kind(kind)
    raw = clf.decision_function(X)
    raw = np.stack([-raw, raw], axis=1) if raw.ndim == 1 else raw
    for k in range(1, len(clf.classes_) + 1):
        labels, scores = clf.predict_top_k(X, k)
        order = np.argsort(-raw, axis=1, kind="stable")[:, :k]
        assert np.array_equal(labels, clf.classes_[order])
        assert np.array_equal(scores, np.take_along_axis(raw, order, axis=1))
        assert labels.shape == scores.shape == (60, k)
    if kind != "labels":
        assert np.array_equal(clf.predict_top_k(X, 1)[0][:, 0], clf.predict(X))


def test_best_of_names_and_of_equal_scores():
    X, _ = small_data()
    y = np.array(["pear", "apple", "fig"])[np.arange(60) % 3]
    clf = EmbeddingBagClassifier(**QUICK).fit(X, y)
    labels, _ = clf.predict_top_k(X, 2)
    assert labels.dtype == y.dtype
    clf._state.params["coef_0"][:] = 0
    clf._state.params["intercept_0"][:] = 1
    labels, scores = clf.predict_top_k(X, np.int64(2))
    assert labels.tolist() == [["apple", "fig"]] * 60
    assert (scores == 1).all()


@pytest.mark.parametrize("k", [0, 5, -1, 1.0, "2", None])
def test_wrong_k(k):
    clf, X = fit_kind("several")
    with pytest.raises(ValueError, match="k must be an integer from 1 to 4"):
        clf.predict_top_k(X, k)


def test_best_k_never_hold_all_scores(monkeypatch):
    monkeypatch.setattr(_fitted, "BLOCK_ROWS", 100)
    r = np.random.default_rng(0)
    X = sp.csr_array((np.ones(6_000), r.integers(0, 50, 6_000), np.arange(6_001)), (6_000, 50))
    clf = EmbeddingBagClassifier(2, max_iter=1, early_stopping=False, random_state=0)
    clf.fit(X, np.arange(6_000) % 300)
    clf.predict_top_k(X[:10], 2)
    tracemalloc.start()
    try:
        clf.predict_top_k(X, 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * 6_000 * 300 * 8


# ---------------------------------------------------------------- losses
def test_losses_come_by_name_or_instance():
    X, _ = small_data()
    counts = np.arange(60) % 5 + 0.5
    for name, loss in (("huber", Huber()), ("quantile", Quantile()), ("poisson", Poisson())):
        by_name = EmbeddingBagRegressor(loss=name, **QUICK).fit(X, counts)
        by_hand = EmbeddingBagRegressor(loss=loss, **QUICK).fit(X, counts)
        assert learned(by_name) == learned(by_hand)
    other = EmbeddingBagRegressor(loss=Huber(delta=0.1), **QUICK).fit(X, counts)
    assert learned(other) != learned(EmbeddingBagRegressor(loss="huber", **QUICK).fit(X, counts))
    search = EmbeddingBagRegressor(loss=Quantile()).set_params(loss__quantile=0.9)
    assert clone(search).loss.quantile == 0.9


@pytest.mark.parametrize(
    "estimator, message",
    [
        (EmbeddingBagClassifier(loss=Huber()), "for numbers"),
        (EmbeddingBagClassifier(loss="huber"), "'loss' parameter"),
        (EmbeddingBagClassifier(loss="softmax"), "'loss' parameter"),
        (EmbeddingBagClassifier(loss=Softmax()), "more than two classes"),
        (EmbeddingBagRegressor(loss=Hinge()), "for classes"),
        (EmbeddingBagRegressor(loss="log_loss"), "'loss' parameter"),
        (EmbeddingBagRegressor(loss=Huber), "'loss' parameter"),
        (EmbeddingBagRegressor(loss=Huber(delta=-1.0)), "'delta' parameter"),
        (EmbeddingBagRegressor(loss=Quantile(quantile=2)), "'quantile' parameter"),
        (EmbeddingBag(loss=Softmax()), "more than two classes"),
    ],
    ids=repr,
)
def test_losses_that_do_not_fit(estimator, message):
    X, y = small_data()
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y)
    known = {} if isinstance(estimator, EmbeddingBagRegressor) else {"classes": [0, 1]}
    with pytest.raises(ValueError, match=message):
        clone(estimator).partial_fit(X, y, **known)


def test_softmax_takes_one_label_a_row():
    X, Y = label_data()
    with pytest.raises(ValueError, match="one label a row"):
        EmbeddingBagClassifier(loss=Softmax(), **QUICK).fit(X, Y)


def test_poisson():
    r = np.random.default_rng(0)
    X = sp.csr_array((np.ones(1_000), r.integers(0, 5, 1_000), np.arange(1_001)), (1_000, 5))
    means = np.array([0.2, 1.0, 3.0, 9.0, 20.0])
    y = r.poisson(means[X.indices])
    fit = EmbeddingBagRegressor("auto", loss="poisson", random_state=0).fit(X, y)
    predicted = fit.predict(sp.eye_array(5, format="csr"))
    assert (predicted > 0).all()
    np.testing.assert_allclose(predicted, means, rtol=0.1, atol=0.25)
    assert (EmbeddingBagRegressor(loss="poisson", **QUICK).fit(X, y).predict(X) > 0).all()
    before = learned(fit)
    for bad in (y - 1.0, np.where(np.arange(1_000) == 5, -0.1, y)):
        for method in (fit.fit, fit.partial_fit):
            with pytest.raises(ValueError, match="out of the valid range"):
                method(X, bad)
        assert learned(fit) == before
    weight = (np.arange(1_000) != 5).astype(float)
    fit.fit(X, np.where(weight == 0, -1.0, y), weight)


def test_quantiles_cover_their_share():
    r = np.random.default_rng(0)
    X = sp.csr_array((np.ones(4_000), r.integers(0, 4, 4_000), np.arange(4_001)), (4_000, 4))
    y = X.indices + r.normal(size=4_000) * (1 + X.indices)
    for q in (0.1, 0.5, 0.9):
        fit = EmbeddingBagRegressor("auto", loss=Quantile(quantile=q), random_state=0).fit(X, y)
        below = y <= fit.predict(X)
        assert abs(below.mean() - q) < 0.02
        for j in range(4):
            assert abs(below[X.indices == j].mean() - q) < 0.06


def test_huber_shrugs_at_outliers():
    r = np.random.default_rng(0)
    X = sp.csr_array((np.ones(1_000), r.integers(0, 4, 1_000), np.arange(1_001)), (1_000, 4))
    y = X.indices + 0.1 * r.normal(size=1_000)
    y[r.random(1_000) < 0.1] = 60
    want, errors = np.arange(4.0), {}
    for loss in ("huber", SquaredError()):
        fit = EmbeddingBagRegressor("auto", loss=loss, random_state=0).fit(X, y)
        errors[str(loss)] = np.abs(fit.predict(sp.eye_array(4, format="csr")) - want).max()
    assert errors["huber"] < 0.5 < 2 < errors["SquaredError()"]


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile", "poisson"])
def test_losses_of_several_targets(loss):
    X, _ = small_data()
    Y = np.random.default_rng(0).random((60, 2)) + 0.1
    fit = EmbeddingBagRegressor(loss=loss, **QUICK)
    assert fit.fit(X, Y).predict(X).shape == (60, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        swapped = clone(fit).fit(X, Y[:, ::-1]).predict(X)
    np.testing.assert_allclose(swapped[:, ::-1], fit.predict(X), rtol=1e-9)
    alone = clone(fit).fit(X, Y[:, 0]).predict(X)
    assert np.corrcoef(alone, fit.predict(X)[:, 0])[0, 1] > 0.7
