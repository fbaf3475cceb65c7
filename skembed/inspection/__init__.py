"""Looking into fitted estimators."""

from ._explain import Explanation, explain

__all__ = ["Explanation", "explain"]
