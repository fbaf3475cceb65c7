"""Gradient transforms: functions from a dict of gradients to a dict of gradients.

The gradient of the table goes in and comes out as a `SparseRowGradient`.
"""

from functools import partial

import numpy as np

from skembed.core import SparseRowGradient


def clip_by_norm(grads, max_norm):
    """Scale all gradients by one factor so that their common Euclidean norm is at most `max_norm`.

    Parameters
    ----------
    grads : dict
        Name to `SparseRowGradient` or ndarray.
    max_norm : float
        The bound.

    Returns
    -------
    dict
        The scaled gradients; the given ones where the norm is within the bound.
    """
    norms = [
        g.norm() if isinstance(g, SparseRowGradient) else np.linalg.norm(g.astype(np.float64))
        for g in grads.values()
    ]
    norm = float(np.linalg.norm(norms))
    if norm <= max_norm:
        return grads
    factor = max_norm / norm
    return {
        name: g.scale(factor)
        if isinstance(g, SparseRowGradient)
        else g * np.asarray(factor, g.dtype)
        for name, g in grads.items()
    }


def transforms_of(solver):
    """Return the transforms that the options of a solver ask for."""
    if solver.clip_norm is None:
        return ()
    return (partial(clip_by_norm, max_norm=solver.clip_norm),)
