"""FeatureHasher: columns of a sparse matrix from hashes of tokens, and the way back."""

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._sparse import _align_api_if_sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skembed.hashing import Assembly, Ledger, LookBack, count_names, hash_rows
from skembed.kernels import get_backend

from ._hashing_input import HasherInput
from ._stamp import Stamped


def _stores_names(hasher):
    if hasher.store_names:
        return True
    raise AttributeError("Names are kept only with store_names=True.")


class FeatureHasher(
    Stamped, HasherInput, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Hash categories, tokens, tables or sparse columns into a fixed number of columns.

    A drop-in for :class:`sklearn.feature_extraction.FeatureHasher`, with the same matrix for the
    same tokens, that also reads tables and CSR matrices, crosses columns, and tells which tokens
    are in a column. The hash is MurmurHash3 (32 bits): it depends on the bytes of a token and on
    `seed` alone, never on the process, the machine or `n_jobs`.

    Parameters
    ----------
    n_features : int, default=2**20
        Number of columns, at most 2**31 - 1. Memory of the output does not depend on it.
    input_type : {"dict", "pair", "string", "table", "csr"}, default="dict"
        What a row is: ``"dict"``, a mapping of names to values; ``"pair"``, an iterable of
        (name, value); ``"string"``, an iterable of names. A numeric value is the weight of its
        name; a string joins it, as ``name=value`` of weight 1. ``"table"``: pandas or polars data
        frames, Arrow tables, and 2-D arrays, whose cells are hashed like the items of dicts.
        ``"csr"``: a sparse matrix, whose columns are hashed by their number.
    dtype : dtype, default=np.float64
        Of the output: float64, float32 or signed integers.
    alternate_sign : bool, default=True
        Whether half of the tokens enter with a minus sign, as in scikit-learn, so that collisions
        cancel out on average. ``False`` keeps all values of one sign.
    seed : int, default=0
        Seed of the hash; scikit-learn's is 0.
    n_hashes : int, default=1
        Columns for each token. Two tokens rarely share all of several columns, so that a model can
        tell them apart where one column would not do (Bloom embeddings).
    interactions : list of tuple of str or int, default=None
        Columns of a table to cross, by name or position: ``[("carrier", "dest")]`` adds a token
        for each pair that occurs. Weights are multiplied.
    store_names : bool, default=False
        Whether `fit`, `partial_fit` and `fit_transform` count the tokens, for `inverse_lookup`,
        `collision_report` and `get_feature_names_out`. The names of about a million tokens are
        kept; then the rarer half is dropped.
    on_missing : {"token", "skip"}, default="token"
        What None, NaN, NaT, pandas.NA and Arrow nulls in a table become: a token of their own in
        each column, which no text has, or nothing.
    n_jobs : int or None, default=None
        Number of threads. It never changes a result. None is 1, -1 all cores.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen by `fit`, for ``"table"`` and ``"csr"``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.

    See Also
    --------
    sklearn.feature_extraction.DictVectorizer : One column a token, which it has to remember.
    sklearn.preprocessing.OneHotEncoder : One column a category, which it has to remember.

    Notes
    -----
    Without `store_names` nothing is learned, and `transform` needs no `fit`. Equal tokens of a row
    are summed; a sum of 0 is not stored. Crosses and the further columns of `n_hashes` come from
    hashes of hashes.

    References
    ----------
    .. [1] Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale
       multitask learning", ICML 2009.
    .. [2] Serrà and Karatzoglou, "Getting deep recommenders fit: Bloom embeddings for sparse binary
       input/output networks", RecSys 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed import FeatureHasher
    >>> hasher = FeatureHasher(n_features=10)
    >>> X = hasher.transform([{"dog": 1, "cat": 2, "elephant": 4}, {"dog": 2, "run": 5}])
    >>> X.toarray()
    array([[ 0.,  0., -4., -1.,  0.,  0.,  0.,  0.,  0.,  2.],
           [ 0.,  0.,  0., -2., -5.,  0.,  0.,  0.,  0.,  0.]])

    Columns of a table, and what is in one of the buckets:

    >>> table = np.array([["red", "small"], ["blue", "small"]], dtype=object)
    >>> hasher = FeatureHasher(input_type="table", store_names=True)
    >>> X = hasher.fit_transform(table)
    >>> [hasher.inverse_lookup(column) for column in X[[0]].indices]
    [[('x0=red', 1, 1.0)], [('x1=small', 2, -1.0)]]
    """

    __metadata_request__transform = {"raw_X": metadata_routing.UNUSED}

    _parameter_constraints = {
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="both")],
        "input_type": [StrOptions({"dict", "pair", "string", "table", "csr"})],
        "dtype": "no_validation",
        "alternate_sign": ["boolean"],
        "seed": [Interval(Integral, 0, 2**32 - 1, closed="both")],
        "n_hashes": [Interval(Integral, 1, None, closed="left")],
        "interactions": ["array-like", None],
        "store_names": ["boolean"],
        "on_missing": [StrOptions({"token", "skip"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_features=2**20,
        *,
        input_type="dict",
        dtype=np.float64,
        alternate_sign=True,
        seed=0,
        n_hashes=1,
        interactions=None,
        store_names=False,
        on_missing="token",
        n_jobs=None,
    ):
        self.n_features = n_features
        self.input_type = input_type
        self.dtype = dtype
        self.alternate_sign = alternate_sign
        self.seed = seed
        self.n_hashes = n_hashes
        self.interactions = interactions
        self.store_names = store_names
        self.on_missing = on_missing
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        table, csr = self.input_type == "table", self.input_type == "csr"
        tags.input_tags.two_d_array = table or csr
        tags.input_tags.sparse = csr
        tags.input_tags.categorical = tags.input_tags.allow_nan = table
        tags.input_tags.string = table or self.input_type == "string"
        tags.input_tags.dict = self.input_type == "dict"
        tags.transformer_tags.preserves_dtype = []
        tags.requires_fit = False
        return tags

    # ---------------------------------------------------------------- fitting
    def _needs_no_data(self):
        return self.input_type not in ("table", "csr") and not self.store_names

    def _backend(self):
        return get_backend(effective_n_jobs(self.n_jobs))

    def _hashed(self, X, ledger=None):
        """Return the matrix of a checked X."""
        with self._backend() as backend:
            kind, size = (self.n_features, self.dtype, self.alternate_sign), self._size(X)
            assembly, parts = Assembly(backend, *kind, **size), self._read(X, backend)
            out = hash_rows(parts, assembly, backend, self.seed, self.n_hashes, ledger)
        if out.shape[0] == 0:
            raise ValueError("Cannot vectorize empty sequence.")
        return _align_api_if_sparse(out)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X=None, y=None):
        """Check parameters; with `store_names`, count the tokens of X from the start.

        Parameters
        ----------
        X : iterable, table or sparse matrix, default=None
            Rows; may be left out where nothing is learned from them.
        y : Ignored
            Not used, present here for API consistency by convention.

        Returns
        -------
        self : FeatureHasher
            The hasher.
        """
        if X is None and self._needs_no_data():
            return self
        X = self._check(X, reset=True)
        if self.store_names:
            self._ledger, self._looked = self._counted(X), None
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X=None, y=None):
        """Check parameters; with `store_names`, count the tokens of X on top of earlier ones.

        Parameters
        ----------
        X : iterable, table or sparse matrix, default=None
            Rows; may be left out where nothing is learned from them.
        y : Ignored
            Not used, present here for API consistency by convention.

        Returns
        -------
        self : FeatureHasher
            The hasher.
        """
        if X is None and self._needs_no_data():
            return self
        X = self._check(X, reset=not hasattr(self, "n_features_in_"))
        if self.store_names:
            counted = self._counted(X)
            if hasattr(self, "_ledger"):
                self._ledger.merge(counted)
            else:
                self._ledger = counted
            self._looked = None
        return self

    def _counted(self, X):
        with self._backend() as backend:
            return count_names(self._read(X, backend))

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Do what `fit` and then `transform` do, in one pass over X.

        Parameters
        ----------
        X : iterable, table or sparse matrix
            Rows; see `transform`.
        y : Ignored
            Not used, present here for API consistency by convention.

        Returns
        -------
        X_new : sparse matrix of shape (n_samples, n_features)
            Hashed rows, CSR.
        """
        ledger = Ledger() if self.store_names else None
        X_new = self._hashed(self._check(X, reset=True), ledger)
        if self.store_names:
            self._ledger, self._looked = ledger, None
        return X_new

    def transform(self, raw_X):
        """Hash rows.

        Parameters
        ----------
        raw_X : iterable, table or sparse matrix
            Rows, as `input_type` says. An iterable is walked once, so that it may be a generator.

        Returns
        -------
        X_new : sparse matrix of shape (n_samples, n_features)
            Hashed rows, CSR: sorted, summed where tokens of a row meet, no zeros stored.

        Raises
        ------
        ValueError, TypeError
            For input of another type than `input_type`, names that are no strings, and values
            that are no finite numbers; the message says in which row.
        """
        self._validate_params()
        return self._hashed(self._check(raw_X, reset=False))

    # ---------------------------------------------------------------- looking back
    def _look_back(self):
        if not hasattr(self, "_ledger"):
            raise NotFittedError(
                "This FeatureHasher has counted no names yet. Call 'fit' with data first."
            )
        x = self.n_features, self.seed, self.n_hashes, self.alternate_sign
        if self._looked is None or self._looked[0] != x:
            with self._backend() as backend:
                self._looked = x, LookBack(self._ledger, backend, *x)
        return self._looked[1]

    @available_if(_stores_names)
    def inverse_lookup(self, column):
        """Return the names of the tokens in a column of the output.

        Parameters
        ----------
        column : int
            The column.

        Returns
        -------
        list of (str, int, float)
            Name, number of occurrences, and the sign it enters with; the most frequent first.
            Tokens that share all 32 bits of their hash count as one.
        """
        if not isinstance(column, Integral) or not 0 <= column < self.n_features:
            raise ValueError(f"column must be in [0, {self.n_features}), got {column!r}.")
        return self._look_back().names_of(column)

    @available_if(_stores_names)
    def collision_report(self, n_worst=10):
        """Return how much the tokens that were counted collide.

        Parameters
        ----------
        n_worst : int, default=10
            Columns to list.

        Returns
        -------
        report : :class:`~sklearn.utils.Bunch`
            ``n_names`` and ``n_tokens``, different names and occurrences; ``n_columns``, how many
            columns they use; ``colliding_share``, share of the occurrences in a column with more
            than one name; ``worst_columns``, list of (column, names as `inverse_lookup` gives
            them), by the occurrences of all but the most frequent name;
            ``suggested_n_features``, the smallest power of two from `n_features` on that brings
            the share to 1 % or less; ``max_count_dropped``, how often a name may have occurred
            that is no longer kept, 0 where all are.
        """
        return self._look_back().report(n_worst)

    def get_feature_names_out(self, input_features=None):
        """Return a name for each column of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Checked against the names seen by `fit` where there are any; else ignored.

        Returns
        -------
        feature_names_out : ndarray of shape (n_features,), dtype=object
            With `store_names` the most frequent token of the column, such as ``carrier=AA``, so
            that names begin with the column of the table that they come from; otherwise, and for
            columns without tokens, ``featurehasher0`` and so on.
        """
        if self.input_type in ("table", "csr"):
            check_is_fitted(self, "n_features_in_")
            _check_feature_names_in(self, input_features)
        out = np.array([f"featurehasher{i}" for i in range(self.n_features)], dtype=object)
        if self.store_names and hasattr(self, "_ledger"):
            columns, names = self._look_back().heaviest()
            out[columns] = names
        return out
