"""What a ledger tells about the columns."""

import numpy as np
from sklearn.utils import Bunch

from ._tokens import further_hashes

GOOD = 0.01  # share of counts that may collide before more columns are advised
MOST_COLUMNS = 2**31 - 1


class LookBack:
    """The names of a `Ledger`, column by column.

    Parameters
    ----------
    ledger : Ledger
        Names and counts.
    backend : Backend
        Hashes.
    n_features, seed, n_hashes, alternate_sign : int, int, int, bool
        Of the hasher.
    """

    def __init__(self, ledger, backend, n_features, seed, n_hashes, alternate_sign):
        self.ledger, self.n_features = ledger, n_features
        hashes, self.counts, self.names = ledger.arrays()
        every = further_hashes(backend, hashes, seed, n_hashes)
        self.magnitudes = np.abs(every.astype(np.int64))  # (n_names, n_hashes)
        self.columns = self.magnitudes % n_features
        self.signs = np.where(alternate_sign & (every < 0), -1.0, 1.0)
        self.order = np.argsort(self.columns, axis=None, kind="stable")
        self.in_order = self.columns.ravel()[self.order]

    def names_of(self, column):
        """Return (name, count, sign) of each name in a column, the most frequent first."""
        cut = slice(*np.searchsorted(self.in_order, [column, column + 1]).tolist())
        at, j = np.divmod(self.order[cut], self.columns.shape[1])
        counts, signs = self.counts[at].tolist(), self.signs[at, j].tolist()
        return [(self.names[i], n, s) for i, n, s in zip(at, counts, signs, strict=True)]

    def heaviest(self):
        """Return (columns, names): the most frequent name of each column that has one.

        With several hashes the name is followed by the number of the hash.
        """
        columns, first = np.unique(self.columns, return_index=True)
        n_hashes = self.columns.shape[1]
        at, j = first // n_hashes, first % n_hashes
        if n_hashes == 1:
            return columns, [self.names[i] for i in at]
        return columns, [f"{self.names[i]} #{k}" for i, k in zip(at, j, strict=True)]

    def _share(self, columns):
        """Return the share of counts that lies in columns with more than one name."""
        _, place, names = np.unique(columns, return_inverse=True, return_counts=True)
        place, counts = place.reshape(columns.shape), self.counts[:, None]
        total = counts.sum() * columns.shape[1]
        return float(((names[place] > 1) * counts).sum() / total) if total else 0.0

    def report(self, n_worst):
        """Return the report of `FeatureHasher.collision_report`."""
        share, advice = self._share(self.columns), int(self.n_features)
        while advice < MOST_COLUMNS and self._share(self.magnitudes % advice) > GOOD:
            advice = min(1 << advice.bit_length(), MOST_COLUMNS)
        used, place, names = np.unique(self.columns, return_inverse=True, return_counts=True)
        weights = np.repeat(self.counts, self.columns.shape[1])
        mass = np.bincount(place.ravel(), weights, len(used)).astype(np.int64)
        _, first = np.unique(place.ravel(), return_index=True)
        lesser = mass - weights[first]  # all but the most frequent name
        worst = [i for i in np.argsort(-lesser, kind="stable")[:n_worst].tolist() if names[i] > 1]
        return Bunch(
            n_names=len(self.names),
            n_tokens=int(self.counts.sum()) + self.ledger.dropped,
            n_columns=len(used),
            colliding_share=share,
            worst_columns=[(int(used[i]), self.names_of(used[i])) for i in worst],
            suggested_n_features=int(advice),
            max_count_dropped=self.ledger.error,
        )
