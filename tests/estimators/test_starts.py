"""Pretrained starts, for every estimator and every way to train."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from fitted import ESTIMATORS, FACTORIZATIONS, known_classes, learned, small_data
from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    TruncatedSVD,
)
from skembed.solvers import SGD, Adagrad, AdamW

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
]
QUICK = dict(n_components=3, max_iter=2, batch_size=16, random_state=0)
X, Y = small_data()
ROWS = np.random.default_rng(0).normal(size=(12, 3))
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def frozen_bag(X=X, y=Y):
    return FrozenEstimator(EmbeddingBag(**QUICK).fit(X, y))


def vectors_of(init, X=X, y=Y):
    """The vectors of a start, zeros for features that it has none for."""
    if isinstance(init, FrozenEstimator):
        return init.estimator.embedding_
    if isinstance(init, EmbeddingBag):
        return clone(init).fit(X, y).embedding_
    if isinstance(init, TruncatedSVD):
        return clone(init).fit(X).components_.T
    return init


STARTS = {
    "array": lambda: ROWS,
    "frozen bag": frozen_bag,
    "unfitted bag": lambda: EmbeddingBag(**QUICK),
    "frozen svd": lambda: FrozenEstimator(TruncatedSVD(3, random_state=0).fit(X)),
    "unfitted svd": lambda: TruncatedSVD(3, random_state=0),
}


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
@pytest.mark.parametrize("start", STARTS)
@every_estimator
def test_frozen_vectors_are_those_of_the_start(cls, start, way):
    init = STARTS[start]()
    fit = cls(init=init, frozen_features="all", **QUICK)
    more = known_classes(cls) if way == "partial_fit" else {}
    got = getattr(fit, way)(X, Y, **more).embedding_
    want = (
        vectors_of(init)
        if "svd" not in start
        else TruncatedSVD(3, random_state=0).fit(X).components_.T
    )
    if "svd" in start:
        want = want * (got[0, 0] / want[0, 0])
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert not fit.n_updates_.any()
    moved = cls(init=init, **QUICK)
    assert (getattr(moved, way)(X, Y, **more).embedding_ != got).any(axis=1).all()


@pytest.mark.parametrize("interaction", [{}, dict(interaction="ffm", fields=np.arange(12) % 2)])
@pytest.mark.parametrize("start", ["array", "frozen bag", "unfitted svd"])
def test_one_vector_a_feature_starts_every_output_and_field(interaction, start):
    init, y = STARTS[start](), np.arange(60) % 3
    options = dict(frozen_features="all", **interaction, **QUICK)
    fm = FactorizationMachineClassifier(init=init, **options).fit(X, y)
    got = fm.embedding_.reshape(12, -1, 3)
    assert got.shape[1] == (6 if interaction else 3)
    want = vectors_of(init)
    if start == "unfitted svd":
        want = want * (got[0, 0, 0] / want[0, 0])
        np.testing.assert_allclose(np.sqrt((got**2).mean()), 0.05)
    np.testing.assert_allclose(got, np.repeat(want[:, None], got.shape[1], axis=1), rtol=1e-12)
    again = FactorizationMachineClassifier(init=FrozenEstimator(fm), **options).fit(X, y)
    assert np.array_equal(again.embedding_, fm.embedding_)
    two = FactorizationMachineRegressor(init=init, frozen_features="all", **QUICK)
    two.fit(X, np.stack([Y, Y], axis=1).astype(float))
    assert two.embedding_.shape == (12, 2, 3)
    for width in (2, 4, 9 if interaction else 6):
        with pytest.raises(ValueError, match=r"n_components\) = \(12, 3\), got \(12, "):
            clone(fm).set_params(init=np.zeros((12, width))).fit(X, y)


@every_estimator
def test_features_of_later_calls_have_their_pretrained_vectors(cls):
    init = frozen_bag()
    first = sp.csr_array(X.toarray() * (np.arange(12) < 6))
    for options in ({}, {"warm_start": True}):
        fit = cls(init=init, frozen_features="all", **options, **QUICK)
        if options:
            fit.fit(first, Y).fit(X, Y)
        else:
            fit.partial_fit(first, Y, **known_classes(cls)).partial_fit(X, Y)
        assert np.array_equal(fit.embedding_, init.estimator.embedding_)


def test_features_that_a_start_does_not_know_start_at_zero():
    init = frozen_bag(sp.csr_array(X.toarray() * (np.arange(12) != 4)))
    fit = EmbeddingBagClassifier(init=init, frozen_features="all", **QUICK).fit(X, Y)
    assert 4 in fit.active_features_ and not fit.embedding_[4].any()
    moving = EmbeddingBagClassifier(init=init, **QUICK).fit(X, Y)
    assert moving.embedding_[4].any()
    for init in (frozen_bag(), FrozenEstimator(TruncatedSVD(3).fit(X))):
        fit = EmbeddingBagClassifier(init=init, frozen_features="all", **QUICK)
        fit.partial_fit(X, Y, classes=[0, 1])
        before = fit.embedding_
        fit.partial_fit(sp.hstack([X, np.ones((60, 2))], format="csr"), Y, grow=True)
        assert np.array_equal(fit.embedding_[:12], before)
        assert fit.embedding_.shape == (14, 3) and not fit.embedding_[12:].any()
    with pytest.raises(ValueError, match=r"n_components\) = \(14, 3\), got \(12, 3\)"):
        clone(fit).set_params(init=frozen_bag()).fit(sp.hstack([X, np.ones((60, 2))]), Y)


def test_a_start_of_very_many_columns_takes_what_was_seen():
    wide = sp.csr_array((X.data, X.indices.astype(np.int64) * 10**11, X.indptr), (60, 2 * 10**12))
    init = frozen_bag(wide)
    fit = EmbeddingBagClassifier(init=init, frozen_features="all", **QUICK).fit(wide, Y)
    assert np.array_equal(fit.active_embedding_, init.estimator.active_embedding_)


# ---------------------------------------------------------------- decay toward the start
@pytest.mark.parametrize("cls", FACTORIZATIONS)
def test_a_step_pulls_by_the_way_from_the_start(cls):
    options = QUICK | dict(init=ROWS, batch_size=60, learning_rate_init=0.5)
    solver, pull = SGD(decay_toward="start"), 0.5 * 0.4
    one, two, pulled = (
        cls(solver=solver, weight_decay=decay, **options | dict(max_iter=n)).fit(X, Y)
        for n, decay in ((1, 0.0), (2, 0.0), (2, 0.4))
    )
    want = two.embedding_ - pull * (one.embedding_ - ROWS)
    np.testing.assert_allclose(pulled.embedding_, want, rtol=1e-12)
    assert np.abs(pulled.embedding_ - two.embedding_).max() > 1e-4
    want = two.linear_ - pull * one.linear_
    np.testing.assert_allclose(pulled.linear_, want, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("solver", [Adagrad, AdamW])
@every_estimator
def test_strong_decay_keeps_vectors_at_their_start(cls, solver):
    options = QUICK | dict(init=ROWS, weight_decay=5.0, learning_rate_init=0.05, max_iter=20)
    near, zero = (
        cls(solver=solver(decay_toward=goal), **options).fit(X, Y) for goal in ("start", "zero")
    )
    away = np.linalg.norm(near.embedding_ - ROWS)
    assert 0 < away < 0.5 * np.linalg.norm(zero.embedding_ - ROWS)
    if cls not in FACTORIZATIONS:
        assert np.linalg.norm(near.coef_) < np.linalg.norm(ROWS), "the head decays to zero"


def test_the_start_is_kept_with_the_state():
    options = dict(init=ROWS, weight_decay=1.0, solver=SGD(decay_toward="start"), **QUICK)
    first, later = X[:30], X[30:]
    whole, saved = (EmbeddingBagClassifier(**options) for _ in range(2))
    whole.partial_fit(first, Y[:30], classes=[0, 1]).partial_fit(later, Y[30:])
    saved.partial_fit(first, Y[:30], classes=[0, 1])
    saved = pickle.loads(pickle.dumps(saved)).partial_fit(later, Y[30:])
    assert learned(saved) == learned(whole)
    with pytest.raises(ValueError, match=r"changed to 'sgd' \(SGD\(\)\)"):
        whole.set_params(solver__decay_toward="zero").partial_fit(later, Y[30:])
    whole.set_params(solver__decay_toward="start").drop_solver_state()
    assert whole._state.solver_state == {}


def test_new_features_decay_toward_a_start_of_their_own():
    options = dict(weight_decay=50.0, learning_rate_init=0.01, **QUICK)
    fit = EmbeddingBagClassifier(solver=SGD(decay_toward="start"), **options)
    fit.partial_fit(X[:, :6], Y, classes=[0, 1])
    for _ in range(20):
        fit.partial_fit(X, Y, grow=True)
    still = EmbeddingBagClassifier(frozen_features="all", **QUICK).fit(X, Y).embedding_
    np.testing.assert_allclose(fit.embedding_, still, atol=0.05)
    zero = EmbeddingBagClassifier(solver=SGD(), **options).partial_fit(X, Y, classes=[0, 1])
    assert np.abs(zero.embedding_ - still).max() > 0.2


def test_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr("skembed.kernels.cpu._matrix.MIN_SHARE", 1)
    solver = AdamW(decay_toward="start")
    fits = [
        EmbeddingBagClassifier(solver=solver, weight_decay=0.5, init=ROWS, n_jobs=n, **QUICK)
        for n in (1, 2, 3)
    ]
    first, *others = (learned(fit.fit(X, Y)) for fit in fits)
    assert all(other == first for other in others)
