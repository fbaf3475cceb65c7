"""Hashed tokens of some rows, as readers hand them on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skembed.core import Spans


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of consecutive rows.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        Where the tokens of each row begin, from 0 on.
    hashes : ndarray of shape (n,), int32
        One hash a token.
    values : ndarray of shape (n,), float64, or None
        Finite weights; None stands for ones. A token of weight 0 is absent.
    name : callable
        name(i) is token i as text.
    """

    indptr: np.ndarray
    hashes: np.ndarray
    values: np.ndarray | None
    name: Callable[[int], str]


def as_text(token):
    """Return a token, bytes, as text; bytes that are no UTF-8 are escaped."""
    return token.decode("utf-8", "backslashreplace")


def hash_together(backend, hashes, seed):
    """Return the hash of each row of hashes, shape (n, k): of their bytes, four each, in order.

    Crosses of tokens are hashed this way, so that no text is made for them.
    """
    n, size = len(hashes), 4 * hashes.shape[1]
    starts = np.arange(0, n * size, size, dtype=np.int64)
    spans = Spans(hashes.astype("<i4", order="C").view(np.uint8).ravel(), starts, starts + size)
    return backend.hash_spans([spans], seed)[:, 0]


def further_hashes(backend, hashes, seed, n_hashes):
    """Return n_hashes hashes of each token, shape (n, n_hashes); the first is the given one."""
    out = np.empty((len(hashes), n_hashes), np.int32)
    out[:, 0] = hashes
    for j in range(1, n_hashes):
        pairs = np.column_stack([hashes, np.full(len(hashes), j, np.int32)])
        out[:, j] = hash_together(backend, pairs, seed)
    return out


def spread(tokens, backend, seed, n_hashes):
    """Return (indptr, hashes, values) with `n_hashes` entries a token."""
    if n_hashes == 1:
        return tokens.indptr, tokens.hashes, tokens.values
    hashes = further_hashes(backend, tokens.hashes, seed, n_hashes).ravel()
    values = None if tokens.values is None else np.repeat(tokens.values, n_hashes)
    return tokens.indptr * n_hashes, hashes, values
