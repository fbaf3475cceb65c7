"""Drives the kernels on text: from documents to the hashes of their n-grams."""

import re
from functools import cache
from itertools import pairwise

import numpy as np

from skembed.core import TOKEN_PATTERNS, Spans, TextRule

from . import _hash, _text
from ._tokens import TokenKernels

ASCII, UNICODE = 0x80, 0x110000  # numbers of code points
WORD = 5  # bytes of text that are as much work as an occurrence
NO_PREFIX = np.frombuffer(b"", np.uint8)


class TextKernels(TokenKernels):
    """Numba kernels for text; threads divide documents.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.
    """

    def text_hasher(self, rule, seed):
        """Return a function that hashes the n-grams of documents.

        There is no array code for this: scikit-learn's analyzers and `hash_spans` do the same.

        Parameters
        ----------
        rule : TextRule
            How n-grams are cut.
        seed : int
            Seed of the hash, below 2**32.

        Returns
        -------
        callable
            Takes documents one behind the other, UTF-8 in an array of uint8, and their offsets,
            shape (n + 1,), int64; returns the indptr of their n-grams and the hashes, int32.
        """
        cut = CUTTERS[rule.analyzer](rule)

        def hash_part(text, offsets):
            spans, indptr = cut(text, offsets, UNICODE if text.max(initial=0) >= ASCII else ASCII)
            hashes = np.empty((len(spans), 1), np.int32)
            x = NO_PREFIX, seed, spans.buffer, spans.starts, spans.ends
            _hash.hash_spans(*x, 0, len(spans), hashes, 0)
            return indptr, hashes[:, 0]

        def hash_text(text, offsets):
            jobs = self._threads(len(text) // WORD)
            inner = [len(text) * t // jobs for t in range(1, jobs)]
            borders = [0, *np.searchsorted(offsets[:-1], inner).tolist(), len(offsets) - 1]
            shares = []
            for lo, hi in pairwise(borders):
                s, e = offsets[[lo, hi]].tolist()
                shares.append((text[s:e], offsets[lo : hi + 1] - s))
            parts = self.team.run(hash_part, shares)
            counts = np.concatenate([np.diff(indptr) for indptr, _ in parts])
            return starts_of(counts), np.concatenate([hashes for _, hashes in parts])

        return hash_text


@cache
def characters(pattern, end):
    """Return for each code point below `end` whether it matches a regular expression."""
    table = np.zeros(end, bool)
    for run in re.finditer(f"(?:{pattern})+", "".join(map(chr, range(end)))):
        table[slice(*run.span())] = True
    return table


def starts_of(counts):
    """Return counts summed up, from zero on."""
    out = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def count_runs(size, low, high):
    """Return how many runs of low..high neighbours there are among `size` things in a row."""
    kinds = np.maximum(np.minimum(high, size) - low + 1, 0)
    return kinds * (2 * (size - low) + 3 - kinds) // 2


def spans_of(buffer, starts, ends):
    """Return `Spans`; the buffer is written no more."""
    buffer.flags.writeable = False
    return Spans(buffer, starts, ends)


class WordCutter:
    """One or several neighbouring words, joined by one space.

    Parameters
    ----------
    rule : TextRule
        What words are and how many make an n-gram.
    """

    def __init__(self, rule):
        self.low, self.high = rule.low, rule.high
        self.member, self.shortest = TOKEN_PATTERNS[rule.token_pattern]
        self.stop_words = self._table(rule.stop_words) if rule.stop_words else None

    @staticmethod
    def _table(stop_words):
        """Return the bytes and offsets of words, and the hash table that holds them."""
        parts = [word.encode("utf-8", "surrogatepass") for word in stop_words]
        words, offsets = np.frombuffer(b"".join(parts), np.uint8), starts_of([*map(len, parts)])
        slots = np.full(1 << (2 * len(parts)).bit_length(), -1)
        _text.enter_words(words, offsets, slots)
        return words, offsets, slots

    def words(self, text, offsets, n_characters):
        """Return a buffer, and the starts, ends and sizes of words in it and their indptr."""
        n, room = len(offsets) - 1, len(text) // (self.shortest + 1) + len(offsets)
        out, indptr = np.empty(len(text) + 2 * n, np.uint8), np.zeros(n + 1, np.int64)
        words = tuple(np.empty((3, room), np.int64))
        members = characters(self.member, n_characters)
        _text.find_words(text, offsets, members, self.shortest, out, *words, indptr)
        if self.stop_words is not None:
            _text.drop_words(out, *words, indptr, *self.stop_words)
        return out, *(column[: indptr[-1]] for column in words), indptr

    def __call__(self, text, offsets, n_characters):
        """Return the `Spans` of n-grams and their indptr by document."""
        out, starts, ends, _, indptr = self.words(text, offsets, n_characters)
        if self.low == self.high == 1:
            return spans_of(out, starts, ends), indptr
        places = starts_of(count_runs(np.diff(indptr), self.low, self.high))
        grams = tuple(np.empty((2, places[-1]), np.int64))
        _text.join_words(starts, ends, indptr, self.low, self.high, places, *grams)
        return spans_of(out, *grams), places


class CharCutter:
    """Characters in a row, after white space in a row has become one space.

    Parameters
    ----------
    rule : TextRule
        How many make an n-gram.
    """

    def __init__(self, rule):
        self.low, self.high = rule.low, rule.high

    def __call__(self, text, offsets, n_characters):
        """Return the `Spans` of n-grams and their indptr by document."""
        out, ends = np.empty_like(text), np.zeros_like(offsets)
        sizes = np.empty(len(offsets) - 1, np.int64)
        spaces = characters(r"\s", n_characters)
        _text.squeeze_spaces(text, offsets, spaces, out, ends, sizes)
        places = starts_of(count_runs(sizes, self.low, self.high))
        enough = np.flatnonzero(sizes >= self.low)
        pieces = ends[enough], ends[enough + 1], sizes[enough], places[enough]
        return self.pieces(out, *pieces, places[-1]), places

    def pieces(self, text, starts, ends, sizes, places, n_grams):
        """Return the `Spans` of the n-grams in pieces of a text."""
        grams = tuple(np.empty((2, n_grams), np.int64))
        _text.cut_pieces(text, starts, ends, sizes, self.low, self.high, places, *grams)
        return spans_of(text, *grams)


class WordCharCutter(CharCutter):
    """Characters in a row of a word between two spaces; a word that is too short counts whole."""

    def __init__(self, rule):
        super().__init__(rule)
        self.words = WordCutter(TextRule("word", 1, 1, r"\S+")).words

    def __call__(self, text, offsets, n_characters):
        """Return the `Spans` of n-grams and their indptr by document."""
        out, starts, ends, sizes, indptr = self.words(text, offsets, n_characters)
        starts -= 1
        ends += 1
        sizes += 2
        places = starts_of(count_runs(sizes, np.minimum(self.low, sizes), self.high))
        return self.pieces(out, starts, ends, sizes, places, places[-1]), places[indptr]


CUTTERS = {"word": WordCutter, "char": CharCutter, "char_wb": WordCharCutter}
