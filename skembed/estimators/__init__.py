"""What users meet."""

from ._bag import EmbeddingBag
from ._classifier import EmbeddingBagClassifier
from ._factorization import FactorizationMachineClassifier, FactorizationMachineRegressor
from ._regressor import EmbeddingBagRegressor
from ._width import suggest_n_components

__all__ = [
    "EmbeddingBag",
    "EmbeddingBagClassifier",
    "EmbeddingBagRegressor",
    "FactorizationMachineClassifier",
    "FactorizationMachineRegressor",
    "suggest_n_components",
]
