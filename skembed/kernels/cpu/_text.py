"""Words and n-grams of many documents that lie one behind the other in a UTF-8 buffer.

A document is ``text[offsets[d]:offsets[d + 1]]`` and ends between two characters. Words are copied
to a buffer in which a space stands before the first and behind every word of a document, so that
neighbouring words joined by one space, and a word between its spaces, are ranges of it.

Characters are looked up in a table by code point. One of 128 entries is enough for ASCII.
"""

import numpy as np
from numba import njit

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
U = np.uint64
SPACE, ASCII = np.uint8(32), 0x80
FNV_START, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@njit(inline="always", **OPTIONS)
def _decode(text, p):
    """Return the code point at text[p] and the number of its bytes."""
    c = np.int64(text[p])
    if c < ASCII:
        return c, U(1)
    second = np.int64(text[p + U(1)]) & 0x3F
    if c < 0xE0:
        return (c & 0x1F) << 6 | second, U(2)
    third = np.int64(text[p + U(2)]) & 0x3F
    if c < 0xF0:
        return (c & 0x0F) << 12 | second << 6 | third, U(3)
    fourth = np.int64(text[p + U(3)]) & 0x3F
    return (c & 0x07) << 18 | second << 12 | third << 6 | fourth, U(4)


@njit(inline="always", **OPTIONS)
def _after(text, p, end):
    """Return the position of the character that follows the one at p, or `end`."""
    p += U(1)
    while p < end and text[p] & 0xC0 == 0x80:
        p += U(1)
    return p


@njit(**OPTIONS)
def find_words(text, offsets, members, shortest, out, starts, ends, sizes, indptr):
    """Copy the longest runs of member characters, of at least `shortest` characters, to `out`.

    Parameters
    ----------
    text : ndarray of uint8
        The documents.
    offsets : ndarray of int64, shape (n + 1,)
        Where they begin; the last entry is their end.
    members : ndarray of bool, shape (128,) or (0x110000,)
        Whether a character, by code point, belongs to words.
    shortest : int
        Number of characters that make a word.
    out : ndarray of uint8
        Receives the words; len(text) + 2 n bytes are enough.
    starts, ends, sizes : ndarray of int64
        Receive where the words lie in `out` and how many characters they have.
    indptr : ndarray of int64, shape (n + 1,)
        Receives at d + 1 the number of words in documents 0..d.
    """
    q, w = U(0), U(0)
    for d in range(offsets.shape[0] - 1):
        out[q] = SPACE
        q += U(1)
        p, end = U(offsets[d]), U(offsets[d + 1])
        while p < end:
            start, size = q, 0
            while p < end:
                c, width = np.int64(text[p]), U(1)
                out[q] = text[p]
                if c >= ASCII:
                    c, width = _decode(text, p)
                    for k in range(U(1), width):
                        out[q + k] = text[p + k]
                p += width
                if not members[U(c)]:
                    break
                q += width
                size += 1
            starts[w], ends[w], sizes[w] = start, q, size
            if size >= shortest:
                out[q] = SPACE
                q += U(1)
                w += U(1)
            else:
                q = start
        indptr[d + 1] = w


@njit(inline="always", **OPTIONS)
def _place(text, start, stop, slots, words, word_offsets):
    """Return the slot that holds a word, or the free one where it belongs."""
    h = FNV_START
    for p in range(start, stop):
        h = (h ^ U(text[U(p)])) * FNV_PRIME
    at = (h ^ (h >> U(32))) & U(slots.shape[0] - 1)
    while slots[at] >= 0:
        s = word_offsets[slots[at]]
        n = word_offsets[slots[at] + 1] - s
        if n == stop - start:
            k = 0
            while k < n and words[U(s + k)] == text[U(start + k)]:
                k += 1
            if k == n:
                break
        at = (at + U(1)) & U(slots.shape[0] - 1)
    return at


@njit(**OPTIONS)
def enter_words(words, offsets, slots):
    """Enter the words ``words[offsets[i]:offsets[i + 1]]`` into a hash table.

    `slots` is int64 of a power of two, more than there are words, and holds -1 throughout.
    """
    for i in range(offsets.shape[0] - 1):
        at = _place(words, offsets[i], offsets[i + 1], slots, words, offsets)
        if slots[at] < 0:
            slots[at] = i


@njit(**OPTIONS)
def drop_words(text, starts, ends, sizes, indptr, words, word_offsets, slots):
    """Remove the words of a hash table in place, and close the gaps.

    All but the last parameters are what `find_words` has written, the last what `enter_words` has.
    """
    q, w, first = 0, 0, 0
    for d in range(indptr.shape[0] - 1):
        text[q] = SPACE
        q += 1
        for i in range(first, indptr[d + 1]):
            if slots[_place(text, starts[i], ends[i], slots, words, word_offsets)] >= 0:
                continue
            s, n = starts[i], ends[i] - starts[i]
            for k in range(n):
                text[U(q + k)] = text[U(s + k)]
            text[q + n] = SPACE
            starts[w], ends[w], sizes[w] = q, q + n, sizes[i]
            q += n + 1
            w += 1
        first, indptr[d + 1] = indptr[d + 1], w


@njit(**OPTIONS)
def join_words(starts, ends, indptr, low, high, places, gram_starts, gram_ends):
    """Write the spans of low..high neighbouring words of each document.

    Those of document d are written from places[d] on. A document of k words has k - n + 1 of n.
    """
    for d in range(indptr.shape[0] - 1):
        q, s, e = places[d], indptr[d], indptr[d + 1]
        for n in range(low, min(high, e - s) + 1):
            for i in range(s, e - n + 1):
                gram_starts[U(q)], gram_ends[U(q)] = starts[i], ends[i + n - 1]
                q += 1


@njit(**OPTIONS)
def cut_pieces(text, starts, ends, sizes, low, high, places, gram_starts, gram_ends):
    """Write the spans of min(low, size)..high characters of ``text[starts[i]:ends[i]]``.

    Those of piece i are written from places[i] on; sizes[i] is its number of characters.
    """
    for i in range(starts.shape[0]):
        start, end, q = U(starts[i]), U(ends[i]), U(places[i])
        least, head = min(low, sizes[i]), start
        for _ in range(least):
            head = _after(text, head, end)
        for _ in range(least, min(high, sizes[i]) + 1):
            p, e = start, head
            gram_starts[q], gram_ends[q] = p, e
            q += U(1)
            while e < end:
                p, e = _after(text, p, end), _after(text, e, end)
                gram_starts[q], gram_ends[q] = p, e
                q += U(1)
            head = _after(text, head, end)


@njit(**OPTIONS)
def squeeze_spaces(text, offsets, spaces, out, out_offsets, sizes):
    """Copy documents to `out` with one space for two white-space characters or more in a row.

    A single one stays what it is. `sizes` receives the number of characters of each document.
    """
    q = U(0)
    for d in range(offsets.shape[0] - 1):
        p, end, size = U(offsets[d]), U(offsets[d + 1]), 0
        while p < end:
            c, width = _decode(text, p)
            after, run = p + width, spaces[U(c)]
            while run and after < end:
                c, more = _decode(text, after)
                run = spaces[U(c)]
                if run:
                    after += more
            if after > p + width:
                out[q] = SPACE
                q += U(1)
            else:
                for k in range(width):
                    out[q + k] = text[p + k]
                q += width
            size += 1
            p = after
        out_offsets[d + 1], sizes[d] = q, size
