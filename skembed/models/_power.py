"""The leading singular vectors of CSR matrices, by power iteration on a block of vectors.

They are what repeated multiplication by X.T @ X (or X @ X.T, whichever is smaller) turns a block of
random vectors into [1]_. The power of the eigenvalues, which decides how fast that is, is replaced
by a Chebyshev polynomial that is small on [0, c] and grows faster than any other beyond it [2]_; c
follows the Ritz values that the iteration finds by itself, as a shift does in [3]_.

References
----------
.. [1] Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 53 (2011).
.. [2] Zhou, Saad, Tiago and Chelikowsky, "Self-consistent-field calculations using
   Chebyshev-filtered subspace iteration", J. Comput. Phys. 219 (2006).
.. [3] Feng, Yu, Xie and Tang, "Faster randomized SVD with dynamic shifts", ACM Trans. Math. Softw.
   50 (2024).
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skembed.core import RowArray, padded_width

EPS = np.finfo(np.float64).eps
ILL = 1e-12  # ratio of eigenvalues of a Gram matrix from which QR takes over
FREE_COPY = 1 << 30  # bytes that a transposed copy may take however small the blocks are
CACHED = 16 << 20  # bytes of a block that a group of rows of the transposed copy reads
FEW = 8  # values of a column in a group, on average, that make up for another look at its sum
NAMES = "indptr", "indices", "data"
MOST_ITERATIONS = 100  # where the number is left to the tolerance


def columns(block):
    """Return the vectors of a `RowArray` without its padding."""
    return block.values[:, : block.d]


@dataclass(frozen=True, slots=True)
class PowerSettings:
    """How the leading singular vectors are looked for.

    Attributes
    ----------
    n_components : int
        Number of triplets wanted.
    n_oversamples : int
        Vectors beyond them; the block is rounded up to whole cache lines.
    n_iter : int or None
        Number of iterations; None to go on until one gains too little.
    tol : float
        Share of the captured energy that an iteration must gain where `n_iter` is None.
    householder : bool
        Whether every orthonormalisation is done by Householder reflections.
    seed : int
        Seed of the random vectors.
    """

    n_components: int
    n_oversamples: int
    n_iter: int | None
    tol: float
    householder: bool
    seed: int


class SparseMap:
    """A CSR matrix that is multiplied by blocks of vectors from both sides.

    Parameters
    ----------
    X : dataclass with indptr, indices, data and shape
        A canonical CSR matrix.
    backend : Backend
        What multiplies.
    often : bool
        Whether the transpose is multiplied more than once, so that a transposed copy pays. None is
        made that takes more memory than `FREE_COPY` and than the blocks of an iteration.
    """

    def __init__(self, X, backend, often):
        self.X, self.backend, self.often, self.flipped = X, backend, often, None
        self.shape, self.dtype = X.shape, X.data.dtype

    def times(self, block, out):
        """Write X @ block."""
        self.backend.times(self.X, block, out)

    def transposed_times(self, block, out):
        """Write X.T @ block."""
        X, item = self.X, self.dtype.itemsize
        size, room = X.indptr[-1] * (item + 4), 4 * sum(X.shape) * item * block.shape[1]
        if self.flipped is None and self.often and size <= max(FREE_COPY, room):
            self.flipped = self._transpose(block.shape[1] * item)
        if self.flipped is None:
            self.backend.transposed_times(X, block, out)
            return
        for part, lo, hi in self.flipped:
            self.backend.times(part, block[lo:hi], out, add=lo > 0)

    def _transpose(self, row):
        """Return the transposes of groups of rows, and which rows they are.

        The rows of a block that belong to a group, of so many bytes, stay in a cache while they are
        read once for each value. Groups so small that columns have few values in them do not pay.
        """
        X, (n, m) = self.X, self.X.shape
        groups = max(1, min(-(-n * row // CACHED), int(X.indptr[-1]) // (FEW * m)))
        parts = []
        for lo, hi in pairwise(n * t // groups for t in range(groups + 1)):
            s, e = X.indptr[lo], X.indptr[hi]
            rows = X.indptr[lo : hi + 1] - s, X.indices[s:e], X.data[s:e]
            group = replace(X, **dict(zip(NAMES, rows, strict=True)))
            turned = self.backend.transpose(group, m)
            parts.append((replace(X, **dict(zip(NAMES, turned, strict=True))), lo, hi))
        return parts


class StackedMap(SparseMap):
    """The rows diag(values) @ vectors.T on top of the rows of X.

    Parameters
    ----------
    triplets : Triplets
        Of the rows seen before.
    X, backend, often : object
        As in `SparseMap`.
    """

    def __init__(self, triplets, X, backend, often):
        super().__init__(X, backend, often)
        self.vectors, self.values = columns(triplets.vectors), triplets.values
        self.shape = len(self.values) + X.shape[0], X.shape[1]

    def times(self, block, out):
        """Write the product of all rows with a block."""
        r = len(self.values)
        out[:r] = self.values[:, None] * self.backend.cross(self.vectors, block)
        super().times(block, out[r:])

    def transposed_times(self, block, out):
        """Write the product of the transpose with a block."""
        r = len(self.values)
        super().transposed_times(block[r:], out)
        top = (self.values[:, None] * block[:r]).astype(self.dtype)
        self.backend.add_turned(self.vectors, top, out)


# ------------------------------------------------------------------------------ small factors
def _gram_is_enough(size, dtype):
    """Tell whether eigenvalues of a Gram matrix, in float64, are all as accurate as its dtype."""
    return 0 < size[0] and EPS * size[-1] <= np.finfo(dtype).eps * size[0]


def orthonormalize(block, backend, householder=False):
    """Make the columns of a block orthonormal, in place, without a change of their span.

    Returns the matrix that the block was multiplied by; None where the columns are dependent, or
    nearly so, and Householder reflections make up for what is missing. The Gram matrix squares the
    condition of the block, so in float64 one pass leaves an error that a second one removes.
    """
    turned = None
    for _ in range(2):
        size, turn = np.linalg.eigh(backend.cross(block, block))
        is_ill = not size[0] > ILL * size[-1]
        if householder or is_ill:
            r = backend.qr(block)
            return None if is_ill else np.linalg.inv(r)
        turn /= np.sqrt(size)
        backend.turn(block, turn)
        turned = turn if turned is None else turned @ turn
        if _gram_is_enough(size, block.dtype):
            break
    return turned


def right_factors(block, backend):
    """Return the singular values of a block, descending, and its right singular vectors."""
    size, turn = np.linalg.eigh(backend.cross(block, block))
    if _gram_is_enough(size, block.dtype):
        return np.sqrt(size[::-1]), turn[:, ::-1]
    _, values, turn = np.linalg.svd(backend.triangle(block))
    return values, turn.T


def left_factors(block, backend):
    """Turn a block into its left singular vectors, in place; return its singular values."""
    size, turn = np.linalg.eigh(backend.cross(block, block))
    if _gram_is_enough(size, block.dtype):
        values = np.sqrt(size[::-1])
        turn = turn[:, ::-1] / values
    else:
        turn, values, _ = np.linalg.svd(backend.qr(block))
    backend.turn(block, turn)
    return values


# ------------------------------------------------------------------------------ the iteration
class ChebyshevIteration:
    """A block of vectors that turns towards the leading eigenvectors of B = A.T @ A or A @ A.T.

    A step replaces the block Q by (B - c/2) Q - (c/4)^2 P, where P is the block before it, and
    makes it orthonormal. Where the smaller side of A has no more rows than the block has columns,
    Q is the identity and there is nothing to find.

    Parameters
    ----------
    matrix : SparseMap
        A; B belongs to its smaller side.
    settings : PowerSettings
        Number of vectors, steps and seed.
    backend : Backend
        What computes.

    Attributes
    ----------
    is_tall : bool
        Whether the smaller side is that of the columns of A.
    block, image : RowArray
        Q, with orthonormal columns after `run`, and A @ Q or A.T @ Q.
    """

    def __init__(self, matrix, settings, backend):
        self.settings, self.backend, small = settings, backend, min(matrix.shape)
        self.there, self.back = matrix.times, matrix.transposed_times
        self.is_tall = matrix.shape[0] > matrix.shape[1]
        if not self.is_tall:
            self.there, self.back = self.back, self.there
        k, dtype = settings.n_components, matrix.dtype
        width = min(padded_width(k + settings.n_oversamples, dtype), small)
        self.middle = (width - k) // 2
        self.block = RowArray(small, width, dtype)
        self.image = RowArray(max(matrix.shape), width, dtype)
        if width == small:
            np.fill_diagonal(self.block.values, 1)
        else:
            backend.start_uniform(settings.seed, np.arange(small), 1.0, width, self.block.values)
            self.next, self.before = (RowArray(small, width, dtype) for _ in range(2))

    def run(self):
        """Iterate as the settings say, or up to `MOST_ITERATIONS` times; return how often."""
        n_iter, tol = self.settings.n_iter, self.settings.tol
        extra = int(self.is_tall)  # a wide matrix gains half a step on the way to its columns
        last = extra + (MOST_ITERATIONS if n_iter is None else n_iter)
        captured, bound, self.continues = 0.0, 0.0, False
        if self.block.n_rows > self.block.d and last == 0:
            orthonormalize(columns(self.block), self.backend)
        self.there(self.block.values, self.image.values)
        if self.block.n_rows == self.block.d:
            return 0
        for i in range(last):
            if i > 0:
                before = captured
                captured, bound = self._ritz()
                if n_iter is None and i > 1 and captured - before <= tol * captured:
                    return i - extra
            self._step(bound)
            self.there(self.block.values, self.image.values)
        return last - extra

    def _ritz(self):
        """Return the energy that the block captures, and the end of the interval to damp.

        Half of the vectors beyond those wanted lie above it.
        """
        image = columns(self.image)
        ritz = np.maximum(np.linalg.eigvalsh(self.backend.cross(image, image)), 0)
        return float(ritz[-self.settings.n_components :].sum()), float(ritz[self.middle])

    def _step(self, c):
        """Move the block on, damping [0, c]; the image must be that of the present block."""
        self.back(self.image.values, self.next.values)
        Q, P, new = (columns(b) for b in (self.block, self.before, self.next))
        if c > 0:
            second = c**2 / 16 if self.continues else 0
            self.backend.lessen(new, Q.dtype.type(c / 2), Q, Q.dtype.type(second), P)
        turn = orthonormalize(new, self.backend, self.settings.householder)
        self.continues = turn is not None
        if self.continues:  # the block before, in the coordinates of the new one
            self.backend.turn(Q, turn.astype(Q.dtype))
        self.block, self.before, self.next = self.next, self.block, self.before
