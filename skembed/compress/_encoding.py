"""Codes of the places that a message fills; the shortest is chosen for each message."""

import numpy as np

MAX_PLACES = 1 << 56  # of a table: what the codes can count
ALL, RAW, BITMAP, RICE = range(4)


def _raw_dtype(n):
    return np.dtype("<u4" if n <= 1 << 32 else "<u8")


def encode_ids(ids, n, backend):
    """Return the shortest code of a set of places.

    Parameters
    ----------
    ids : ndarray of shape (k,), int64
        Places, strictly increasing.
    n : int
        Places are below n.
    backend : Backend
        Runs the kernels.

    Returns
    -------
    codec : int
        Which code it is: nothing for all n places; numbers of 4 or 8 bytes; one bit a place; or
        the Rice code of `CodecOperations`.
    code : ndarray of uint8
        The code.
    """
    if len(ids) == n:
        return ALL, np.empty(0, np.uint8)
    raw, n_bitmap = _raw_dtype(n), -(-n // 8)
    parameters, n_rice = backend.rice_plan(ids)
    shortest = min(len(ids) * raw.itemsize, n_bitmap, n_rice)
    if shortest == len(ids) * raw.itemsize:  # of equals, the one that is read fastest
        return RAW, ids.astype(raw).view(np.uint8)
    if shortest == n_rice:
        return RICE, backend.rice_encode(ids, parameters, n_rice)
    filled = np.zeros(n, bool)
    filled[ids] = True
    return BITMAP, np.packbits(filled, bitorder="little")


def decode_ids(codec, code, k, n, backend):
    """Return the places of a code, shape (k,), int64; nothing that it says is trusted.

    Parameters
    ----------
    codec : int
        Which code it is.
    code : ndarray of uint8
        The code.
    k : int
        Number of places, at most n.
    n : int
        Places are below n, at most 2**56.
    backend : Backend
        Runs the kernels.

    Returns
    -------
    ndarray of shape (k,), int64
        Strictly increasing places.

    Raises
    ------
    ValueError
        If it is not a code of k places below n.
    """
    if codec == ALL:
        if k != n or len(code):
            raise ValueError(f"{k} values for all {n} places")
        return np.arange(n)
    if codec == RAW:
        raw = _raw_dtype(n)
        if len(code) != k * raw.itemsize:
            raise ValueError(f"{len(code)} bytes for {k} places")
        ids = code.view(raw)
        if k and (ids[-1] >= n or (ids[1:] <= ids[:-1]).any()):
            raise ValueError("the places do not increase, or lie outside the table")
        return ids.astype(np.int64)
    if codec == BITMAP:
        if len(code) != -(-n // 8):
            raise ValueError(f"{len(code)} bytes for one bit for each of {n} places")
        ids = np.flatnonzero(np.unpackbits(code, bitorder="little"))
        if len(ids) != k or (k and ids[-1] >= n):
            raise ValueError(f"bits for {len(ids)} places, not {k} below {n}")
        return ids
    if codec == RICE:
        if k > 8 * len(code):
            raise ValueError(f"{len(code)} bytes for {k} places")
        return backend.rice_decode(code, k, n)
    raise ValueError(f"unknown code of places {codec}")
