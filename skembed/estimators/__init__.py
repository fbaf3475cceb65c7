"""What users meet."""

from ._bag import EmbeddingBag
from ._classifier import EmbeddingBagClassifier
from ._factorization import FactorizationMachineClassifier, FactorizationMachineRegressor
from ._hashing import FeatureHasher
from ._partitioned import PartitionedFit
from ._planning import plan_compression
from ._regressor import EmbeddingBagRegressor
from ._svd import TruncatedSVD
from ._vectorizer import HashingVectorizer
from ._width import suggest_n_components

__all__ = [
    "EmbeddingBag",
    "EmbeddingBagClassifier",
    "EmbeddingBagRegressor",
    "FactorizationMachineClassifier",
    "FactorizationMachineRegressor",
    "FeatureHasher",
    "HashingVectorizer",
    "PartitionedFit",
    "TruncatedSVD",
    "plan_compression",
    "suggest_n_components",
]
