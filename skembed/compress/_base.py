"""What every compressor offers."""

import numpy as np
from sklearn.base import BaseEstimator

from skembed.core import LaterDefaults, Registry

from ._message import decode

COMPRESSORS = Registry("compressor")


class Compressor(LaterDefaults, BaseEstimator):
    """Base of the compressors: hyper-parameters, no state.

    A compressor turns the change of a table, and what was not sent before, into a message and what
    is not sent now: ``sent + new memory = change + old memory``. The sum on the right is rounded
    once.
    """

    _parameter_constraints = {}

    def compress(self, change, memory, backend, *, header):
        """Return a message and what it leaves out.

        Parameters
        ----------
        change : SparseRowGradient
            Change of the table; its rows may be padded to whole cache lines.
        memory : SparseRowGradient or None
            What was not sent so far; None for nothing.
        backend : Backend
            Runs the kernels.
        header : Header
            Who the message is from.

        Returns
        -------
        message : bytes
            What travels.
        memory : SparseRowGradient
            What is still to be sent.

        Raises
        ------
        ValueError
            If change + memory holds NaN or infinity.
        """
        raise NotImplementedError

    def decompress(self, message, *, shape=None):
        """Return what a message says, whichever compressor made it.

        Parameters
        ----------
        message : bytes
            From anywhere: it is checked before anything of its size is allocated.
        shape : tuple of two int or None, default=None
            Shape of the table that it must be for; None takes any.

        Returns
        -------
        header : Header
            Who it is from.
        change : SparseRowGradient
            The rows that it names; entries that it does not name are zero. Counts are 1.

        Raises
        ------
        ValueError
            If it is not a message, or one for another table.
        """
        return decode(message, shape)

    @staticmethod
    def _check_finite(total, header):
        if not np.isfinite(total.values).all():
            raise ValueError(
                f"The change of partition {header.partition} in round {header.round} holds NaN or"
                " infinity. Lower learning_rate_init or set clip_norm on the solver."
            )
