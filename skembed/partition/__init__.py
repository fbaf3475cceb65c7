"""Fitting over partitions: engines, and the rounds that they run."""

from ._coordinator import first_timeout as first_timeout
from ._dask import DaskEngine
from ._engine import ENGINES as ENGINES
from ._engine import Died as Died
from ._engine import Engine
from ._engine import Failed as Failed
from ._joblib import JoblibEngine
from ._trainer import PartitionTrainer as PartitionTrainer

__all__ = ["DaskEngine", "Engine", "JoblibEngine"]
