"""Sending all, as it is."""

import numpy as np

from skembed.core import SparseRowGradient
from skembed.kernels import Backend

from ._base import Compressor
from ._memory import nothing, owed
from ._message import ROW, decode, encode
from ._values import KINDS


class Everything(Compressor):
    """Sends every listed row in the dtype of the table; its memory stays empty.

    Examples
    --------
    >>> from skembed.compress import Everything
    >>> Everything()
    Everything()
    """

    def compress(self, change, memory, backend, *, header):
        total = owed(change, memory, backend)
        self._check_finite(total, header)
        dtype = total.values.dtype
        message, _ = encode(
            header,
            total.shape,
            total.indices.astype(np.int64),
            total.values,
            level=ROW,
            kind=KINDS[dtype.name],
            dtype=dtype,
            backend=backend,
        )
        return message, nothing(total)


def pack_array(array, *, header):
    """Return a whole array, shape (n, d), float32 or float64, as a message."""
    rows = np.arange(len(array))
    whole = SparseRowGradient(rows, array, np.ones(len(array), np.int64), array.shape)
    return Everything().compress(whole, None, Backend(), header=header)[0]


def unpack_array(message, *, shape=None):
    """Return the header and the array of a message of `pack_array`; `ValueError` for any other."""
    header, whole = decode(message, shape)
    if len(whole.indices) != whole.shape[0]:
        raise ValueError(
            f"The message holds {len(whole.indices)} of {whole.shape[0]} rows of an array."
        )
    return header, whole.values
