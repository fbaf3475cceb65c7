"""Compiled operations. `get_backend` is the only door."""

from ._backend import Backend
from ._dispatch import get_backend

__all__ = ["Backend", "get_backend"]
