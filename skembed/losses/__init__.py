"""Losses over raw predictions."""

from ._base import LOSSES, Loss
from ._log import LogLoss
from ._softmax import Softmax
from ._squared import SquaredError

__all__ = ["LOSSES", "LogLoss", "Loss", "Softmax", "SquaredError"]
