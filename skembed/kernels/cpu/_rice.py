"""The Rice code of increasing ids, in words of 64 bits; `CodecOperations` has the format.

A kernel goes over ids lo to hi, both on the border of a block, and hands on where it stands.
"""

import numpy as np
from numba import njit

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
BLOCK, PARAMETER, MOST = 128, 6, 56
U = np.uint64


@njit(inline="always", **OPTIONS)
def block_cost(ids, s, e, r):
    """The bits that gaps s to e take with parameter r."""
    before, total = ids[s - 1] if s else np.int64(-1), (e - s) * (r + 1)
    for i in range(s, e):
        total += (ids[i] - before - 1) >> r
        before = ids[i]
    return total


@njit(**OPTIONS)
def plan_blocks(ids, lo, hi, last, parameters):
    """Write the parameter of each block; return the bits of their code, and the last parameter."""
    total = 0
    for s in range(lo, hi, BLOCK):
        e = min(s + BLOCK, hi)
        r, cost = np.int64(0), block_cost(ids, s, e, 0)
        while True:  # costs are convex in r
            more = block_cost(ids, s, e, r + 1)
            if more >= cost:
                break
            r, cost = r + 1, more
        kept = block_cost(ids, s, e, last) if last >= 0 else cost + PARAMETER + 1
        if cost + PARAMETER < kept:
            last, kept = r, cost + PARAMETER
        parameters[s // BLOCK] = last
        total += 1 + kept
    return total, last


@njit(inline="always", **OPTIONS)
def put(words, at, x):
    """Write the number x at a bit; what is there is zero."""
    w, off = at >> 6, U(at & 63)
    words[w] |= x << off
    if off:
        words[w + 1] |= x >> (U(64) - off)


@njit(**OPTIONS)
def write_blocks(ids, lo, hi, parameters, words, at):
    """Write the code of ids at a bit of `words`, zeros and one word more than it takes."""
    before = ids[lo - 1] if lo else np.int64(-1)
    last = np.int64(parameters[lo // BLOCK - 1]) if lo else np.int64(-1)
    for i in range(lo, hi):
        r = np.int64(parameters[i // BLOCK])
        if i % BLOCK == 0:
            if r != last:
                put(words, at, U(1) | U(r) << U(1))
                at += PARAMETER
                last = r
            at += 1
        gap = ids[i] - before - 1
        before = ids[i]
        at += gap >> r
        put(words, at, U(1) | (U(gap) & ((U(1) << U(r)) - U(1))) << U(1))
        at += r + 1
    return at


@njit(inline="always", **OPTIONS)
def get(words, at):
    """The 64 bits at a bit."""
    w, off = at >> 6, U(at & 63)
    x = words[w] >> off
    if off:
        x |= words[w + 1] << (U(64) - off)
    return x


@njit(**OPTIONS)
def read_blocks(words, end, lo, hi, n, at, r, before, ids):
    """Read ids from a code of `end` bits that nobody has checked; two words of zeros follow it.

    Returns where the code goes on, the parameter and the last id; -1 for the place where it is
    not the code of ids below n.
    """
    for i in range(lo, hi):
        if i % BLOCK == 0:
            x = get(words, at)
            at += 1
            if x & U(1):
                r = np.int64((x >> U(1)) & U((1 << PARAMETER) - 1))
                at += PARAMETER
            if r < 0 or r > MOST:
                return np.int64(-1), r, before
        gap, x = np.int64(0), U(0)
        while at < end:
            x = get(words, at)
            if x:
                break
            at += 64
            gap += 64
        if x == 0:
            return np.int64(-1), r, before
        while not x & U(1):
            x >>= U(1)
            at += 1
            gap += 1
        at += 1
        if at + r > end or gap > n >> r:
            return np.int64(-1), r, before
        low = np.int64(get(words, at) & ((U(1) << U(r)) - U(1)))
        at += r
        before += (gap << r | low) + 1
        if before >= n:
            return np.int64(-1), r, before
        ids[i] = before
    return at, r, before
