"""Drives the kernels on tokens."""

from itertools import pairwise

import numpy as np

from . import _hash
from ._matrix import MatrixKernels

TURN = np.int32(-(1 << 31))  # the bit of a hash that turns a sign


class TokenKernels(MatrixKernels):
    """Numba kernels for hashing; threads divide rows, so that bits do not depend on them.

    A call does what it is given at once: callers pass up to some hundred thousand tokens.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.
    """

    def __init__(self, n_jobs=1):
        super().__init__(n_jobs)
        self.columns, self.sums = np.empty(0, np.int32), np.empty(0)

    def hash_spans(self, columns, seed):
        """Return the MurmurHash3 (x86, 32 bits) of tokens, one column for each `Spans`."""
        n = len(columns[0])
        out = np.empty((n, len(columns)), np.int32)
        prefixes = [np.frombuffer(spans.prefix, np.uint8) for spans in columns]

        def hash_rows(lo, hi):
            for c, (spans, prefix) in enumerate(zip(columns, prefixes, strict=True)):
                x = prefix, seed, spans.buffer, spans.starts, spans.ends
                _hash.hash_spans(*x, lo, hi, out, c)

        self.team.run(hash_rows, self._parts(n, self._threads(out.size)))
        return out

    def hash_ids(self, ids, seed):
        """Return the MurmurHash3 of numbers as little-endian int64, shape (n,), int32."""
        out = np.empty(len(ids), np.int32)
        parts = self._parts(len(ids), self._threads(len(ids)))
        self.team.run(_hash.hash_ids, [(ids, seed, *part, out) for part in parts])
        return out

    def fold_rows(self, indptr, hashes, values, n_features, alternate_sign, dtype):
        """Turn tokens into rows of a CSR matrix: sorted, summed where equal, no zeros."""
        n_rows, n = len(indptr) - 1, int(indptr[-1])
        if len(self.columns) < n or self.sums.dtype != dtype:
            self.columns, self.sums = np.empty(n, np.int32), np.empty(n, dtype)
        jobs, longest = self._threads(n), int(np.diff(indptr).max(initial=0))
        inner = [n * t // jobs for t in range(1, jobs)]
        borders = [0, *np.searchsorted(indptr[:-1], inner).tolist(), n_rows]
        x = indptr, hashes, values, n_features, TURN if alternate_sign else np.int32(0), longest
        counts = np.empty(n_rows, np.int32)
        out = self.columns, self.sums, counts
        ends = self.team.run(_hash.fold_rows, [(*x, *part, *out) for part in pairwise(borders)])
        cuts = [slice(s, e) for s, e in zip(indptr[borders[:-1]].tolist(), ends, strict=True)]
        return counts, [(self.columns[cut], self.sums[cut]) for cut in cuts]
