"""Lists of texts as two arrays: their UTF-8 side by side, and where each of them ends."""

import numpy as np

from ._tensors import Malformed


def pack(texts, errors="strict"):
    """Return the bytes of all texts, uint8, and the end of each, int64.

    Parameters
    ----------
    texts : list of str
        The texts.
    errors : str
        What happens to lone surrogates; see :meth:`str.encode`.
    """
    encoded = [text.encode("utf-8", errors) for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpack(raw, ends, errors="strict"):
    """Return the texts that `pack` has packed; raise `Malformed` for arrays of another kind.

    Parameters
    ----------
    raw, ends : ndarray
        The bytes and the ends.
    errors : str
        As in `pack`.
    """
    if raw.dtype != np.uint8 or ends.dtype != np.int64 or raw.ndim != 1 or ends.ndim != 1:
        raise Malformed("its texts have unknown dtypes")
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    if (ends < starts).any() or (ends[-1] if len(ends) else 0) != len(raw):
        raise Malformed("its texts do not end where they should")
    raw, borders = raw.tobytes(), zip(starts.tolist(), ends.tolist(), strict=True)
    return [raw[lo:hi].decode("utf-8", errors) for lo, hi in borders]
