"""Kernels in numba, and the backend that drives them."""

from ._backend import CPUBackend

__all__ = ["CPUBackend"]
