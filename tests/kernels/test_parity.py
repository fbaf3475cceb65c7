"""Every operation of every backend against the array code of the base class.

The array code itself is compared with the loops of the reference in tests/models and
tests/training.
"""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.core import CSRBatch, FeatureIndex, PendingRowGradient, RowArray
from skembed.kernels import Backend, get_backend
from skembed.kernels._backend import FEW_OUTPUTS
from skembed.kernels.cpu import _matrix

RTOL = {np.float64: 1e-12, np.float32: 2e-6}
POOLINGS = ("sum", "mean", "sqrtn")


def random_csr(rng, n, n_columns, dtype, *, values="normal", density=6):
    """CSR arrays with duplicates, empty rows and unsorted rows; no zero is stored."""
    sizes = rng.integers(0, 2 * density, n) * (rng.random(n) > 0.2)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = (rng.zipf(1.4, indptr[-1]) % n_columns).astype(np.int32)
    data = rng.normal(size=len(indices)) if values == "normal" else np.ones(len(indices))
    return indptr, indices, data.astype(dtype)


def random_table(rng, n_rows, d, dtype):
    table = RowArray(n_rows, d, dtype)
    table.values[:, :d] = rng.normal(size=(n_rows, d))
    return table.values


@pytest.fixture(scope="module", autouse=True)
def kernels_for_little_work():
    """The array code would be compared with itself."""
    few, _matrix.FEW = _matrix.FEW, -1
    yield
    _matrix.FEW = few


@pytest.fixture(params=[1, 3])
def backend(request, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    with get_backend(request.param) as cpu:
        yield cpu


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 8, 10, 33])
@pytest.mark.parametrize("n_columns", [1, 7, 5000])
def test_batch_operations(backend, dtype, d, n_columns):
    rng = np.random.default_rng(d + n_columns)
    plain = Backend()
    indptr, indices, data = random_csr(rng, 90, n_columns, dtype)
    table = random_table(rng, n_columns, d, dtype)
    close = dict(rtol=RTOL[dtype], atol=20 * RTOL[dtype])
    for n_trainable in (n_columns, n_columns // 2, 0):
        backend.prepare(indices, n_trainable)
        for pooling in POOLINGS:
            scale = plain.scale(indptr, data, pooling)
            rows = rng.permutation(90)[:50]
            batch = CSRBatch(indptr, indices, data, rows, scale[rows])
            want, groups = plain.forward_and_group(batch, table, n_trainable)
            pooled, got = backend.forward_and_group(batch, table, n_trainable)
            assert np.array_equal(pooled, want), "few rows are predicted by the array code"
            assert np.array_equal(got.ids, groups.ids)
            assert np.array_equal(got.starts, groups.starts)
            assert np.array_equal(got.coef, groups.coef)
            assert np.array_equal(got.keys & 0xFFFFFFFF, groups.keys & 0xFFFFFFFF)
            assert (got.ids < n_trainable).all()
            d_pooled = random_table(rng, 50, d, dtype)
            want = plain.bag_backward(groups, d_pooled)
            np.testing.assert_allclose(backend.bag_backward(got, d_pooled), want, **close)
            assert np.array_equal(backend.forward(batch, table), pooled)


@given(st.integers(0, 2**32 - 1), st.integers(0, 25), st.integers(1, 40), st.booleans())
@settings(max_examples=60)
def test_matrix_operations(seed, n, n_columns, wide):
    rng = np.random.default_rng(seed)
    plain, cpu = Backend(), get_backend()
    indptr, indices, data = random_csr(rng, n, n_columns, np.float64)
    for matrix in (
        sp.csr_array((data, indices, indptr), (n, n_columns)),
        sp.csr_array((data, indices, indptr), (n, n_columns)).tocsc().tocsr(),  # canonical
    ):
        matrix.data[rng.random(len(matrix.data)) < 0.2] = 0
        x = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
        assert cpu.scan(*x[:2]) == plain.scan(*x[:2])
        for pooling in POOLINGS:
            assert np.array_equal(cpu.scale(x[0], x[2], pooling), plain.scale(x[0], x[2], pooling))
    n_features = 2**40 if wide else n_columns
    rows = np.flatnonzero(rng.random(n) < 0.7)
    want, got = plain.count(*x, rows, n_features), cpu.count(*x, rows, n_features)
    assert all(np.array_equal(a, b) for a, b in zip(want, got, strict=True))
    index = FeatureIndex(n_features).observe(*want, min_count=2, padding=np.array([0]))
    want, got = plain.map_columns(*x, index), cpu.map_columns(*x, index)
    assert all(np.array_equal(a, b) for a, b in zip(want, got, strict=True))
    assert got[1].dtype == np.int32


def test_nothing_is_copied_where_nothing_is_left_out():
    indptr, indices = np.array([0, 2, 3]), np.array([0, 2, 2])
    data = np.ones(3)
    index = FeatureIndex(3).observe(np.array([0, 2]), np.array([1, 2]))
    for backend in (Backend(), get_backend()):
        new_indptr, rows, new_data = backend.map_columns(indptr, indices, data, index)
        assert new_indptr is indptr
        assert new_data is data
        assert rows.tolist() == [0, 1, 1]


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**40), max_size=30), st.integers(1, 20))
@settings(max_examples=40)
def test_starting_values_are_the_same_bits(seed, columns, d):
    columns = np.array(columns, dtype=np.int64)
    want, got = np.zeros((2, len(columns), d))
    Backend().start_uniform(seed, columns, 0.1, d, want)
    get_backend().start_uniform(seed, columns, 0.1, d, got)
    assert np.array_equal(want, got)


