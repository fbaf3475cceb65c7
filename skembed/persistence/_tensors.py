"""Files of named arrays and texts in the safetensors format.

Eight bytes hold the length of a header, the header is JSON: name to dtype, shape and place, and
behind it the arrays lie side by side. The format is simple, and its own library does not hold what
is promised here: it maps the file into memory, so that one cut off while it is read ends the
process by a signal; a full disk is no OSError; damage to texts goes unnoticed. Files written here
carry a checksum of all their bytes, in a text of the header, and are read by any reader of the
format.
"""

import json
import math
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
MOST_HEADER = 1 << 24  # bytes; long lists are arrays
PIECE = 1 << 22  # bytes that are copied or read at a time
LENGTH = 8  # bytes in front of the header
MARK = b'{"__metadata__":{"crc32":"'  # begins the headers written here; eight digits follow
BODY = LENGTH + len(MARK) + 8  # where the bytes behind the checksum begin


class Malformed(ValueError):
    """What a file holds is not what its kind must hold."""


@contextmanager
def reading(path, kind):
    """Name the file and what it should be in the errors that its bytes cause.

    Parameters
    ----------
    path : str or path-like
        The file.
    kind : str
        What it should be, as in "skembed file".

    Raises
    ------
    ValueError
        Instead of the errors that reading unsound bytes leads to.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
            ValueError) as error:  # fmt: skip
        found = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{os.fspath(path)!r} is not a valid {kind}: {found}") from error


def _pieces(array):
    """Yield the bytes of an array, little-endian, without a second copy of all of it."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.ndim == 0:
        array = array.reshape(1)
    step = max(1, PIECE // max(1, array.nbytes // max(1, len(array))))
    for lo in range(0, len(array), step):
        yield np.ascontiguousarray(array[lo : lo + step]).reshape(-1).view(np.uint8).data


def write_tensors(file, arrays, texts):
    """Write arrays and texts.

    Parameters
    ----------
    file : binary file
        Open for writing, and able to seek.
    arrays : dict of str to ndarray
        Booleans, integers and floats.
    texts : dict of str to str
        Go into the header.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    ordered = sorted(arrays, key=lambda name: -arrays[name].itemsize)  # keeps all of them aligned
    header, at = {"__metadata__": {"crc32": "0" * 8, **texts}}, 0
    for name in ordered:
        a = arrays[name]
        header[name] = {
            "dtype": NAMES[a.dtype.newbyteorder("<")],
            "shape": list(a.shape),
            "data_offsets": [at, at + a.nbytes],
        }
        at += a.nbytes
    raw = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    raw += b" " * (-len(raw) % 8)
    if len(raw) > MOST_HEADER:
        raise ValueError(
            f"The parameters take {len(raw)} bytes, more than the {MOST_HEADER} of a header. Pass "
            "long lists as arrays."
        )
    raw = len(raw).to_bytes(LENGTH, "little") + raw
    check = zlib.crc32(raw[BODY:], zlib.crc32(raw[: LENGTH + len(MARK)]))
    file.write(raw)
    for name in ordered:
        for piece in _pieces(arrays[name]):
            check = zlib.crc32(piece, check)
            file.write(piece)
    file.seek(LENGTH + len(MARK))
    file.write(b"%08x" % check)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies: its dtype, shape, first byte and the one behind its last."""

    dtype: np.dtype
    shape: tuple
    begin: int
    end: int


def _is_size(value):
    return type(value) is int and value >= 0


def _unique(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed("its header names something twice")
    return found


def _refuse_constant(name):
    raise Malformed(f"its header holds {name}")


def parse_json(raw):
    """Return what some JSON stands for; refuse names that come twice, and numbers not finite."""
    try:
        return json.loads(raw, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise Malformed("its header is nested too deeply") from None


def _place_of(name, entry, begin, end):
    """Return the checked `Place` of an array whose bytes lie within a part of the file."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Malformed(f"its header does not describe the array {name!r}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Malformed(f"the array {name!r} has the unknown dtype {dtype!r}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(map(_is_size, shape)):
        raise Malformed(f"the array {name!r} has no valid shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise Malformed(f"the array {name!r} has no valid offsets")
    dtype, (lo, hi) = np.dtype(DTYPES[dtype]), offsets
    if lo > hi or hi > end - begin:
        raise Malformed(f"the array {name!r} reaches beyond the end of the file")
    if math.prod(shape) * dtype.itemsize != hi - lo:
        raise Malformed(f"the shape of the array {name!r} is not that of its {hi - lo} bytes")
    return Place(dtype, tuple(shape), begin + lo, begin + hi)


class TensorFile:
    """An open file of arrays whose header was checked; arrays are read when asked for.

    Nothing is allocated that the length of the file does not vouch for.

    Parameters
    ----------
    file : binary file
        Open for reading.
    signed : bool
        Whether a file without a checksum is refused.

    Attributes
    ----------
    texts : dict of str to str
        What was written beside the arrays.
    places : dict of str to Place
        The arrays.
    Raises
    ------
    Malformed
        If it is not a file of the format, or damaged.
    """

    def __init__(self, file, signed=False):
        self.file, size = file, os.fstat(file.fileno()).st_size
        start = file.read(BODY)
        length = int.from_bytes(start[:LENGTH], "little")
        if len(start) < LENGTH + 2 or length > size - LENGTH:
            raise Malformed("it ends before its header does")
        if length > MOST_HEADER:
            raise Malformed(f"its header has {length} bytes, more than {MOST_HEADER}")
        if start[LENGTH:-8] == MARK:
            self._check_bytes(start, min(size, PIECE))
        elif signed:
            raise Malformed("it begins in another way")
        file.seek(LENGTH)
        header = parse_json(file.read(length).decode("utf-8"))
        if not isinstance(header, dict):
            raise Malformed("its header is not that of a safetensors file")
        self.texts = header.pop("__metadata__", {})
        if not isinstance(self.texts, dict) or not all(
            isinstance(text, str) for text in self.texts.values()
        ):
            raise Malformed("its header has no valid texts")
        self.places = {n: _place_of(n, e, LENGTH + length, size) for n, e in header.items()}
        at = LENGTH + length
        for place in sorted(self.places.values(), key=lambda place: (place.begin, place.end)):
            if place.begin != at:
                raise Malformed("its arrays overlap, or leave bytes between them")
            at = place.end
        if at != size:
            raise Malformed("it is longer than its arrays")

    def _check_bytes(self, start, step):
        """Compare the checksum with that of the whole file."""
        check, piece = zlib.crc32(start[:-8]), self.file.read(step)
        while piece:
            check = zlib.crc32(piece, check)
            piece = self.file.read(step)
        if start[-8:] != b"%08x" % check:
            raise Malformed("it is damaged: its checksum is that of other bytes")

    def array(self, name):
        """Return an array, in memory of its own.

        Parameters
        ----------
        name : str
            Its name.
        """
        if name not in self.places:
            raise Malformed(f"it has no array {name!r}")
        place = self.places[name]
        out = np.empty(place.shape, place.dtype)
        self.file.seek(place.begin)
        if out.nbytes and self.file.readinto(out.reshape(-1).view(np.uint8).data) != out.nbytes:
            raise Malformed("it was cut off while it was read")
        return out.astype(place.dtype.newbyteorder("="), copy=False)
