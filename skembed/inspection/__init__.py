"""Looking into fitted estimators."""

from ._displays import CommunicationDisplay
from ._explain import Explanation, explain

__all__ = ["CommunicationDisplay", "Explanation", "explain"]
