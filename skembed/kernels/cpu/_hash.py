"""MurmurHash3 of tokens, and their sums in the columns of a CSR matrix.

The hash is MurmurHash3_x86_32 (Appleby, 2011). Tokens of a column share a prefix; its whole blocks
of four bytes are hashed once, and the up to three bytes that are left (`rest`) go before the bytes
of each token.
"""

import numpy as np
from numba import njit

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
U = np.uint64
U32 = np.uint32
C1, C2, C3 = U32(0xCC9E2D51), U32(0x1B873593), U32(0xE6546B64)
F1, F2 = U32(0x85EBCA6B), U32(0xC2B2AE35)
RUN = U(32)  # keys that are sorted by counting the smaller ones
LOW = U(0xFFFFFFFF)
MOVES = U(8)  # of a key, on average, when columns lie evenly; fewer than one is usual


@njit(inline="always", **OPTIONS)
def scramble(k):
    """Return a block as it enters the hash."""
    k = U32(k * C1)
    k = U32(U32(k << U32(15)) | (k >> U32(17)))
    return U32(k * C2)


@njit(inline="always", **OPTIONS)
def absorb(h, k):
    """Return the hash after one more block."""
    h = U32(h ^ scramble(k))
    h = U32(U32(h << U32(13)) | (h >> U32(19)))
    return U32(U32(h * U32(5)) + C3)


@njit(inline="always", **OPTIONS)
def finish(h, n):
    """Return the hash of n bytes, all of them absorbed."""
    h = U32(h ^ U32(n))
    h = U32(U32(h ^ (h >> U32(16))) * F1)
    h = U32(U32(h ^ (h >> U32(13))) * F2)
    return U32(h ^ (h >> U32(16)))


@njit(inline="always", **OPTIONS)
def word_at(buffer, p):
    """Return four bytes, the low one first."""
    low = U(buffer[p]) | U(buffer[p + U(1)]) << U(8)
    return low | U(buffer[p + U(2)]) << U(16) | U(buffer[p + U(3)]) << U(24)


@njit(**OPTIONS)
def hash_spans(prefix, seed, buffer, starts, ends, lo, hi, out, column):
    """Write out[i, column] = the hash of prefix + buffer[starts[i]:ends[i]], lo <= i < hi."""
    begin, p, n_before = U32(seed), U(0), prefix.shape[0]
    while p + U(4) <= U(n_before):
        begin = absorb(begin, U32(word_at(prefix, p)))
        p += U(4)
    rest, first_shift = U(0), U(8) * (U(n_before) - p)
    while p < U(n_before):
        rest |= U(prefix[p]) << (U(8) * (p & U(3)))
        p += U(1)
    for i in range(lo, hi):
        h, held, shift = begin, rest, first_shift
        p, e = U(starts[i]), U(ends[i])
        while p + U(4) <= e:
            held |= word_at(buffer, p) << shift
            h = absorb(h, U32(held))
            held >>= U(32)
            p += U(4)
        while p < e:
            held |= U(buffer[p]) << shift
            shift += U(8)
            p += U(1)
        if shift >= U(32):
            h = absorb(h, U32(held))
            held >>= U(32)
        h = U32(h ^ scramble(U32(held)))
        out[U(i), U(column)] = np.int32(finish(h, n_before + ends[i] - starts[i]))


@njit(**OPTIONS)
def hash_ids(ids, seed, lo, hi, out):
    """Write out[i] = the hash of ids[i] as eight bytes, the low ones first, lo <= i < hi."""
    for i in range(lo, hi):
        x = U(np.int64(ids[i]))
        h = absorb(absorb(U32(seed), U32(x)), U32(x >> U(32)))
        out[i] = np.int32(finish(h, 8))


@njit(inline="always", **OPTIONS)
def sort_keys(keys, spare, m):
    """Sort keys[:m], all different; return whether the result is in `spare` instead."""
    a = U(0)
    while a < m:
        b = min(a + RUN, m)
        for i in range(a, b):
            key, rank = keys[i], a
            for j in range(a, b):
                rank += U(keys[j] < key)
            spare[rank] = key
        a = b
    in_spare, width = True, RUN
    while width < m:
        source, target = (spare, keys) if in_spare else (keys, spare)
        a = U(0)
        while a < m:
            i, middle, end = a, min(a + width, m), min(a + U(2) * width, m)
            j = middle
            for o in range(a, end):
                if j >= end or (i < middle and source[i] < source[j]):
                    target[o] = source[i]
                    i += U(1)
                else:
                    target[o] = source[j]
                    j += U(1)
            a = end
        in_spare, width = not in_spare, U(2) * width
    return in_spare


@njit(inline="always", **OPTIONS)
def spread_keys(keys, spare, m, n, places):
    """Sort keys[:m] into `spare` by where their columns lie in range(n), then each into its place.

    Hashed columns lie evenly. Return whether they did; the result is not sorted if not.
    """
    n_places = U(RUN)
    while n_places < m:
        n_places *= U(2)
    scale = (n_places << U(32)) // U(n)
    for b in range(n_places + U(1)):
        places[b] = U(0)
    for i in range(m):
        places[((keys[i] >> U(32)) * scale >> U(32)) + U(1)] += U(1)
    for b in range(n_places):
        places[b + U(1)] += places[b]
    for i in range(m):
        b = (keys[i] >> U(32)) * scale >> U(32)
        spare[places[b]] = keys[i]
        places[b] += U(1)
    moves = U(0)
    for i in range(U(1), m):
        key, j = spare[i], i
        while j > 0 and spare[j - U(1)] > key and moves < MOVES * m:
            spare[j] = spare[j - U(1)]
            j -= U(1)
            moves += U(1)
        spare[j] = key
    return moves < MOVES * m


@njit(**OPTIONS)
def fold_rows(indptr, hashes, values, n_features, sign, longest, lo, hi, indices, data, counts):
    """Write the rows lo <= r < hi from position indptr[lo] on; return where they end.

    A hash with the bit of `sign` turns the sign of its value. No row has more than `longest`
    tokens.
    """
    kind, n, at = data.dtype.type, U32(n_features), U(indptr[lo])
    keys, spare = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    places = np.empty(2 * longest + 2, np.uint64)
    for r in range(lo, hi):
        s, e, first, m = U(indptr[r]), U(indptr[r + 1]), at, U(0)
        for p in range(s, e):
            h = np.int64(hashes[p])
            keys[m] = U(U32(abs(h)) % n) << U(32) | (p - s)
            m += U(values[p] != 0)
        in_order, q = spare, U(0)
        if m <= RUN or not spread_keys(keys, spare, m, n, places):
            in_order = spare if sort_keys(keys, spare, m) else keys
        while q < m:
            column, total = in_order[q] >> U(32), kind(0)
            while q < m and in_order[q] >> U(32) == column:
                p = s + (in_order[q] & LOW)
                turned = np.float64(hashes[p] & sign != 0)
                total = kind(total + kind(values[p] * (1.0 - 2.0 * turned)))
                q += U(1)
            indices[at], data[at] = column, total
            at += U(total != 0)
        counts[r] = at - first
    return at
