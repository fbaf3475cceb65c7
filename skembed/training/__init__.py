"""The training loop."""

from ._callbacks import EpochHooks
from ._interrupts import interruptible
from ._loop import TrainingDiverged, fit_epochs, run_epoch
from ._problem import FitProblem, TrainingRows
from ._state import FitState
from ._stopping import Plateau
from ._transforms import clip_by_norm, transforms_of

__all__ = [
    "EpochHooks",
    "FitProblem",
    "FitState",
    "Plateau",
    "TrainingDiverged",
    "TrainingRows",
    "clip_by_norm",
    "fit_epochs",
    "interruptible",
    "run_epoch",
    "transforms_of",
]
