"""Rows to train on and rows to hold out."""

import numpy as np

from skembed.core import SPLIT, stream


def split_rows(rows, fraction, seed, classes=None, names=None, *, strict=False):
    """Split rows at random, or by class.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        The rows.
    fraction : float
        Share to hold out, rounded up to whole rows.
    seed : int
        Seed of the fit.
    classes : ndarray of shape (n,) or None
        Class of each row: each is split in the same shares, as near as whole rows allow. A class
        of one row stays in training.
    names : ndarray or None
        Labels of the classes, for the message.
    strict : bool
        Whether a class of one row is an error.

    Returns
    -------
    train, held_out : ndarray
        The rows, ascending.

    Raises
    ------
    ValueError
        If there are not two rows, or, if `strict`, a class has one row.
    """
    if len(rows) < 2:
        raise ValueError(f"Holding rows out needs at least 2 of positive weight, got {len(rows)}.")
    rng = stream(seed, SPLIT)
    n_out = min(int(np.ceil(fraction * len(rows))), len(rows) - 1)
    if classes is None:
        order = rng.permutation(len(rows))
        return np.sort(rows[order[n_out:]]), np.sort(rows[order[:n_out]])
    found, codes, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    if strict and sizes.min() < 2:
        rare = found[sizes.argmin()]
        raise ValueError(
            f"Class {rare if names is None else names[rare]} has one row only and cannot be split; "
            "early_stopping=True holds out rows of each class. Use early_stopping='auto', which "
            "leaves such a class in training, or pass X_val and y_val."
        )
    wanted = sizes * n_out / len(rows)
    take = np.minimum(np.floor(wanted).astype(int), sizes - 1)
    missing = n_out - take.sum()
    by_need = np.lexsort((rng.random(len(sizes)), take - wanted))
    open_to_more = by_need[(take < sizes - 1)[by_need]]
    take[open_to_more[:missing]] += 1
    order = rng.permutation(len(rows))
    order = order[np.argsort(codes[order], kind="stable")]
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = place < np.repeat(take, sizes)
    return np.sort(rows[order[~out]]), np.sort(rows[order[out]])
