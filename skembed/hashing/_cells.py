"""Cells of a table: text, number, or missing.

The rule is by value, and that of scikit-learn's records: text is a category with the token
``column=text``, a number weighs the token ``column``. So 1, 1.0, True and every dtype that holds
them are one thing, and "1" is another. What a column of categories holds is a category, numbers
too: there 1 and 1.0 read "1".
"""

import datetime
from dataclasses import dataclass
from numbers import Number, Real

import numpy as np

from skembed.core import Spans

from ._strings import spans_of

MISSING = b"\xff"  # behind `column=`: no text is encoded so


@dataclass(frozen=True, slots=True)
class Cells:
    """Some rows of a column.

    Parameters
    ----------
    spans : Spans or None
        Tokens of the rows, or the dictionary that `codes` point into; None if all are numbers.
    codes : ndarray of shape (n,), int, or None
        Which token of the dictionary each row has.
    numeric : ndarray of shape (n,), bool, or None
        Rows with a number, whose token is the name of the column.
    missing : ndarray of shape (n,), bool, or None
        Rows without a value.
    values : ndarray of shape (n,), float64, or None
        Weights; None stands for ones.
    """

    spans: Spans | None
    codes: np.ndarray | None = None
    numeric: np.ndarray | None = None
    missing: np.ndarray | None = None
    values: np.ndarray | None = None


def is_missing(x):
    """Tell whether a value is None, NaN, NaT or pandas.NA."""
    if x is None:
        return True
    try:
        return bool(x != x)
    except TypeError:  # pandas.NA: neither true nor false
        return True
    except ValueError:  # an array
        return False


def cells_of_numbers(values, first, name):
    """Return the `Cells` of float64 numbers, NaN where one is missing."""
    missing, numeric = np.isnan(values), np.ones(len(values), bool)
    if np.isinf(values).any():
        row = first + int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"Column {name!r} holds {values[row - first]} in row {row}; numbers weigh the token of "
            "their column and must be finite."
        )
    if not missing.any():
        return Cells(None, None, numeric, None, values)
    return Cells(None, None, numeric, missing, np.where(missing, 1.0, values))


def cells_of_objects(items, first, name, prefix):
    """Return the `Cells` of a list of Python objects."""
    try:
        return Cells(spans_of(items, prefix))
    except (TypeError, UnicodeEncodeError):
        pass
    n = len(items)
    texts, values = [""] * n, np.ones(n)
    numeric, missing = np.zeros(n, bool), np.zeros(n, bool)
    for i, x in enumerate(items):
        if isinstance(x, str | bytes):
            texts[i] = x
        elif is_missing(x):
            missing[i] = True
        elif isinstance(x, Number | np.bool):
            numeric[i], values[i] = True, _weight(x, first + i, name)
        elif isinstance(x, datetime.date | np.datetime64):
            texts[i] = category_text(x, name)
        else:
            raise TypeError(
                f"Column {name!r} holds {x!r:.60} ({type(x).__name__}) in row {first + i}, "
                "expected text, a number, a date or a missing value."
            )
    try:
        spans = spans_of(texts, prefix)
    except UnicodeEncodeError:
        row = next(i for i, text in enumerate(texts) if not _is_text(text))
        raise ValueError(
            f"Column {name!r} holds {texts[row]!a:.60} in row {first + row}, which is no text."
        ) from None
    return Cells(spans, None, numeric, missing, values)


def _weight(x, row, name):
    try:
        weight = float(x)
    except (TypeError, OverflowError):
        weight = np.inf
    if not np.isfinite(weight):
        raise ValueError(
            f"Column {name!r} holds {x!r:.60} in row {row}; numbers weigh the token of their "
            "column and must be real and finite."
        )
    return weight


def _is_text(x):
    try:
        return isinstance(x, bytes) or x.encode() is not None
    except UnicodeEncodeError:
        return False


def category_text(x, name):
    """Return the text of a category: 1 and 1.0 are "1", dates are in ISO format.

    Parameters
    ----------
    x : object
        A category.
    name : str
        Of its column, for the message.

    Returns
    -------
    str or bytes
        The same on every machine and in every process.
    """
    if isinstance(x, str | bytes):
        return x
    if isinstance(x, np.datetime64):
        x = x.astype("datetime64[us]").item()
    if isinstance(x, datetime.date):
        return x.isoformat()
    if isinstance(x, bool | np.bool):
        return str(bool(x))
    if isinstance(x, Real) and np.isfinite(x) and x == int(x):
        return str(int(x))
    kind = type(x)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise TypeError(
            f"Column {name!r} has the category {x!r:.60}, which has no text of its own."
        )
    return str(x)
