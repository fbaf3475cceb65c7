"""Files of one vector a name: word2vec's text and binary formats, npz, safetensors."""

import os
import zipfile
from collections import Counter

import numpy as np

from ._atomic import atomic_write
from ._tensors import Malformed, TensorFile, reading, write_tensors
from ._texts import pack, unpack

FORMATS = {
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".bin": "word2vec-binary",
    ".npz": "npz",
    ".safetensors": "safetensors",
}
SPACES = set(" \t\n\r\v\f")  # end a name of word2vec's formats
FLOAT = np.dtype("<f4")  # of the binary format
MOST_WORD = 1 << 16  # bytes of a name, and of a first line
MOST_NUMBER = 64  # bytes that a number in text takes at most


def format_of(path, format):
    """Return the format that was named, or that which the end of the name of a file stands for."""
    if format is None:
        end = os.path.splitext(os.fspath(path))[1].lower()
        if end not in FORMATS:
            raise ValueError(
                f"The name {os.fspath(path)!r} ends in none of {sorted(FORMATS)}; pass format."
            )
        return FORMATS[end]
    if format not in FORMATS.values():
        raise ValueError(f"format must be one of {sorted(set(FORMATS.values()))}, got {format!r}.")
    return format


def write_vectors(path, names, columns, vectors, format=None):
    """Write vectors; an old file is replaced when the new one is complete.

    Parameters
    ----------
    path : str or path-like
        The file.
    names : list of str
        Name of each vector, all different.
    columns : ndarray of shape (n,)
        Column of each, for the formats that hold arrays.
    vectors : ndarray of shape (n, d)
        The vectors, float32 or float64.
    format : str or None
        One of the values of `FORMATS`; None goes by the end of the name.

    Raises
    ------
    ValueError
        For names that come twice or that the format cannot hold, and unknown formats.
    OSError
        If the file cannot be written.
    """
    format = format_of(path, format)
    if len(set(names)) < len(names):
        (twice, _), *_ = Counter(names).most_common(1)
        raise ValueError(f"The name {twice!r} is that of several features.")
    if format.startswith("word2vec"):
        bad = next((n for n in names if not n or set(n) & SPACES), None)
        if bad is not None:
            raise ValueError(
                f"The name {bad!r} cannot stand in a word2vec file, where a space ends a name. "
                "Pass names without spaces, or write npz or safetensors."
            )
    if format == "npz" and any("\0" in name for name in names):
        raise ValueError("npz files cannot hold names with a character of code 0.")
    with atomic_write(path) as file:
        if format == "npz":
            np.savez(file, names=np.array(names, str), columns=columns, vectors=vectors)
        elif format == "safetensors":
            raw, ends = pack(names)
            arrays = {"vectors": vectors, "columns": columns}
            arrays |= {"names.text": raw, "names.ends": ends}
            write_tensors(file, arrays, {"format": "skembed-vectors"})
        else:
            file.write(b"%d %d\n" % vectors.shape)
            for name, vector in zip(names, vectors, strict=True):
                file.write(name.encode() + b" ")
                if format == "word2vec":
                    file.write(" ".join(map(str, vector)).encode() + b"\n")
                else:
                    file.write(vector.astype(FLOAT).tobytes() + b"\n")


