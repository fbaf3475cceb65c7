"""Faults that people met with truncated SVD on sparse data elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import TruncatedSVD

every_algorithm = pytest.mark.parametrize("algorithm", ["randomized", "arpack"])


@every_algorithm
def test_fit_transform_is_fit_then_transform(algorithm):
    X = sp.random(100, 60, density=0.05, random_state=0, format="csr")
    svd = TruncatedSVD(5, algorithm=algorithm, random_state=0)
    Z = svd.fit_transform(X)
    np.testing.assert_allclose(Z, svd.transform(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(Z, X @ svd.components_.T, rtol=1e-9, atol=1e-9)


def test_as_many_components_as_features():
    X = sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [0.0, 0.0]]))
    svd = TruncatedSVD(2, random_state=0)
    Z = svd.fit_transform(X)
    exact = np.linalg.svd(X.toarray(), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=0), exact, rtol=1e-8)
    np.testing.assert_allclose(Z @ svd.components_, X.toarray(), atol=1e-8)


@every_algorithm
@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_one_sign_rule_for_tall_and_wide(algorithm, shape):
    r = np.random.RandomState(0)
    D, first = r.rand(*shape) * (r.rand(*shape) < 0.6), None
    for seed in (0, 1, 2):
        svd = TruncatedSVD(4, algorithm=algorithm, random_state=seed).fit(sp.csr_matrix(D))
        V = svd.components_
        assert (V[np.arange(4), np.abs(V).argmax(1)] > 0).all()
        first = V if first is None else first
        np.testing.assert_allclose(V, first, atol=1e-6)


@every_algorithm
def test_matrix_of_zeros(algorithm):
    X = sp.csr_matrix((4, 3))
    svd = TruncatedSVD(2, algorithm=algorithm, random_state=0)
    Z = svd.fit_transform(X)
    assert Z.shape == (4, 2)
    assert not Z.any()
    np.testing.assert_allclose(svd.components_ @ svd.components_.T, np.eye(2), atol=1e-15)
    assert svd.explained_variance_ratio_.tolist() == [0.0, 0.0]
    assert not svd.singular_values_.any()


@every_algorithm
def test_float32_stays_float32(algorithm):
    X = sp.random(50, 20, density=0.2, random_state=0, format="csr", dtype=np.float32)
    svd = TruncatedSVD(3, algorithm=algorithm, random_state=0)
    for dtype in (np.float32, np.float64):
        assert svd.fit_transform(X.astype(dtype)).dtype == dtype
        assert svd.transform(X.astype(dtype)).dtype == dtype
        learned = [getattr(svd, name) for name in ("components_", "singular_values_")]
        learned += [svd.explained_variance_, svd.explained_variance_ratio_]
        assert {array.dtype for array in learned} == {np.dtype(dtype)}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_more_components_than_there_can_be(method):
    X = sp.random(5, 40, density=0.5, random_state=0, format="csr")
    for k in (41, 0, -1):
        with pytest.raises(ValueError, match="n_components"):
            getattr(TruncatedSVD(k, random_state=0), method)(X)
    with pytest.raises(ValueError, match=r"n_components=6 .* min\(n_samples=5, .* = 5"):
        getattr(TruncatedSVD(6, random_state=0), method)(X)
    assert getattr(TruncatedSVD(5, random_state=0), method)(X).transform(X).shape == (5, 5)
