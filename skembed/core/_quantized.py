"""A table of embeddings in whole numbers of 8 or 16 bits, to predict with."""

import numpy as np

from ._table import ParamTable, padded_width

BLOCK = 1 << 12  # rows that are rounded at a time
MANY = 8  # times as many rows as are read
CODES = {8: np.dtype(np.int8), 16: np.dtype(np.int16)}  # by bits


class QuantizedTable:
    """The rows of a `ParamTable` as whole numbers, each part of a row times a factor of its own.

    The largest component of a row in magnitude becomes 127 or 32767, and the others are rounded, so
    that none is off by more than half a unit of its row. Embedding and direct weights have a factor
    each. 16 bits in whole numbers are more accurate than in floats, and as small.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, d), int8 or int16
        The whole numbers.
    factors : ndarray of shape (n_rows, 1) or (n_rows, 2), work dtype
        Of the embedding, and of the direct weights behind it where there are any.
    n_linear : int
        Direct weights of a row.
    n_trainable : int
        Rows that were trained.
    report : dict
        What the loss of accuracy was measured to be.
    """

    def __init__(self, codes, factors, n_linear, n_trainable, report):
        self.codes, self.factors, self.report = codes, factors, report
        self.n_linear, self.n_trainable = n_linear, n_trainable

    @classmethod
    def of(cls, table, bits):
        """Return the rows of a table in 8 or 16 bits."""
        dtype, d = CODES[bits], table.d_embedding
        parts = [slice(0, d), slice(d, table.d)][: 1 + bool(table.n_linear)]
        codes = np.empty((table.n_rows, table.d), dtype)
        factors = np.empty((table.n_rows, len(parts)), table.dtype)
        most = np.iinfo(dtype).max
        for lo in range(0, table.n_rows, BLOCK):
            at = slice(lo, lo + BLOCK)
            for i, part in enumerate(parts):
                values = table.values[at, part]
                factor = np.nextafter(np.abs(values).max(axis=1) / most, 0)  # none may overflow
                whole = np.rint(values / np.where(factor > 0, factor, 1)[:, None])
                codes[at, part], factors[at, i] = whole.clip(-most, most), factor
        return cls(codes, factors, table.n_linear, table.n_trainable, {})

    n_rows = property(lambda self: len(self.codes), doc="Number of rows.")
    d = property(lambda self: self.codes.shape[1], doc="Numbers of a row.")
    d_embedding = property(lambda self: self.d - self.n_linear, doc="Components of an embedding.")
    dtype = property(lambda self: self.factors.dtype, doc="Work dtype.")
    width = property(lambda self: padded_width(self.d, self.dtype), doc="Columns of `values`.")
    nbytes = property(lambda self: self.codes.nbytes + self.factors.nbytes, doc="Bytes held.")

    @property
    def bits(self):
        """Bits of a number."""
        return 8 * self.codes.itemsize

    def table(self, rows):
        """Return some rows as a `ParamTable`, none of which trains."""
        table = ParamTable(self.d_embedding, self.dtype, self.n_linear)
        table.insert(0, len(rows))
        codes, factors = self.codes.take(rows, axis=0), self.factors.take(rows, axis=0)
        d = self.d_embedding
        np.multiply(codes[:, :d], factors[:, :1], out=table.values[:, :d])
        if self.n_linear:
            np.multiply(codes[:, d:], factors[:, 1:], out=table.values[:, d : self.d])
        return table

    def take(self, rows):
        """Return some rows as numbers, padded."""
        return self.table(rows).values

    @property
    def values(self):
        """All rows as numbers, padded as those of a `ParamTable`; made at every look."""
        return self.take(np.arange(self.n_rows))

    def part(self, indices):
        """Return the rows that are read, as a `ParamTable`, and where.

        Parameters
        ----------
        indices : ndarray of shape (nnz,), int32
            Rows, with repeats.

        Returns
        -------
        table : ParamTable
            The rows; each of them once, unless few are read of very many.
        places : ndarray of shape (nnz,), int32
            The row of `table` for each of `indices`.
        rows : ndarray
            The rows of this table that are in `table`.
        """
        if MANY * len(indices) < self.n_rows:  # to find repeats would take longer
            return self.table(indices), np.arange(len(indices), dtype=np.int32), indices
        is_read = np.zeros(self.n_rows, bool)
        is_read[indices] = True
        rows = np.flatnonzero(is_read)
        place = np.zeros(self.n_rows, np.int32)
        place[rows] = np.arange(len(rows))
        return self.table(rows), place[indices], rows
