"""What travels in a round: one blob, with a message for each parameter."""

import struct

import numpy as np

from skembed.compress import TopK
from skembed.core import RowArray, SparseRowGradient

COUNT, LENGTH = struct.Struct("<I"), struct.Struct("<Q")


def whole(param):
    """Return a parameter as an array of shape (n, d), without padding; writing to it counts."""
    return param.values[:, : param.d] if isinstance(param, RowArray) else param


def row_list(array, rows):
    """Return some rows of an array as a row list, copied."""
    return SparseRowGradient(rows, array[rows], np.ones(len(rows), np.int64), array.shape)


def moved(params, before, rows_travel):
    """Return the rows that moved of every parameter, as they are or as changes.

    Parameters
    ----------
    params : dict
        Name to parameter.
    before : dict of str to ndarray
        Their values before.
    rows_travel : bool
        Whether rows travel as they are.
    """
    found = {}
    for name, param in params.items():
        array, old = whole(param), before[name]
        rows = row_list(array, np.flatnonzero((array != old).any(axis=1)))
        if not rows_travel:
            np.subtract(rows.values, old[rows.indices], out=rows.values)
        found[name] = rows
    return found


def write(params, updates, replaces):
    """Apply an update in place: instead of the old rows, or added to them."""
    for name, rows in updates.items():
        array = whole(params[name])
        if replaces:
            array[rows.indices] = rows.values
        else:
            array[rows.indices] += rows.values


def of_head(compressor):
    """Return the compressor for all but the table: nothing of it waits, since it is small."""
    if isinstance(compressor, TopK):
        options = dict(values=compressor.values, error_memory=compressor.error_memory)
        return TopK(ratio=1.0, **options)
    return compressor


class Sender:
    """Packs updates, and remembers what they leave out.

    Parameters
    ----------
    compressor : Compressor
        For the table.

    Attributes
    ----------
    memory : dict of str to SparseRowGradient
        What is owed of each parameter.
    """

    def __init__(self, compressor):
        self.compressor, self.memory = compressor, {}

    def pack(self, updates, header, backend):
        """Return an update as one blob.

        Parameters
        ----------
        updates : dict of str to SparseRowGradient
            What moved.
        header : Header
            Who the blob is from.
        backend : Backend
            Runs the kernels.
        """
        parts = []
        for name, rows in updates.items():
            compressor = self.compressor if name == "table" else of_head(self.compressor)
            memory = self.memory.get(name)
            message, self.memory[name] = compressor.compress(rows, memory, backend, header=header)
            parts.append(message)
        sizes = b"".join([LENGTH.pack(len(part)) for part in parts])
        return b"".join([COUNT.pack(len(parts)), sizes, *parts])

    def norm(self):
        """Return the Euclidean norm of what is owed."""
        return float(np.linalg.norm([memory.norm() for memory in self.memory.values()]))


def unpack(blob, params, compressor, header):
    """Return the update in a blob, name to row list.

    Parameters
    ----------
    blob : bytes
        What `Sender.pack` returned, or what became of it.
    params : dict
        The parameters it is for.
    compressor : Compressor
        Reads messages.
    header : Header
        Who it must be from.

    Raises
    ------
    ValueError
        If it is malformed, from somebody else, or holds NaN or infinity.
    """
    at = COUNT.size + len(params) * LENGTH.size
    if len(blob) < at or COUNT.unpack_from(blob) != (len(params),):
        raise ValueError(f"An update of {len(params)} parts was expected.")
    sizes = [size for (size,) in LENGTH.iter_unpack(blob[COUNT.size : at])]
    if at + sum(sizes) != len(blob):
        raise ValueError(f"An update has {len(blob)} bytes, but names {at + sum(sizes)}.")
    updates = {}
    for (name, param), size in zip(params.items(), sizes, strict=True):
        part = blob[at : at + size]
        sender, updates[name] = compressor.decompress(part, shape=whole(param).shape)
        if sender != header:
            raise ValueError(f"An update of {header} was expected, but it is one of {sender}.")
        at += size
    return updates
