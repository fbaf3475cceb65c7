"""Arrays and a few numbers in one file, written whole or not at all; nothing in it is executed."""

import json

import numpy as np

from skembed.core import SparseRowGradient
from skembed.persistence import atomic_write

from ._update import whole


def write(path, arrays, numbers):
    """Write a file.

    Parameters
    ----------
    path : Path
        Where it goes.
    arrays : dict of str to ndarray
        Arrays without objects.
    numbers : dict
        What JSON holds.
    """
    text = np.frombuffer(json.dumps(numbers).encode(), np.uint8)
    with atomic_write(path) as file:
        np.savez(file, numbers=text, **arrays)


def read(path):
    """Return the arrays and numbers of a file.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it is not such a file.
    """
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return arrays, json.loads(arrays.pop("numbers").tobytes())
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a checkpoint of a partitioned fit: {error}.") from error


def state_arrays(state, name):
    """Return the arrays of a `FitState`, by number, to write."""
    return {f"{name}_{i}": array for i, array in enumerate(state.arrays())}


def fill_state(state, arrays, name):
    """Copy arrays that were read into a `FitState` of the same fit."""
    for i, mine in enumerate(state.arrays()):
        theirs = arrays.get(f"{name}_{i}")
        if theirs is None or theirs.shape != mine.shape or theirs.dtype != mine.dtype:
            raise ValueError(f"The checkpoint is of another fit: array {i} of {name} differs.")
        np.copyto(mine, theirs)


def memory_arrays(memory):
    """Return the arrays of the memory of a `Sender`, to write."""
    arrays = {}
    for name, owed in memory.items():
        arrays |= {f"rows of {name}": owed.indices, f"values of {name}": owed.values}
    return arrays


def memory_of(arrays, params):
    """Return the memory that was read."""
    found = {}
    for name, param in params.items():
        if f"rows of {name}" in arrays:
            rows, values = arrays[f"rows of {name}"], arrays[f"values of {name}"]
            counts = np.ones(len(rows), np.int64)
            found[name] = SparseRowGradient(rows, values, counts, whole(param).shape)
    return found
