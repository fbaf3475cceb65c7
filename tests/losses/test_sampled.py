"""Negative sampling."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier
from skembed.core import CSRBatch
from skembed.kernels import Backend, get_backend
from skembed.losses import NegativeSampling
from skembed.models import SampledBagModel, UniformStart
from skembed.solvers import SOLVERS

N, S, K = 9, 6, 5
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def case(seed=0):
    rng = np.random.default_rng(seed)
    y, drawn = rng.integers(0, K, N), rng.integers(0, K, S)
    return (y, drawn), rng.normal(size=(1 + S, N)) * 2, rng.random(N)


def slow(named, raw, weight):
    total = 0.0
    for i, y in enumerate(named[0]):
        loss = np.log1p(np.exp(-raw[0, i]))
        for s, k in enumerate(named[1]):
            loss += np.log1p(np.exp(raw[1 + s, i])) if k != y else 0.0
        total += weight[i] * loss
    return total / weight.sum()


def test_value_and_gradient():
    loss = NegativeSampling()
    named, raw, weight = case()
    value, gradient = loss.value_and_gradient(named, raw, weight, np)
    np.testing.assert_allclose(value, slow(named, raw, weight))
    for at in np.ndindex(raw.shape):
        sides = []
        for h in (1e-6, -1e-6):
            moved = raw.copy()
            moved[at] += h
            sides.append(slow(named, moved, weight))
        assert abs((sides[0] - sides[1]) / 2e-6 - gradient[at]) < 1e-8
    own = named[1][:, None] == named[0]
    assert own.any()
    assert not gradient[1:][own].any()
    assert loss.value_and_gradient(named, raw.astype(np.float32), None, np)[1].dtype == np.float32


def test_draws_follow_the_chances():
    loss = NegativeSampling(n_negatives=200_000)
    counts = np.array([100.0, 0, 400, 25])
    noise = loss.noise(counts)
    np.testing.assert_allclose(noise, np.sqrt(counts) / np.sqrt(counts).sum())
    drawn = (
        np.bincount(loss.draw(np.cumsum(noise), np.random.default_rng(0)), minlength=4) / 200_000
    )
    np.testing.assert_allclose(drawn, noise, atol=0.005)
    assert drawn[1] == 0
    even = NegativeSampling(power=0).noise(counts)
    np.testing.assert_allclose(even, [1 / 3, 0, 1 / 3, 1 / 3])


def test_parameters_are_validated():
    for params in ({"n_negatives": 0}, {"power": -1}):
        with pytest.raises(ValueError, match=next(iter(params))):
            NegativeSampling(**params)._validate_params()


@pytest.mark.parametrize("hidden", [(), (4,)])
def test_gradients_of_the_model_are_slopes(hidden):
    rng = np.random.default_rng(1)
    model, loss = SampledBagModel("mean", hidden), NegativeSampling()
    params = model.init_params(3, rng.normal(size=K), np.float64, seed=2)
    table = params["table"]
    table.insert(0, 8)
    table.n_trainable = 8
    UniformStart(0).write(np.arange(8), table, 0, Backend())
    params[model.coef].values[:, : params[model.coef].d] = rng.normal(
        size=(K, params[model.coef].d)
    )
    indptr = np.arange(0, 3 * N + 1, 3)
    indices = rng.integers(0, 8, 3 * N).astype(np.int32)
    batch = CSRBatch(indptr, indices, rng.random(3 * N) + 0.5, np.arange(N), np.full(N, 0.4))
    named, _, weight = case()

    def value(backend):
        raw, tape = model.forward(params, batch, backend, named=named)
        return *loss.value_and_gradient(named, raw, weight, np), tape

    with get_backend() as backend:
        _, d_raw, tape = value(backend)
        grads = model.backward(params, batch, tape, d_raw, backend)
        for name, g in grads.items():
            array = getattr(params[name], "values", params[name])
            dense = np.zeros_like(array)
            if hasattr(g, "indices"):
                g = g.sum(backend)
                assert (np.diff(g.indices) > 0).all()
                dense[g.indices] = g.values
            else:
                dense[...] = g
            for at in np.ndindex(array.shape):
                if at[-1] >= getattr(params[name], "d", array.shape[1]):
                    assert dense[at] == 0
                    continue
                kept, sides = array[at], []
                for h in (1e-6, -1e-6):
                    array[at] = kept + h
                    sides.append(value(backend)[0])
                array[at] = kept
                assert abs((sides[0] - sides[1]) / 2e-6 - dense[at]) < 1e-7, name


def many_classes(n=1500, n_classes=40):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    own = y[:, None] * 3 + rng.integers(0, 3, (n, 4))
    noise = 120 + rng.integers(0, 100, (n, 3))
    X = sp.csr_array(
        (np.ones(n * 7), np.hstack([own, noise]).ravel(), np.arange(0, 7 * n + 1, 7)), (n, 220)
    )
    X.sum_duplicates()
    return X, y


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_it_learns_with_every_solver(solver):
    X, y = many_classes()
    clf = EmbeddingBagClassifier(
        16, loss=NegativeSampling(20), solver=solver, max_iter=25, random_state=0
    ).fit(X[:1200], y[:1200])
    assert clf.score(X[1200:], y[1200:]) > 0.9
    assert clf.coef_.shape == (40, 16)
    assert clf.intercept_.shape == (40,)
    assert not hasattr(clf, "predict_proba")
    raw = clf.transform(X) @ clf.coef_.T + clf.intercept_
    np.testing.assert_allclose(clf.decision_function(X), raw, rtol=1e-9, atol=1e-9)
    labels, scores = clf.predict_top_k(X[:50], 3)
    assert np.array_equal(labels[:, 0], clf.predict(X[:50]))
    assert scores.shape == (50, 3)


def test_only_named_classes_are_stepped():
    X, y = many_classes()
    settings = dict(loss=NegativeSampling(3), random_state=0, batch_size=4)
    clf = EmbeddingBagClassifier(8, **settings)
    clf.partial_fit(X[:400], y[:400], classes=np.arange(40))
    before = np.column_stack([clf.coef_, clf.intercept_])
    clf.partial_fit(X[:4], y[:4])
    after = np.column_stack([clf.coef_, clf.intercept_])
    changed = np.flatnonzero((before != after).any(axis=1))
    assert set(y[:4]) <= set(changed)
    assert len(changed) <= 7


def test_bits_threads_and_pickles():
    X, y = many_classes()
    settings = dict(loss="negative_sampling", random_state=0, max_iter=3)
    one, two = (EmbeddingBagClassifier(8, n_jobs=n, **settings).fit(X, y) for n in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.embedding_.tobytes() == two.embedding_.tobytes()
    again = pickle.loads(pickle.dumps(one))
    for clf in (one, again):
        clf.partial_fit(X[:100], y[:100])
    assert one.coef_.tobytes() == again.coef_.tobytes()


def test_two_classes_are_those_of_the_log_loss():
    X, y = many_classes()
    settings = dict(random_state=0, max_iter=3)
    a = EmbeddingBagClassifier(4, loss="negative_sampling", **settings).fit(X, y % 2)
    b = EmbeddingBagClassifier(4, **settings).fit(X, y % 2)
    assert a.embedding_.tobytes() == b.embedding_.tobytes()


def test_what_it_does_not_go_with():
    X, y = many_classes()
    with pytest.raises(ValueError, match="one label a row"):
        EmbeddingBagClassifier(loss="negative_sampling").fit(X, np.eye(40, dtype=int)[y])
    with pytest.raises(ValueError, match="linear_term"):
        EmbeddingBagClassifier(loss="negative_sampling", linear_term=True).fit(X, y)
