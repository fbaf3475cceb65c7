"""Tables: pandas, polars, Arrow, and two-dimensional arrays."""

from collections import Counter

import numpy as np
import scipy.sparse as sp

from ._columns import CategoryColumn, FixedColumn, NumberColumn, ObjectColumn, arrow_column

NUMBERS = "iufb"  # kinds of dtypes
COLUMNS = {
    **dict.fromkeys(NUMBERS, NumberColumn),
    **dict.fromkeys("US", FixedColumn),
    **dict.fromkeys("OMT", ObjectColumn),
}
LIBRARIES = {"pyarrow": "column_names", "polars": "get_columns", "pandas": "iloc"}


def library_of(X):
    """Return the name of the library whose table X is, or None."""
    for base in type(X).__mro__:
        home = base.__module__.partition(".")[0]
        if home in LIBRARIES and hasattr(X, LIBRARIES[home]) and hasattr(X, "columns"):
            return home
    return None


def open_table(X):
    """Return the columns of a table.

    Parameters
    ----------
    X : pandas or polars DataFrame, pyarrow Table or RecordBatch, or array-like of shape (n, m)
        The table; text that lies in Arrow buffers is not copied. The columns of an array are
        called x0, x1 and so on.

    Returns
    -------
    list of Column
        The columns.

    Raises
    ------
    ValueError, TypeError
        For what is no table, or has two columns of one name, or values that have no token.
    """
    library = library_of(X)
    if library is None:
        return _array_columns(X)
    if library == "pandas":
        names, series = list(X.columns), [X.iloc[:, i] for i in range(X.shape[1])]
    elif library == "polars":
        names, series = X.columns, X.get_columns()
    else:
        import pyarrow

        X = X if hasattr(X, "combine_chunks") else pyarrow.Table.from_batches([X])
        names, series = X.column_names, X.columns
    if not any(isinstance(name, str) for name in names):
        names = [f"x{i}" for i in range(len(names))]
    for name, count in Counter(names).items():
        if not isinstance(name, str):
            raise TypeError(f"Names of columns must be strings, but one is {name!r:.60}.")
        if count > 1:
            raise ValueError(
                f"{count} columns are called {name!r}; their tokens would be the same."
            )
    read = {"pandas": _pandas_column, "polars": _polars_column, "pyarrow": arrow_column}[library]
    return [read(name, values) for name, values in zip(names, series, strict=True)]


def _array_columns(X):
    """Return the columns of an array."""
    if sp.issparse(X):
        raise TypeError('X is a sparse matrix; input_type="csr" hashes the columns of one.')
    if not isinstance(X, np.ndarray):
        X = np.array(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: a table has rows and columns. "
            "Reshape your data either using array.reshape(-1, 1) if it has a single column or "
            "array.reshape(1, -1) if it is a single row."
        )
    kind = X.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported.")
    if kind not in COLUMNS:
        raise TypeError(
            f"An array of dtype {X.dtype} has no tokens; convert it to text or numbers."
        )
    X = X.astype("datetime64[us]", copy=False) if kind == "M" else X
    return [COLUMNS[kind](f"x{i}", X[:, i]) for i in range(X.shape[1])]


def _pandas_column(name, series):
    """Return the column of a pandas Series."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return CategoryColumn(
            name, series.cat.codes.to_numpy(), list(series.cat.categories.to_numpy())
        )
    if dtype.kind in NUMBERS:
        return NumberColumn(name, series.array)
    if getattr(dtype, "storage", None) == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        return arrow_column(name, series.array.__arrow_array__())
    objects = series.array if dtype.kind == "M" else series.to_numpy(object)
    return ObjectColumn(name, objects)


def _polars_column(name, series):
    """Return the column of a polars Series."""
    try:
        import pyarrow
    except ImportError:
        return (NumberColumn if series.dtype.is_numeric() else ObjectColumn)(name, series)
    return arrow_column(name, pyarrow.chunked_array([series.to_arrow()]))
