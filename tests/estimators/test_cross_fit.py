"""Pooled vectors of training rows from tables that have not seen the row."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import reference
from fitted import learned, small_data, split_of
from skembed import EmbeddingBag, TruncatedSVD
from skembed.core import SHUFFLE, stream
from skembed.solvers import SGD, SOLVERS, Adagrad

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
SLOW = {"adagrad": dict(start=(0.0064 / 16) ** 2), "sgd": {}}


def slow_table(bag, X, y, rows, start, **solver):
    """The table that training on some rows under the head of `bag` gives, in plain NumPy."""
    coef, intercept = bag.coef_, bag.intercept_
    active = np.zeros(X.shape[1], bool)
    active[X[rows].indices] = True
    table = np.where(active[:, None], start, 0.0)
    name = bag.solver if isinstance(bag.solver, str) else "sgd"
    rule = reference.ReferenceSolver(
        name, bag.learning_rate_init_, weight_decay=bag.weight_decay, **SLOW[name], **solver
    )
    none, t = np.zeros(X.shape[1], bool), 0
    for epoch in range(bag.best_n_iter_):
        order = stream(bag._state.seed, SHUFFLE, epoch).permutation(rows)
        for s in range(0, len(order), 16):
            _, (slope, *_), counts = reference.gradients(
                (table, coef, intercept), X, order[s : s + 16], y, np.ones(len(y)),
                pooling=bag.pooling, loss="log_loss", active=active, frozen=none,
            )  # fmt: skip
            t += 1
            rule.step("table", table, slope, counts > 0, t, trainable=active)
    return table, active


def pooled(X, table, active):
    known = X @ sp.diags_array(active.astype(float))
    norm = np.sqrt(known.multiply(known).sum(axis=1))
    return (known @ table) / np.where(norm > 0, norm, 1)[:, None]


@pytest.mark.parametrize("solver", ["adagrad", "sgd"])
def test_equals_plain_numpy(solver):
    X, y = small_data(90)
    start = np.random.default_rng(3).normal(size=(12, 3))
    bag = EmbeddingBag(cv=KFold(3), init=start, solver=solver, weight_decay=0.1, **QUICK)
    got = bag.fit_transform(X, y)
    for train, test in KFold(3).split(X):
        want = pooled(X[test], *slow_table(bag, X, y, train, start))
        np.testing.assert_allclose(got[test], want, rtol=1e-9, atol=1e-12)
    assert np.abs(got - bag.transform(X)).max() > 0.01


def test_a_step_follows_the_slope_of_the_loss_under_the_fixed_head():
    X, y = small_data(60)
    start = np.random.default_rng(3).normal(size=(12, 3))
    options = QUICK | dict(max_iter=1, batch_size=60)
    bag = EmbeddingBag(cv=KFold(2), init=start, solver=SGD(), learning_rate_init=1.0, **options)
    got = bag.fit_transform(X, y)
    train, test = next(KFold(2).split(X))
    every = np.ones(12, bool)

    def loss(table):
        z = pooled(X[train], table, every) @ bag.coef_[0] + bag.intercept_
        return np.mean(np.logaddexp(0, z) - y[train] * z)

    slope = np.zeros_like(start)
    for at in np.ndindex(start.shape):
        step = np.zeros_like(start)
        step[at] = 1e-6
        slope[at] = (loss(start + step) - loss(start - step)) / 2e-6
    np.testing.assert_allclose(got[test], pooled(X[test], start - slope, every), atol=1e-8)


def labels(y, X):
    return np.stack([y, X[:, [0]].toarray().ravel() > 0], axis=1).astype(int)


CASES = {
    "early stopping": (dict(early_stopping=True), lambda y, X: y),
    "refit": (dict(early_stopping=True, refit=True), lambda y, X: y),
    "classes": (dict(loss="ova"), lambda y, X: np.array(["a", "b", "c"])[np.arange(len(y)) % 3]),
    "numbers": ({}, lambda y, X: y + 0.5),
    "two numbers": ({}, lambda y, X: np.stack([y + 0.5, -2.5 * y], axis=1)),
    "labels": ({}, labels),
    "sparse labels": ({}, lambda y, X: sp.csr_array(labels(y, X))),
    "sampled": (dict(loss="negative_sampling"), lambda y, X: np.arange(len(y)) % 4),
    "sampled, all rows": (
        dict(loss="negative_sampling", solver="adamw", weight_decay=0.1),
        lambda y, X: np.arange(len(y)) % 4,
    ),
    "hidden": (dict(hidden_layer_sizes=(4,)), lambda y, X: y),
    "direct": (dict(linear_term=True), lambda y, X: y),
    "numeric": (dict(numeric_features=[0]), lambda y, X: y),
    "maximum": (dict(pooling="max"), lambda y, X: y),
    "clipped": (dict(solver=Adagrad(clip_norm=0.1)), lambda y, X: y),
    **{name: (dict(solver=name), lambda y, X: y) for name in SOLVERS},
}


@pytest.mark.parametrize("case", CASES)
def test_the_fit_is_that_of_fit_and_bits_do_not_depend_on_threads(case, monkeypatch):
    monkeypatch.setattr("skembed.kernels.cpu._matrix.MIN_SHARE", 1)
    options, targets = CASES[case]
    X, y = small_data(90)
    y = targets(y, X)
    plain = EmbeddingBag(**QUICK | options).fit(X, y)
    found = []
    for n_jobs in (1, 2):
        bag = EmbeddingBag(cv=3, n_jobs=n_jobs, **QUICK | options)
        found.append(bag.fit_transform(X, y))
        assert learned(bag) == learned(plain)
        assert found[-1].shape == (90, 3) and np.isfinite(found[-1]).all()
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], plain.transform(X))


def test_classes_are_stratified_and_shuffled_by_the_seed():
    X, y = small_data(90)
    y = (np.arange(90) >= 60).astype(int)
    got = EmbeddingBag(cv=3, **QUICK).fit_transform(X, y)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    assert np.array_equal(got, EmbeddingBag(cv=splitter, **QUICK).fit_transform(X, y))
    folds = list(splitter.split(X, y))
    assert np.array_equal(got, EmbeddingBag(cv=folds, **QUICK).fit_transform(X, y))
    other = EmbeddingBag(cv=3, **QUICK | dict(random_state=1)).fit_transform(X, y)
    assert not np.array_equal(got, other)
    numbers = EmbeddingBag(cv=3, **QUICK).fit_transform(X, y + 0.5)
    splitter = KFold(3, shuffle=True, random_state=0)
    again = EmbeddingBag(cv=splitter, **QUICK).fit_transform(X, y + 0.5)
    assert np.array_equal(numbers, again)


def test_a_random_state_gives_the_fit_of_fit():
    X, y = small_data()
    options = QUICK | dict(random_state=np.random.RandomState(5))
    plain = EmbeddingBag(**options).fit(X, y)
    options["random_state"] = np.random.RandomState(5)
    bag = EmbeddingBag(cv=3, **options)
    bag.fit_transform(X, y)
    assert learned(bag) == learned(plain)


def test_a_feature_that_its_fold_has_not_seen_adds_nothing():
    X = sp.csr_array(np.c_[np.ones(40), np.eye(40)])
    y = np.arange(40) % 2
    bag = EmbeddingBag(cv=4, pooling="sum", **QUICK)
    got = bag.fit_transform(X, y)
    assert len(np.unique(got.round(12), axis=0)) == 4, "only the common column is left"
    twice = EmbeddingBag(cv=4, pooling="sum", min_count=2, **QUICK).fit_transform(X, y)
    assert len(np.unique(twice.round(12), axis=0)) == 4


def test_rows_of_weight_zero_train_no_fold():
    X, y = small_data(60)
    weight = (np.arange(60) % 3 > 0).astype(float)
    folds = list(KFold(3).split(X))
    bag = EmbeddingBag(cv=folds, **QUICK)
    got = bag.fit_transform(X, y, weight)
    other = np.where(weight > 0, y, 1 - y)
    assert np.array_equal(bag.fit_transform(X, other, weight), got)
    kept = np.flatnonzero(weight)
    number = np.cumsum(weight > 0) - 1
    fewer = [(number[a[weight[a] > 0]], number[b[weight[b] > 0]]) for a, b in folds]
    alone = EmbeddingBag(cv=fewer, **QUICK).fit_transform(X[kept], y[kept])
    assert np.array_equal(got[kept], alone)


def test_frozen_vectors_are_the_start():
    X, y = small_data()
    bag = EmbeddingBag(cv=3, frozen_features="all", **QUICK)
    assert np.array_equal(bag.fit_transform(X, y), bag.transform(X))


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"refit": True}])
def test_a_start_without_y_is_that_of_all_rows(options):
    X, y = small_data(250)
    bag = EmbeddingBag(cv=3, init=TruncatedSVD(3), **QUICK | options)
    got = bag.fit_transform(X, y)
    rows = np.arange(250)
    if not bag.refit:
        rows, _ = split_of(bag, X, y)
    svd = TruncatedSVD(3, random_state=bag._state.seed).fit(X[rows])
    bag.set_params(init=FrozenEstimator(svd))
    assert np.array_equal(bag.fit_transform(X, y), got)


@pytest.mark.parametrize(
    "cv, message",
    [
        (ShuffleSplit(3, random_state=0), "exactly one fold"),
        ([(np.arange(60), np.arange(60))], "not train on it"),
        ([(np.arange(0), np.arange(60))], "no row of positive weight"),
        ([(np.arange(30), np.arange(30, 60))], "exactly one fold"),
        (61, "Cannot have number of splits|n_splits=61"),
        (1, "'cv' parameter|k-fold"),
        ("five", "'cv' parameter"),
    ],
    ids=str,
)
def test_folds_that_are_refused(cv, message):
    X, y = small_data()
    bag = EmbeddingBag(**QUICK).fit(X, y)
    before = learned(bag)
    with pytest.raises(ValueError, match=message):
        bag.set_params(cv=cv, n_components=2).fit_transform(X, y)
    assert learned(bag) == before


def test_starts_that_have_seen_all_rows_are_refused():
    X, y = small_data()
    with pytest.raises(ValueError, match="does not learn from y"):
        EmbeddingBag(cv=3, init=EmbeddingBag(3), **QUICK).fit_transform(X, y)
    bag = EmbeddingBag(cv=3, warm_start=True, **QUICK)
    first = bag.fit_transform(X, y)
    assert first.shape == (60, 3)
    with pytest.raises(ValueError, match="no fold can forget"):
        bag.fit_transform(X, y)
    bag.fit(X, y)


@pytest.mark.parametrize("cv", [None, 3])
def test_targets_are_needed(cv):
    X, _ = small_data()
    with pytest.raises(ValueError, match="requires y to be passed"):
        EmbeddingBag(cv=cv).fit_transform(X)


def test_one_warning_where_vectors_have_seen_their_targets():
    X, y = small_data(250)
    with pytest.warns(UserWarning, match="have seen the targets") as found:
        EmbeddingBag(early_stopping=False, **QUICK).fit_transform(X, y)
    assert [w.filename for w in found if w.category is UserWarning] == [__file__]
    for quiet in (
        dict(cv=3, early_stopping=False),
        dict(early_stopping=True),
        dict(frozen_features="all"),
    ):
        EmbeddingBag(**QUICK | quiet).fit_transform(X, y)
    given = dict(X_val=X[:50], y_val=y[:50])
    EmbeddingBag(**QUICK).fit_transform(X[50:], y[50:], **given)


def test_vectors_that_need_no_targets_are_not_cross_fitted():
    class Unsupervised(EmbeddingBag):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.target_tags.required = False
            return tags

    X, y = small_data()
    bag = Unsupervised(cv=3, **QUICK)
    assert np.array_equal(bag.fit_transform(X, y), bag.transform(X))
    EmbeddingBag(cv=3, init=bag, **QUICK).fit_transform(X, y)
    Unsupervised(**QUICK).fit_transform(X, y)


def test_output_as_it_is_asked_for():
    X, y = small_data()
    bag = EmbeddingBag(cv=3, **QUICK)
    want = bag.fit_transform(X, y)
    frame = bag.set_output(transform="pandas").fit_transform(X, y)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(bag.get_feature_names_out())
    assert np.array_equal(frame.to_numpy(), want)
    named = pd.DataFrame(X.toarray(), columns=[f"c{j}" for j in range(12)])
    assert np.array_equal(bag.fit_transform(named, y).to_numpy(), want)
    assert EmbeddingBag(cv=3).fit_transform(X.astype(np.float32), y).dtype == np.float32


def test_groups_reach_the_splitter():
    X, y = small_data()
    groups = np.arange(60) // 6
    bag = EmbeddingBag(cv=GroupKFold(5), **QUICK)
    got = bag.fit_transform(X, y, groups=groups)
    folds = list(GroupKFold(5).split(X, y, groups))
    assert np.array_equal(got, EmbeddingBag(cv=folds, **QUICK).fit_transform(X, y))
    with pytest.raises(ValueError, match="groups"):
        bag.fit_transform(X, y)
    with pytest.raises(ValueError, match="groups are for a splitter"):
        EmbeddingBag(**QUICK).fit_transform(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        weight = np.arange(60) % 4.0
        bag = EmbeddingBag(cv=GroupKFold(5), **QUICK).set_fit_request(sample_weight=True)
        last = LogisticRegression().set_fit_request(sample_weight=False)
        model = make_pipeline(bag, last)
        model.fit(X, y, groups=groups, sample_weight=weight)
        want = EmbeddingBag(cv=folds, **QUICK).fit_transform(X, y, weight)
        last = LogisticRegression().fit(want, y)
        assert np.array_equal(model[-1].coef_, last.coef_)
        requests = EmbeddingBag(cv=5).set_partial_fit_request(sample_weight=True)
        assert requests.get_metadata_routing()._self_request.partial_fit.requests["sample_weight"]


def test_callbacks_see_the_fit_of_all_rows_only():
    class Counts:
        def __init__(self):
            self.calls = []

        def setup(self, estimator, context):
            self.calls.append("setup")

        def teardown(self, estimator, context):
            self.calls.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.calls.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            return False

    X, y = small_data()
    counts = Counts()
    EmbeddingBag(cv=3, **QUICK).set_callbacks(counts).fit_transform(X, y)
    assert counts.calls == ["setup", "fit", *["epoch"] * 3, "teardown"]


def test_a_fold_that_diverges_leaves_the_earlier_fit(monkeypatch):
    X, y = small_data()
    bag = EmbeddingBag(cv=3, **QUICK).fit(X, y)
    before = learned(bag)

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("skembed.estimators._cross_fit.fit_epochs", fails)
    with pytest.raises(KeyboardInterrupt):
        bag.set_params(random_state=1).fit_transform(X, y)
    assert learned(bag) == before


def planted(seed, n=4000):
    """One-hot rows of a useless id and an informative group, a number, and classes; twice n."""
    rng = np.random.default_rng(seed)
    ids, group = rng.integers(0, 3000, 2 * n), rng.integers(0, 20, 2 * n)
    x, effect = rng.normal(size=(2 * n, 1)), 0.7 * rng.normal(size=20)
    p = 1 / (1 + np.exp(-(effect[group] + 1.5 * x[:, 0])))
    y = (rng.random(2 * n) < p).astype(int)
    encoder = OneHotEncoder(handle_unknown="ignore")
    table = np.stack([ids, group], axis=1)
    encoder.fit(table[:n])
    X, X_test = encoder.transform(table[:n]), encoder.transform(table[n:])
    return (X, x[:n], y[:n]), (X_test, x[n:], y[n:])


def score(train, test, y, y_test):
    stack = sp.hstack if sp.issparse(train[0]) else np.hstack
    model = LogisticRegression(max_iter=1000).fit(stack(train), y)
    return roc_auc_score(y_test, model.decision_function(stack(test)))


@pytest.mark.parametrize("seed", range(3))
def test_noise_ids_do_not_mislead_the_next_step(seed):
    (X, x, y), (X_test, x_test, y_test) = planted(seed)
    one_hot = score([X, x], [X_test, x_test], y, y_test)
    scores = {}
    for cv in (None, 5):
        bag = EmbeddingBag(max_iter=8, early_stopping=False, random_state=seed, cv=cv)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The vectors that fit_transform")
            vectors = bag.fit_transform(X, y)
        scores[cv] = score([vectors, x], [bag.transform(X_test), x_test], y, y_test)
    assert scores[None] < one_hot - 0.1
    assert scores[5] > one_hot - 0.03
