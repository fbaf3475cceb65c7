"""One packed message: who speaks of which table, places, values, checksum."""

import struct
import zlib
from dataclasses import dataclass
from math import isfinite

import numpy as np

from skembed.core import SparseRowGradient
from skembed.kernels import get_backend

from ._encoding import MAX_PLACES, decode_ids, encode_ids
from ._values import CODED, decode_values, encode_values, pack, unpack

MAGIC, VERSION = b"skem", 1
DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]
ENTRY, ROW = range(2)
# magic, version, code of places, type of values, dtype and level; fit, partition, round; rows and
# width of the table, number of places; scale; bytes of the code of places. Little-endian.
HEAD = struct.Struct("<4s5BQiIQIQdQ")
TAIL = struct.Struct("<I")
OVERHEAD = HEAD.size + TAIL.size  # bytes of a message besides its content
MAX_GROWTH = 1 << 16  # bytes of rows that a byte of a message may become, in a table of any shape
BROADCAST = -1  # partition of what the coordinator sends to all


@dataclass(frozen=True, slots=True)
class Header:
    """Who a message is from.

    Attributes
    ----------
    fit : int
        Number of the fit, from 0, below 2**64.
    partition : int
        Number of the partition; -1 for what the coordinator sends to all.
    round : int
        Number of the round, from 0, below 2**32.
    """

    fit: int
    partition: int
    round: int


def encode(header, shape, places, values, *, level, kind, dtype, backend):
    """Return a message, and the values that its reader will get.

    Parameters
    ----------
    header : Header
        Who it is from.
    shape : tuple of two int
        Shape of the table.
    places : ndarray of shape (k,), int64
        Strictly increasing: of entries, row * width + column, or of rows.
    values : ndarray of shape (k,) or (k, width)
        Finite values of the entries or rows.
    level : {ENTRY, ROW}
        What places are.
    kind : int
        Type of the values in the message.
    dtype : dtype
        That of the table, float32 or float64.
    backend : Backend
        Runs the kernels.

    Returns
    -------
    message : bytes
        The message.
    sent : ndarray
        The values as the reader gets them, in the shape and dtype of `values`.
    """
    n = shape[0] * (shape[1] if level == ENTRY else 1)
    codec, code = encode_ids(places, n, backend)
    scale, coded = encode_values(values, kind)
    head = HEAD.pack(
        *(MAGIC, VERSION, codec, kind, DTYPES.index(np.dtype(dtype)), level),
        *(header.fit, header.partition, header.round),
        *(*shape, len(places), scale, len(code)),
    )
    body = b"".join([head, code.tobytes(), pack(coded)])
    return body + TAIL.pack(zlib.crc32(body)), decode_values(coded, kind, scale, dtype)


def decode(message, shape=None):
    """Return (header, row gradient) of a message; nothing that it says is trusted.

    Parameters
    ----------
    message : bytes
        From anywhere.
    shape : tuple of two int or None, default=None
        The table that the reader has; None takes one of any shape.

    Returns
    -------
    header : Header
        Who it is from.
    gradient : SparseRowGradient
        The rows with an entry in it, and zeros for their other entries; each counts once.

    Raises
    ------
    ValueError
        If it is not a message, or speaks of another table.
    """
    try:
        return _decode(memoryview(message).cast("B"), shape)
    except ValueError as error:
        raise ValueError(f"This is not a valid skembed message: {error}.") from None


def _decode(message, shape):
    if len(message) < OVERHEAD:
        raise ValueError(f"{len(message)} bytes are too few")
    magic, version, codec, kind, dtype, level, *who, n_rows, width, k, scale, n_code = (
        HEAD.unpack_from(message)
    )
    if magic != MAGIC or version != VERSION:
        raise ValueError(f"it opens with {magic} and version {version}")
    if zlib.crc32(message[: -TAIL.size]) != TAIL.unpack(message[-TAIL.size :])[0]:
        raise ValueError("the checksum differs")
    if kind >= len(CODED) or dtype >= len(DTYPES) or level not in (ENTRY, ROW):
        raise ValueError(f"unknown type {kind}, dtype {dtype} or level {level}")
    if shape is not None and tuple(shape) != (n_rows, width):
        raise ValueError(f"it is for a table of shape {(n_rows, width)}, not {tuple(shape)}")
    n, each = (n_rows * width, 1) if level == ENTRY else (n_rows, width)
    if width < 1 or n_rows * width > MAX_PLACES or k > n:
        raise ValueError(f"{k} places in a table of shape {(n_rows, width)}")
    if n_code > len(message) - OVERHEAD:
        raise ValueError(f"{len(message)} bytes for a code of {n_code} and values")
    if not (isfinite(scale) and scale > 0):
        raise ValueError(f"the scale is {scale}")
    end = HEAD.size + n_code
    coded = unpack(message[end : -TAIL.size], kind, k * each)  # first, for it says how large k is
    code = np.frombuffer(message[HEAD.size : end], np.uint8)
    backend = get_backend(work=k)
    places = decode_ids(codec, code, k, n, backend)
    values = decode_values(coded, kind, scale, DTYPES[dtype])
    if not np.isfinite(values).all():
        raise ValueError("it holds NaN or infinity")
    limit = None if shape is not None else MAX_GROWTH * len(message)
    rows, values = _rows(places, values, width, level, limit, backend)
    indices = rows.astype(np.int32 if n_rows <= 1 << 31 else np.int64)
    counts = np.ones(len(rows), np.int64)
    return Header(*who), SparseRowGradient(indices, values, counts, (n_rows, width))


def _rows(places, values, width, level, limit, backend):
    """Return the rows with a place in them, and all their entries."""
    if level == ROW:
        return places, values.reshape(-1, width)
    rows, at = backend.entry_rows(places, width)
    if limit is not None and len(rows) * width * values.itemsize > limit:
        raise ValueError(f"{len(rows)} rows of width {width} from {len(values)} values")
    out = np.zeros((len(rows), width), values.dtype)
    out.reshape(-1)[at] = values
    return rows, out
