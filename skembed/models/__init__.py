"""Models: how pooled rows become raw predictions, and the way back; and how rows begin."""

from ._bag import BagModel
from ._factorization import FactorizationModel
from ._sampled import SampledBagModel
from ._start import ArrayStart, NormalStart, UniformStart

__all__ = [
    "ArrayStart",
    "BagModel",
    "FactorizationModel",
    "NormalStart",
    "SampledBagModel",
    "UniformStart",
]
