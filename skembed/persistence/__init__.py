"""Arrays and plain values to and from files that hold no code."""

from ._atomic import atomic_write
from ._tensors import Malformed, TensorFile, reading, write_tensors
from ._values import Decoder, Encoder
from ._vectors import FORMATS, read_vectors, write_vectors

__all__ = [
    "FORMATS",
    "Decoder",
    "Encoder",
    "Malformed",
    "TensorFile",
    "atomic_write",
    "read_vectors",
    "reading",
    "write_tensors",
    "write_vectors",
]
