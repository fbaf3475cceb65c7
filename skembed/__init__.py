"""Learned embeddings on sparse features, as scikit-learn estimators.

CSR goes in and is never densified. See the README for a first example.
"""

from . import inspection, losses, metrics, solvers
from .core import __version__
from .estimators import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    FeatureHasher,
    HashingVectorizer,
    TruncatedSVD,
    load_model,
    load_vectors,
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
    "TruncatedSVD",
    "__version__",
    "inspection",
    "load_model",
    "load_vectors",
    "losses",
    "metrics",
    "save_model",
    "solvers",
    "suggest_n_components",
]
