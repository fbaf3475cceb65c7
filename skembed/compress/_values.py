"""Codes of the values that a message carries: one type and one scale a message.

Bytes of "int8" are packed by their frequency: those of the largest changes are few and alike.
"""

import zlib

import numpy as np

FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT8 = range(5)
KINDS = {
    "float32": FLOAT32,
    "float64": FLOAT64,
    "float16": FLOAT16,
    "bfloat16": BFLOAT16,
    "int8": INT8,
}
CODED = [np.dtype(name) for name in ("<f4", "<f8", "<f2", "<u2", "i1")]
SMALLEST = np.finfo(np.float64).smallest_subnormal


def _fit(x, largest, dtype):
    """Round to a float dtype; what lies beyond its range becomes its largest number."""
    return np.clip(x, -largest, largest).astype(dtype)


def encode_values(x, kind):
    """Return (scale, coded values) of finite numbers.

    Parameters
    ----------
    x : ndarray
        Finite float32 or float64 numbers.
    kind : int
        Their type in the message.

    Returns
    -------
    scale : float
        What decoded numbers are multiplied by: 1 for "float32", "float64" and "bfloat16"; a power
        of two for "float16", which uses its range best; max |x| / 127 for "int8".
    coded : ndarray
        Numbers of the type, little-endian; the upper half of a float32 for "bfloat16".
    """
    largest = float(np.abs(x).max(initial=0))
    if kind == FLOAT64:
        return 1.0, x.astype(CODED[kind])
    if kind == FLOAT32:
        return 1.0, _fit(x, np.finfo(np.float32).max, CODED[kind])
    if kind == BFLOAT16:
        bits = _fit(x, 2.0**127 * (2 - 2.0**-7), np.float32).view(np.uint32)
        rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
        return 1.0, (rounded >> np.uint32(16)).astype(CODED[kind])
    if kind == FLOAT16:
        edge = (2 - 2.0**-10) * 2.0 ** (np.finfo(x.dtype).maxexp - 1)  # rounds to no infinity
        scale = 2.0 ** max(int(np.frexp(largest)[1]) - 15, -1022)  # below 2**15, in float16
        return scale, (_fit(x, edge, np.float64) / scale).astype(CODED[kind])
    scale = max(largest / 127, SMALLEST)
    if np.isinf(scale * 127):
        scale = np.nextafter(scale, 0)
    return scale, np.clip(np.rint(x.astype(np.float64) / scale), -127, 127).astype(CODED[kind])


def decode_values(coded, kind, scale, dtype):
    """Return the numbers, of the dtype of the table.

    Parameters
    ----------
    coded : ndarray
        Numbers of the type.
    kind : int
        Their type in the message.
    scale : float
        What they are multiplied by.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    ndarray
        The numbers; infinite or NaN where they lie beyond the dtype or were not finite.
    """
    if kind == BFLOAT16:
        coded = (coded.astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # the reader looks for what is not finite
        if kind in (INT8, FLOAT16):
            return (coded.astype(np.float64) * scale).astype(dtype)
        return coded.astype(dtype)


def pack(coded):
    """Return the bytes of coded values, by a Huffman code where that is shorter."""
    plain = coded.tobytes()
    if coded.dtype != CODED[INT8]:  # others are noise in their lower bits
        return plain
    huffman = zlib.compressobj(wbits=-zlib.MAX_WBITS, memLevel=9, strategy=zlib.Z_HUFFMAN_ONLY)
    packed = huffman.compress(plain) + huffman.flush()
    return min(plain, packed, key=len)


def unpack(data, kind, n):
    """Return n coded values from the bytes that `pack` made of them.

    Parameters
    ----------
    data : bytes-like
        The bytes; nothing that they say is trusted.
    kind : int
        Type of the values.
    n : int
        Number of values.

    Returns
    -------
    ndarray of shape (n,)
        Numbers of the type.

    Raises
    ------
    ValueError
        If these are not the bytes of n values.
    """
    size = n * CODED[kind].itemsize
    if len(data) == size:
        return np.frombuffer(data, CODED[kind])
    if kind != INT8 or not len(data) < size <= 8 * len(data):  # a byte takes a bit or more
        raise ValueError(f"{len(data)} bytes for {n} values of type {kind}")
    inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        plain = inflate.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"values cannot be unpacked: {error}") from None
    if len(plain) != size or not inflate.eof or inflate.unused_data:
        raise ValueError(f"values unpack to something else than {n} numbers")
    return np.frombuffer(plain, CODED[kind])
