"""Rows to train on and rows to hold out."""

import numpy as np

from skembed.core import SPLIT, stream

MOST_UNITS = 10_000_000  # in all; beyond, integer weights are taken for magnitudes


def units_of(weights):
    """Return how many rows each row stands for: integer weights repeat it, others do not."""
    if weights.sum() <= MOST_UNITS and (weights == np.round(weights)).all():
        return weights.astype(np.int64)
    return np.ones(len(weights), np.int64)


def split_rows(
    keys, fraction, seed, *, ties=(), units=None, classes=None, names=None, strict=False
):
    """Choose rows to hold out, at random, or in equal shares of each class.

    The order of the keys decides, not that of the rows: a row of weight k and k equal rows give
    the same split.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Random numbers, equal for equal rows.
    ties : tuple of ndarray of shape (n,)
        Decide the order of equal keys.
    fraction : float
        Share to hold out, rounded up to whole rows.
    seed : int
        Seed of the fit.
    units : ndarray of shape (n,), int64, or None
        Rows that each row stands for; None is one each.
    classes : ndarray of shape (n,), int, or None
        Class of each row: each is split in the same shares, as near as whole rows allow. A class
        of one row stays in training.
    names : ndarray or None
        Labels of the classes, for the message.
    strict : bool
        Whether a class of one row is an error.

    Returns
    -------
    taken : ndarray of shape (n,), int64
        How many of its units are held out of each row.

    Raises
    ------
    ValueError
        If there are not two rows, or, if `strict`, a class has one row.
    """
    n = len(keys)
    units = np.ones(n, np.int64) if units is None else units
    if units.sum() < 2:
        raise ValueError(f"Holding rows out needs at least 2 rows, got {n} sample.")
    classes = np.zeros(n, np.int64) if classes is None else classes
    found, codes = np.unique(classes, return_inverse=True)
    sizes = np.bincount(codes, units).astype(np.int64)
    if strict and sizes.min() < 2:
        rare = found[sizes.argmin()]
        raise ValueError(
            f"Class {rare if names is None else names[rare]} has one row only and cannot be split; "
            "early_stopping=True holds out rows of each class. Use early_stopping='auto', which "
            "leaves such a class in training, or pass X_val and y_val."
        )
    wanted = sizes * min(int(np.ceil(fraction * units.sum())), units.sum() - 1) / units.sum()
    take = np.minimum(np.floor(wanted).astype(np.int64), sizes - 1)
    missing = round(wanted.sum()) - take.sum()
    rng = stream(seed, SPLIT)
    by_need = np.lexsort((rng.random(len(sizes)), take - wanted))
    take[by_need[(take < sizes - 1)[by_need]][:missing]] += 1
    # Evenly spread over each class in the order of the keys: rows alike are held out in proportion.
    owner = np.repeat(np.arange(len(sizes)), take)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(take) - take, take)
    place = (place + rng.random(len(sizes))[owner]) * sizes[owner] / take[owner]
    place = (np.cumsum(sizes) - sizes)[owner] + place.astype(np.int64)
    order = np.lexsort((*ties, keys, codes))
    chosen = np.searchsorted(np.cumsum(units[order]), place, side="right")
    return np.bincount(order[chosen], minlength=n)
