"""Every input is checked here, once, before a kernel sees it."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, _num_features, validate_data

from skembed.core import SparseRows
from skembed.kernels import get_backend

WORK_DTYPES = [np.float64, np.float32]


@dataclass(frozen=True, slots=True)
class CSR:
    """A canonical CSR matrix as plain arrays: scanned, sorted, without duplicates.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (nnz,), int32 or int64
    data : ndarray of shape (nnz,), float64 or float32
    shape : tuple of two int
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple

    def matrix(self):
        """Return a SciPy CSR array on the same memory."""
        return sp.csr_array((self.data, self.indices, self.indptr), self.shape)

    def count(self, rows, backend):
        """Return the columns that occur in some rows, ascending, and in how many of them."""
        return backend.count(self.indptr, self.indices, self.data, rows, self.shape[1])

    def mapped(self, state, backend):
        """Return (indptr, table rows, data), pooling factors and numeric columns for a state."""
        x = backend.map_columns(self.indptr, self.indices, self.data, state.index)
        scale = backend.scale(x[0], x[2], state.model.pooling)
        return x, scale, numeric_rows(self, state.numeric)


def _broken(found):
    return ValueError(f"X has an invalid CSR structure: {found}.")


def _check_pointers(indptr, n_major, n_indices, n_data):
    """Refuse row pointers that do not describe `n_major` runs within the arrays."""
    if indptr.ndim != 1 or len(indptr) != n_major + 1:
        raise _broken(f"indptr has shape {indptr.shape}, expected ({n_major + 1},)")
    if indptr.dtype.kind not in "iu":
        raise _broken(f"indptr has dtype {indptr.dtype}, expected integers")
    if indptr[0] != 0:
        raise _broken(f"indptr starts at {indptr[0]}, expected 0")
    if (indptr[1:] < indptr[:-1]).any():
        raise _broken(f"indptr decreases at position {int(np.argmax(indptr[1:] < indptr[:-1]))}")
    if indptr[-1] > min(n_indices, n_data):
        raise _broken(
            f"indptr ends at {indptr[-1]}, but there are {n_indices} indices and {n_data} values"
        )


def _check_range(least, most, n):
    if least < 0:
        raise _broken(f"it holds the negative index {least}")
    if most >= n:
        raise _broken(f"it holds the index {most}, but there are only {n} columns")


def _check_indices(indices, n):
    if indices.dtype.kind not in "iu":
        raise _broken(f"indices have dtype {indices.dtype}, expected integers")
    if len(indices):
        _check_range(int(indices.min()), int(indices.max()), n)


