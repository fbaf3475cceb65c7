"""Learned embeddings on sparse features, as scikit-learn estimators.

CSR goes in and is never densified. See the README for a first example.
"""

from . import compress, inspection, losses, metrics, partition, solvers
from .core import __version__
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
    load_model,
    load_vectors,
    plan_compression,
    save_model,
    suggest_n_components,
)

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
    "load_model",
    "load_vectors",
    "losses",
    "metrics",
    "partition",
    "plan_compression",
    "save_model",
    "solvers",
    "suggest_n_components",
]
