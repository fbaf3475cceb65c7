"""From documents to the n-grams that scikit-learn's analyzers make of them, as spans of a buffer."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from . import _text

ASCII, UNICODE = 0x80, 0x110000


@dataclass(frozen=True, slots=True)
class Grams:
    """N-grams of documents: those of document d are indptr[d] <= i < indptr[d + 1].

    Attributes
    ----------
    text : ndarray of uint8
        UTF-8.
    starts, stops : ndarray of int64
        N-gram i is ``text[starts[i]:stops[i]]``.
    indptr : ndarray of int64, shape (n_documents + 1,)
        Documents one behind the other.
    """

    text: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    indptr: np.ndarray


@cache
def characters(pattern, end):
    """Return for each code point below `end` whether it matches a regular expression."""
    table = np.zeros(end, bool)
    for run in re.finditer(f"(?:{pattern})+", "".join(map(chr, range(end)))):
        table[slice(*run.span())] = True
    table.flags.writeable = False
    return table


def encode_words(words):
    """Return the bytes of strings, one behind the other, and their offsets."""
    parts = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def _count(size, low, high):
    """Return the number of runs of low..high neighbours among `size` things in a row."""
    kinds = np.maximum(np.minimum(high, size) - low + 1, 0)
    return kinds * (2 * (size - low) + 3 - kinds) // 2


def _starts_of(counts):
    """Return counts summed up, from zero on."""
    out = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return out


class WordGrams:
    """One or several neighbouring words, joined by one space.

    Parameters
    ----------
    member : str
        Regular expression of the characters that make words.
    shortest : int
        Number of characters of the shortest word.
    low, high : int
        Number of words in an n-gram.
    stop_words : iterable of str or None
        Words that are left out.
    """

    def __init__(self, member, shortest, low, high, stop_words=None):
        self.member, self.shortest, self.low, self.high = member, shortest, low, high
        self.stop_words = None
        if stop_words:
            words, offsets = encode_words(stop_words)
            slots = np.full(1 << (2 * len(offsets)).bit_length(), -1)
            _text.enter_words(words, offsets, slots)
            self.stop_words = words, offsets, slots

    def words(self, text, offsets, wide):
        """Return a buffer and the starts, stops, sizes and indptr of the words in it."""
        n, room = len(offsets) - 1, len(text) // (self.shortest + 1) + len(offsets)
        out, indptr = np.empty(len(text) + 2 * n, np.uint8), np.zeros(n + 1, np.int64)
        spans = tuple(np.empty(room, np.int64) for _ in range(3))
        members = characters(self.member, UNICODE if wide else ASCII)
        _text.find_words(text, offsets, members, self.shortest, out, *spans, indptr)
        if self.stop_words is not None:
            _text.drop_words(out, *spans, indptr, *self.stop_words)
        return out, *(span[: indptr[-1]] for span in spans), indptr

    def __call__(self, text, offsets, wide):
        """Return the `Grams` of documents in a UTF-8 buffer; `wide` if it is not ASCII."""
        out, starts, stops, _, indptr = self.words(text, offsets, wide)
        if self.low == self.high == 1:
            return Grams(out, starts, stops, indptr)
        places = _starts_of(_count(np.diff(indptr), self.low, self.high))
        grams = np.empty(places[-1], np.int64), np.empty(places[-1], np.int64)
        _text.join_words(starts, stops, indptr, self.low, self.high, places, *grams)
        return Grams(out, *grams, places)


class CharGrams:
    """Characters in a row, after white space in a row has become one space."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __call__(self, text, offsets, wide):
        """Return the `Grams` of documents in a UTF-8 buffer; `wide` if it is not ASCII."""
        out, ends = np.empty_like(text), np.zeros_like(offsets)
        sizes = np.empty(len(offsets) - 1, np.int64)
        spaces = characters(r"\s", UNICODE if wide else ASCII)
        _text.squeeze_spaces(text, offsets, spaces, out, ends, sizes)
        enough = np.flatnonzero(sizes >= self.low)
        places = _starts_of(_count(sizes, self.low, self.high))
        return _cut(out, ends[enough], ends[enough + 1], sizes[enough], places[enough], self, places)


class WordCharGrams:
    """Characters in a row in a word between spaces."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.words = WordGrams(r"\S", 1, 1, 1).words

    def __call__(self, text, offsets, wide):
        """Return the `Grams` of documents in a UTF-8 buffer; `wide` if it is not ASCII."""
        out, starts, stops, sizes, indptr = self.words(text, offsets, wide)
        starts -= 1
        stops += 1
        sizes += 2
        places = _starts_of(_count(sizes, np.minimum(self.low, sizes), self.high))
        return _cut(out, starts, stops, sizes, places, self, places[indptr])


def _cut(text, starts, stops, sizes, places, rule, indptr):
    """Return the `Grams` of low..high characters in pieces of a text."""
    grams = np.empty(indptr[-1], np.int64), np.empty(indptr[-1], np.int64)
    _text.cut_pieces(text, starts, stops, sizes, rule.low, rule.high, places, *grams)
    return Grams(text, *grams, indptr)
