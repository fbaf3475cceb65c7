"""What users meet."""

from ._bag import EmbeddingBag
from ._classifier import EmbeddingBagClassifier
from ._factorization import FactorizationMachineClassifier, FactorizationMachineRegressor
from ._hashing import FeatureHasher
from ._partitioned import PartitionedFit
from ._planning import plan_compression
from ._regressor import EmbeddingBagRegressor
from ._saving import load_model, save_model
from ._svd import TruncatedSVD
from ._vectorizer import HashingVectorizer
from ._vectors import load_vectors
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
    "load_model",
    "load_vectors",
    "plan_compression",
    "save_model",
    "suggest_n_components",
]
