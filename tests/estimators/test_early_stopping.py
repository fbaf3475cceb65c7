"""Rows held out: which, what is scored on them, what is kept, and training again on all rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from fitted import ESTIMATORS, learned, small_data
from skembed import EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.estimators._split import split_rows
from skembed.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=6, batch_size=16, random_state=0, early_stopping=True)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def noisy_data(n=300, seed=0, n_classes=2):
    """Rows of rare features and labels of much noise: a model soon learns them by heart."""
    r = np.random.default_rng(seed)
    X = sp.csr_array((r.random((n, 150)) < 0.05).astype(float))
    signal = X[:, :10].sum(axis=1) + r.normal(size=n)
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def model_of(fit):
    """What a fit has learned, without the record of its epochs."""
    return {name: value for name, value in learned(fit).items() if "curve" not in name}


def split_of(fit, y, rows=None, fraction=0.1):
    """The rows that a fit trains on and those that it holds out."""
    rows = np.arange(len(y)) if rows is None else rows
    classes = y[rows] if isinstance(fit, EmbeddingBagClassifier) else None
    return split_rows(rows, fraction, fit._state.seed, classes)


# ---------------------------------------------------------------- the split
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.floats(0.01, 0.4),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=200)
def test_split_is_disjoint_whole_and_in_equal_shares(sizes, fraction, seed):
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    rows = np.sort(rng.permutation(10 * len(classes))[: len(classes)])
    if len(rows) < 2:
        with pytest.raises(ValueError, match="at least 2"):
            split_rows(rows, fraction, seed, classes)
        return
    train, out = split_rows(rows, fraction, seed, classes)
    assert np.array_equal(np.sort(np.concatenate([train, out])), rows)
    assert (np.diff(train) > 0).all()
    assert (np.diff(out) > 0).all()
    again = split_rows(rows, fraction, seed, classes)
    assert all(np.array_equal(a, b) for a, b in zip(again, (train, out), strict=True))
    n_out = int(np.ceil(fraction * len(rows)))
    of_class = dict(zip(rows.tolist(), classes.tolist(), strict=True))
    held = np.bincount([of_class[i] // 3 for i in out], minlength=len(sizes))
    wanted = np.array(sizes) * n_out / len(rows)
    assert (np.abs(held - wanted) < 1)[np.array(sizes) > 1].all()
    assert not held[np.array(sizes) == 1].any()
    if min(sizes) > 1:
        assert len(out) == n_out
        assert all(np.array_equal(a, b) for a, b in zip(
            split_rows(rows, fraction, seed, classes, strict=True), (train, out), strict=True
        ))  # fmt: skip
    else:
        with pytest.raises(ValueError, match="one row only"):
            split_rows(rows, fraction, seed, classes, strict=True)


@given(st.integers(2, 200), st.floats(0.001, 0.999), st.integers(0, 2**31 - 1))
def test_split_without_classes(n, fraction, seed):
    rows = np.arange(n) + 7
    train, out = split_rows(rows, fraction, seed)
    assert len(out) == min(int(np.ceil(fraction * n)), n - 1)
    assert np.array_equal(np.sort(np.concatenate([train, out])), rows)


def test_split_depends_on_the_seed_and_shuffles_the_order():
    rows, classes = np.arange(100), np.repeat([0, 1], 50)
    splits = {tuple(split_rows(rows, 0.1, seed, classes)[1]) for seed in range(20)}
    assert len(splits) == 20
    assert len({i for out in splits for i in out}) > 80
    assert len({tuple(split_rows(rows, 0.1, seed)[1]) for seed in range(20)}) == 20


def test_rare_class_is_named_where_it_cannot_be_split():
    X, _ = small_data()
    y = np.where(np.arange(60) == 7, "rare", "many")
    clf = EmbeddingBagClassifier(**QUICK)
    with pytest.raises(ValueError, match=r"'?rare'?.* one row"):
        clf.fit(X, y)
    X, _ = small_data(260)
    y = np.where(np.arange(260) == 7, "rare", "many")
    fit = EmbeddingBagClassifier(**QUICK | dict(early_stopping="auto")).fit(X, y)
    assert len(fit.validation_scores_) == fit.n_iter_
    counts = EmbeddingBagClassifier(**QUICK | dict(early_stopping=False)).fit(X, y).feature_counts_
    own = (X[[7]].toarray()[0] != 0) & (fit.feature_counts_ > 0)
    assert own.any()
    assert (counts >= fit.feature_counts_).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_as_many_classes_as_rows():
    X, _ = small_data(250)
    fit = EmbeddingBagClassifier(**QUICK | dict(early_stopping="auto")).fit(X, np.arange(250))
    assert len(fit.classes_) == 250


def test_one_row_cannot_be_split():
    X, y = small_data()
    with pytest.raises(ValueError, match="at least 2 of positive weight, got 1"):
        EmbeddingBagRegressor(**QUICK).fit(X[:1], y[:1].astype(float))


# ---------------------------------------------------------------- when
@every_estimator
def test_auto_begins_at_200_rows_of_positive_weight(cls):
    X, y = small_data(260)
    weight = np.ones(260)
    weight[200:] = 0
    fit = cls(**QUICK | dict(early_stopping="auto"))
    assert len(fit.fit(X[:200], y[:200]).validation_scores_) == fit.n_iter_
    assert fit.fit(X[:199], y[:199]).validation_scores_ == []
    assert not hasattr(fit, "best_validation_score_")
    assert fit.best_n_iter_ == fit.n_iter_
    assert fit.fit(X, y, weight).validation_scores_
    weight[0] = 0
    assert fit.fit(X, y, weight).validation_scores_ == []


@every_estimator
def test_partial_fit_does_not_stop_early(cls):
    X, y = small_data(300)
    known = {"classes": [0, 1]} if cls is EmbeddingBagClassifier else {}
    fit = cls(**QUICK | dict(early_stopping="auto")).partial_fit(X, y, **known)
    assert fit.feature_counts_.tolist() == np.bincount(X.indices, minlength=12).tolist()
    assert fit._state.step == -(-300 // 16)
    before = learned(fit)
    with pytest.raises(ValueError, match="does not stop early"):
        fit.set_params(early_stopping=True).partial_fit(X, y)
    assert learned(fit) == before


# ---------------------------------------------------------------- what is kept
@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("options", [{}, dict(hidden_layer_sizes=(4,)), dict(pooling="max")])
def test_the_best_epoch_comes_back_whole(solver, options):
    X, y = noisy_data()
    X_val, y_val = noisy_data(100, seed=1)
    rate = 5.0 if solver == "sgd" else 0.3
    options = QUICK | options | dict(solver=solver, learning_rate_init=rate)
    fit = EmbeddingBagClassifier(**options | dict(max_iter=40)).fit(X, y, X_val=X_val, y_val=y_val)
    assert 0 < fit.best_n_iter_ < fit.n_iter_
    short = options | dict(max_iter=fit.best_n_iter_, early_stopping=False)
    plain = EmbeddingBagClassifier(**short).fit(X, y)
    assert model_of(fit) == model_of(plain), "parameters, solver's state, counters"
    assert fit._state.step == fit.best_n_iter_ * -(-300 // 16)
    assert fit.loss_curve_[: fit.best_n_iter_] == plain.loss_curve_
    for est in (fit, plain):
        est.set_params(early_stopping=False).partial_fit(X, y)
    assert model_of(fit) == model_of(plain)


@every_estimator
def test_records_agree(cls):
    X, y = noisy_data()
    fit = cls(**QUICK | dict(max_iter=30, n_iter_no_change=3)).fit(X, y)
    scores = fit.validation_scores_
    assert len(scores) == len(fit.loss_curve_) == fit.n_iter_ < 30
    assert fit.best_validation_score_ == max(scores)
    assert fit.best_n_iter_ == 1 + int(np.argmax(scores))
    assert max(scores[-3:]) <= max(scores[:-3]) + 1e-4, "stops after three epochs without progress"


def test_held_out_rows_are_not_trained_on():
    X, y = noisy_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    train, out = split_of(fit, y)
    assert len(out) == 30
    given = EmbeddingBagClassifier(**QUICK).fit(X[train], y[train], X_val=X[out], y_val=y[out])
    np.testing.assert_allclose(given.validation_scores_[0], fit.validation_scores_[0], atol=0.2)
    mark = sp.csr_array(np.isin(np.arange(300), out)[:, None].astype(float))
    marked = EmbeddingBagClassifier(**QUICK).fit(sp.csr_array(sp.hstack([X, mark])), y)
    assert marked.feature_counts_[:150].tolist() == (X[train] != 0).sum(axis=0).tolist()
    assert marked.feature_counts_[150] == 0
    assert 150 not in marked.active_features_
    assert np.array_equal(marked.embedding_[:150], fit.embedding_)
    assert not marked.embedding_[150].any()


def test_rows_without_weight_are_neither_trained_on_nor_scored():
    X, y = noisy_data(400)
    weight = np.repeat([1.0, 0.0], 200)
    y_broken = np.where(weight > 0, y, 1 - y)
    seen = []

    def scorer(est, X, y, sample_weight):
        seen.append((X, y, sample_weight))
        return float(len(seen))

    options = QUICK | dict(scoring=scorer)
    fit = EmbeddingBagClassifier(**options).fit(X, y_broken, weight)
    alone = EmbeddingBagClassifier(**QUICK | dict(scoring=None)).fit(X[:200], y[:200])
    assert len(seen) == fit.n_iter_ == 6
    _, out = split_of(fit, y, np.arange(200))
    X_seen, y_seen, weight_seen = seen[0]
    assert np.array_equal(X_seen.toarray(), X[out].toarray())
    assert np.array_equal(y_seen, y[out])
    assert (weight_seen == 1).all()
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y_broken, weight)
    assert learned(plain) == learned(alone)
    assert plain.validation_scores_ == alone.validation_scores_


# ---------------------------------------------------------------- the score
def test_default_scores():
    X, y = noisy_data()
    _, many = noisy_data(n_classes=4)
    numbers = X[:, :10].sum(axis=1)
    cases = [
        (EmbeddingBagClassifier, y, "neg_log_loss", 1.0),
        (EmbeddingBagClassifier, many, "accuracy", 1.0),
        (EmbeddingBagRegressor, numbers, "neg_mean_squared_error", 0.5),
    ]
    for cls, targets, name, factor in cases:
        weight = np.random.default_rng(0).integers(1, 5, 300).astype(float)
        for w in (None, weight):
            default = cls(**QUICK).fit(X, targets, w)
            named = cls(scoring=name, **QUICK).fit(X, targets, w)
            np.testing.assert_allclose(
                default.validation_scores_, factor * np.array(named.validation_scores_), rtol=1e-7
            )
            assert model_of(default) == model_of(named)


def test_default_score_of_labels_is_the_precision_of_the_best():
    X, y = noisy_data()
    Y = np.stack([y, 1 - y, y * (np.arange(300) % 2)], axis=1)
    for truth in (Y, sp.csr_array(Y)):
        fit = EmbeddingBagClassifier(**QUICK).fit(X, truth, X_val=X[:50], y_val=truth[:50])
        best = fit.decision_function(X[:50]).argmax(axis=1)
        np.testing.assert_allclose(fit.best_validation_score_, Y[np.arange(50), best].mean())


def test_a_callable_gets_a_fitted_copy_and_the_rows_held_out():
    X, y = noisy_data()
    calls = []

    def scorer(est, X_out, y_out):
        calls.append((est, X_out, y_out, est.predict_proba(X_out)))
        return -log_loss(y_out, calls[-1][3])

    fit = EmbeddingBagClassifier(scoring=scorer, **QUICK).fit(X, y)
    _, out = split_of(fit, y)
    assert len(calls) == fit.n_iter_
    for est, X_out, y_out, _ in calls:
        assert est is not fit
        assert isinstance(est, EmbeddingBagClassifier)
        assert np.array_equal(X_out.toarray(), X[out].toarray())
        assert np.array_equal(y_out, y[out])
    assert not np.array_equal(calls[0][3], calls[1][3])
    np.testing.assert_array_equal(calls[fit.best_n_iter_ - 1][3], fit.predict_proba(X[out]))
    np.testing.assert_allclose(
        fit.validation_scores_, EmbeddingBagClassifier(**QUICK).fit(X, y).validation_scores_
    )


@pytest.mark.parametrize("kind", ["coo", "csc", "lil", "dok", "bsr", "dia", "dense", "list"])
def test_scorers_take_every_container(kind):
    X, y = small_data()
    want = EmbeddingBagClassifier(scoring="accuracy", **QUICK).fit(X, y).validation_scores_
    dense = X.toarray()
    other = {"dense": dense, "list": dense.tolist()}.get(kind)
    other = X.asformat(kind) if other is None else other
    fit = EmbeddingBagClassifier(scoring="accuracy", **QUICK).fit(other, y)
    assert fit.validation_scores_ == want


def test_a_number_for_all_weights_and_a_scorer():
    X, y = noisy_data(60)
    want = EmbeddingBagClassifier(scoring="accuracy", **QUICK).fit(X, y)
    fit = EmbeddingBagClassifier(scoring="accuracy", **QUICK).fit(X, y, sample_weight=2.0)
    assert fit.validation_scores_ == want.validation_scores_


def test_weights_of_the_rows_held_out_count_where_the_others_are_alike():
    X, y = noisy_data()
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y)
    weight = np.ones(300)
    weight[split_of(plain, y)[1][:10]] = 50
    default = EmbeddingBagClassifier(**QUICK).fit(X, y, weight)
    named = EmbeddingBagClassifier(scoring="neg_log_loss", **QUICK).fit(X, y, weight)
    assert named.validation_scores_ != plain.validation_scores_
    np.testing.assert_allclose(default.validation_scores_, named.validation_scores_, rtol=1e-7)


# ---------------------------------------------------------------- rows given to score
@every_estimator
def test_given_rows_are_scored_and_no_others_held_out(cls):
    X, y = noisy_data()
    X_val, y_val = noisy_data(80, seed=1)
    for stopping in ("auto", True):
        fit = cls(**QUICK | dict(early_stopping=stopping)).fit(X, y, X_val=X_val, y_val=y_val)
        assert fit.feature_counts_.tolist() == (X != 0).sum(axis=0).tolist()
        assert len(fit.validation_scores_) == fit.n_iter_
    few = cls(**QUICK | dict(early_stopping="auto")).fit(X[:50], y[:50], X_val=X, y_val=y)
    assert len(few.validation_scores_) == few.n_iter_


def test_given_rows_have_weights():
    X, y = noisy_data()
    X_val, y_val = noisy_data(80, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, 80)
    given = dict(X_val=X_val, y_val=y_val, sample_weight_val=weight)
    weighted = EmbeddingBagClassifier(**QUICK).fit(X, y, **given)
    at = np.repeat(np.arange(80), weight)
    repeated = EmbeddingBagClassifier(**QUICK).fit(X, y, X_val=X_val[at], y_val=y_val[at])
    np.testing.assert_allclose(weighted.validation_scores_, repeated.validation_scores_)
    named = EmbeddingBagClassifier(scoring="neg_log_loss", **QUICK).fit(X, y, **given)
    np.testing.assert_allclose(weighted.validation_scores_, named.validation_scores_)
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y, X_val=X_val, y_val=y_val)
    assert plain.validation_scores_ != weighted.validation_scores_


X_OUT, Y_OUT = noisy_data(40, seed=1)
BOTH = dict(X_val=X_OUT, y_val=Y_OUT)
INCONSISTENT = {
    "not asked for": (dict(early_stopping=False), BOTH, "early_stopping=False"),
    "refit": (dict(refit=True), BOTH, "refit=True"),
    "no targets": ({}, dict(X_val=X_OUT), "y_val|requires y"),
    "no targets to score": (dict(scoring="accuracy"), dict(X_val=X_OUT), "y_val|requires y"),
    "targets only": ({}, dict(y_val=Y_OUT), "X_val"),
    "weights only": ({}, dict(sample_weight_val=np.ones(40)), "X_val"),
    "fewer columns": ({}, BOTH | dict(X_val=X_OUT[:, :9]), "9 features.*expecting 150"),
    "fewer targets": ({}, BOTH | dict(y_val=Y_OUT[:9]), r"numbers of samples: \[40, 9\]"),
    "other labels": ({}, BOTH | dict(y_val=Y_OUT + 7), "not among the classes"),
    "no weight": ({}, BOTH | dict(sample_weight_val=np.zeros(40)), "[Ww]eight"),
    "no rows": ({}, dict(X_val=X_OUT[:0], y_val=Y_OUT[:0]), r"0 sample\(s\)"),
    "unknown score": (dict(scoring="accurate"), {}, "'scoring' parameter"),
    "all rows": (dict(validation_fraction=1.0), {}, "'validation_fraction' parameter"),
    "neither nor": (dict(early_stopping="yes"), {}, "'early_stopping' parameter"),
}


@pytest.mark.parametrize("case", INCONSISTENT)
def test_inconsistent_arguments(case):
    (params, given, message), (X, y) = INCONSISTENT[case], noisy_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    before = pickle.dumps(fit._state)
    with pytest.raises(ValueError, match=message):
        fit.set_params(**params).fit(X, y, **given)
    assert pickle.dumps(fit._state) == before