def _check_structure(X):
    """Refuse sparse containers whose index arrays would lead compiled code astray."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D input, got a {X.ndim}D sparse array instead. "
            "Reshape a single row with X.reshape(1, -1), or take it as X[[i]]."
        )
    if X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        major, minor = X.shape[0] // block[0], X.shape[1] // block[1]
        if X.format == "csc":
            major, minor = minor, major
        _check_pointers(X.indptr, major, len(X.indices), len(X.data))
        if X.format == "csr" and X.indices.dtype in (np.int32, np.int64):
            return  # the scan looks at them
        _check_indices(X.indices[: X.indptr[-1]], minor)
    elif X.format == "coo":
        if len({len(c) for c in (X.row, X.col, X.data)}) > 1:
            raise _broken("row, col and data differ in length")
        _check_indices(X.row, X.shape[0])
        _check_indices(X.col, X.shape[1])


def _sparse_frame(X):
    """Return a data frame of sparse and dense columns with sparse columns only.

    scikit-learn makes a dense array of a mixed frame; of an all-sparse one it makes no dense copy.
    """
    dtypes = list(X.dtypes) if hasattr(X, "iloc") and hasattr(X, "dtypes") else []
    sparse = [t for t in dtypes if hasattr(t, "fill_value") and hasattr(t, "subtype")]
    if not sparse or len(sparse) == len(dtypes):
        return X
    subtypes = [getattr(t, "subtype", t) for t in dtypes]
    dtype = np.float32 if all(t == np.float32 for t in subtypes) else np.float64
    return X.astype(type(sparse[0])(dtype, 0.0))


def _scan(X):
    """Return the canonical form of a CSR container; its own arrays where they are canonical."""
    indptr = X.indptr.astype(np.int64, copy=False)
    indices, data = X.indices, X.data
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    least, most, ordered = get_backend().scan(indptr, indices)
    _check_range(least, most, X.shape[1])
    if not ordered:
        nnz = int(indptr[-1])
        own = sp.csr_array((data[:nnz].copy(), indices[:nnz].copy(), indptr.copy()), X.shape)
        own.sum_duplicates()
        indptr, indices, data = own.indptr.astype(np.int64, copy=False), own.indices, own.data
    return CSR(indptr, indices, data, X.shape)


def _validated(estimator, X, y, **options):
    """Call scikit-learn's check; say what to do about text."""
    try:
        with np.errstate(over="ignore"):  # a cast to infinity is refused just after
            return validate_data(estimator, X, y, **options)
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        raise ValueError(
            f"{error}. X must hold numbers: turn text into a sparse matrix by a vectorizer, "
            "categories by an encoder or a FeatureHasher."
        ) from error


def _is_fine(estimator, X, dtype):
    """Tell whether scikit-learn's check would return the X of a prediction as it is.

    Its questions take most of the time of predicting one row.
    """
    alike = (
        sp.issparse(X)
        and X.format == "csr"
        and X.dtype == dtype
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )
    with np.errstate(all="ignore"):
        return alike and bool(np.isfinite(X.data.sum()))


def check_csr(estimator, X, y="no_validation", *, reset, dtype=WORK_DTYPES, **y_options):
    """Return X as a canonical `CSR`, and y where it is given.

    Parameters
    ----------
    estimator : estimator
        Receives `n_features_in_` and `feature_names_in_` if `reset`, else is checked against.
    X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
        The user's data; never changed.
    y : array-like
        The user's targets.
    reset : bool
        Whether this call defines the features.
    dtype : dtype or list of dtype
        Work dtypes that are accepted; another becomes the first.
    **y_options : dict
        For scikit-learn's `check_X_y`.

    Returns
    -------
    X : CSR
        The checked data.
    y : ndarray
        The checked targets, if given.

    Raises
    ------
    ValueError, TypeError
        As scikit-learn's `validate_data`; and for index arrays that are not those of a CSR matrix.
    """
    if sp.issparse(X):
        _check_structure(X)
    elif type(X).__module__.partition(".")[0] in ("cupy", "cupyx"):
        raise TypeError(
            f"{type(estimator).__name__} runs on the CPU and does not take CuPy input. "
            "Use X.get() to copy X to the host."
        )
    if sp.issparse(y) and y_options.get("y_numeric"):
        raise TypeError(
            f"Sparse data was passed for y, but {type(estimator).__name__} needs dense targets."
        )
    if not reset and isinstance(y, str) and _is_fine(estimator, X, dtype):
        return _scan(X)
    X = _sparse_frame(X)
    out = _validated(estimator, X, y, reset=reset, accept_sparse="csr", dtype=dtype, **y_options)
    X, y = out if isinstance(out, tuple) else (out, None)
    csr = _scan(X if sp.issparse(X) else sp.csr_array(X))
    return csr if y is None else (csr, y)


def without_zeros(X):
    """Return a `CSR` without stored zeros; X itself where it has none."""
    if np.all(X.data[: X.indptr[-1]]):
        return X
    own = X.matrix().copy()
    own.eliminate_zeros()
    return CSR(own.indptr.astype(np.int64, copy=False), own.indices, own.data, X.shape)


