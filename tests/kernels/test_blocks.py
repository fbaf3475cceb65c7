"""Products of sparse matrices with blocks of vectors, and what is done to blocks themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.core import RowArray
from skembed.kernels import Backend, _blocks, get_backend
from skembed.kernels.cpu import _matrix

EPS = {np.float64: 1e-14, np.float32: 2e-6}
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture(params=["array code", 1, 3])
def backend(request, monkeypatch):
    """Every backend, with so short ranges and chunks that little data makes many of them."""
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    monkeypatch.setattr(_matrix, "CHUNK", 40)
    monkeypatch.setattr(_matrix, "CHUNK_LINES", 40)
    monkeypatch.setattr(_blocks, "RANGE_VALUES", 100)
    with Backend() if request.param == "array code" else get_backend(request.param) as found:
        yield found


def matrix(seed, n, m, dtype=np.float64, zeros=False):
    """A canonical CSR array with empty rows and columns, and stored zeros if asked for."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.3) * (rng.random((n, 1)) < 0.8)
    X = sp.csr_array(dense.astype(dtype))
    if zeros:
        X.data[rng.random(len(X.data)) < 0.2] = 0
    X.indptr = X.indptr.astype(np.int64)
    return X


def block(seed, n, d, dtype=np.float64):
    out = RowArray(n, d, dtype)
    out.values[:, :d] = np.random.default_rng(seed).normal(size=(n, d))
    return out


# ---------------------------------------------------------------- products
@given(st.integers(0, 2**31), st.integers(0, 30), st.integers(1, 40), st.integers(1, 20))
@settings(max_examples=40)
def test_products_of_kernels_and_array_code(seed, n, m, d):
    X, right, left = matrix(seed, n, m, zeros=True), block(seed, m, d), block(seed + 1, n, d)
    plain, cpu, dense = Backend(), get_backend(), X.toarray()
    ours, theirs = block(0, n, d).values, block(1, n, d).values
    plain.times(X, right.values, ours)
    cpu.times(X, right.values, theirs)
    assert np.array_equal(ours, theirs), "few rows are projected by the array code"
    np.testing.assert_allclose(ours, dense @ right.values, atol=1e-12)
    ours, theirs = block(0, m, d).values, block(1, m, d).values
    plain.transposed_times(X, left.values, ours)
    cpu.transposed_times(X, left.values, theirs)
    assert np.array_equal(ours, theirs)
    np.testing.assert_allclose(ours, dense.T @ left.values, atol=1e-12)
    for got, want in zip(cpu.transpose(X, m), plain.transpose(X, m), strict=True):
        assert np.array_equal(got, want)
        assert got.dtype == want.dtype


@both_dtypes
@pytest.mark.parametrize("d", [1, 16, 33, 112])
def test_products(backend, dtype, d):
    X = matrix(d, 70, 50, dtype, zeros=True)
    right, left = block(0, 50, d, dtype), block(1, 70, d, dtype)
    close, dense = dict(atol=40 * EPS[dtype]), X.toarray().astype(np.float64)
    out = block(2, 70, d, dtype).values
    backend.times(X, right.values, out)
    np.testing.assert_allclose(out, dense @ right.values, **close)
    twice = out.copy()
    backend.times(X, right.values, twice, add=True)
    np.testing.assert_allclose(twice, 2 * out, **close)
    part = block(2, 9, d, dtype).values
    backend.times(X, right.values, part[:7], rows=(20, 27))
    assert np.array_equal(part[:7], out[20:27])
    assert part[7:].any(), "rows behind those asked for are left alone"
    out = block(2, 50, d, dtype).values
    backend.transposed_times(X, left.values, out)
    np.testing.assert_allclose(out, dense.T @ left.values, **close)
    assert not out[:, d:].any()


def test_transpose(backend):
    X = matrix(0, 70, 50, zeros=True)
    indptr, rows, values = backend.transpose(X, 50)
    got = sp.csr_array((values, rows, indptr), (50, 70))
    assert got.has_canonical_format
    assert np.all(values), "no zero is stored"
    assert np.array_equal(got.toarray(), X.toarray().T)
    assert rows.dtype == np.int32