@given(
    st.integers(0, 2**31 - 1),
    st.integers(0, 25),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from([np.int64, np.int32]),
    st.booleans(),
)
@settings(max_examples=60)
def test_hashes_of_rows_are_the_same_bits(seed, n, dtype, index_dtype, wide):
    rng = np.random.default_rng(seed)
    n_columns = 2**40 if wide and index_dtype is np.int64 else 40
    indptr = np.append(0, np.cumsum(rng.integers(0, 7, n)))
    rows = [np.sort(rng.choice(n_columns, k, replace=False)) for k in np.diff(indptr)]
    indices = np.concatenate([np.zeros(0, int), *rows]).astype(index_dtype)
    data = rng.normal(size=len(indices)) * 10.0 ** rng.integers(-30, 30, len(indices))
    data = (data * rng.choice([0.0, -0.0, 1.0, 1.0], len(indices))).astype(dtype)
    kept = data != 0
    without = np.append(0, np.cumsum(kept))[indptr], indices[kept], data[kept]
    want = Backend().hash_rows(indptr, indices, data, seed)
    assert want.dtype == np.uint64
    assert want.shape == (n,)
    for backend in (Backend(), get_backend()):
        hashes = backend.hash_rows(indptr, indices, data, seed)
        assert hashes.dtype == np.uint64
        assert np.array_equal(hashes, want)
        assert np.array_equal(backend.hash_rows(*without, seed), want), "zeros do not count"
        other = backend.hash_rows(indptr, indices, data, seed + 1)
        assert not (other == want).any(), "a hash depends on the seed"
    key = [(rows[r][data[s:e] != 0].tobytes(), data[s:e][data[s:e] != 0].tobytes())
           for r, (s, e) in enumerate(pairwise(indptr))]  # fmt: skip
    assert len(set(want.tolist())) == len(set(key)), "equal hashes for equal rows only"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hashes_of_rows_tell_rows_apart(dtype, monkeypatch):
    tiny = np.finfo(dtype).smallest_subnormal
    rows = [
        [], [(0, 1)], [(1, 1)], [(0, -1)], [(0, 2)], [(0, 1), (1, 1)], [(0, 1), (2, 1)],
        [(0, tiny)], [(0, 1), (1, 2)], [(0, 2), (1, 1)], [(0, 1 + np.finfo(dtype).eps)],
        [(2, 1), (3, 1)],
    ]  # fmt: skip
    rows += [[], [(5, 0.0)], [(0, 0.0), (3, -0.0)]]  # three without values
    rows += [[(0, 1), (1, -0.0)], [(0, 0.0), (1, 1)]]  # rows 1 and 2
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    indices, data = (np.array([v[k] for row in rows for v in row]) for k in (0, 1))
    x = indptr, indices.astype(np.int64), data.astype(dtype)
    monkeypatch.setattr(_matrix, "CHUNK", 3)
    for backend in (Backend(), get_backend()):
        hashes = backend.hash_rows(*x, 7)
        assert len(set(hashes[:12].tolist())) == 12
        assert (hashes[12:15] == hashes[0]).all()
        assert hashes[15:].tolist() == hashes[1:3].tolist()
        assert np.array_equal(hashes, Backend().hash_rows(*x, 7))


