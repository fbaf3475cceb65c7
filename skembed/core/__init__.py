"""Values that every other part of the package passes around; NumPy and SciPy only."""

from ._batch import CSRBatch, SparseRows
from ._features import FeatureIndex
from ._pairs import PairShape, PendingPairGradient
from ._registry import Registry
from ._rng import GOLDEN, HEAD, NEGATIVES, SHUFFLE, SPLIT, hashed_uniform, mix, stream
from ._rowgrad import Groups, PendingRowGradient, SparseRowGradient
from ._table import LINE, ParamTable, RowArray, padded_width

__all__ = [
    "GOLDEN",
    "HEAD",
    "LINE",
    "NEGATIVES",
    "SHUFFLE",
    "SPLIT",
    "CSRBatch",
    "FeatureIndex",
    "Groups",
    "PairShape",
    "ParamTable",
    "PendingPairGradient",
    "PendingRowGradient",
    "Registry",
    "RowArray",
    "SparseRowGradient",
    "SparseRows",
    "hashed_uniform",
    "mix",
    "padded_width",
    "stream",
]