def test_column_sums(backend):
    X, sums = matrix(0, 70, 50, np.float32), np.ones(50)
    squares = backend.add_columns(X, sums)
    np.testing.assert_allclose(sums, 1 + X.toarray().sum(axis=0, dtype=np.float64))
    np.testing.assert_allclose(squares, (X.toarray().astype(np.float64) ** 2).sum())


# ---------------------------------------------------------------- blocks
@both_dtypes
def test_operations_on_blocks(backend, dtype):
    A, B = block(0, 90, 5, dtype).values[:, :5], block(1, 90, 7, dtype).values[:, :7]
    a, b = A.astype(np.float64), B.astype(np.float64)
    np.testing.assert_allclose(backend.cross(A, B), a.T @ b, atol=1e-12)
    np.testing.assert_allclose(backend.cross(A, A), a.T @ a, atol=1e-12)
    close, M = dict(atol=20 * EPS[dtype]), np.random.default_rng(2).normal(size=(5, 7))
    out = B.copy()
    backend.add_turned(A, M, out)
    np.testing.assert_allclose(out, b + a @ M, **close)
    backend.turn(A, M, out)
    np.testing.assert_allclose(out, a @ M, **close)
    backend.turn(A, M[:, :3])
    np.testing.assert_allclose(A[:, :3], a @ M[:, :3], **close)
    assert np.array_equal(A[:, 3:], a[:, 3:].astype(dtype))
    out, kind = B.copy(), dtype
    backend.lessen(out, kind(2), B[:, ::-1], kind(0.5), B)
    np.testing.assert_allclose(out, b - 2 * b[:, ::-1] - b / 2, **close)


@both_dtypes
def test_signs(backend, dtype):
    A = block(0, 90, 4, dtype).values[:, :4]
    A[:, 1] = 0
    A[[20, 80], 2] = -50, 50
    A[[20, 80], 3] = 50, -50
    want = np.sign(A[np.abs(A).argmax(axis=0), range(4)])
    assert backend.signs(A).tolist() == [want[0], 1, -1, 1]


@both_dtypes
@pytest.mark.parametrize("rank", [0, 1, 3, 6])
@pytest.mark.parametrize("n", [6, 20, 2000])
def test_qr_of_any_rank(backend, dtype, rank, n):
    rng = np.random.default_rng(rank)
    A = (rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 6))).astype(dtype)
    Q, whole = A.copy(), np.linalg.norm(A) + 1e-30
    np.testing.assert_allclose(np.abs(backend.triangle(A)), np.abs(backend.qr(Q)), atol=1e-9)
    R = backend.qr(A.copy())
    assert np.abs(Q.T.astype(np.float64) @ Q - np.eye(6)).max() < 10 * EPS[dtype]
    assert np.linalg.norm(Q @ R - A) < 20 * EPS[dtype] * whole
    assert not np.tril(R, -1).any()


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    monkeypatch.setattr(_blocks, "RANGE_VALUES", 100)
    X, right = matrix(0, 300, 200, np.float32), block(0, 200, 20, np.float32)
    found = []
    for n_jobs in (1, 2, 5):
        with get_backend(n_jobs) as cpu:
            one, two = block(1, 300, 20, np.float32), block(1, 200, 20, np.float32)
            cpu.times(X, right.values, one.values)
            cpu.transposed_times(X, one.values, two.values)
            cpu.turn(two.values, cpu.cross(two.values, two.values))
            R = cpu.qr(two.values[:, :20])
            arrays = one.values, two.values, R, *cpu.transpose(X, 200)
            found.append(b"".join(a.tobytes() for a in arrays))
    assert len(set(found)) == 1


def test_a_failure_in_one_range_reaches_the_caller():
    def fails(i):
        if i == 3:
            raise OSError("no more")
        return i

    with get_backend(3) as cpu:
        assert cpu.share([(i,) for i in range(3)], fails) == [0, 1, 2]
        with pytest.raises(OSError, match="no more"):
            cpu.share([(i,) for i in range(50)], fails)
        assert cpu.share([], fails) == []