def test_large_and_tiny_values_have_a_pooling_factor():
    indptr, data = np.array([0, 2, 4, 4]), np.array([1e200, 1e200, 1e-200, -1e-200])
    for backend in (Backend(), get_backend()):
        scale = backend.scale(indptr, data, "sqrtn")
        np.testing.assert_allclose(scale * [1e200, 1e-200, 1], [0.5**0.5, 0.5**0.5, 0])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_summed_gradients_do_not_depend_on_threads(pooling, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    rng = np.random.default_rng(0)
    indptr, indices, data = random_csr(rng, 200, 1000, np.float32)
    table, d_pooled = (
        random_table(rng, 1000, 10, np.float32),
        random_table(rng, 200, 10, np.float32),
    )
    results = set()
    for n_jobs in (1, 2, 3, 4):
        with get_backend(n_jobs) as backend:
            backend.prepare(indices, 900)
            scale = backend.scale(indptr, data, pooling)
            batch = CSRBatch(
                indptr, indices, data, rng.permutation(200) * 0 + np.arange(200), scale
            )
            pooled, groups = backend.forward_and_group(batch, table, 900)
            g = PendingRowGradient(groups, d_pooled, table.shape).sum(backend)
            results.add((pooled.tobytes(), g.indices.tobytes(), g.values.tobytes()))
    assert len(results) == 1


def test_many_columns_need_more_passes_of_the_sort():
    n_rows = (1 << 24) + 5
    indices = np.array([n_rows - 1, 3, 1 << 23, 3, 1 << 12, n_rows - 1], np.int32)
    data = np.arange(6.0)
    batch = CSRBatch(np.array([0, 3, 6]), indices, data, np.array([1, 0]), np.ones(2))
    table = np.broadcast_to(np.zeros(8), (n_rows, 8))
    table = np.lib.stride_tricks.as_strided(np.zeros(8), (n_rows, 8), (0, 8))
    with get_backend() as backend:
        _, groups = backend.forward_and_group(batch, table, n_rows)
        assert groups.ids.tolist() == [3, 1 << 12, 1 << 23, n_rows - 1]
        assert groups.coef.tolist() == [3, 1, 4, 2, 5, 0]
        assert groups.starts.tolist() == [0, 2, 3, 4, 6]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_outputs", [1, 2, 5, FEW_OUTPUTS, FEW_OUTPUTS + 1, 40])
@pytest.mark.parametrize("d, n_linear", [(1, 0), (16, 0), (50, 0), (50, 3)])
def test_linear_heads(backend, dtype, n_outputs, d, n_linear):
    rng = np.random.default_rng(n_outputs + d)
    plain, close = Backend(), dict(rtol=10 * RTOL[dtype], atol=100 * RTOL[dtype])
    for b in (1, 3, 4, 37, 100):
        pooled = random_table(rng, b, d + n_linear, dtype)
        coef, intercept, d_raw = (rng.normal(size=(n_outputs, k)).astype(dtype) for k in (d, 1, b))
        scale = rng.random(b).astype(dtype)
        raw = backend.linear(pooled, coef, intercept)
        np.testing.assert_allclose(raw, coef @ pooled[:, :d].T + intercept, **close)
        assert np.array_equal(raw, plain.linear(pooled, coef, intercept))
        want = plain.linear_backward(pooled, coef, d_raw, scale)
        got = backend.linear_backward(pooled, coef, d_raw, scale)
        for name, a, w in zip(("g_coef", "g_intercept", "d_pooled"), got, want, strict=True):
            np.testing.assert_allclose(a, w, **close, err_msg=name)
        assert not got[2][:, d:].any()
        targets = {"log_loss": rng.integers(0, 2, (n_outputs, b)).astype(dtype)}
        targets["softmax"] = rng.integers(0, n_outputs, b)
        for name, target in targets.items():
            for weight in (None, rng.random(b).astype(dtype)):
                x = name, pooled, coef, intercept, target, weight, scale
                at_once = [np.copy(part) for part in backend.linear_loss(*x)]
                value, d_raw = backend.loss(name, target, raw, weight)
                by_stage = value, *backend.linear_backward(pooled, coef, d_raw, scale)
                assert all(map(np.array_equal, at_once, by_stage))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["log_loss", "softmax"])
