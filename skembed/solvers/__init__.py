"""Solvers: how a touched row moves."""

from ._adagrad import Adagrad
from ._base import SOLVERS, Solver
from ._lazy_adam import LazyAdam
from ._rowwise_adagrad import RowwiseAdagrad
from ._sgd import SGD

__all__ = ["SGD", "SOLVERS", "Adagrad", "LazyAdam", "RowwiseAdagrad", "Solver"]
