"""Starting values of embeddings, as functions of (seed, column) or of the column alone.

Direct weights behind an embedding start at zero.
"""

import numpy as np
from scipy.special import ndtri

BLOCK = 65_536  # rows drawn at a time


class UniformStart:
    """Rows uniform in ± `limit`.

    Parameters
    ----------
    seed : int
        The fit's seed.
    limit : float or None
        None is 1 / d.
    """

    def __init__(self, seed, limit=None):
        self.seed, self.limit = seed, limit

    def _limit(self, d):
        return 1 / d if self.limit is None else self.limit

    def write(self, columns, table, lo, backend):
        """Write the rows lo, lo + 1, ... of `table`, which belong to `columns`."""
        out, d = table.values[lo : lo + len(columns)], table.d_embedding
        backend.start_uniform(self.seed, columns, self._limit(d), d, out)


class NormalStart(UniformStart):
    """Normal rows of the variance of `UniformStart`."""

    def write(self, columns, table, lo, backend):
        """Write the rows lo, lo + 1, ... of `table`, which belong to `columns`."""
        d = table.d_embedding
        for s in range(0, len(columns), BLOCK):
            part = columns[s : s + BLOCK]
            u = np.empty((len(part), d))
            backend.start_uniform(self.seed, part, 1.0, d, u)
            np.clip((u + 1) / 2, 2.0**-54, None, out=u)
            size = self._limit(d) / np.sqrt(3)
            table.values[lo + s : lo + s + len(part), :d] = size * ndtri(u)


class ArrayStart:
    """Rows of an array with one row a column.

    Parameters
    ----------
    array : ndarray of shape (n_features, d)
        The rows.
    """

    def __init__(self, array):
        self.array = array

    def write(self, columns, table, lo, backend):
        """Write the rows lo, lo + 1, ... of `table`, which belong to `columns`."""
        table.values[lo : lo + len(columns), : table.d_embedding] = self.array[columns]


class KnownStart:
    """Rows of the features that another table knows; zeros for others.

    Parameters
    ----------
    columns : ndarray of shape (n_known,)
        Known features, strictly increasing.
    rows : ndarray of shape (n_known, d)
        Their rows.
    """

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def write(self, columns, table, lo, backend):
        """Write the rows lo, lo + 1, ... of `table`, which belong to `columns`."""
        known = np.isin(columns, self.columns)
        at = np.searchsorted(self.columns, columns[known])
        out = table.values[lo : lo + len(columns), : table.d_embedding]
        out[~known], out[known] = 0, self.rows[at]


class ComponentsStart(KnownStart):
    """Rows of a matrix factor, as large as drawn ones: their root mean square is limit / √3.

    Orthonormal components come with a row length that falls with the number of columns, and first
    steps of a size that suits drawn rows would be too large or too small for them.

    Parameters
    ----------
    array : ndarray of shape (n_known, d)
        The factor: rows of the first features.
    limit : float or None
        That of the drawn rows; None is 1 / d.
    """

    def __init__(self, array, limit=None):
        limit = 1 / array.shape[1] if limit is None else limit
        size = np.sqrt(3 * np.mean(array**2)) / limit
        super().__init__(np.arange(len(array)), array / size if size > 0 else array)
