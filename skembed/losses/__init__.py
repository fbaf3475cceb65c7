"""Losses over raw predictions."""

from ._base import LOSSES as LOSSES
from ._base import Loss as Loss
from ._cooccurrence import Cooccurrence
from ._hinge import Hinge
from ._huber import Huber
from ._log import LogLoss
from ._poisson import Poisson
from ._quantile import Quantile
from ._sampled import NegativeSampling
from ._softmax import Softmax
from ._squared import SquaredError
from ._squared_hinge import SquaredHinge

__all__ = [
    "Cooccurrence",
    "Hinge",
    "Huber",
    "LogLoss",
    "NegativeSampling",
    "Poisson",
    "Quantile",
    "Softmax",
    "SquaredError",
    "SquaredHinge",
]
