"""Sending the k entries or rows that moved most."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import COMPRESSORS, Compressor
from ._memory import listed, nothing, owed
from ._message import ENTRY, ROW, encode
from ._values import KINDS


@COMPRESSORS.register("topk")
class TopK(Compressor):
    """Sends the entries, or rows, that moved most, and keeps the rest for later rounds.

    Each message holds exactly k entries of largest magnitude, or rows of largest Euclidean norm,
    of what is owed: the change of this round and all that earlier rounds left unsent. Where fewer
    are other than zero, it holds those. Of equals, and in float64 what agrees to the precision of
    float32 is equal, the ones of lowest index go first. What the rounding of values takes away
    stays owed too, so that nothing is lost, only late.

    Parameters
    ----------
    ratio : float, default=None
        Share of the entries of the table, or of its rows, that a message holds, in (0, 1], at
        least one. None means 0.1 where `k` is None.
    k : int or array-like of int, default=None
        Number of entries or rows instead, or one number for each partition.
    level : {"entry", "row"}, default="entry"
        Whether single entries or whole rows are chosen. Entries need a place each and carry more.
    values : {"int8", "float16", "bfloat16", "float32"}, default="int8"
        Type of values in a message. With memory, short ones cost no accuracy.
    error_memory : bool, default=True
        Whether what is not sent is kept. False forgets it, which costs much accuracy; it is there
        to study that.

    Notes
    -----
    The memory starts at zero: before the first round, nothing is owed.

    References
    ----------
    S. U. Stich, J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with memory", NeurIPS 2018.

    Examples
    --------
    >>> from skembed.compress import TopK
    >>> TopK(ratio=0.03, values="float16")
    TopK(ratio=0.03, values='float16')
    """

    _parameter_constraints = {
        "ratio": [Interval(Real, 0, 1, closed="right"), None],
        "k": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "level": [StrOptions({"entry", "row"})],
        "values": [StrOptions({"int8", "float16", "bfloat16", "float32"})],
        "error_memory": ["boolean"],
    }

    def __init__(self, ratio=None, *, k=None, level="entry", values="int8", error_memory=True):
        self.ratio = ratio
        self.k = k
        self.level = level
        self.values = values
        self.error_memory = error_memory

    def count(self, shape, partition):
        """Return how many entries or rows a message holds.

        Parameters
        ----------
        shape : tuple of two int
            Shape of the table.
        partition : int
            Number of the partition; -1 for what the coordinator sends to all.

        Returns
        -------
        int
            At least 1.

        Raises
        ------
        ValueError
            If both `ratio` and `k` are given, or `k` has no number for the partition.
        """
        self._validate_params()
        if self.k is None:
            n = shape[0] * (shape[1] if self.level == "entry" else 1)
            return max(1, round((0.1 if self.ratio is None else self.ratio) * n))
        if self.ratio is not None:
            raise ValueError(f"Give ratio or k, not both: got ratio={self.ratio!r}, k={self.k!r}.")
        if isinstance(self.k, Integral):
            return int(self.k)
        counts = np.asarray(self.k)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 1).any():
            raise ValueError(f"k must hold positive integers, one a partition, got {self.k!r}.")
        if not 0 <= partition < len(counts):
            name = "the broadcast" if partition < 0 else f"partition {partition}"
            raise ValueError(f"k holds {len(counts)} numbers, and none for {name}.")
        return int(counts[partition])

    def compress(self, change, memory, backend, *, header):
        k = self.count(change.shape, header.partition)
        total = owed(change, memory if self.error_memory else None, backend)
        self._check_finite(total, header)
        values, (_, width) = total.values, total.shape
        if self.level == "entry":
            level, flat = ENTRY, values.reshape(-1)
            at = backend.select_topk(_coarse(flat), k)
            row = at // width
            places = total.indices[row].astype(np.int64) * width + (at - row * width)
        else:
            level, flat = ROW, values
            at = backend.select_topk(_coarse(_norms(values)), k)
            places = total.indices[at].astype(np.int64)
        message, sent = encode(
            header,
            total.shape,
            places,
            flat[at],
            level=level,
            kind=KINDS[self.values],
            dtype=values.dtype,
            backend=backend,
        )
        if not self.error_memory:
            return message, nothing(total)
        flat[at] -= sent
        return message, listed(total, backend)


def _coarse(values):
    """Values as exact as float32 is: rounding then does not decide which of two equals is sent.

    The steps of Adagrad and Adam do not depend on the size of gradients, so equals are many.
    """
    if values.dtype == np.float32:
        return values
    exact = np.uint64((1 << 64) - (1 << 29))
    coarse = (values.view(np.uint64) & exact).view(np.float64)
    return np.where(coarse == 0, values, coarse)  # the smallest have no other digits


def _norms(values):
    """Euclidean norms of rows, in float64; scaled, so that squares neither vanish nor overflow."""
    values = values.astype(np.float64)
    largest = np.abs(values).max(axis=1, initial=0)
    values /= np.where(largest > 0, largest, 1)[:, None]
    with np.errstate(over="ignore"):
        return largest * np.sqrt(np.einsum("ij,ij->i", values, values))
