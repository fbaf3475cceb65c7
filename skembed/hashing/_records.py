"""Readers of rows that are Python objects: dicts, pairs of names and values, strings."""

from contextlib import suppress
from itertools import chain, islice
from numbers import Number

import numpy as np

from skembed.core import Spans

from ._strings import spans_of, spans_of_pairs, spans_of_text
from ._tokens import Tokens, as_text

AT_A_TIME = 1 << 16  # tokens, which are Python objects
FIRST = 256  # rows to begin with, before it is known how long rows are


def read_records(X, input_type, backend, seed):
    """Yield the `Tokens` of an iterable of rows.

    Parameters
    ----------
    X : iterable
        Rows.
    input_type : {"dict", "pair", "string"}
        What a row is: a mapping of names to values, an iterable of (name, value), or an iterable
        of names. A value that is a string belongs to the name, as ``name=value``.
    backend : Backend
        Hashes.
    seed : int
        Of the hash.

    Yields
    ------
    Tokens
        Of some rows.

    Raises
    ------
    ValueError, TypeError
        For rows, names or values that cannot be used; the message says in which row.
    """
    rows, first, step = iter(X), 0, FIRST
    while part := list(islice(rows, step)):
        columns, values, sizes = FLATTEN[input_type](part, first)
        indptr = np.zeros(len(part) + 1, np.int64)
        np.cumsum(sizes, out=indptr[1:])
        hashes = backend.hash_spans(columns, seed).ravel()
        yield Tokens(indptr, hashes, values, lambda i, columns=columns: _token(columns, i))
        first += len(part)
        step = max(1, AT_A_TIME * len(part) // max(1, len(hashes)))
        step = min(step, 4 * len(part) + FIRST)


def _flat_strings(rows, first):
    """Return (columns, None, sizes) of rows that are iterables of strings."""
    rows = _lists(rows, first, "strings")
    tokens = list(chain.from_iterable(rows))
    try:
        spans = spans_of(tokens)
    except (TypeError, UnicodeEncodeError) as error:
        for i, row in enumerate(rows, first):
            for token in row:
                _check_name(token, i)
        raise error
    return [spans], None, list(map(len, rows))


def _flat_pairs(rows, first):
    """Return (columns, values, sizes) of rows that are iterables of (name, value)."""
    rows = _lists(rows, first, "(name, value) pairs")
    flat = list(chain.from_iterable(rows))
    if not set(map(type, flat)) <= {list, tuple} or not set(map(len, flat)) <= {2}:
        flat = [_pair(x, i) for i, row in enumerate(rows, first) for x in row]
    return _joined(list(chain.from_iterable(flat)), list(map(len, rows)), first)


def _pair(x, row):
    """Return a pair as a tuple."""
    try:
        pair = () if isinstance(x, str | bytes) else tuple(x)
    except TypeError:
        pair = ()
    if len(pair) != 2:
        raise ValueError(f"Expected (name, value) pairs, but row {row} holds {x!r:.60}.")
    return pair


def _flat_dicts(rows, first):
    """Return (columns, values, sizes) of rows that are mappings."""
    if set(map(type, rows)) == {dict}:
        alike = _alike(rows)
        if alike is not None:
            return alike, None, np.full(len(rows), len(alike))
        interleaved = list(chain.from_iterable(chain.from_iterable(map(dict.items, rows))))
        return _joined(interleaved, list(map(len, rows)), first)
    for i, row in enumerate(rows, first):
        if not hasattr(row, "items"):
            raise TypeError(
                f'input_type="dict" expects a mapping of names to values in each row, but row {i} '
                f"is {row!r:.60} ({type(row).__name__})."
            )
    return _flat_pairs([row.items() for row in rows], first)


FLATTEN = {"dict": _flat_dicts, "pair": _flat_pairs, "string": _flat_strings}


def _lists(rows, first, what):
    """Return rows as lists or tuples, which can be walked twice."""
    if set(map(type, rows)) <= {list, tuple}:
        return rows
    out = []
    for i, row in enumerate(rows, first):
        if isinstance(row, str | bytes):
            raise ValueError(
                "Samples can not be a single string. The input must be an iterable over iterables "
                f"of {what}, such as [['red'], ['blue']]; row {i} is {row!r:.60}."
            )
        try:
            out.append(list(row))
        except TypeError:
            raise TypeError(
                f"Expected an iterable of {what} in each row, but row {i} is {row!r:.60} "
                f"({type(row).__name__})."
            ) from None
    return out


def _joined(interleaved, sizes, first):
    """Return (columns, values, sizes) of name, value, name, value...; strings join their names."""
    names, values = interleaved[::2], interleaved[1::2]
    try:
        if values and isinstance(values[0], str):
            with suppress(TypeError):  # others are no strings
                return [spans_of_pairs(interleaved)], None, sizes
        if not all(issubclass(kind, Number) for kind in set(map(type, values))):
            names = list(map(_join, names, values))
            values = [1.0 if isinstance(value, str) else value for value in values]
        weights = np.array(values, np.float64)
        if weights.shape == (len(names),) and np.isfinite(weights).all():
            return [spans_of(names)], weights, sizes
    except (TypeError, ValueError, OverflowError) as error:
        _blame(names, values, sizes, first)
        raise error
    _blame(names, values, sizes, first)
    raise ValueError("Values must be finite numbers or strings.")


def _alike(rows):
    """Return one column a name if all dicts have the same names, in order, and strings; or None."""
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        return None
    try:
        prefixes = [(name + "=").encode() for name in names]
        spans = spans_of_text(list(chain.from_iterable(map(dict.values, rows))))
    except (TypeError, UnicodeEncodeError):
        return None
    starts, ends = (x.reshape(len(rows), -1).T.copy() for x in (spans.starts, spans.ends))
    return [Spans(spans.buffer, *x) for x in zip(starts, ends, prefixes, strict=True)]


def _token(columns, i):
    """Return token i of columns, row by row, as text."""
    row, column = divmod(i, len(columns))
    return as_text(columns[column].token(row))


def _join(name, value):
    """Return the token of a name and a value: ``name=value`` for a string, else the name."""
    if not isinstance(value, str):
        return name
    return name + b"=" + value.encode() if isinstance(name, bytes) else f"{name}={value}"


def _blame(names, values, sizes, first):
    """Raise for the first name or value that cannot be used."""
    row = np.repeat(np.arange(first, first + len(sizes)), sizes).tolist()
    for i, name, value in zip(row, names, values, strict=True):
        _check_name(name, i)
        _check_text(value, i)
        try:
            fine = isinstance(value, str) or bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise ValueError(
                f"Values must be finite numbers or strings, but row {i} holds {value!r:.60} "
                f"({type(value).__name__}) for {name!r:.60}."
            )


def _check_name(name, row):
    if not isinstance(name, str | bytes):
        raise TypeError(
            f"feature names must be strings, but row {row} holds {name!r:.60} "
            f"({type(name).__name__})."
        )
    _check_text(name, row)


def _check_text(text, row):
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"Row {row} holds {text!a:.60}, which is no valid text: {error}") from None
