"""What travels in a round: one blob, with the rows of the table and everything else whole."""

import struct

from skembed.compress import pack_array, unpack_array
from skembed.core import RowArray

COUNT, LENGTH = struct.Struct("<I"), struct.Struct("<Q")


def whole(param):
    """Return a parameter as an array of shape (n, d), without padding."""
    return param.values[:, : param.d] if isinstance(param, RowArray) else param


def head_of(params):
    """Return all parameters but the table, by name: what is always sent whole."""
    return {name: whole(p) for name, p in params.items() if name != "table"}


def set_head(params, head):
    """Write the parameters of `head_of`, in place."""
    for name, values in head.items():
        whole(params[name])[:] = values


def pack(message, head, header):
    """Return the message of a table and the arrays of a head as one blob.

    Parameters
    ----------
    message : bytes
        The message of a compressor.
    head : dict of str to ndarray
        The other parameters.
    header : Header
        Who the blob is from.
    """
    parts = [message, *(pack_array(values, header=header) for values in head.values())]
    sizes = b"".join(LENGTH.pack(len(part)) for part in parts)
    return b"".join([COUNT.pack(len(parts)), sizes, *parts])


def unpack(blob, params, compressor, header):
    """Return the rows and the head of a blob.

    Parameters
    ----------
    blob : bytes
        What `pack` returned, or what became of it.
    params : dict
        The parameters it is for.
    compressor : Compressor
        Reads the message.
    header : Header
        Who it must be from.

    Raises
    ------
    ValueError
        If it is malformed, from somebody else, or holds NaN or infinity.
    """
    names = [name for name in params if name != "table"]
    if len(blob) < COUNT.size or COUNT.unpack_from(blob) != (len(names) + 1,):
        raise ValueError(f"An update of {len(names) + 1} parts was expected.")
    at = COUNT.size + (len(names) + 1) * LENGTH.size
    if len(blob) < at:
        raise ValueError(f"An update has {len(blob)} bytes, which are too few.")
    sizes = [size for (size,) in LENGTH.iter_unpack(blob[COUNT.size : at])]
    if at + sum(sizes) != len(blob):
        raise ValueError(f"An update has {len(blob)} bytes, but names {at + sum(sizes)}.")
    parts = []
    for size in sizes:
        parts.append(blob[at : at + size])
        at += size
    sender, rows = compressor.decompress(parts[0], shape=params["table"].shape)
    read = [(sender, rows)]
    for name, part in zip(names, parts[1:], strict=True):
        read.append(unpack_array(part, shape=whole(params[name]).shape))
    wrong = [sender for sender, _ in read if sender != header]
    if wrong:
        raise ValueError(f"An update of {header} was expected, but it is one of {wrong[0]}.")
    return rows, {name: values for name, (_, values) in zip(names, read[1:], strict=True)}


def write_rows(params, rows, replaces):
    """Apply the rows of a broadcast to the table: instead of the old ones, or added to them."""
    table, d = params["table"].values, params["table"].d
    if replaces:
        table[rows.indices, :d] = rows.values
    else:
        table[rows.indices, :d] += rows.values
