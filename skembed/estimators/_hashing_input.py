"""What a FeatureHasher checks before it reads."""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples, validate_data

from skembed.hashing import TableReader, library_of, open_table, read_matrix, read_records

from ._validation import check_csr

DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8")


def check_dtype(dtype):
    """Raise for a dtype that kernels do not sum up."""
    if np.dtype(dtype).name not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")


class HasherInput:
    """Checks the input of a `FeatureHasher` and opens the reader for it."""

    def _check(self, X, reset):
        """Check parameters and X; return X as readers take it."""
        check_dtype(self.dtype)
        if self.interactions is not None and self.input_type != "table":
            raise ValueError('interactions cross columns of a table: set input_type="table".')
        if self.input_type == "csr":
            return check_csr(self, X, reset=reset)
        if self.input_type == "table":
            return self._check_table(X, reset)
        if sp.issparse(X):
            raise TypeError('X is a sparse matrix; set input_type="csr" to hash its columns.')
        if library_of(X) is not None:
            raise ValueError(
                f"X is a table ({type(X).__module__.partition('.')[0]}); set "
                f'input_type="table" to hash its cells instead of input_type="{self.input_type}".'
            )
        if isinstance(X, str | bytes):
            raise ValueError(
                "Samples can not be a single string. The input must be an iterable over iterables "
                f"of strings, got {X!r:.60}."
            )
        return X

    def _check_table(self, X, reset):
        columns = open_table(X)
        n_rows = X.num_rows if hasattr(X, "num_rows") else _num_samples(X)
        for n, what in ((n_rows, "sample"), (len(columns), "feature")):
            if n == 0:
                raise ValueError(
                    f"Found array with 0 {what}(s) (shape={(n_rows, len(columns))}) while a "
                    "minimum of 1 is required by FeatureHasher."
                )
        if reset or hasattr(self, "n_features_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        return columns, n_rows

    def _crosses(self, columns):
        """Return the positions of the columns of each interaction."""
        names, crosses = {column.name: i for i, column in enumerate(columns)}, []
        for cross in self.interactions or []:
            parts = (cross,) if isinstance(cross, str) else tuple(cross)
            at = [names.get(p) if isinstance(p, str) else p for p in parts]
            known = all(isinstance(i, Integral) and 0 <= i < len(columns) for i in at)
            if not known or len(set(at)) < max(2, len(at)):
                raise ValueError(
                    "interactions must hold tuples of two or more different columns, by name or "
                    f"position, but {cross!r} is none; the columns are {list(names)!r:.200}."
                )
            crosses.append(tuple(map(int, at)))
        return crosses

    def _read(self, X, backend):
        """Return a generator of the hashed tokens of a checked X."""
        if self.input_type == "csr":
            return read_matrix(X, getattr(self, "feature_names_in_", None), backend, self.seed)
        if self.input_type == "table":
            columns, n_rows = X
            keep = self.on_missing == "token"
            reader = TableReader(columns, self._crosses(columns), keep, backend, self.seed)
            return reader.read(n_rows)
        return read_records(X, self.input_type, backend, self.seed)

    def _size(self, X):
        """Return what is known of the size of a checked X, for an `Assembly`."""
        if self.input_type == "csr":
            return {"n_tokens": len(X.indices) * self.n_hashes}
        if self.input_type == "table":
            width = len(X[0]) + len(self.interactions or ())
            return {"n_tokens": width * X[1] * self.n_hashes}
        return {"n_rows": len(X) if hasattr(X, "__len__") else 0}
