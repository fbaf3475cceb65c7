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
