"""Drives the kernels on what partitions send and keep."""

from itertools import pairwise

import numpy as np

from . import _lists, _rice, _topk

SCANNED = 30_000_000  # numbers that a kernel looks at in one call, so that Ctrl-C is heard
CODED = _rice.BLOCK * 60_000  # and ids that it codes
MOVED = 30_000_000  # and entries of rows that it moves


def _chunks(n, size):
    """Borders of ranges of at most `size`."""
    return pairwise([*range(0, n, size), n]) if n else ()


class CodecKernels:
    """Numba kernels for lists of rows, for choosing what is sent, and for the Rice code of ids.

    All run on one thread.
    """

    def select_topk(self, values, k):
        """Return where the k numbers of largest magnitude are, ascending; of equals, the first."""
        kind = np.uint32 if values.itemsize == 4 else np.uint64
        bits, n_bits = values.view(kind), 8 * values.itemsize - 1
        mask, known, equals, top = kind((1 << n_bits) - 1), 0, k, n_bits
        while top > 0 and k < len(bits):
            width = min(_topk.DIGIT, top)
            top -= width
            counts = np.zeros(1 << width, np.int64)
            for lo, hi in _chunks(len(bits), SCANNED):
                _topk.count_digits(bits, lo, hi, mask, top, width, kind(known), counts)
            from_above = np.cumsum(counts[::-1])
            digit = min(int(np.searchsorted(from_above, equals)), len(counts) - 1)
            equals -= int(from_above[digit] - counts[::-1][digit])
            known = known << width | (len(counts) - 1 - digit)
        least = kind(known if k < len(bits) else 0)
        out, m, equals = np.empty(min(k, len(bits)), np.int64), 0, equals if least else 0
        for lo, hi in _chunks(len(bits), SCANNED):
            m, equals = _topk.take_largest(bits, lo, hi, mask, least, equals, out, m)
        return out[:m]

    def merge_rows(self, ids, values, other_ids, other_values):
        """Return the sum of two lists of rows: all rows, and their sums."""
        m, width = len(ids) + len(other_ids), values.shape[1]
        both, of, other_of = np.empty(m, ids.dtype), np.empty(m, np.int64), np.empty(m, np.int64)
        m = _lists.merge_ids(ids, other_ids, both, of, other_of)
        total = np.empty((m, width), values.dtype)
        for lo, hi in _chunks(m, MOVED // width + 1):
            _lists.add_lists(of, values, other_of, other_values, lo, hi, total)
        return both[:m], total

    def keep_rows(self, ids, values):
        """Return the rows with an entry other than zero, in the memory of what is given."""
        m = 0
        for lo, hi in _chunks(len(ids), MOVED // values.shape[1] + 1):
            m = _lists.keep_rows(ids, values, lo, hi, m)
        return ids[:m], values[:m]

    def entry_rows(self, places, width):
        """Return the rows that hold entries, and where the entries go in an array of these rows."""
        rows, at, m = np.empty(len(places), np.int64), np.empty(len(places), np.int64), 0
        for lo, hi in _chunks(len(places), CODED):
            m = _lists.entry_rows(places, lo, hi, width, rows, at, m)
        return rows[:m], at

    def rice_plan(self, ids):
        """Return the Rice parameter of each block of 128 gaps, and the bytes of the code."""
        parameters = np.empty(-(-len(ids) // _rice.BLOCK), np.uint8)
        bits, last = 0, -1
        for lo, hi in _chunks(len(ids), CODED):
            more, last = _rice.plan_blocks(ids, lo, hi, last, parameters)
            bits += more
        return parameters, -(-bits // 8)

    def rice_encode(self, ids, parameters, n_bytes):
        """Return the Rice code of ids, shape (n_bytes,), uint8; see `rice_plan`."""
        words, at = np.zeros(n_bytes // 8 + 2, np.uint64), 0
        for lo, hi in _chunks(len(ids), CODED):
            at = _rice.write_blocks(ids, lo, hi, parameters, words, at)
        return words.astype("<u8", copy=False).view(np.uint8)[:n_bytes]

    def rice_decode(self, code, k, n):
        """Return the ids of a Rice code; `ValueError` where it is not one of k ids below n."""
        words = np.zeros(len(code) // 8 + 3, "<u8")
        words.view(np.uint8)[: len(code)] = code
        words = words.astype(np.uint64, copy=False)
        ids, at, r, before = np.empty(k, np.int64), 0, -1, -1
        for lo, hi in _chunks(k, CODED):
            at, r, before = _rice.read_blocks(words, 8 * len(code), lo, hi, n, at, r, before, ids)
            if at < 0:
                raise ValueError("the Rice code ends too early, or with too large an id")
        if -(-at // 8) != len(code) or (at % 8 and code[-1] >> at % 8):
            raise ValueError("the Rice code is longer than its ids")
        return ids
