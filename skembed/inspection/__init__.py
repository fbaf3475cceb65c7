"""Looking into data and fitted estimators."""

from skembed.core import SparseRowGradient

from ._activation import ActivationReport, activation_report
from ._communication import CommunicationDisplay
from ._embedding import EmbeddingReport, embedding_report
from ._embedding_map import EmbeddingMapDisplay
from ._explain import Explanation, explain
from ._gradient import training_gradient
from ._loss_curve import LossCurveDisplay
from ._neighbors import NearestFeatures, nearest_features
from ._sparsity import SparsityReport, sparsity_report
from ._update_counts import UpdateCountDisplay

__all__ = [
    "ActivationReport",
    "CommunicationDisplay",
    "EmbeddingMapDisplay",
    "EmbeddingReport",
    "Explanation",
    "LossCurveDisplay",
    "NearestFeatures",
    "SparseRowGradient",
    "SparsityReport",
    "UpdateCountDisplay",
    "activation_report",
    "embedding_report",
    "explain",
    "nearest_features",
    "sparsity_report",
    "training_gradient",
]
