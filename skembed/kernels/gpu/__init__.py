"""Kernels in CUDA C++, and the backend that drives them through CuPy."""

from ._backend import CUDABackend
from ._device import find_device

__all__ = ["CUDABackend", "find_device"]
