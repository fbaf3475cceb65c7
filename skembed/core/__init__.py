"""Values that every other part of the package passes around; NumPy and SciPy only."""

from ._batch import CSRBatch, SparseRows, take_rows
from ._defaults import LaterDefaults
from ._features import FeatureIndex
from ._left_out import FeatureNoise, LeftOut
from ._pairs import PairShape, PendingPairGradient
from ._quantized import CODES, QuantizedTable
from ._registry import Registry
from ._rng import DEAL, GOLDEN, HEAD, NEGATIVES, SHUFFLE, SPLIT, hashed_uniform, mix, stream
from ._rowgrad import Groups, PendingRowGradient, SparseRowGradient
from ._spans import Spans
from ._table import LINE, ParamTable, RowArray, padded_width
from ._text import TOKEN_PATTERNS, TextRule
from ._version import __version__

__all__ = [
    "CODES",
    "DEAL",
    "GOLDEN",
    "HEAD",
    "LINE",
    "NEGATIVES",
    "SHUFFLE",
    "SPLIT",
    "TOKEN_PATTERNS",
    "CSRBatch",
    "FeatureIndex",
    "FeatureNoise",
    "Groups",
    "LaterDefaults",
    "LeftOut",
    "PairShape",
    "ParamTable",
    "PendingPairGradient",
    "PendingRowGradient",
    "QuantizedTable",
    "Registry",
    "RowArray",
    "Spans",
    "SparseRowGradient",
    "SparseRows",
    "TextRule",
    "__version__",
    "hashed_uniform",
    "mix",
    "padded_width",
    "stream",
    "take_rows",
]
