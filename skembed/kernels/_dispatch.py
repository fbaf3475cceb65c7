"""Choose the machine that runs the kernels."""

from .cpu import CPUBackend


def get_backend(n_jobs=1):
    """Return a backend that runs on the CPU.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.

    Returns
    -------
    Backend
        A fresh backend with its own threads and work space. Close it.
    """
    return CPUBackend(n_jobs)
