"""Leading singular vectors: what an iteration finds, and how batches are merged."""

import numpy as np
import pytest
import scipy.sparse as sp

from skembed.core import RowArray
from skembed.estimators._validation import CSR
from skembed.kernels import get_backend
from skembed.models import PowerSettings, _power, _svd, columns, decompose, merge
from skembed.models._power import SparseMap, StackedMap, orthonormalize
from skembed.models._svd import Triplets


def csr(X):
    X = sp.csr_array(X)
    return CSR(X.indptr.astype(np.int64), X.indices, X.data, X.shape)


def settings(k=5, n_iter=5, tol=0.0, **options):
    defaults = dict(n_oversamples=3, householder=False, seed=0)
    return PowerSettings(n_components=k, n_iter=n_iter, tol=tol, **defaults | options)


def with_values(rng, n, m, values):
    """A dense matrix with given singular values."""
    left, right = (np.linalg.qr(rng.normal(size=(side, len(values))))[0] for side in (n, m))
    return left * values @ right.T


@pytest.fixture(params=[1, 2])
def backend(request):
    with get_backend(request.param) as found:
        yield found


# ---------------------------------------------------------------- products
@pytest.mark.parametrize("copies", [0, 1, 3])
def test_maps(backend, copies, monkeypatch):
    rng = np.random.default_rng(0)
    if copies > 1:
        monkeypatch.setattr(_power, "CACHED", 900 * 64 // copies)
    if not copies:  # no room is left for a transposed copy
        monkeypatch.setattr(_power, "FREE_COPY", 0)
    dense = rng.normal(size=(900, 30))
    vectors = RowArray(30, 4, np.float64)
    columns(vectors)[:] = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    values = np.array([5.0, 3, 2, 0.5])
    stacked = np.vstack([values[:, None] * columns(vectors).T, dense])
    before = Triplets(vectors, values, 1)
    for A, want in (
        (SparseMap(csr(dense), backend, copies > 0), dense),
        (StackedMap(before, csr(dense), backend, copies > 0), stacked),
    ):
        assert A.shape == want.shape
        right, left = RowArray(30, 3, np.float64), RowArray(len(want), 3, np.float64)
        columns(right)[:] = rng.normal(size=(30, 3))
        A.times(right.values, left.values)
        np.testing.assert_allclose(left.values, want @ right.values, atol=1e-12)
        A.transposed_times(left.values, right.values)
        np.testing.assert_allclose(right.values, want.T @ left.values, atol=1e-10)
        assert len(A.flipped or ()) == copies


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("condition", [1, 1e3, 1e5, 1e9, np.inf])
def test_orthonormal_columns_for_every_condition(backend, dtype, condition):
    rng = np.random.default_rng(0)
    values = np.geomspace(1, 1 / condition, 6) if condition < np.inf else [1, 1, 1, 0, 0, 0]
    A = with_values(rng, 400, 6, np.array(values)).astype(dtype)
    Q = A.copy()
    turn = orthonormalize(Q, backend)
    eps = np.finfo(dtype).eps
    assert np.abs(Q.T.astype(np.float64) @ Q - np.eye(6)).max() < 20 * eps
    rest = A - Q.astype(np.float64) @ (Q.T.astype(np.float64) @ A)
    assert np.linalg.norm(rest) < 20 * eps, "the span is kept"
    assert (turn is None) == (condition > 1e6)
    if turn is not None:
        np.testing.assert_allclose(A.astype(np.float64) @ turn, Q, atol=1e3 * eps)
        with_qr = A.copy()
        turn = orthonormalize(with_qr, backend, householder=True)
        np.testing.assert_allclose(A.astype(np.float64) @ turn, with_qr, atol=1e3 * eps)


# ---------------------------------------------------------------- at once
def power_iteration(X, k, width, n_steps, seed):
    """Captured energy after so many plain steps, by QR in each."""
    Q = np.random.default_rng(seed).normal(size=(X.shape[1], width))
    for _ in range(n_steps):
        Q = np.linalg.qr(X.T @ (X @ Q))[0]
    return (np.linalg.svd(X @ Q, compute_uv=False)[:k] ** 2).sum()


@pytest.mark.parametrize("shape", [(500, 300), (300, 500), (400, 400)])
def test_more_is_captured_than_by_plain_steps(backend, shape):
    rng = np.random.default_rng(1)
    X = with_values(rng, *shape, np.arange(1, 301) ** -0.3)
    for n_iter in (1, 2, 3, 5, 8):
        found, _ = decompose(csr(X), settings(20, n_iter, n_oversamples=4), backend)
        n_steps = n_iter + (shape[0] > shape[1])  # what scikit-learn does
        plain = [power_iteration(X, 20, 24, n_steps, seed) for seed in range(3)]
        assert (found.values**2).sum() > max(plain)
        assert found.n_iter == n_iter


def test_few_rows_or_columns_are_exact(backend):
    rng = np.random.default_rng(0)
    for shape in ((200, 8), (8, 200), (6, 6)):
        X = rng.normal(size=shape)
        found, scores = decompose(csr(X), settings(5, 0), backend, with_scores=True)
        np.testing.assert_allclose(found.values, np.linalg.svd(X)[1][:5], rtol=1e-13)
        np.testing.assert_allclose(scores, X @ columns(found.vectors), atol=1e-12)
        assert found.n_iter == 0


def test_iterations_end_by_the_gain():
    rng = np.random.default_rng(0)
    X = csr(with_values(rng, 500, 400, np.arange(1, 401) ** -0.2))
    with get_backend() as backend:
        ends = [decompose(X, settings(20, None, tol), backend)[0] for tol in (0.1, 1e-2, 1e-4, 0)]
    counts = [found.n_iter for found in ends]
    assert counts == sorted(counts)
    assert 1 <= counts[0] < counts[1] < counts[2]
    energy = [(found.values**2).sum() for found in ends]
    assert energy == sorted(energy)
    exact = (np.arange(1, 21) ** -0.4).sum()
    assert 1 - 1e-3 < energy[2] / exact <= 1 + 1e-12


# ---------------------------------------------------------------- batch by batch
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [7, 60, 400])
def test_bounds_of_a_merge(backend, dtype, size, monkeypatch):
    monkeypatch.setattr(_svd, "KEPT", 0)
    rng = np.random.default_rng(0)
    X = with_values(rng, 800, 120, np.arange(1, 121) ** -0.8).astype(dtype)
    found, exact = None, np.linalg.svd(X.astype(np.float64), compute_uv=False)
    for lo in range(0, 800, size):
        found = merge(found, csr(X[lo : lo + size]), settings(5, n_iter=2), backend)
    n_kept = len(found.values)
    assert n_kept == 16, "three times five, and whole cache lines"
    lost = (exact**2).sum() - (found.values**2).sum()
    close = 200 * np.finfo(dtype).eps
    assert (found.values <= exact[:n_kept] * (1 + close)).all()
    assert (exact[:n_kept] ** 2 <= found.values**2 + lost + close).all()
    rest = X.T.astype(np.float64) @ X - columns(found.vectors) * found.values**2 @ columns(
        found.vectors
    ).T.astype(np.float64)
    assert np.linalg.eigvalsh(rest)[0] > -close, "no direction is counted more than it is"
    np.testing.assert_allclose(np.trace(rest), lost, rtol=1e-3)


def test_merge_of_little_rank_is_exact(backend):
    rng = np.random.default_rng(0)
    X = with_values(rng, 300, 90, np.array([9.0, 5, 5, 2, 1, 0.5]))
    found = None
    for lo in range(0, 300, 50):
        found = merge(found, csr(X[lo : lo + 50]), settings(6), backend)
    np.testing.assert_allclose(found.values[:6], [9, 5, 5, 2, 1, 0.5], rtol=1e-12)
    np.testing.assert_allclose(found.values[6:], 0, atol=1e-12)
