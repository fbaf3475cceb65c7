"""Blocks of vectors: tall arrays with one vector a column.

All work goes by ranges of rows that depend on the shape alone, each range by one BLAS thread, and
what the ranges give is added up in their order: the same bits for every number of threads. Blocks
of either float dtype are multiplied and added up in float64, a range at a time.
"""

import numpy as np

RANGE_VALUES = 1 << 17  # numbers of a block in one range of rows: in float64 they fit a cache


class Blocks:
    """Operations on blocks, one range of rows after the other."""

    def share(self, parts, operation):
        """Return [operation(*part) for part in parts]."""
        return [operation(*part) for part in parts]

    @staticmethod
    def _ranges(block, least=1):
        """Cut the rows of a block into ranges of at least `least` rows."""
        n, width = block.shape
        count = max(1, n // max(RANGE_VALUES // max(width, 1), least))
        return [(n * t // count, n * (t + 1) // count) for t in range(count)]

    def cross(self, left, right):
        """Return left.T @ right in float64."""
        total = np.zeros((left.shape[1], right.shape[1]))

        def product(lo, hi):
            a = left[lo:hi].astype(np.float64)
            b = a if left is right else right[lo:hi].astype(np.float64)
            return a.T @ b

        ranges = self._ranges(left)
        for s in range(0, len(ranges), 64):  # so that few products wait to be added up
            for part in self.share(ranges[s : s + 64], product):
                total += part
        return total

    def turn(self, block, matrix, out=None):
        """Write block @ matrix to `out`, or to the first columns of the block itself.

        It is computed in the dtype of the matrix.
        """
        out = block[:, : matrix.shape[1]] if out is None else out

        def product(lo, hi):
            out[lo:hi] = block[lo:hi].astype(matrix.dtype) @ matrix

        self.share(self._ranges(block), product)

    def add_turned(self, block, matrix, out):
        """Add block @ matrix to `out`, computed in the dtype of the matrix."""

        def product(lo, hi):
            out[lo:hi] += (block[lo:hi].astype(matrix.dtype) @ matrix).astype(out.dtype)

        self.share(self._ranges(block), product)

    def signs(self, block):
        """Return the sign, 1 or -1, of the entry of each column that is largest in magnitude.

        The first of equals counts, as in scikit-learn's `svd_flip`, which copies the block.
        """

        def largest(lo, hi):
            rows, columns = np.abs(block[lo:hi]).argmax(axis=0), np.arange(block.shape[1])
            return block[lo + rows, columns]

        found = np.zeros(block.shape[1], block.dtype)
        for part in self.share(self._ranges(block), largest):
            found = np.where(np.abs(part) > np.abs(found), part, found)
        return np.where(found < 0, -1.0, 1.0)

    def lessen(self, block, a, one, b, two):
        """Subtract a * one + b * two from a block, in place; the factors have its dtype."""

        def subtract(lo, hi):
            block[lo:hi] -= a * one[lo:hi]
            if b != 0:
                block[lo:hi] -= b * two[lo:hi]

        self.share(self._ranges(block), subtract)

    def triangle(self, block):
        """Return the factor R of a QR factorisation of a block with at least as many rows."""
        ranges = self._ranges(block, least=4 * block.shape[1])
        parts = self.share(
            ranges, lambda lo, hi: np.linalg.qr(block[lo:hi].astype(np.float64), mode="r")
        )
        return parts[0] if len(parts) == 1 else self.triangle(np.concatenate(parts))

    def qr(self, block):
        """Turn a block into orthonormal columns, in place, and return R; whatever its rank.

        Householder reflections, first within ranges of rows, then over their triangles: the
        columns are orthonormal also where the block has too low a rank to say all of them [1]_.

        References
        ----------
        .. [1] Demmel, Grigori, Hoemmen and Langou, "Communication-optimal parallel and sequential
           QR and LU factorizations", SIAM J. Sci. Comput. 34 (2012).
        """
        width = block.shape[1]
        ranges = self._ranges(block, least=4 * width)

        def factor(lo, hi):
            block[lo:hi], r = np.linalg.qr(block[lo:hi].astype(np.float64))
            return r

        parts = self.share(ranges, factor)
        if len(parts) == 1:
            return parts[0]
        stack = np.concatenate(parts)
        r = self.qr(stack)

        def join(t, lo, hi):
            block[lo:hi] = block[lo:hi].astype(np.float64) @ stack[t * width : (t + 1) * width]

        self.share([(t, *part) for t, part in enumerate(ranges)], join)
        return r
