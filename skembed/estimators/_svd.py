"""Truncated singular value decomposition for what users call it: a transformer."""

import warnings
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._arpack import _init_arpack_v0
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skembed.kernels import get_backend
from skembed.models import (
    MOST_ITERATIONS,
    Moments,
    PowerSettings,
    arpack,
    columns,
    decompose,
    merge,
    project,
)

from ._base import unchanged_on
from ._stamp import Stamped
from ._validation import WORK_DTYPES, check_csr, without_zeros

AUTO_TOL = 1e-3  # share of the captured energy that an iteration must gain with tol="auto"
MOST_FEATURES = np.iinfo(np.int32).max  # beyond, every vector takes gigabytes


class TruncatedSVD(Stamped, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project rows onto the leading right singular vectors of X, which is not centred.

    A faster and more accurate stand-in for :class:`sklearn.decomposition.TruncatedSVD`, with the
    same parameters, attributes and signs; it also takes data in batches, by `partial_fit`. Known as
    latent semantic analysis (LSA) where X holds weights of words.

    Parameters
    ----------
    n_components : int, default=2
        Number of components; at most ``min(n_samples, n_features)``, with ``algorithm="arpack"``
        less than that.
    algorithm : {"randomized", "arpack"}, default="randomized"
        ``"randomized"`` iterates on a block of vectors that starts at random; ``"arpack"`` calls
        :func:`scipy.sparse.linalg.svds`, which is accurate to `tol` and several times slower.
    n_iter : int or "auto", default=5
        Iterations of the randomized algorithm: each multiplies by X and by its transpose, and damps
        directions of small singular values by a Chebyshev polynomial that follows what it finds.
        With ``"auto"`` it goes on until one captures no more than `tol` in addition.
    n_oversamples : int, default=10
        Vectors of the randomized algorithm beyond `n_components`. Their number is rounded up until
        rows of the block fill cache lines.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How the block is kept orthonormal. ``"auto"`` uses the eigenvectors of its Gram matrix, and
        Householder reflections (``"QR"``) where that matrix is too ill-conditioned. ``"LU"`` and
        ``"none"``, of scikit-learn, are accepted and mean ``"auto"``, which is as fast.
    random_state : int, RandomState instance or None, default=None
        Decides the random block, or the first vector of ARPACK. The same seed gives the same bits
        for every `n_jobs`.
    tol : float or "auto", default=0.0
        With ``algorithm="arpack"``, the relative accuracy; 0 and ``"auto"`` mean that of the dtype.
        With ``n_iter="auto"``, the share of the captured energy (the sum of squared singular
        values) that an iteration must gain for another one to follow; ``"auto"`` means 0.001.
        Unused otherwise.
    n_jobs : int, default=None
        Number of threads; results do not depend on it. None means 1, -1 all cores. ARPACK uses
        them in `transform` alone.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors: orthonormal rows, whatever the rank of X. The entry largest in
        magnitude is positive in each. A view of the fitted state.
    singular_values_ : ndarray of shape (n_components,)
        Singular values, descending: norms of the columns of the transformed training rows. After
        `partial_fit`, lower bounds of those of all rows seen.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training rows along each component, after `partial_fit` a lower bound.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as a share of the variance of all columns together, which is exact for all rows
        seen; 0 where all rows are alike.
    n_samples_seen_ : int
        Number of rows of the fit, and of calls of `partial_fit` after it.
    n_iter_ : int or None
        Iterations that were run, in the last call; None for ARPACK.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.

    See Also
    --------
    EmbeddingBag : Learns vectors of features for a target; may start from those found here.

    Notes
    -----
    ``n_iter`` counts as in scikit-learn, with the same number of products with X, so that fewer
    iterations are enough for the same accuracy.

    Memory: X, which is not copied where it is canonical CSR; a transposed copy of it, unless that
    takes both more than 1 GiB and more than the blocks of vectors; and four blocks of about
    ``n_components + n_oversamples`` columns, three with as many rows as the smaller side of X and
    one with as many as the larger. The components are dense: every column of X counts, whether it
    occurs or not.

    References
    ----------
    Halko, Martinsson and Tropp, "Finding structure with randomness: Probabilistic algorithms for
    constructing approximate matrix decompositions", SIAM Review 53 (2011).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed import TruncatedSVD
    >>> X = sp.random(1000, 300, density=0.02, format="csr", random_state=0)
    >>> svd = TruncatedSVD(n_components=5, random_state=0)
    >>> svd.fit_transform(X).shape
    (1000, 5)
    >>> svd.components_.shape, svd.n_iter_
    ((5, 300), 5)

    Batch by batch, so that no more than one of them is in memory:

    >>> stream = TruncatedSVD(n_components=5, random_state=0)
    >>> for batch in (X[:500], X[500:]):
    ...     stream = stream.partial_fit(batch)
    >>> stream.n_samples_seen_
    1000
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"arpack", "randomized"})],
        "n_iter": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
    }

    _doc_link_module = "skembed"
    _doc_link_template = (
        "https://skembed.readthedocs.io/en/latest/generated/skembed.{estimator_name}.html"
    )

    def __init__(
        self,
        n_components=2,
        *,
        algorithm="randomized",
        n_iter=5,
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        tol=0.0,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        return len(self.singular_values_)

    @property
    def components_(self):
        """Right singular vectors, shape (n_components, n_features)."""
        check_is_fitted(self)
        return columns(self._state[0].vectors)[:, : len(self.singular_values_)].T

    # ---------------------------------------------------------------- fit
    def fit(self, X, y=None):
        """Find the leading singular vectors of X.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            The rows; never changed.
        y : None
            Ignored.

        Returns
        -------
        self : TruncatedSVD
            The fitted transformer.

        Raises
        ------
        ValueError
            If X is not what it should be, or has fewer rows or columns than components.
        """
        self._fit(X, with_scores=False)
        return self

    def fit_transform(self, X, y=None):
        """Find the leading singular vectors of X and return its rows along them.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            The rows; never changed.
        y : None
            Ignored.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            What `transform` returns, in the dtype of the fit.

        Raises
        ------
        ValueError
            As `fit`.
        """
        return self._fit(X, with_scores=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, with_scores):
        with unchanged_on(BaseException, self):
            X, backend = self._checked(X, reset=True)
            self._check_rank(X, X.shape[0])
            with backend:
                moments = Moments.none(X.shape[1]).with_rows(X, backend)
                if self.algorithm == "arpack" and moments.squares > 0:
                    random_state = check_random_state(self.random_state)
                    start = _init_arpack_v0(min(X.shape), random_state)
                    tol = 0 if self.tol == "auto" else self.tol
                    triplets = arpack(X, self.n_components, tol, start)
                    scores = project(X, triplets.vectors, self.n_components, backend)
                else:
                    settings = self._settings()
                    triplets, scores = decompose(X, settings, backend, with_scores)
                self._keep(triplets, moments, backend)
        return scores

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Take more rows into account; the first call, or one after `fit`, may be with any.

        The rows are merged with the singular triplets kept so far, ``3 * n_components + 100`` or
        more, by at most three iterations of the randomized algorithm. What was outside of them is
        forgotten, so a singular value that is reported is a lower bound for that of all rows seen:
        its square is below the true one by no more than what the triplets kept fail to capture,
        the sum of squares of all values seen less that of all singular values kept. Memory does not
        depend on the number of rows seen.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            The rows; never changed. Batches of many times `n_components` rows lose least and are
            fastest, and the first one must have at least `n_components`.
        y : None
            Ignored.

        Returns
        -------
        self : TruncatedSVD
            The transformer.

        Raises
        ------
        ValueError
            As `fit`; the transformer is then as before the call.
        """
        with unchanged_on(BaseException, self):
            old = getattr(self, "_state", None)
            X, backend = self._checked(X, reset=old is None)
            triplets, moments = (None, Moments.none(X.shape[1])) if old is None else old
            self._check_rank(X, moments.n_rows + X.shape[0])
            with backend:
                moments = moments.with_rows(X, backend)
                triplets = merge(triplets, X, self._settings(), backend)
                self._keep(triplets, moments, backend)
        return self

    def _checked(self, X, reset):
        """Return the checked rows, and a backend for them."""
        dtype = WORK_DTYPES if reset else self._state[0].vectors.dtype
        X = check_csr(self, X, reset=reset, dtype=dtype, ensure_min_features=2 if reset else 1)
        return without_zeros(X), get_backend(effective_n_jobs(self.n_jobs))

    def _check_rank(self, X, n_rows):
        """Refuse more components than there can be, and vectors that are too long."""
        k, (_, n_features) = self.n_components, X.shape
        if n_features > MOST_FEATURES:
            size = 4 * n_features * (k + self.n_oversamples) * X.data.itemsize / 2**30
            raise ValueError(
                f"X has {n_features} features, for which TruncatedSVD would need {size:.0f} GiB: "
                "it keeps dense vectors. Hash the features into fewer columns."
            )
        least = min(n_rows, n_features)
        if k > least or (k == least and self.algorithm == "arpack"):
            most = "less than" if self.algorithm == "arpack" else "at most"
            raise ValueError(
                f"n_components={k} must be {most} "
                f"min(n_samples={n_rows}, n_features={n_features}) = {least}."
            )

    def _settings(self):
        auto = isinstance(self.n_iter, str)
        return PowerSettings(
            n_components=self.n_components,
            n_oversamples=self.n_oversamples,
            n_iter=None if auto else self.n_iter,
            tol=AUTO_TOL if self.tol == "auto" else self.tol,
            householder=self.power_iteration_normalizer == "QR",
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        )

    def _keep(self, triplets, moments, backend):
        """Set what a fit has learned."""
        k, dtype = self.n_components, triplets.vectors.dtype
        vectors, values = columns(triplets.vectors)[:, :k], triplets.values[:k]
        along, total = moments.variances(vectors, values, backend)
        self._state = triplets, moments
        with np.errstate(over="ignore"):
            self.singular_values_ = values.astype(dtype)
            self.explained_variance_ = along.astype(dtype)
        self.explained_variance_ratio_ = (along / total if total > 0 else along).astype(dtype)
        self.n_samples_seen_, self.n_iter_ = moments.n_rows, triplets.n_iter
        if isinstance(self.n_iter, str) and triplets.n_iter == MOST_ITERATIONS:
            warnings.warn(
                "Iterations still gained more than tol when their number reached its limit. Raise "
                "tol, or set n_iter to the number that is to be run.",
                ConvergenceWarning,
                stacklevel=2,
            )

    # ---------------------------------------------------------------- use
    def transform(self, X):
        """Return rows along the components, X @ components_.T.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Dense, in the dtype of the fit.

        Raises
        ------
        ValueError
            If X is not what it should be.
        """
        check_is_fitted(self)
        vectors = self._state[0].vectors
        X = without_zeros(check_csr(self, X, reset=False, dtype=vectors.dtype))
        jobs = 1 if X.shape[0] == 1 else effective_n_jobs(self.n_jobs)
        with get_backend(jobs, work=len(X.indices)) as backend:
            return project(X, vectors, len(self.singular_values_), backend)

    def inverse_transform(self, X):
        """Return rows in the space of the columns again: a dense array of all columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Transformed rows.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The closest rows that the components span, X @ components_.

        Raises
        ------
        ValueError
            If X is not what it should be.
        """
        check_is_fitted(self)
        return np.dot(check_array(X), self.components_)