def read_vectors(path, names, format=None):
    """Return the vectors of some names that a file has.

    Parameters
    ----------
    path : str or path-like
        The file. One in a text format is read line by line, and what is not asked for is not kept.
    names : list of str
        What to look for; a name that comes twice gets its vector twice.
    format : str or None
        One of the values of `FORMATS`; None goes by the end of the name.

    Returns
    -------
    places : ndarray of shape (m,)
        Places in `names` that the file has a vector for, ascending.
    vectors : ndarray of shape (m, d), float32 or float64
        Their vectors.

    Raises
    ------
    ValueError
        If the file is not what its format says, or has a vector that is not finite.
    OSError
        If it cannot be read.
    """
    format = format_of(path, format)
    read = {
        "npz": _read_npz,
        "safetensors": _read_safetensors,
        "word2vec": _read_text,
        "word2vec-binary": _read_binary,
    }[format]
    with open(path, "rb") as file, reading(path, f"{format} file"):
        found, vectors = read(file, set(names))
        if vectors.ndim != 2 or vectors.dtype not in (np.float32, np.float64):
            raise Malformed(f"its vectors have shape {vectors.shape} and dtype {vectors.dtype}")
        at = np.array([found.get(name, -1) for name in names], np.intp)
        places = np.flatnonzero(at >= 0)
        vectors = vectors[at[places]]
        if not np.isfinite(vectors).all():
            raise Malformed("it has a vector that is not finite")
    return places, vectors


def _line_of(names, wanted):
    """Return the line of each wanted name; of two, the first counts."""
    found = {}
    for i, name in enumerate(names):
        if name in wanted:
            found.setdefault(name, i)
    return found


def _read_npz(file, wanted):
    try:
        with np.load(file, allow_pickle=False) as arrays:
            names, vectors = arrays["names"], arrays["vectors"]
    except (EOFError, zipfile.BadZipFile) as error:
        raise Malformed(str(error)) from None
    if names.ndim != 1 or names.dtype.kind != "U" or len(names) != len(vectors):
        raise Malformed("its names are not one text for each vector")
    return _line_of(names.tolist(), wanted), vectors


def _read_safetensors(file, wanted):
    tensors = TensorFile(file)
    raw, ends, vectors = map(tensors.array, ("names.text", "names.ends", "vectors"))
    if ends.shape != vectors.shape[:1]:
        raise Malformed("its names are not one for each vector")
    return _line_of(unpack(raw, ends), wanted), vectors


def _read_sizes(file, least):
    """Return the numbers of vectors and components of the first line, as far as the file can have.

    `least` is the bytes that a component takes at least.
    """
    parts = file.readline(MOST_WORD).split()
    if len(parts) != 2:
        raise Malformed("its first line is not the number of vectors and of components")
    n, d = map(int, parts)
    if n < 0 or d < 1 or n * d * least > os.fstat(file.fileno()).st_size:
        raise Malformed(f"it is too short for {n} vectors of {d} components")
    return n, d


def _read_text(file, wanted):
    n, d = _read_sizes(file, 2)
    found, rows = {}, []
    for i in range(n):
        line = file.readline(MOST_WORD + d * MOST_NUMBER)
        name, _, numbers = line.rstrip().partition(b" ")
        if not line.endswith(b"\n"):  # the last number may be cut off
            raise Malformed(f"it ends within line {i + 2}, after {i} of {n} vectors")
        name = name.decode()
        if name not in wanted or name in found:
            continue
        row = np.array(numbers.split(b" "), "S").astype(np.float64)
        if len(row) != d:
            raise Malformed(f"line {i + 2} has {len(row)} numbers, expected {d}")
        found[name] = len(rows)
        rows.append(row)
    if file.read(1).strip():
        raise Malformed(f"it has more than {n} vectors")
    return found, np.array(rows).reshape(-1, d)


def _read_binary(file, wanted):
    n, d = _read_sizes(file, FLOAT.itemsize)
    found, rows = {}, []
    for i in range(n):
        name = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(name) > MOST_WORD:
                raise Malformed(f"it ends, or has a name without end, after {i} of {n} vectors")
            name += byte
        name, row = bytes(name).lstrip(b"\n").decode(), file.read(d * FLOAT.itemsize)
        if len(row) != d * FLOAT.itemsize:
            raise Malformed(f"it ends within vector {i + 1} of {n}")
        if name in wanted and name not in found:
            found[name] = len(rows)
            rows.append(np.frombuffer(row, FLOAT))
    return found, np.array(rows, np.float32).reshape(-1, d)
