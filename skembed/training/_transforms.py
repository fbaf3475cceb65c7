"""Gradient transforms: functions from a dict of gradients to a dict of gradients.

The gradient of the table goes in and comes out as a `SparseRowGradient`.
"""

from dataclasses import replace
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


def clip_by_value(grads, bound):
    """Clip every component of all gradients to [-bound, bound].

    Parameters
    ----------
    grads : dict
        Name to `SparseRowGradient` or ndarray.
    bound : float
        The bound.

    Returns
    -------
    dict
        The clipped gradients.
    """
    return {
        name: replace(g, values=np.clip(g.values, -bound, bound))
        if isinstance(g, SparseRowGradient)
        else np.clip(g, -bound, bound)
        for name, g in grads.items()
    }


def scale_by_frequency(grads, power):
    """Divide the gradient of each row of the table by its occurrences in the batch to a power.

    Parameters
    ----------
    grads : dict
        Name to `SparseRowGradient` or ndarray.
    power : float
        1 or 0.5.

    Returns
    -------
    dict
        The scaled gradients; those of the head as they are.
    """
    table = grads["table"]
    return {**grads, "table": table.scale(table.counts[:, None] ** -power)}


def transforms_of(solver):
    """Return the transforms that the options of a solver ask for, in the order of their use."""
    found = []
    if solver.frequency_scaling is not None:
        power = {"inverse": 1.0, "inverse_sqrt": 0.5}[solver.frequency_scaling]
        found.append(partial(scale_by_frequency, power=power))
    if solver.clip_value is not None:
        found.append(partial(clip_by_value, bound=solver.clip_value))
    if solver.clip_norm is not None:
        found.append(partial(clip_by_norm, max_norm=solver.clip_norm))
    return tuple(found)
