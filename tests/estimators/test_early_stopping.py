"""Rows held out: which, what is scored on them, what is kept, and training again on all rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import log_loss

from fitted import (
    BAGS,
    ESTIMATORS,
    known_classes,
    learned,
    predictions,
    small_data,
    split_of,
)
from skembed import EmbeddingBagClassifier, EmbeddingBagRegressor
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
    with pytest.raises(ValueError, match=r"^Holding rows out needs .* 2 rows, got 1 sample\.$"):
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
    known = known_classes(cls)
    fit = cls(**QUICK | dict(early_stopping="auto")).partial_fit(X, y, **known)
    assert fit.feature_counts_.tolist() == np.bincount(X.indices, minlength=12).tolist()
    assert fit._state.step == -(-300 // 16)
    before = learned(fit)
    fit.set_params(early_stopping=True)
    assert not hasattr(fit, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        fit.partial_fit(X, y)
    assert "does not stop early" in str(caught.value.__cause__)
    assert learned(fit) == before
    assert not hasattr(cls(early_stopping=True), "partial_fit")
    for other in ("auto", False):
        assert hasattr(cls(early_stopping=other), "partial_fit")
        assert hasattr(fit.set_params(early_stopping=other), "partial_fit")


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
    X = sp.csr_array(sp.hstack([X, sp.eye_array(300)]))  # each row has a feature of its own
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    train, out = split_of(fit, X, y)
    assert len(out) == 30
    given = EmbeddingBagClassifier(**QUICK).fit(X[train], y[train], X_val=X[out], y_val=y[out])
    np.testing.assert_allclose(given.validation_scores_[0], fit.validation_scores_[0], atol=0.2)
    assert fit.feature_counts_.tolist() == (X[train] != 0).sum(axis=0).tolist()
    assert fit.feature_counts_[150 + out].tolist() == [0] * 30
    assert not np.isin(150 + out, fit.active_features_).any()
    assert np.isin(150 + train, fit.active_features_).all()
    assert not fit.embedding_[150 + out].any()


def test_targets_of_the_rows_held_out_teach_nothing():
    X, y = noisy_data()
    options = QUICK | dict(scoring=lambda est, X, y: float(est.n_iter_))
    fit = EmbeddingBagRegressor(**options).fit(X, y)
    train, out = split_of(fit, X, y)
    other = y.astype(float)
    other[out] += 100
    assert learned(EmbeddingBagRegressor(**options).fit(X, other)) == learned(fit)
    other = y.astype(float)
    other[train[0]] += 100
    assert learned(EmbeddingBagRegressor(**options).fit(X, other)) != learned(fit)


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
    _, out = split_of(fit, X, y_broken, np.arange(200))
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
    _, out = split_of(fit, X, y)
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

    def scores(scoring, **options):
        fit = EmbeddingBagClassifier(scoring=scoring, **QUICK).fit(X, y, **options)
        return fit.validation_scores_

    for scoring in ("accuracy", "neg_log_loss", None):
        plain = scores(scoring)
        for number in (1.0, 0.5, 2.5, 2.0, 10.0, np.full(60, 3.0)):
            got = scores(scoring, sample_weight=number)
            np.testing.assert_allclose(got, plain, rtol=0.05)  # the intercept starts elsewhere
            assert len(got) == len(plain)


def test_weights_of_the_rows_held_out_count_where_the_others_are_alike():
    X, y = noisy_data()
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y)
    for heavy in (50.5, 50.0):
        weight = np.ones(300)
        weight[split_of(plain, X, y)[1][:10]] = heavy
        default = EmbeddingBagClassifier(**QUICK).fit(X, y, weight)
        named = EmbeddingBagClassifier(scoring="neg_log_loss", **QUICK).fit(X, y, weight)
        if heavy == 50.5:  # the same split: its rows to train on are alike
            assert default.loss_curve_ == plain.loss_curve_
        assert named.validation_scores_ != plain.validation_scores_
        np.testing.assert_allclose(default.validation_scores_, named.validation_scores_, rtol=1e-7)


# ---------------------------------------------------------------- weights are repetition
ONE_BATCH = QUICK | dict(batch_size=10_000, validation_fraction=0.25, max_iter=8)


def assert_alike(fit, other, X):
    """Assert that two fits have the same record and predict the same."""
    assert fit.best_n_iter_ == other.best_n_iter_
    for name in ("validation_scores_", "loss_curve_"):
        np.testing.assert_allclose(getattr(fit, name), getattr(other, name), rtol=1e-9, atol=1e-9)
    for (name, ours), (_, theirs) in zip(predictions(fit, X), predictions(other, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


def repeated_data(seed, n_classes=2, high=5):
    """Rows, targets and integer weights below 5, some of them zero."""
    X, y = noisy_data(80, seed, n_classes)
    return X, y, np.random.default_rng(seed).integers(0, high, 80).astype(float)


@every_estimator
@pytest.mark.parametrize("options", [
    {}, dict(refit=True), dict(scoring="score"), dict(solver="ftrl"), dict(min_count=1),
    dict(pooling="max"), dict(hidden_layer_sizes=(3,)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_integer_weights_are_repetition(cls, options, seed):
    if cls not in BAGS and {"pooling", "hidden_layer_sizes"} & set(options):
        options = dict(normalize_rows=False)
    n_classes = 2 if issubclass(cls, RegressorMixin) else 2 + seed
    X, y, weight = repeated_data(seed, n_classes)
    if "scoring" in options:

        def scorer(est, X, y, sample_weight=None):
            if not hasattr(est, "score"):
                return -float(np.average((est.transform(X) ** 2).sum(axis=1), 0, sample_weight))
            return est.score(X, y, sample_weight)

        options = dict(scoring=scorer)
    options = ONE_BATCH | options
    weighted = cls(**options).fit(X, y, weight)
    assert weighted.validation_scores_
    at = np.repeat(np.arange(len(y)), weight.astype(int))
    assert_alike(weighted, cls(**options).fit(X[at], y[at]), X)
    at = np.random.default_rng(seed).permutation(at)
    assert_alike(weighted, cls(**options).fit(X[at], y[at]), X)
    at = np.random.default_rng(seed).permutation(len(y))
    assert_alike(weighted, cls(**options).fit(X[at], y[at], weight[at]), X)


@every_estimator
@given(st.integers(0, 2**31 - 1), st.floats(0.01, 0.9), st.integers(2, 5))
@settings(max_examples=15)
def test_any_integer_weights_are_repetition(cls, seed, fraction, high):
    X, y, weight = repeated_data(seed, high=high)
    options = ONE_BATCH | dict(validation_fraction=fraction, max_iter=3)
    at = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted, repeated = cls(**options).fit(X, y, weight), cls(**options).fit(X[at], y[at])
    assert_alike(weighted, repeated, X)


@every_estimator
@pytest.mark.parametrize("whole", [True, False])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(cls, whole):
    X, y, weight = repeated_data(7)
    weight *= 1 if whole else 0.7
    assert 0 < (weight == 0).sum() < len(y)
    y = np.where(weight > 0, y, 1 - y)
    some = weight > 0
    weighted = cls(**QUICK).fit(X, y, weight)
    assert weighted.validation_scores_
    alone = cls(**QUICK).fit(X[some], y[some], weight[some])
    assert learned(weighted) == learned(alone)
    assert weighted.validation_scores_ == alone.validation_scores_


def test_rows_are_held_out_whole_whatever_they_weigh():
    X, y = noisy_data(80)
    seen = []

    def scorer(est, X, y, sample_weight):
        seen.append((X.toarray(), y, sample_weight))
        return 0.0

    weight = np.random.default_rng(0).choice([1.0, 10.0, 100.0], 80)
    options = ONE_BATCH | dict(scoring=scorer, max_iter=1)
    fit = EmbeddingBagClassifier(**options).fit(X, y, weight)
    ((X_out, y_out, w_out),) = seen
    assert len(w_out) == 20
    dense = X.toarray()
    own = [int(np.flatnonzero((dense == row).all(axis=1))[0]) for row in X_out]
    assert len(np.unique(dense, axis=0)) == 80, "rows are known by their values"
    assert np.array_equal(y[own], y_out)
    assert np.array_equal(weight[own], w_out)
    kept = weight.copy()
    kept[own] = 0
    assert fit.feature_counts_.tolist() == (X[kept > 0] != 0).sum(axis=0).tolist()
    plain = EmbeddingBagClassifier(**ONE_BATCH | dict(early_stopping=False, max_iter=1))
    assert model_of(plain.fit(X, y, kept)) == model_of(fit)


def test_targets_decide_among_rows_alike():
    """Rows of equal X and other targets, in any order: the same split, weighted or repeated."""
    r = np.random.default_rng(0)
    X = sp.csr_array(np.repeat(np.eye(3), 8, axis=0))
    order = r.permutation(24)
    for y in (r.normal(size=24), r.normal(size=(24, 2))):
        fit = EmbeddingBagRegressor(**ONE_BATCH).fit(X, y)
        assert_alike(fit, EmbeddingBagRegressor(**ONE_BATCH).fit(X[order], y[order]), X)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 2.5}, {0: 1, 1: 3}])
def test_integer_weights_are_repetition_with_class_weights(class_weight):
    X, y, weight = repeated_data(1)
    y = np.where(np.arange(len(y)) % 3 == 0, y, 0)
    options = ONE_BATCH | dict(class_weight=class_weight)
    at = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = EmbeddingBagClassifier(**options).fit(X, y, weight)
    assert_alike(weighted, EmbeddingBagClassifier(**options).fit(X[at], y[at]), X)


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 7}, {0: 1, 1: 7.5}])
@pytest.mark.parametrize("given", [True, False])
def test_scorers_get_sample_weights_without_class_weights(class_weight, given):
    X, y = noisy_data()
    X_val, y_val = noisy_data(80, seed=1)
    seen = []

    def scorer(est, X, y, sample_weight):
        seen.append(sample_weight)
        return 0.0

    clf = EmbeddingBagClassifier(scoring=scorer, class_weight=class_weight, **QUICK)
    more = dict(X_val=X_val, y_val=y_val, sample_weight_val=np.full(80, 0.5)) if given else {}
    clf.fit(X, y, np.full(300, 0.5), **more)
    assert set(seen[0].tolist()) == {0.5}


@pytest.mark.parametrize("size", [1e12, 1e18, 1e30])
def test_large_integer_weights(size):
    X, y = noisy_data(60)
    fit = EmbeddingBagClassifier(**ONE_BATCH).fit(X, y, np.full(60, size))
    assert len(fit.validation_scores_) == fit.n_iter_
    assert np.isfinite(fit.validation_scores_).all()
    plain = EmbeddingBagClassifier(**ONE_BATCH | dict(early_stopping=False))
    assert np.isfinite(plain.fit(X, y, np.full(60, size)).loss_curve_).all()


@every_estimator
def test_a_boolean_of_numpy_stops_early(cls):
    assert not hasattr(cls(early_stopping=np.True_), "partial_fit")
    if issubclass(cls, ClassifierMixin):
        X, _ = small_data()
        with pytest.raises(ValueError, match="one row only"):
            cls(early_stopping=np.True_).fit(X, np.arange(60) == 7)


def test_zeros_that_are_stored_and_the_container_do_not_change_the_split():
    X, y = small_data()
    want = EmbeddingBagClassifier(**QUICK).fit(X, y)
    coo = X.tocoo()
    r = np.random.default_rng(0)
    rows, columns = np.nonzero(X.toarray() == 0)
    zeros = r.choice([0.0, -0.0], len(rows))
    row, column = np.append(coo.row, rows), np.append(coo.col, columns)
    order = r.permutation(len(row))
    data = np.append(coo.data, zeros)[order]
    full = sp.coo_array((data, (row[order], column[order])), X.shape).tocsr()
    assert full.nnz == 60 * 12
    assert learned(EmbeddingBagClassifier(**QUICK).fit(full, y)) == learned(want)


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
