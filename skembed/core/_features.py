"""FeatureIndex: column id to row id, for the features that occur."""

import numpy as np

DIRECT_COLUMNS = 1 << 22  # up to here a map over all columns costs at most 16 MiB
NO_ROW = np.int32(-1)


def _hot_first(free, counts):
    """Return the places where `free` holds, those of larger counts first, to a factor of two.

    Rows that are read often then share pages and cache lines.
    """
    at = np.flatnonzero(free)
    scarcity = 64 - np.log2(counts[at] + 1).astype(np.uint8)  # one byte: sorted in linear time
    return at[np.argsort(scarcity, kind="stable")]


class FeatureIndex:
    """The features that were seen, how often, and which row of the table belongs to each.

    A feature has a row once it was seen in `min_count` rows of the data, unless it is padding.
    Trainable rows come first, frozen rows last, so that a kernel tells them apart by one border.
    An index is never changed: `observe` returns a new one.

    Attributes
    ----------
    n_features : int
        Number of columns.
    columns : ndarray of shape (n_seen,)
        Seen columns, strictly increasing.
    counts : ndarray of shape (n_seen,), int64
        Rows of the data in which each was seen.
    rows : ndarray of shape (n_seen,), int32
        Table row of each, or -1.
    n_trainable, n_rows : int
        Rows that train, and all rows.
    direct : ndarray of shape (n_features,), int32, or None
        Table row of every column, or None where a sorted look-up takes less memory.
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self._set(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), 0, 0)

    def _set(self, columns, counts, rows, n_trainable, n_rows):
        id_dtype = np.int32 if self.n_features <= np.iinfo(np.int32).max else np.int64
        self.columns, self.counts, self.rows = columns.astype(id_dtype, copy=False), counts, rows
        self.n_trainable, self.n_rows = n_trainable, n_rows
        self.direct = None
        if self.n_features <= max(DIRECT_COLUMNS, 8 * n_rows):
            self.direct = np.full(self.n_features, NO_ROW)
            self.direct[columns] = rows

    def observe(self, columns, counts, *, n_features=None, min_count=1, padding=(), frozen=()):
        """Add sightings and give rows to the features that have become active.

        Parameters
        ----------
        columns : ndarray of shape (m,)
            Columns seen now, strictly increasing.
        counts : ndarray of shape (m,)
            Rows of the data in which each was seen now.
        n_features : int or None
            Number of columns from now on, at least as many as before; None leaves it.
        min_count : int
            Sightings, all calls together, that a feature needs for a row.
        padding : array-like of int
            Columns that never get a row.
        frozen : array-like of int, or "all"
            Columns whose rows do not train.

        Returns
        -------
        index : FeatureIndex
            The new index. Old trainable rows keep their place, old frozen rows move up by the
            number of new trainable rows. Among the new ones, features that occur much more often
            come first.
        """
        every = np.concatenate([self.columns, columns]).astype(np.int64, copy=False)
        every.sort(kind="stable")  # merges the two runs
        every = every[np.diff(every, prepend=-1) > 0]
        total = np.zeros(len(every), np.int64)
        total[np.searchsorted(every, self.columns)] = self.counts
        total[np.searchsorted(every, columns)] += counts
        rows = np.full(len(every), NO_ROW)
        rows[np.searchsorted(every, self.columns)] = self.rows
        new = (rows < 0) & (total >= min_count)
        if len(padding):
            new &= ~np.isin(every, padding)
        if isinstance(frozen, str):
            fixed = new
        else:
            fixed = new & np.isin(every, frozen) if len(frozen) else np.zeros_like(new)
        free = new & ~fixed
        n_trainable = self.n_trainable + int(free.sum())
        rows[rows >= self.n_trainable] += n_trainable - self.n_trainable
        rows[_hot_first(free, total)] = np.arange(self.n_trainable, n_trainable)
        n_rows = n_trainable + self.n_rows - self.n_trainable
        rows[fixed] = np.arange(n_rows, n_rows + int(fixed.sum()))
        index = FeatureIndex.__new__(FeatureIndex)
        index.n_features = self.n_features if n_features is None else n_features
        index._set(every, total, rows, n_trainable, n_rows + int(fixed.sum()))
        return index

    def without_counts(self):
        """Return this index with no sightings; features keep their rows."""
        index = FeatureIndex.__new__(FeatureIndex)
        has = self.rows >= 0
        index.n_features = self.n_features
        index._set(self.columns[has], 0 * self.counts[has], self.rows[has], self.n_trainable,
                   self.n_rows)  # fmt: skip
        return index

    def look_up(self, columns):
        """Return the table row of each column, int32; -1 where it has none."""
        if self.direct is not None:
            return self.direct[columns]
        at = np.searchsorted(self.columns, columns)
        known = at < len(self.columns)
        known[known] = self.columns[at[known]] == columns[known]
        rows = np.full(len(columns), NO_ROW)
        rows[known] = self.rows[at[known]]
        return rows

    def row_columns(self):
        """Return the column of each row, shape (n_rows,)."""
        out = np.empty(self.n_rows, self.columns.dtype)
        has = self.rows >= 0
        out[self.rows[has]] = self.columns[has]
        return out

    def __deepcopy__(self, memo):
        return self  # it is never changed

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "direct"}

    def __setstate__(self, state):
        self.n_features = state["n_features"]
        self._set(*(state[k] for k in ("columns", "counts", "rows", "n_trainable", "n_rows")))