@pytest.mark.parametrize("weighted", [False, True])
def test_heads_of_many_outputs(dtype, name, weighted):
    rng = np.random.default_rng(0)
    n_outputs, b, d = 1100, 100, 10
    pooled = random_table(rng, b, d, dtype)
    coef, intercept = (rng.normal(size=(n_outputs, k)).astype(dtype) for k in (d, 1))
    target = rng.integers(0, n_outputs, b)
    if name == "log_loss":
        target = (np.arange(n_outputs)[:, None] == target).astype(dtype)
    weight = rng.random(b).astype(dtype) if weighted else None
    x = name, pooled, coef, intercept, target, weight, rng.random(b).astype(dtype)
    found = []
    for n_jobs in (1, 2, 3):
        with get_backend(n_jobs) as backend:
            found.append([np.copy(part) for part in backend.linear_loss(*x)])
            stages = Backend.linear_loss(backend, *x)
    for other in found[1:]:
        assert all(map(np.array_equal, found[0], other))
    close = dict(rtol=100 * RTOL[dtype], atol=100 * RTOL[dtype])
    for got, want in zip(found[0], stages, strict=True):
        np.testing.assert_allclose(got, want, **close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_outputs_share_a_logarithm(dtype):
    z = np.random.default_rng(0).normal(size=(700, 3)).astype(dtype) * [1, 30, 300]
    z = z.astype(dtype)
    z[:, 0] = -40  # the loss of each is far below the rounding of 1
    value, slope = get_backend().loss("log_loss", np.zeros_like(z), z, np.array([1, 0, 0], dtype))
    np.testing.assert_allclose(value, 700 * np.exp(-40.0), rtol=100 * RTOL[dtype])
    value, slope = get_backend().loss("log_loss", np.zeros_like(z), z, None)
    exact = z.astype(np.float64)
    np.testing.assert_allclose(value, np.logaddexp(0, exact).sum() / 3, rtol=10 * RTOL[dtype])
    np.testing.assert_allclose(slope, scipy.special.expit(exact) / 3, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponentials(dtype):
    tiny = {np.float64: -708, np.float32: -87}[dtype]
    z = np.concatenate([-np.random.default_rng(0).exponential(20, 5000), [0, tiny, 2 * tiny]])
    raw = np.stack([np.zeros(len(z)), z]).astype(dtype)
    slope = get_backend().loss("softmax", np.zeros(len(z), int), raw, None)[1][1] * len(z)
    exact = np.exp(raw[1].astype(np.float64))
    exact = np.where(raw[1] < tiny, 0, exact / (1 + exact))
    np.testing.assert_allclose(
        slope, exact, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny
    )
