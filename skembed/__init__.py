"""Learned embeddings on sparse features, as scikit-learn estimators.

CSR goes in and is never densified. See the README for a first example.
"""

from . import solvers
from .estimators import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor

__version__ = "0.1.0.dev0"

__all__ = [
    "EmbeddingBag",
    "EmbeddingBagClassifier",
    "EmbeddingBagRegressor",
    "__version__",
    "solvers",
]
