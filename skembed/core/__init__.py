"""Values that every other part of the package passes around; NumPy and SciPy only."""

from ._batch import CSRBatch
from ._features import FeatureIndex
from ._registry import Registry
from ._rng import SHUFFLE, hashed_uniform, stream
from ._rowgrad import Groups, PendingRowGradient, SparseRowGradient
from ._table import ParamTable, RowArray, padded_width

__all__ = [
    "SHUFFLE",
    "CSRBatch",
    "FeatureIndex",
    "Groups",
    "ParamTable",
    "PendingRowGradient",
    "Registry",
    "RowArray",
    "SparseRowGradient",
    "hashed_uniform",
    "padded_width",
    "stream",
]
