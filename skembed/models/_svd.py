"""Truncated singular value decomposition of CSR matrices, at once or batch by batch.

Batches are merged as in [1]_.

References
----------
.. [1] Ross, Lim, Lin and Yang, "Incremental learning for robust visual tracking", Int. J. Comput.
   Vision 77 (2008).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.utils.extmath import svd_flip

from skembed.core import RowArray

from ._power import (
    EPS,
    ChebyshevIteration,
    SparseMap,
    StackedMap,
    columns,
    left_factors,
    orthonormalize,
    right_factors,
)

KEPT = 100  # triplets, beyond three times those wanted, that are kept from batch to batch
MERGING = 3  # iterations of a merge
PROJECTED = 1 << 22  # numbers of a product that are made at a time


@dataclass
class Moments:
    """Sums over the rows seen, in float64.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    sums : ndarray of shape (n_features,)
        Sum of each column.
    squares : float
        Sum of all squared values.
    """

    n_rows: int
    sums: np.ndarray
    squares: float

    @classmethod
    def none(cls, n_features):
        """Return the moments of no rows."""
        return cls(0, np.zeros(n_features), 0.0)

    def with_rows(self, X, backend):
        """Return the moments after the rows of X as well; refuse values that cannot be squared."""
        sums = self.sums.copy()
        with np.errstate(over="ignore"):
            squares = self.squares + backend.add_columns(X, sums)
        if not np.isfinite(squares):
            raise ValueError(
                "X has values whose squares are too large for float64. Divide it by a constant."
            )
        return Moments(self.n_rows + X.shape[0], sums, squares)

    def variances(self, vectors, values, backend):
        """Return the variance along each vector, and the variance of all columns together.

        Parameters
        ----------
        vectors : ndarray of shape (n_features, k)
            Orthonormal columns.
        values : ndarray of shape (k,)
            Euclidean norms of the rows along them.
        """
        mean, n = self.sums / self.n_rows, self.n_rows
        along = backend.cross(vectors, mean[:, None])[:, 0]
        total = self.squares / n - mean @ mean
        if total <= 8 * EPS * self.squares / n:  # rows that are all alike
            return np.zeros(len(values)), 0.0
        return np.maximum(values**2 / n - along**2, 0), total


@dataclass(frozen=True)
class Triplets:
    """Leading singular values and right singular vectors of the rows seen.

    Attributes
    ----------
    vectors : RowArray of shape (n_features, r)
        Right singular vectors, orthonormal columns; the entry largest in magnitude is positive.
    values : ndarray of shape (r,), float64
        Singular values, descending.
    n_iter : int or None
        Iterations that were run; None for ARPACK's.
    """

    vectors: RowArray
    values: np.ndarray
    n_iter: int | None


def _in_range(X, values=()):
    """Return X and the exponent of the power of two that it was divided by.

    Only a matrix whose fourth powers would leave the range of its dtype is divided, as a copy.
    """
    largest = max(np.abs(X.data).max(initial=0), *values[:1], 0)
    exponent, room = int(np.frexp(largest)[1]), 30 if X.data.itemsize == 4 else 200
    if abs(exponent) <= room:
        return X, 0
    return replace(X, data=np.ldexp(X.data, -exponent)), exponent


def decompose(X, settings, backend, with_scores=False):
    """Return the `Triplets` of X, and X @ vectors or None.

    The singular values are the norms of X @ vectors.

    Parameters
    ----------
    X : dataclass with indptr, indices, data and shape
        A canonical CSR matrix.
    settings : PowerSettings
        How to look for them.
    backend : Backend
        What computes.
    with_scores : bool, default=False
        Whether to return X @ vectors.
    """
    X, exponent = _in_range(X)
    matrix = SparseMap(X, backend, often=settings.n_iter != 0)
    iteration = ChebyshevIteration(matrix, settings, backend)
    n_iter = iteration.run()
    right, image = iteration.block, iteration.image
    if not iteration.is_tall:
        right, image = image, right
        orthonormalize(columns(right), backend, settings.householder)
        matrix.times(right.values, image.values)
    del iteration, matrix  # blocks and the transposed copy, before others are made
    values, turn = right_factors(columns(image), backend)
    k = settings.n_components
    values, turn = np.ldexp(values[:k], exponent), turn[:, :k]
    vectors, scores = RowArray(X.shape[1], k, X.data.dtype), None
    backend.turn(columns(right), turn, columns(vectors))
    signs = backend.signs(columns(vectors))
    columns(vectors)[:] *= signs.astype(X.data.dtype)
    if with_scores:
        scores = np.empty((X.shape[0], k), X.data.dtype)
        backend.turn(columns(image), np.ldexp(turn * signs, exponent), scores)
    return Triplets(vectors, values, n_iter), scores


def merge(triplets, X, settings, backend):
    """Return the `Triplets` of the rows seen before and those of X, wanted ones and many more.

    What is not kept is lost, which costs most where singular values fall slowly; and with so many
    vectors beyond those wanted, few iterations are enough.

    What is kept is diag(values) @ vectors.T = U.T @ A for a U with orthonormal columns, where A
    holds the triplets before and the rows of X. So A.T @ A exceeds V diag(values^2) V.T by a
    positive semi-definite matrix, whose trace is the energy that was lost; and no singular value
    is too large.

    Parameters
    ----------
    triplets : Triplets or None
        Of the rows seen before.
    X, settings, backend : object
        As in `decompose`.
    """
    kept = max(settings.n_oversamples, 2 * settings.n_components + KEPT)
    n_iter = settings.n_iter if settings.n_iter is None else min(settings.n_iter, MERGING)
    settings = replace(settings, n_oversamples=kept, n_iter=n_iter)
    X, exponent = _in_range(X, () if triplets is None else triplets.values)
    often = settings.n_iter != 0
    if triplets is None:
        matrix = SparseMap(X, backend, often)
    else:
        before = replace(triplets, values=np.ldexp(triplets.values, -exponent))
        matrix = StackedMap(before, X, backend, often)
    iteration = ChebyshevIteration(matrix, settings, backend)
    n_iter = iteration.run()
    vectors = iteration.image
    if iteration.is_tall:
        left, vectors = vectors, iteration.block
        orthonormalize(columns(left), backend)
        matrix.transposed_times(left.values, vectors.values)
    values = left_factors(columns(vectors), backend)
    columns(vectors)[:] *= backend.signs(columns(vectors)).astype(vectors.dtype)
    return Triplets(vectors, np.ldexp(values, exponent), n_iter)


def arpack(X, n_components, tol, start):
    """Return the `Triplets` of X that ARPACK finds, through SciPy.

    Parameters
    ----------
    X : dataclass with indptr, indices, data, shape and `matrix`
        A canonical CSR matrix.
    n_components : int
        Number of triplets, below both sizes of X.
    tol : float
        Relative accuracy; 0 for that of the dtype.
    start : ndarray of shape (min(X.shape),)
        First vector.
    """
    X, exponent = _in_range(X)
    _, values, right = svds(X.matrix(), k=n_components, tol=tol, v0=start)
    _, right = svd_flip(None, right[::-1], u_based_decision=False)
    vectors = RowArray(X.shape[1], n_components, X.data.dtype)
    columns(vectors)[:] = right.T
    return Triplets(vectors, np.ldexp(values[::-1].astype(np.float64), exponent), None)


def project(X, vectors, n_components, backend):
    """Return X @ vectors, for the first `n_components` of them.

    Parameters
    ----------
    X : object with indptr, indices, data and shape
        A canonical CSR matrix.
    vectors : RowArray
        Vectors, one a column.
    n_components : int
        Number of columns of the result.
    backend : Backend
        What multiplies.
    """
    n = X.shape[0]
    out = np.empty((n, n_components), vectors.dtype)
    step = min(n, max(1, PROJECTED // vectors.width))
    space = RowArray(step, vectors.d, vectors.dtype).values
    for lo in range(0, n, step):
        hi = min(lo + step, n)
        backend.times(X, vectors.values, space, rows=(lo, hi))
        out[lo:hi] = space[: hi - lo, :n_components]
    return out
