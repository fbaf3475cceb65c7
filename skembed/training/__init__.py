"""The training loop."""

from ._callbacks import EpochHooks, SilentHooks
from ._held_out import FeaturesHeldOut, HeldOut, accuracy, minus_loss, precision_at_1
from ._interrupts import interruptible
from ._loop import LocalEpochs, TrainingDiverged, epoch_order, fit_epochs, run_epoch
from ._problem import FitProblem, TrainingRows
from ._schedule import Schedule
from ._state import Beginning, FitState
from ._stopping import Plateau
from ._transforms import clip_by_norm, clip_by_value, scale_by_frequency, transforms_of

__all__ = [
    "Beginning",
    "EpochHooks",
    "FeaturesHeldOut",
    "FitProblem",
    "FitState",
    "HeldOut",
    "LocalEpochs",
    "Plateau",
    "Schedule",
    "SilentHooks",
    "TrainingDiverged",
    "TrainingRows",
    "accuracy",
    "clip_by_norm",
    "clip_by_value",
    "epoch_order",
    "fit_epochs",
    "interruptible",
    "minus_loss",
    "precision_at_1",
    "run_epoch",
    "scale_by_frequency",
    "transforms_of",
]
