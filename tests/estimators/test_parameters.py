"""Parameters of the estimators and fitted attributes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lines import rough_csr
from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def Xy():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rough_csr(rng, 150, 30, np.float64, rough=False))
    X.sum_duplicates()
    return X, rng.integers(0, 3, 150)


def quick(**params):
    return EmbeddingBagClassifier(**{"random_state": 0, "max_iter": 3, "n_components": 4, **params})


@pytest.mark.parametrize(
    "width, n_classes, want",
    [("auto", 2, 8), ("auto", 3, 6), ("half", 3, 15), ("fourth_root", 3, 2)],
)
def test_rules_for_the_width(Xy, width, n_classes, want):
    X, y = Xy
    est = quick(n_components=width).fit(X, np.minimum(y, n_classes - 1))
    assert len(est.active_features_) in (29, 30)
    assert est.n_components_ == want
    assert est.embedding_.shape == (30, want)
    assert est.transform(X).shape == (150, want)


def test_the_rules_are_bounded():
    X = sp.eye_array(300, format="csr")
    assert quick(n_components="auto").fit(X, np.arange(300) % 60).n_components_ == 64
    assert quick(n_components="half").fit(X, np.arange(300) % 2).n_components_ == 50
    one = sp.csr_array(np.ones((4, 1)))
    assert quick(n_components="fourth_root").fit(one, [0, 1, 0, 1]).n_components_ == 1
    assert quick(n_components="half").fit(one, [0, 1, 0, 1]).n_components_ == 1


def test_pooled_vectors_are_what_the_docstring_says(Xy):
    X, y = Xy
    D = X.toarray()
    norms = {"sum": 1.0, "mean": np.abs(D).sum(1), "sqrtn": np.sqrt((D**2).sum(1))}
    for pooling, norm in norms.items():
        est = quick(pooling=pooling).fit(X, y)
        norm = np.where(norm == 0, 1, norm)
        want = D @ est.embedding_ / np.reshape(norm, (-1, 1))
        np.testing.assert_allclose(est.transform(X), want, atol=1e-12)
        np.testing.assert_allclose(
            est.decision_function(X), want @ est.coef_.T + est.intercept_, atol=1e-12
        )


@pytest.mark.parametrize("kind", ["indices", "mask", "names"])
@pytest.mark.parametrize("parameter", ["padding_features", "frozen_features"])
def test_columns_can_be_named_in_three_ways(Xy, kind, parameter):
    X, y = Xy
    names = [f"f{j}" for j in range(30)]
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=names)
    columns = [3, 1, 3]
    mask = np.zeros(30, bool)
    mask[columns] = True
    given = {"indices": columns, "mask": mask, "names": ["f3", "f1"]}[kind]
    est = quick(**{parameter: given}).fit(frame, y)
    others = np.setdiff1d(np.arange(30), columns)
    assert (est.n_updates_[others] > 0).sum() >= 25
    assert not est.n_updates_[columns].any()
    assert (est.feature_counts_[columns] > 0).all()
    has_row = np.isin(columns, est.active_features_)
    assert has_row.all() if parameter == "frozen_features" else not has_row.any()


@pytest.mark.parametrize(
    "columns, message",
    [
        ([30], r"must lie in \[0, 30\)"),
        ([-1], r"must lie in \[0, 30\)"),
        ([[1]], "one-dimensional"),
        ([True, False], "mask of length 2"),
        (["a"], "X has none"),
        ([0.5], "column indices"),
    ],
)
def test_wrong_columns_are_refused(Xy, columns, message):
    for parameter in ("padding_features", "frozen_features"):
        with pytest.raises(ValueError, match=message):
            quick(**{parameter: columns}).fit(*Xy)


def test_unknown_names_are_listed(Xy):
    frame = pd.DataFrame({"a": [1.0, 2], "b": [1, 0]})
    with pytest.raises(ValueError, match=r"unknown feature names: \['c'\]"):
        quick(padding_features=["a", "c"]).fit(frame, [0, 1])


def test_empty_lists_of_columns(Xy):
    plain = quick().fit(*Xy)
    empty = quick(padding_features=[], frozen_features=np.array([], int)).fit(*Xy)
    assert np.array_equal(plain.embedding_, empty.embedding_)


def test_frozen_rows_keep_their_start_and_the_rest_learns(Xy):
    X, y = Xy
    start = np.random.default_rng(1).normal(size=(30, 4))
    est = quick(init=start, frozen_features=[0, 5], weight_decay=0.5, solver="lazy_adam").fit(X, y)
    assert np.array_equal(est.embedding_[[0, 5]], start[[0, 5]])
    others = np.setdiff1d(est.active_features_, [0, 5])
    assert (est.embedding_[others] != start[others]).all()
    everything = quick(init=start, frozen_features="all").fit(X, y)
    assert np.array_equal(everything.active_embedding_, start[everything.active_features_])
    assert everything.coef_.any()
    assert not everything.n_updates_.any()


def test_init_of_another_shape_or_not_finite_is_refused(Xy):
    with pytest.raises(
        ValueError, match=r"\(n_features, n_components\) = \(30, 4\), got \(30, 5\)"
    ):
        quick(init=np.zeros((30, 5))).fit(*Xy)
    with pytest.raises(ValueError, match="finite"):
        quick(init=np.full((30, 4), np.nan)).fit(*Xy)


def test_starts_differ_by_name_and_depend_on_the_seed(Xy):
    def start(**params):
        return quick(frozen_features="all", **params).fit(*Xy).active_embedding_

    uniform, normal = start(), start(init="normal")
    assert np.abs(uniform).max() <= 1 / 4 < np.abs(normal).max()
    assert np.isclose(uniform.std(), normal.std(), rtol=0.3)
    assert not np.array_equal(uniform, start(random_state=1))


def test_min_count_leaves_rare_features_out(Xy):
    X, y = Xy
    counts = quick().fit(X, y).feature_counts_
    assert counts.tolist() == np.bincount(X.indices, minlength=30).tolist()
    est = quick(min_count=10).fit(X, y)
    assert est.active_features_.tolist() == np.flatnonzero(counts >= 10).tolist()
    assert np.array_equal(est.feature_counts_, counts)
    assert not est.embedding_[counts < 10].any()


def test_weight_decay_shrinks_listed_rows_and_the_head_only(Xy):
    X, y = Xy
    far = sp.csr_array(sp.hstack([X, np.eye(150, 1)]))
    plain = quick(max_iter=20, solver="sgd", learning_rate_init=0.1, tol=0).fit(far, y)
    decayed = clone(plain).set_params(weight_decay=2.0).fit(far, y)
    assert np.linalg.norm(decayed.embedding_) < 0.5 * np.linalg.norm(plain.embedding_)
    once = quick(max_iter=1, batch_size=1, shuffle=False, solver="sgd", learning_rate_init=0.1,
                 weight_decay=2.0).fit(far, y)  # fmt: skip
    # the last column stands in row 0 only; its first step has a gradient of zero (the head is zero)
    start = clone(once).set_params(frozen_features="all").fit(far, y).embedding_[30]
    np.testing.assert_allclose(once.embedding_[30], start * (1 - 0.1 * 2.0))


def test_learning_rates(Xy):
    for name, cls in SOLVERS.items():
        assert quick(solver=name).fit(*Xy).learning_rate_init_ == cls.default_learning_rate
    assert quick(learning_rate_init=0.25).fit(*Xy).learning_rate_init_ == 0.25


def test_automatic_batches(Xy):
    X, y = Xy
    one = quick(max_iter=1).fit(X[:64], y[:64])
    assert one._state.step == 1
    assert quick(max_iter=1).fit(X, y)._state.step == 3  # 150 rows in batches of 64
    many = sp.csr_array(sp.vstack([X] * 200))
    y_many = np.tile(y, 200)
    assert quick(max_iter=1).fit(many, y_many)._state.step == -(-30_000 // (30_000 // 128))
    partial = quick().partial_fit(many[:512], y_many[:512], classes=[0, 1, 2])
    assert partial._state.step == 2


def test_balanced_class_weights_and_sample_weights_multiply(Xy):
    X, y = Xy
    y = np.minimum(y, 1)
    weight = np.random.default_rng(0).random(150)
    share = np.array([weight[y == c].sum() for c in (0, 1)])
    by_hand = weight * (weight.sum() / (2 * share))[y]
    settings = dict(max_iter=20, batch_size=150)
    balanced = quick(class_weight="balanced", **settings).fit(X, y, sample_weight=weight)
    manual = quick(**settings).fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(balanced.embedding_, manual.embedding_, rtol=1e-7, atol=1e-9)
    as_dict = quick(class_weight={0: 2.0, 1: 1.0}, **settings).fit(X, y)
    doubled = quick(**settings).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_array_equal(as_dict.embedding_, doubled.embedding_)


def test_intercepts_start_at_the_prior():
    X = sp.csr_array((100, 3))  # nothing but the intercept to learn from
    y = np.repeat([0, 1], [80, 20])
    est = EmbeddingBagClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X)[0], [0.8, 0.2], atol=0.01)
    assert est.loss_curve_[0] - est.loss_curve_[-1] < 1e-4


def test_regressor_shapes_follow_y(Xy):
    X, _ = Xy
    y = np.random.default_rng(0).normal(size=(150, 2))
    settings = dict(random_state=0, max_iter=2)
    for target, shape in ((y[:, 0], (150,)), (y[:, :1], (150, 1)), (y, (150, 2))):
        est = EmbeddingBagRegressor(**settings).fit(X, target)
        assert est.predict(X).shape == shape
        assert est.coef_.shape == (est.intercept_.size, 64)


def test_the_transformer_reads_the_task_from_y(Xy):
    X, y = Xy
    settings = dict(random_state=0, max_iter=2, n_components=3)
    assert EmbeddingBag(**settings).fit(X, y).coef_.shape == (3, 3)
    assert EmbeddingBag(**settings).fit(X, y + 0.5).coef_.shape == (1, 3)
    assert EmbeddingBag(loss="squared_error", **settings).fit(X, y).coef_.shape == (1, 3)
    bag = EmbeddingBag(**settings).fit(X, y)
    clf = EmbeddingBagClassifier(**settings).fit(X, y)
    assert np.array_equal(bag.transform(X), clf.transform(X))
    names = bag.get_feature_names_out()
    assert names.tolist() == ["embeddingbag0", "embeddingbag1", "embeddingbag2"]


def test_float32_in_float32_out(Xy):
    X, y = Xy
    for dtype in (np.float32, np.float64):
        est = quick().fit(X.astype(dtype), y)
        for array in (est.embedding_, est.coef_, est.transform(X), est.predict_proba(X)):
            assert array.dtype == dtype
    assert quick().fit((X != 0).astype(np.int64), y).embedding_.dtype == np.float64
