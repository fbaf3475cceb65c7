"""Rows to train on and rows to hold out."""

import numpy as np

from skembed.core import SPLIT, stream

MANY = 5  # equal rows that need not stay on one side


def split_rows(
    keys, fraction, seed, *, ties=(), classes=None, weights=None, names=None, strict=False
):
    """Choose rows to hold out, at random, or in equal shares of each class.

    Rows are held out whole. A few equal rows fall on one side together, so that repeating a row is
    like weighing it, and copies do not tell the score what was trained on; five equal rows or more
    are split like others, so that where few kinds of rows are many, some of each are held out.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Random numbers, equal for equal rows; they decide, not the order of the rows.
    fraction : float
        Share to hold out.
    seed : int
        Seed of the fit.
    ties : tuple of ndarray of shape (n,)
        Tell rows with equal keys apart.
    classes : ndarray of shape (n,), int, or None
        Class of each row: each is split in the same shares, as near as whole rows allow. A class
        of one row stays in training.
    weights : ndarray of shape (n,) or None
        Weights of the rows: a row of weight above 1 is more than one.
    names : ndarray or None
        Labels of the classes, for the message.
    strict : bool
        Whether a class of one row is an error.

    Returns
    -------
    out : ndarray of shape (n,), bool
        The rows that are held out.

    Raises
    ------
    ValueError
        If there are not two rows, or, if `strict`, a class has one row.
    """
    n = len(keys)
    if n < 2:
        raise ValueError(f"Holding rows out needs at least 2 rows, got {n} sample.")
    classes = np.zeros(n, np.int64) if classes is None else classes
    found, codes = np.unique(classes, return_inverse=True)
    if strict:
        rows = np.bincount(codes, None if weights is None else np.maximum(weights, 1))
        if rows.min() < 2:
            rare = found[rows.argmin()]
            raise ValueError(
                f"Class {rare if names is None else names[rare]} has one row only and cannot be "
                "split; early_stopping=True holds out rows of each class. Use "
                "early_stopping='auto', which leaves such a class in training, or pass X_val and "
                "y_val."
            )
    order = np.lexsort((*ties, keys, codes))
    item, first = _items(order, (codes, keys, *ties))
    sizes = np.bincount(codes[order[first]], minlength=len(found))
    take = _shares(sizes, fraction, stream(seed, SPLIT))
    # Evenly spread over each class in the order of the keys.
    owner = np.repeat(np.arange(len(sizes)), take)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(take) - take, take)
    offset = stream(seed, SPLIT, 1).random(len(sizes))
    place = ((place + offset[owner]) * sizes[owner] / take[owner]).astype(np.int64)
    chosen = np.zeros(len(first), bool)
    chosen[place + (np.cumsum(sizes) - sizes)[owner]] = True
    out = np.empty(n, bool)
    out[order] = chosen[item]
    return out


def _items(order, columns):
    """Return, in the given order, the item of each row, and the first row of each item.

    An item is a run of equal rows, or one row where a run has `MANY` rows or more.
    """
    new = np.zeros(len(order), bool)
    new[0] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(order)))
    new |= np.repeat(lengths >= MANY, lengths)
    return np.cumsum(new) - 1, np.flatnonzero(new)


def _shares(sizes, fraction, rng):
    """Return how many items of each class to hold out; at least one stays."""
    total = sizes.sum()
    wanted = sizes * min(np.ceil(fraction * total), total - 1) / total
    take = np.minimum(np.floor(wanted).astype(np.int64), sizes - 1)
    missing = round(wanted.sum()) - take.sum()
    by_need = np.lexsort((rng.random(len(sizes)), take - wanted))
    take[by_need[(take < sizes - 1)[by_need]][:missing]] += 1
    return take
