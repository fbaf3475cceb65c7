"""The embedding report on planted tables, for every solver and kind of fit."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fitted import ESTIMATORS, known_classes, small_data
from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    FactorizationMachineClassifier,
    TruncatedSVD,
)
from skembed.inspection import embedding_report
from skembed.solvers import FTRL, SGD, SOLVERS, Adagrad, AdamW, LazyAdam

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=6, max_iter=4, random_state=0, early_stopping=False)


def start_of(estimator, X, y):
    """The vectors in which a fit begins: those of a fit in which nothing moves."""
    return clone(estimator).set_params(frozen_features="all").fit(X, y).embedding_


def check_against(report, fit, start):
    """Compare norm and drift with those of whole arrays."""
    at = report.columns
    moved = (fit.embedding_ - start)[at].reshape(len(at), -1).astype(np.float64)
    unit = np.linalg.norm(start[at].reshape(len(at), -1).astype(np.float64), axis=1)
    norm = np.linalg.norm(fit.embedding_[at].reshape(len(at), -1).astype(np.float64), axis=1)
    np.testing.assert_allclose(report.norm, norm, rtol=1e-6)
    np.testing.assert_allclose(report.drift, np.linalg.norm(moved, axis=1) / unit, rtol=1e-6)
    assert report.counts.tolist() == fit.feature_counts_[at].tolist()
    assert report.n_updates.tolist() == fit.n_updates_[at].tolist()
    assert report.columns.tolist() == fit.active_features_.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("init", ["uniform", "normal"])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_drift_is_measured_from_the_start_of_the_fit(cls, init, dtype):
    X, y = small_data(dtype=dtype)
    fit = cls(init=init, **QUICK).fit(X, y)
    report = embedding_report(fit)
    check_against(report, fit, start_of(fit, X, y))
    assert report.learns and len(report.untrained) == len(report.dead) == 0


@pytest.mark.parametrize("options", [
    dict(n_classes=3), dict(interaction="ffm", fields=np.arange(12) % 3),
    dict(interaction="ffm", fields=np.arange(12) % 3, n_classes=3), dict(linear_term=False),
], ids=str)  # fmt: skip
def test_all_vectors_of_a_factorization_machine_are_one(options):
    options = dict(options)
    X, _ = small_data()
    y = np.arange(60) % options.pop("n_classes", 2)
    fit = FactorizationMachineClassifier(**options, **QUICK).fit(X, y)
    report = embedding_report(fit)
    check_against(report, fit, start_of(fit, X, y))
    assert report.width == fit.embedding_[0].size


@pytest.mark.parametrize("solver", [
    *sorted(SOLVERS), SGD(momentum=0.9), LazyAdam(bias_correction="global"), FTRL(l1=1e-5),
    Adagrad(initial_accumulator=0.0), AdamW(eps=0.0),
], ids=str)  # fmt: skip
def test_every_solver_tells_its_effective_rate(solver):
    X, y = small_data()
    report = embedding_report(EmbeddingBagClassifier(solver=solver, **QUICK).fit(X, y))
    assert np.isfinite(report.rate).all() and (report.rate > 0).all()
    if isinstance(solver, SGD):
        np.testing.assert_allclose(report.rate, 2.0 / (1 - solver.momentum))


def test_effective_rate_of_adagrad_is_that_of_its_state():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    rows = fit._state.index.rows
    sums = fit._state.solver_state["table"]["sum_sq"].values[rows, :6]
    want = 0.05 / np.sqrt(sums).mean(axis=1)
    np.testing.assert_allclose(embedding_report(fit).rate, want, rtol=1e-6)
    assert np.isnan(embedding_report(fit.drop_solver_state()).rate).all()


def wide(n=900, n_features=60, seed=0):
    """One-hot rows of three columns of 20 values, frequencies falling within each."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 21)
    values = [20 * k + rng.choice(20, n, p=share / share.sum()) for k in range(n_features // 20)]
    indices = np.column_stack(values)
    X = sp.csr_array(
        (np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, 3)),
        shape=(n, n_features),
    )
    return X, (indices[:, 0] % 2 + rng.integers(0, 2, n) > 0).astype(int)


def test_planted_rows_are_found_and_no_others():
    X, y = wide()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    state, table = fit._state, fit._state.params["table"]
    start = start_of(fit, X, y)
    row = {j: state.index.rows[np.searchsorted(state.index.columns, j)] for j in range(60)}
    clean = embedding_report(fit)
    assert len(clean.dead) == len(clean.exploding) == len(clean.untrained) == 0
    state.n_updates.values[[row[7], row[33]]] = 0
    for j in (7, 33, 12):  # never touched; and listed, but where it was
        table.values[row[j], :6] = start[j]
    table.values[row[48]] = 0
    for j in (0, 25, 59):
        table.values[row[j]] *= 200
    report = embedding_report(fit, feature_names=[f"<{j}>" for j in range(60)])
    assert report.untrained.tolist() == [7, 33]
    assert report.dead.tolist() == [12, 48]
    assert report.exploding.tolist() == [0, 25, 59]
    assert report.learns
    text, page = str(report), report._repr_html_()
    assert "In no step: <7>, <33>." in text and "Exploding: <0>, <25>, <59>." in text
    assert "&lt;7&gt;" in page and "<7>" not in page
    frame = report.to_frame()
    assert frame.index[frame["exploding"]].tolist() == ["<0>", "<25>", "<59>"]
    assert frame["untrained"].sum() == 2 and len(frame) == 60


@pytest.mark.parametrize("solver", ["adagrad", "lazy_adam", "ftrl", "sgd"])
def test_healthy_fits_raise_no_alarm(solver):
    X, y = wide()
    report = embedding_report(EmbeddingBagClassifier(solver=solver, random_state=0).fit(X, y))
    assert len(report.exploding) == len(report.dead) == len(report.untrained) == 0


def test_a_table_that_does_not_learn_warns():
    X, y = small_data(200)
    slow = EmbeddingBagClassifier(learning_rate_init=1e-9, solver="sgd", **QUICK).fit(X, y)
    with pytest.warns(UserWarning, match="12 of 12 vectors that may move have not learned"):
        report = embedding_report(slow)
    assert not report.learns and report.dead.tolist() == list(range(12))
    one = EmbeddingBagClassifier(**{**QUICK, "max_iter": 1}, batch_size=200).fit(X, y)
    with pytest.warns(UserWarning, match="have not learned"):  # the head starts at zero
        assert (embedding_report(one).drift == 0).all()


def test_frozen_rows_are_no_fault():
    X, y = small_data()
    fit = EmbeddingBagClassifier(frozen_features=[2, 5], **QUICK).fit(X, y)
    report = embedding_report(fit)
    assert report.columns[report.frozen].tolist() == [2, 5]
    assert (report.drift[[2, 5]] == 0).all() and np.isnan(report.rate[[2, 5]]).all()
    assert len(report.dead) == len(report.untrained) == 0
    fit = EmbeddingBagClassifier(frozen_features="all", **QUICK).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = embedding_report(fit)
    assert any("All vectors are frozen" in line for line in report.advice)


def test_features_without_a_vector_are_left_out():
    X, y = small_data()
    rare = sp.csr_array(np.hstack([X.toarray(), np.eye(60)[:, :3]]))
    fit = EmbeddingBagClassifier(padding_features=[1], min_count=2, **QUICK).fit(rare, y)
    report = embedding_report(fit)
    assert report.columns.tolist() == [0, *range(2, 12)]
    assert report.n_without == 4
    assert embedding_report(EmbeddingBag(**QUICK).fit(X, y)).n_without == 0


def test_partial_fit_and_growth():
    X, y = wide()
    for cls in (EmbeddingBagClassifier, FactorizationMachineClassifier):
        fit = cls(6, random_state=0, batch_size=50)
        fit.partial_fit(X[:300, :40], y[:300], **known_classes(cls))
        fit.partial_fit(X[300:], y[300:], grow=True)
        whole = cls(6, random_state=0, batch_size=50, frozen_features="all")
        start = whole.partial_fit(X, y, **known_classes(cls)).embedding_
        check_against(embedding_report(fit), fit, start)


def test_rows_that_no_step_has_listed_yet():
    X, y = wide()
    fit = EmbeddingBagClassifier(**QUICK).fit(X[:, :40], y)
    state = fit._state
    fit.warm_start, fit.n_features_in_ = True, 60
    problem = fit._resolve_problem(fit._target, 900, state.step)
    index = state.index.observe(np.array([45, 50]), np.array([3, 1]), n_features=60)
    from skembed.kernels import get_backend

    with get_backend() as backend:
        state.grow(index, fit._later_start(state.seed, X, 6), problem.solver, backend)
    report = embedding_report(fit)
    assert report.untrained.tolist() == [45, 50]
    assert (report.drift[-2:] == 0).all() and np.isinf(report.steps_between[-2:]).all()


def test_start_of_given_vectors():
    X, y = small_data()
    start = np.random.default_rng(0).normal(size=(12, 6))
    fit = EmbeddingBagClassifier(init=start, **QUICK).fit(X, y)
    check_against(embedding_report(fit), fit, start)
    start[3] = 0
    report = embedding_report(EmbeddingBagClassifier(init=start, **QUICK).fit(X, y))
    assert np.isfinite(report.drift).all() and report.drift[3] > 0
    first = EmbeddingBag(**QUICK).fit(X, y)
    fit = EmbeddingBagClassifier(init=FrozenEstimator(first), **QUICK).fit(X, y)
    check_against(embedding_report(fit), fit, first.embedding_)
    within = EmbeddingBagClassifier(init=TruncatedSVD(6, random_state=0), **QUICK).fit(X, y)
    report = embedding_report(within)
    assert np.isnan(report.drift).all() and np.isfinite(report.norm).all()
    assert any("drift is not known" in line for line in report.advice)
    assert report.learns and len(report.dead) == 0


def test_stale_state_is_that_of_lazy_momentum():
    X, y = wide()
    options = {**QUICK, "max_iter": 2, "batch_size": 10}
    lazy = embedding_report(EmbeddingBagClassifier(solver="lazy_adam", **options).fit(X, y))
    assert lazy.memory == pytest.approx(10)
    want = lazy.columns[lazy.n_steps / lazy.n_updates > 10]
    assert lazy.stale.tolist() == want.tolist() and 0 < len(want) < 60
    for solver in ("adagrad", "adamw", "sgd", "ftrl", "rowwise_adagrad"):
        report = embedding_report(EmbeddingBagClassifier(solver=solver, **options).fit(X, y))
        assert np.isinf(report.memory) and len(report.stale) == 0


def test_medians_by_frequency():
    X, y = wide()
    report = embedding_report(EmbeddingBagClassifier(**QUICK).fit(X, y))
    deciles, order = report.deciles, np.argsort(-report.counts, kind="stable")
    assert deciles["n_features"].tolist() == [6] * 10
    for i, group in enumerate(np.split(order, 10)):
        assert deciles["drift"][i] == np.median(report.drift[group])
        assert deciles["rate"][i] == np.median(report.rate[group])
        assert deciles["share"][i] == report.n_updates[group].sum() / report.n_updates.sum()
        assert (deciles["most"][i], deciles["least"][i]) == tuple(report.counts[group][[0, -1]])


def test_names_of_a_frame():
    X, y = small_data()
    frame = pd.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(12)])
    fit = EmbeddingBagClassifier(**QUICK).fit(frame, y)
    assert embedding_report(fit).names.tolist() == list(frame.columns)


def test_what_has_no_report(monkeypatch):
    X, y = small_data()
    with pytest.raises(NotFittedError):
        embedding_report(EmbeddingBagClassifier())
    with pytest.raises(TypeError, match=r"needs an embedding bag.*got LogisticRegression"):
        embedding_report(LogisticRegression().fit(X, y))
    model = make_pipeline(EmbeddingBagClassifier(**QUICK)).fit(X, y)
    with pytest.raises(TypeError, match=r"Pipeline.*model\[-1\]"):
        embedding_report(model)
    search = GridSearchCV(model[-1], {"max_iter": [2]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"got GridSearchCV\. Pass its best_estimator_\.$"):
        embedding_report(search)
    report = embedding_report(model[-1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        report.to_frame()


def test_a_fit_without_any_feature():
    fit = EmbeddingBagClassifier(**QUICK).fit(sp.csr_array((6, 3)), [0, 1] * 3)
    report = embedding_report(fit)
    assert len(report.columns) == 0 and report.learns
    assert "features with a vector" in str(report)
