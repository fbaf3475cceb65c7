"""What users meet."""

from ._bag import EmbeddingBag
from ._classifier import EmbeddingBagClassifier
from ._regressor import EmbeddingBagRegressor
from ._svd import TruncatedSVD
from ._width import suggest_n_components

__all__ = [
    "EmbeddingBag",
    "EmbeddingBagClassifier",
    "EmbeddingBagRegressor",
    "TruncatedSVD",
    "suggest_n_components",
]
