"""The operations on what partitions send and keep, in plain array code."""

import numpy as np

BLOCK = 128  # gaps that share a Rice parameter
PARAMETER, MOST = 6, 56  # bits of a Rice parameter, and the largest


class CodecOperations:
    """Array code for adding up what is owed, choosing what is sent and coding where it belongs.

    Ids in a Rice code are strictly increasing numbers below 2**56. Each is written as its gap, the
    numbers left out since the one before: ``gap >> r`` bits 0, a bit 1, and the lowest r bits of
    the gap, lowest first. A block of 128 gaps opens with a bit 0 where it uses the r of the block
    before, or with a bit 1 and the six bits of its own r. Bits fill bytes from the lowest.
    """

    def select_topk(self, values, k):
        """Return where the k numbers of largest magnitude are; of equals, the first.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Finite numbers.
        k : int
            How many, at least 1.

        Returns
        -------
        ndarray of shape (min(k, numbers other than zero),), int64
            Positions, ascending. A zero is never chosen.
        """
        size = np.abs(values)
        nonzero = np.flatnonzero(size)
        if len(nonzero) <= k:
            return nonzero
        least = np.partition(size, len(size) - k)[len(size) - k]
        larger = np.flatnonzero(size > least)
        equal = np.flatnonzero(size == least)[: k - len(larger)]
        return np.sort(np.concatenate([larger, equal]))

    def merge_rows(self, ids, values, other_ids, other_values):
        """Return the sum of two lists of rows.

        Parameters
        ----------
        ids, other_ids : ndarray of shape (m,) and (m',)
            Rows, strictly increasing, of one dtype.
        values, other_values : ndarray of shape (m, width) and (m', width)
            Their values.

        Returns
        -------
        ids : ndarray
            All rows.
        values : ndarray
            Their sums: new memory.
        """
        both, place = np.unique(np.concatenate([ids, other_ids]), return_inverse=True)
        total = np.zeros((len(both), values.shape[1]), values.dtype)
        total[place[: len(ids)]] = values
        total[place[len(ids) :]] += other_values
        return both, total

    def keep_rows(self, ids, values):
        """Return the rows with an entry other than zero; what is given is no longer valid."""
        keep = values.any(axis=1)
        return ids[keep], values[keep]

    def entry_rows(self, places, width):
        """Return the rows that hold entries, and where the entries go in an array of these rows.

        Parameters
        ----------
        places : ndarray of shape (k,), int64
            Entries, row * width + column, strictly increasing.
        width : int
            Entries of a row.

        Returns
        -------
        rows : ndarray of shape (m,), int64
            Strictly increasing.
        at : ndarray of shape (k,), int64
            Places among the m * width entries of these rows.
        """
        rows, place = np.unique(places // width, return_inverse=True)
        return rows, place * width + places % width

    def rice_plan(self, ids):
        """Return the Rice parameter of each block of 128 gaps, and the bytes that the code takes.

        Parameters
        ----------
        ids : ndarray of shape (k,), int64
            Strictly increasing, from 0.

        Returns
        -------
        parameters : ndarray of uint8
            The smallest best r of each block; that of the block before where it costs less than
            saying so.
        n_bytes : int
            Size of the code.
        """
        gaps, bits, last = np.diff(ids, prepend=-1) - 1, 0, -1
        parameters = []
        for lo in range(0, len(gaps), BLOCK):
            block = gaps[lo : lo + BLOCK]
            costs = [int((block >> r).sum()) + len(block) * (r + 1) for r in range(MOST + 1)]
            best = int(np.argmin(costs))
            if last < 0 or costs[best] + PARAMETER < costs[last]:
                last, bits = best, bits + PARAMETER
            parameters.append(last)
            bits += 1 + costs[last]
        return np.array(parameters, np.uint8), -(-bits // 8)

    def rice_encode(self, ids, parameters, n_bytes):
        """Return the Rice code of ids, shape (n_bytes,), uint8; see `rice_plan`."""
        code, at, last = 0, 0, -1
        for i, gap in enumerate((np.diff(ids, prepend=-1) - 1).tolist()):
            r = int(parameters[i // BLOCK])
            if i % BLOCK == 0:
                if r != last:
                    code |= (1 | r << 1) << at
                    at += PARAMETER
                    last = r
                at += 1
            at += gap >> r
            code |= (1 | (gap & ((1 << r) - 1)) << 1) << at
            at += 1 + r
        return np.frombuffer(code.to_bytes(n_bytes, "little"), np.uint8)

    def rice_decode(self, code, k, n):
        """Return the ids of a Rice code.

        Parameters
        ----------
        code : ndarray of uint8
            The code, from anywhere: all that it says is checked.
        k : int
            Number of ids, at most the bits of the code.
        n : int
            Ids are below n, at most 2**56.

        Returns
        -------
        ndarray of shape (k,), int64
            Strictly increasing ids.

        Raises
        ------
        ValueError
            If the code is not that of k ids below n, each bit of it used.
        """
        code, n_bytes = int.from_bytes(code.tobytes(), "little"), len(code)
        ids, at, last, r = np.empty(k, np.int64), 0, -1, -1
        for i in range(k):
            if i % BLOCK == 0:
                other = code >> at & 1
                at += 1
                if other:
                    r = code >> at & ((1 << PARAMETER) - 1)
                    at += PARAMETER
            rest = code >> at
            if rest == 0 or not 0 <= r <= MOST:
                raise ValueError("the Rice code ends too early, or opens without a parameter")
            zeros = (rest & -rest).bit_length() - 1
            at += zeros + 1
            last += 1 + (zeros << r | (code >> at & ((1 << r) - 1)))
            at += r
            if at > 8 * n_bytes or last >= n:
                raise ValueError("the Rice code ends too early, or with too large an id")
            ids[i] = last
        if -(-at // 8) != n_bytes or code >> at:
            raise ValueError("the Rice code is longer than its ids")
        return ids
