"""Models: how pooled rows become raw predictions, and the way back; how rows begin; SVD."""

from ._bag import BagModel
from ._cooccurrence import CooccurrenceModel
from ._factorization import FactorizationModel
from ._power import MOST_ITERATIONS, PowerSettings, columns
from ._sampled import SampledBagModel
from ._start import ArrayStart, ComponentsStart, KnownStart, NormalStart, UniformStart
from ._svd import Moments, Triplets, arpack, decompose, merge, project

__all__ = [
    "MOST_ITERATIONS",
    "ArrayStart",
    "BagModel",
    "ComponentsStart",
    "CooccurrenceModel",
    "FactorizationModel",
    "KnownStart",
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
