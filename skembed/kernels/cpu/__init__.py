"""Kernels in numba, and the backend that drives them."""

import tempfile

import numba

try:
    from . import _bag  # noqa: F401
except RuntimeError:
    # numba finds no folder to keep compiled kernels in (read-only install, no home): give it one
    # that lives as long as the process.
    _folder = tempfile.TemporaryDirectory(prefix="skembed-kernels-")
    numba.config.CACHE_DIR = _folder.name

from ._backend import CPUBackend

__all__ = ["CPUBackend"]
