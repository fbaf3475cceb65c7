"""Tokens as pieces of one byte buffer."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spans:
    """Tokens ``prefix + buffer[starts[i]:ends[i]]``: no strings, and no copy of the user's bytes.

    Parameters
    ----------
    buffer : ndarray of shape (n_bytes,), uint8
        UTF-8 text; never written to.
    starts, ends : ndarray of shape (n,), int64
        Where each token begins and ends; within the buffer.
    prefix : bytes, default=b""
        What all tokens begin with.
    """

    buffer: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    prefix: bytes = b""

    def __len__(self):
        return len(self.starts)

    def token(self, i):
        """Return one token, as bytes."""
        return self.prefix + self.buffer[self.starts[i] : self.ends[i]].tobytes()
