"""Models: how pooled rows become raw predictions, and the way back; how rows begin; SVD."""

from ._bag import BagModel
from ._factorization import FactorizationModel
from ._power import MOST_ITERATIONS, PowerSettings, columns
from ._sampled import SampledBagModel
from ._start import ArrayStart, ComponentsStart, NormalStart, UniformStart
from ._svd import Moments, Triplets, arpack, decompose, merge, project

__all__ = [
    "MOST_ITERATIONS",
    "ArrayStart",
    "BagModel",
    "ComponentsStart",
    "FactorizationModel",
    "Moments",
    "NormalStart",
    "PowerSettings",
    "SampledBagModel",
    "Triplets",
    "UniformStart",
    "arpack",
    "columns",
    "decompose",
    "merge",
    "project",
]
