"""Loss and gradients of features that are predicted, against loops and finite differences."""

import numpy as np
import pytest

from reference import cooccurrence_gradients
from skembed.core import CSRBatch, FeatureNoise
from skembed.kernels import Backend, get_backend
from skembed.losses import Cooccurrence
from skembed.models import CooccurrenceModel

N_FEATURES, D = 11, 5


def problem(pooling, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    model = CooccurrenceModel(pooling)
    params = model.init_params(D, np.zeros(0), dtype)
    for table in params.values():
        table.insert(0, N_FEATURES)
        table.n_trainable = N_FEATURES
        table.values[:, :D] = rng.normal(size=(N_FEATURES, D))
    sizes = rng.integers(2, 8, 12)
    indices = np.concatenate([rng.permutation(N_FEATURES)[:s] for s in sizes]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    data = (rng.random(len(indices)) + 0.2).astype(dtype)
    scale = Backend().scale(indptr, data, pooling)
    batch = CSRBatch(indptr, indices, data, np.arange(12), scale)
    borders = np.arange(1, N_FEATURES + 1) / N_FEATURES
    guide = np.searchsorted(borders, np.arange(16) / 16, side="right").astype(np.int32)
    order = np.arange(N_FEATURES, dtype=np.int32)
    offset = rng.normal(size=N_FEATURES).astype(dtype)
    keys = rng.integers(0, 1 << 62, 12).astype(np.uint64)
    noise = FeatureNoise(np.ones(N_FEATURES), order, borders, guide, offset, keys)
    weight = (rng.random(12) + 0.1).astype(dtype)
    return model, params, batch, noise, weight


def gradients(model, params, named, backend):
    args = Cooccurrence(), params, named.bag, named.labels, None, backend
    value, grads = model.loss_and_gradient(*args, named=named)
    dense = []
    for name in ("table", model.coef):
        g, out = grads[name].sum(backend), np.zeros((N_FEATURES, D))
        assert (np.diff(g.indices) > 0).all()
        out[g.indices] = g.values[:, :D]
        dense.append(out)
    return value, *dense


def plain(named):
    bag, bags, lists = named.bag, [], []
    for i, r in enumerate(bag.rows):
        s, e = bag.indptr[r : r + 2]
        bags.append(list(zip(bag.indices[s:e], bag.data[s:e], strict=True)))
        s, e = named.borders[2 * i : 2 * i + 2]
        parts = (named.ids[s:e], named.labels[s:e], named.weights[s:e])
        lists.append(list(zip(*parts, strict=True)))
    return bags, bag.scale, lists


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn"])
def test_value_and_gradients_are_those_of_the_reference(pooling, dtype):
    model, params, batch, noise, weight = problem(pooling, dtype)
    E, W = (params[name].values[:, :D].astype(np.float64) for name in ("table", model.coef))
    with get_backend(2) as backend:
        named = backend.leave_out(batch, weight, noise, 7, pooling, 3, 4)
        got = gradients(model, params, named, backend)
        value, total = model.value(Cooccurrence(), params, named, backend)
    want = cooccurrence_gradients(E, W, noise.offset, *plain(named))
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert value == got[0]
    np.testing.assert_allclose(total, named.weights[named.labels == 1].sum(), rtol=1e-6)


@pytest.mark.parametrize("pooling", ["sqrtn", "max"])
def test_gradients_are_slopes(pooling):
    model, params, batch, noise, weight = problem(pooling, seed=1)
    with get_backend() as backend:
        named = backend.leave_out(batch, weight, noise, 3, pooling, 2, 3)
        _, *dense = gradients(model, params, named, backend)
        for name, gradient in zip(("table", model.coef), dense, strict=True):
            array = params[name].values
            for at in np.ndindex(gradient.shape):
                kept, sides = array[at], []
                for h in (1e-6, -1e-6):
                    array[at] = kept + h
                    sides.append(model.value(Cooccurrence(), params, named, backend)[0])
                array[at] = kept
                assert abs((sides[0] - sides[1]) / 2e-6 - gradient[at]) < 1e-7, name


def test_only_listed_rows_have_a_gradient():
    model, params, batch, noise, weight = problem("sqrtn")
    with get_backend() as backend:
        named = backend.leave_out(batch, weight, noise, 3, "sqrtn", 1, 1)
        args = Cooccurrence(), params, named.bag, named.labels, None, backend
        grads = model.loss_and_gradient(*args, named=named)[1]
        listed = np.unique(named.ids[named.weights > 0])
        assert np.array_equal(grads[model.coef].indices, listed)
        assert np.array_equal(model.listed(named), listed)
