"""Starting values of embeddings, as functions of (seed, column) or of the column alone.

Direct weights behind an embedding start at zero.
"""

import numpy as np
from scipy.special import ndtri

BLOCK = 65_536  # rows drawn at a time


class UniformStart:
    """Rows uniform in ±1 / d.

    Parameters
    ----------
    seed : int
        The fit's seed.
    """

    def __init__(self, seed):
        self.seed = seed

    def write(self, columns, table, lo, backend):
        """Write the rows lo, lo + 1, ... of `table`, which belong to `columns`."""
        out, d = table.values[lo : lo + len(columns)], table.d_embedding
        backend.start_uniform(self.seed, columns, 1 / d, d, out)


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
            table.values[lo + s : lo + s + len(part), :d] = ndtri(u) / (d * np.sqrt(3))


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


class ComponentsStart(ArrayStart):
    """Rows of a matrix factor, as large as drawn ones: their root mean square is 1 / (√3 d).

    Orthonormal components come with a row length that falls with the number of columns, and first
    steps of a size that suits drawn rows would be too large or too small for them.

    Parameters
    ----------
    array : ndarray of shape (n_features, d)
        The factor.
    """

    def __init__(self, array):
        size = np.sqrt(np.mean(array**2)) * np.sqrt(3) * array.shape[1]
        super().__init__(array / size if size > 0 else array)