def numeric_rows(X, columns):
    """Return some columns of a `CSR` as `SparseRows`, or None for no columns."""
    if len(columns) == 0:
        return None
    nnz = X.indptr[-1]
    indices = X.indices[:nnz]
    at = np.searchsorted(columns, indices).clip(max=len(columns) - 1)
    mine = columns[at] == indices
    before = np.concatenate([[0], np.cumsum(mine)])
    return SparseRows(before[X.indptr], at[mine], X.data[:nnz][mine], len(columns))


def widen(estimator, X):
    """Let an estimator take the columns that X has beyond those of the first call."""
    n = _num_features(X)
    if n <= estimator.n_features_in_:
        return
    old, new = (getattr(e, a, None) for e, a in ((estimator, "feature_names_in_"), (X, "columns")))
    if old is not None and new is not None:
        if list(new[: len(old)]) != list(old):
            raise ValueError(
                "With grow=True new columns come behind those of the first call, which keep their "
                f"names and order. The first call had {len(old)} columns, beginning with "
                f"{list(old[:5])}; X begins with {list(new[:5])}."
            )
        estimator.feature_names_in_ = np.asarray(new, dtype=object)
    elif old is not None:  # not all columns have names any more
        del estimator.feature_names_in_
    estimator.n_features_in_ = n


def check_weights(sample_weight, X):
    """Return float64 weights, or None for None; all-zero weights are the caller's concern."""
    if sample_weight is None:
        return None
    rows = np.empty((X.shape[0], 0))
    return _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=True
    )


def check_columns(columns, parameter, n_features, names):
    """Return a set of columns as sorted indices.

    Parameters
    ----------
    columns : None, "all", array-like of int, bool or str
        Indices, a mask over all columns, or feature names.
    parameter : str
        Name of the parameter, for messages.
    n_features : int
        Number of columns.
    names : ndarray of str or None
        Feature names.

    Returns
    -------
    ndarray of int64, or "all"
        Distinct columns, ascending.

    Raises
    ------
    ValueError
        If a column does not exist.
    """
    if columns is None:
        return np.empty(0, np.int64)
    if isinstance(columns, str):
        return columns
    columns = np.asarray(columns)
    if columns.ndim != 1:
        raise ValueError(f"{parameter} must be one-dimensional, got shape {columns.shape}.")
    if columns.size == 0:
        return np.empty(0, np.int64)
    if columns.dtype == bool:
        if len(columns) != n_features:
            raise ValueError(
                f"{parameter} is a mask of length {len(columns)}, but X has {n_features} features."
            )
        return np.flatnonzero(columns)
    if columns.dtype.kind in "OU":
        if names is None:
            raise ValueError(
                f"{parameter} holds feature names, but X has none. Pass column indices."
            )
        place = {name: j for j, name in enumerate(names)}
        unknown = [str(c) for c in columns if c not in place]
        if unknown:
            raise ValueError(f"{parameter} holds unknown feature names: {unknown[:5]}.")
        return np.unique([place[c] for c in columns])
    if columns.dtype.kind not in "iu":
        raise ValueError(
            f"{parameter} must hold column indices, a mask or feature names, "
            f"got dtype {columns.dtype}."
        )
    columns = np.unique(columns.astype(np.int64))
    if columns[0] < 0 or columns[-1] >= n_features:
        raise ValueError(
            f"{parameter} must lie in [0, {n_features}), got {columns[0]} to {columns[-1]}."
        )
    return columns


def check_start(init, n_features, d, n_known=None):
    """Return `init` as a finite float array of shape (n_features, d).

    With `n_known` it has rows for some of so many features.
    """
    array = np.asarray(init)
    shape = array.shape if n_known is None else (n_known, *array.shape[1:])
    if shape != (n_features, d):
        raise ValueError(
            f"init must have shape (n_features, n_components) = {(n_features, d)}, got {shape}."
        )
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ValueError("init must hold finite numbers.")
    return array
