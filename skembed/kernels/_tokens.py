"""The operations on tokens, in plain array code."""

import numpy as np
from sklearn.utils import murmurhash3_32


class TokenOperations:
    """Array code for hashing tokens; a backend inherits it."""

    def hash_spans(self, columns, seed):
        """Return the MurmurHash3 (x86, 32 bits) of tokens.

        Parameters
        ----------
        columns : list of Spans
            Tokens, as many in each.
        seed : int
            Seed of the hash, below 2**32.

        Returns
        -------
        ndarray of shape (n, len(columns)), int32
            One hash a token.
        """
        return np.array(
            [
                [murmurhash3_32(spans.token(i), seed=seed) for spans in columns]
                for i in range(len(columns[0]))
            ],
            np.int32,
        ).reshape(len(columns[0]), len(columns))

    def hash_ids(self, ids, seed):
        """Return the MurmurHash3 of numbers as little-endian int64, shape (n,), int32."""
        whole = ids.astype("<i8")
        return np.array([murmurhash3_32(x.tobytes(), seed=seed) for x in whole], np.int32)

    def fold_rows(self, indptr, hashes, values, n_features, alternate_sign, dtype):
        """Turn tokens into rows of a CSR matrix: sorted, summed where equal, no zeros.

        Parameters
        ----------
        indptr : ndarray of shape (n_rows + 1,), int64
            Where the tokens of each row begin.
        hashes : ndarray of shape (n,), int32
            The column of a token is abs(hash) % n_features.
        values : ndarray of shape (n,), float64
            Weights; a token of weight 0 is left out.
        n_features : int
            Number of columns.
        alternate_sign : bool
            Whether a negative hash turns the sign of the weight.
        dtype : dtype
            Of the sums, which are taken in the order of the tokens.

        Returns
        -------
        counts : ndarray of shape (n_rows,), int32
            Stored values of each row.
        pieces : list of (ndarray of int32, ndarray of dtype)
            Columns and values, cut into pieces in the order of the rows: work space that is valid
            until the next call.
        """
        n_rows, n = len(indptr) - 1, indptr[-1]
        rows = np.repeat(np.arange(n_rows), np.diff(indptr))
        columns = np.abs(hashes[:n].astype(np.int64)) % n_features
        turned = alternate_sign & (hashes[:n] < 0)
        signed = np.where(turned, -values[:n], values[:n]).astype(dtype)
        order = np.lexsort((columns, rows))
        order = order[values[:n][order] != 0]
        rows, columns, signed = rows[order], columns[order], signed[order]
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
        sums = np.zeros(np.count_nonzero(first), dtype)
        np.add.at(sums, np.cumsum(first) - 1, signed)
        keep = sums != 0
        counts = np.bincount(rows[first][keep], minlength=n_rows).astype(np.int32)
        return counts, [(columns[first][keep].astype(np.int32), sums[keep])]
