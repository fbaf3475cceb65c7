"""Solvers: how a touched row moves."""

from ._adagrad import Adagrad
from ._adamw import AdamW
from ._base import SOLVERS as SOLVERS
from ._base import Solver as Solver
from ._ftrl import FTRL
from ._lazy_adam import LazyAdam
from ._rowwise_adagrad import RowwiseAdagrad
from ._sgd import SGD

__all__ = ["FTRL", "SGD", "Adagrad", "AdamW", "LazyAdam", "RowwiseAdagrad"]
