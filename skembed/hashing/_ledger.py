"""Which tokens are in which column, in bounded memory."""

from itertools import islice

import numpy as np

MOST = 1 << 20  # names that are kept


class Ledger:
    """Names and counts of the tokens that were seen, one for each hash of 32 bits.

    Past `most` names the rarer half is dropped: what is dropped has been counted at most `error`
    times, and counts of names that were dropped before and came back are too small by no more
    (lossy counting: Manku and Motwani, "Approximate frequency counts over data streams", 2002).

    Parameters
    ----------
    most : int, default=MOST
        Names to keep.
    """

    def __init__(self, most=MOST):
        self.most, self.error, self.dropped = most, 0, 0
        self.entries = {}  # hash: [count, name]

    def add(self, tokens):
        """Count the tokens of some rows, those of weight 0 left out."""
        at = np.arange(len(tokens.hashes))
        if tokens.values is not None:
            at = np.flatnonzero(tokens.values)
        hashes, first, counts = np.unique(tokens.hashes[at], return_index=True, return_counts=True)
        seen = zip(hashes.tolist(), at[first].tolist(), counts.tolist(), strict=True)
        for h, i, count in seen:
            entry = self.entries.get(h)
            if entry is None:
                self.entries[h] = [count, tokens.name(i)]
            else:
                entry[0] += count
        if len(self.entries) > self.most:
            self._prune()

    def merge(self, other):
        """Count what another ledger has counted."""
        for h, (count, name) in other.entries.items():
            self.entries.setdefault(h, [0, name])[0] += count
        self.error += other.error
        self.dropped += other.dropped
        if len(self.entries) > self.most:
            self._prune()

    def _prune(self):
        """Drop the rarer half; of names that are as rare, the later ones."""
        ranked = sorted(self.entries.items(), key=lambda item: -item[1][0])
        kept = dict(islice(ranked, self.most // 2))
        lost = [count for h, (count, _) in self.entries.items() if h not in kept]
        self.error += max(lost)
        self.dropped += sum(lost)
        self.entries = kept

    def arrays(self):
        """Return (hashes, counts, names), by falling count, then by name."""
        ranked = sorted(self.entries.items(), key=lambda item: (-item[1][0], item[1][1]))
        hashes = np.array([h for h, _ in ranked], np.int32)
        counts = np.array([count for _, (count, _) in ranked], np.int64)
        return hashes, counts, [name for _, (_, name) in ranked]
