"""What users meet."""

from ._bag import EmbeddingBag
from ._classifier import EmbeddingBagClassifier
from ._regressor import EmbeddingBagRegressor

__all__ = ["EmbeddingBag", "EmbeddingBagClassifier", "EmbeddingBagRegressor"]
