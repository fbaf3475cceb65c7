"""Python strings become spans of one buffer, without a call for each."""

import numpy as np

from skembed.core import Spans

NUL, EQUALS = 0, ord("=")


def spans_of(strings, prefix=b""):
    """Return str, bytes or both as `Spans`.

    Parameters
    ----------
    strings : sequence of str or bytes
        Tokens; text is encoded as UTF-8.
    prefix : bytes, default=b""
        What all of them begin with.

    Returns
    -------
    Spans
        One for each string.

    Raises
    ------
    TypeError
        If there is anything else among them.
    UnicodeEncodeError
        If a text holds half of a surrogate pair.
    """
    try:
        return spans_of_text(strings, prefix)
    except TypeError:
        strings = [s.encode() if isinstance(s, str) else s for s in strings]
        if not all(issubclass(kind, bytes) for kind in set(map(type, strings))):
            raise  # NumPy numbers would be joined by their memory
    buffer = np.frombuffer(b"\0".join(strings), np.uint8)
    return Spans(buffer, *_between(buffer, strings), prefix)


def spans_of_text(strings, prefix=b""):
    """Do what `spans_of` does for str alone; anything else is a TypeError."""
    buffer = np.frombuffer("\0".join(strings).encode(), np.uint8)
    return Spans(buffer, *_between(buffer, strings), prefix)


def spans_of_pairs(interleaved):
    """Return `Spans` of the tokens ``name=value`` of name, value, name, value..., all str."""
    buffer = np.frombuffer("\0".join(interleaved).encode(), np.uint8).copy()
    starts, ends = _between(buffer, interleaved)
    buffer[ends[::2]] = EQUALS
    return Spans(buffer, np.ascontiguousarray(starts[::2]), np.ascontiguousarray(ends[1::2]))


def _between(buffer, strings):
    """Return where each of the joined strings begins and ends."""
    n = len(strings)
    starts, ends = np.zeros(n, np.int64), np.full(n, len(buffer), np.int64)
    cuts = np.flatnonzero(buffer == NUL)
    if n and len(cuts) != n - 1:  # a string has zeros of its own
        sizes = [len(s.encode() if isinstance(s, str) else s) + 1 for s in strings]
        cuts = np.cumsum(sizes[:-1], dtype=np.int64) - 1
    ends[:-1] = cuts
    starts[1:] = cuts + 1
    return starts, ends
