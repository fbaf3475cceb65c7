"""The training loop."""

from ._callbacks import EpochHooks
from ._interrupts import interruptible
from ._loop import TrainingDiverged, fit_epochs, run_epoch
from ._problem import FitProblem, TrainingRows
from ._schedule import Schedule
from ._state import FitState
from ._stopping import Plateau
from ._transforms import clip_by_norm, clip_by_value, scale_by_frequency, transforms_of

__all__ = [
    "EpochHooks",
    "FitProblem",
    "FitState",
    "Plateau",
    "Schedule",
    "TrainingDiverged",
    "TrainingRows",
    "clip_by_norm",
    "clip_by_value",
    "fit_epochs",
    "interruptible",
    "run_epoch",
    "scale_by_frequency",
    "transforms_of",
]
