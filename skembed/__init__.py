"""Learned embeddings on sparse features, as scikit-learn estimators.

CSR goes in and is never densified. See the README for a first example.
"""

from . import compress, inspection, losses, metrics, partition, solvers
from .estimators import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    FeatureHasher,
    HashingVectorizer,
    PartitionedFit,
    TruncatedSVD,
    plan_compression,
    suggest_n_components,
)

__version__ = "0.1.0.dev0"

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
    "__version__",
    "compress",
    "inspection",
    "losses",
    "metrics",
    "partition",
    "plan_compression",
    "solvers",
    "suggest_n_components",
]
