"""Models: how pooled rows become raw predictions, and the way back; and how rows begin."""

from ._bag import BagLinear
from ._start import ArrayStart, NormalStart, UniformStart

__all__ = ["ArrayStart", "BagLinear", "NormalStart", "UniformStart"]
