"""Readers of what lies in columns: tables, and CSR matrices."""

import numpy as np
from sklearn.utils import murmurhash3_32

from ._cells import MISSING
from ._tokens import Tokens, as_text, hash_together

AT_A_TIME = 1 << 17  # cells or stored values; a call a column costs what some thousand of them do


def read_matrix(X, names, backend, seed):
    """Yield the `Tokens` of a canonical CSR matrix: the hashes of its column numbers.

    Parameters
    ----------
    X : CSR
        Checked arrays.
    names : ndarray of str, or None
        Names of the columns; x0, x1 and so on by default.
    backend : Backend
        Hashes.
    seed : int
        Of the hash.

    Yields
    ------
    Tokens
        Of some rows.
    """
    lo, n = 0, len(X.indptr) - 1
    while lo < n:
        hi = int(np.searchsorted(X.indptr, X.indptr[lo] + AT_A_TIME, side="right")) - 1
        hi = min(max(hi, lo + 1), n)
        cut = slice(*X.indptr[[lo, hi]].tolist())
        columns = X.indices[cut]
        hashes, values = backend.hash_ids(columns, seed), X.data[cut].astype(np.float64)
        indptr = X.indptr[lo : hi + 1] - X.indptr[lo]
        yield Tokens(
            indptr,
            hashes,
            values,
            lambda i, at=columns: f"x{at[i]}" if names is None else names[at[i]],
        )
        lo = hi


class TableReader:
    """Hashes a table some rows at a time.

    Parameters
    ----------
    columns : list of Column
        The table.
    crosses : list of tuple of int
        Columns whose tokens are crossed; their weights are multiplied.
    keep_missing : bool
        Whether a missing value has a token.
    backend : Backend
        Hashes.
    seed : int
        Of the hash.
    """

    def __init__(self, columns, crosses, keep_missing, backend, seed):
        self.columns, self.crosses, self.keep_missing = columns, crosses, keep_missing
        self.backend, self.seed = backend, seed
        self.names = [murmurhash3_32(column.name.encode(), seed=seed) for column in columns]
        self.gone = [murmurhash3_32(column.prefix + MISSING, seed=seed) for column in columns]
        self.dictionaries = {}

    def read(self, n_rows):
        """Yield the `Tokens` of all rows."""
        width = len(self.columns) + len(self.crosses)
        step = max(1, AT_A_TIME // width)
        for lo in range(0, n_rows, step):
            hi = min(lo + step, n_rows)
            cells = [column.cells(lo, hi) for column in self.columns]
            hashes, values = self._cross(self._hash(cells, hi - lo), self._weigh(cells, hi - lo))
            indptr = np.arange(0, (hi - lo) * width + 1, width, dtype=np.int64)
            values = None if values is None else values.ravel()
            yield Tokens(
                indptr, hashes.ravel(), values, lambda i, cells=cells: self._name(cells, i)
            )

    def _hash(self, cells, n):
        """Return the hash of every cell, shape (n, n_columns)."""
        texts = [i for i, c in enumerate(cells) if c.spans is not None and c.codes is None]
        hashes = np.empty((n, 0), np.int32)
        if texts:
            hashes = self.backend.hash_spans([cells[i].spans for i in texts], self.seed)
        if len(texts) < len(cells):
            hashes, hashed = np.empty((n, len(cells)), np.int32), hashes
            hashes[:, texts] = hashed
        for i, c in enumerate(cells):
            if c.codes is not None:
                if i not in self.dictionaries:
                    self.dictionaries[i] = self.backend.hash_spans([c.spans], self.seed)[:, 0]
                hashes[:, i] = self.dictionaries[i][c.codes]
            if c.numeric is not None:
                hashes[c.numeric, i] = self.names[i]
            if c.missing is not None:
                hashes[c.missing, i] = self.gone[i]
        return hashes

    def _weigh(self, cells, n):
        """Return the weight of every cell, shape (n, n_columns); None if all are 1."""
        dropped = not self.keep_missing and any(c.missing is not None for c in cells)
        if not dropped and all(c.values is None for c in cells):
            return None
        values = np.ones((n, len(cells)))
        for i, c in enumerate(cells):
            if c.values is not None:
                values[:, i] = c.values
            if c.missing is not None and not self.keep_missing:
                values[c.missing, i] = 0
        return values

    def _cross(self, hashes, values):
        """Return hashes and weights with one more column a cross."""
        if not self.crosses:
            return hashes, values
        own = [hash_together(self.backend, hashes[:, list(c)], self.seed) for c in self.crosses]
        if values is not None:
            products = [values[:, list(c)].prod(axis=1) for c in self.crosses]
            values = np.column_stack([values, *products])
        return np.column_stack([hashes, *own]), values

    def _name(self, cells, i):
        """Return the text of token i of a part."""
        row, column = divmod(i, len(cells) + len(self.crosses))
        if column >= len(cells):
            parts = self.crosses[column - len(cells)]
            return " & ".join(self._cell_name(cells, row, part) for part in parts)
        return self._cell_name(cells, row, column)

    def _cell_name(self, cells, row, column):
        c, name = cells[column], self.columns[column].name
        if c.missing is not None and c.missing[row]:
            return f"{name}=<missing>"
        if c.numeric is not None and c.numeric[row]:
            return name
        return as_text(c.spans.token(row if c.codes is None else c.codes[row]))
