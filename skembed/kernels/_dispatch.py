"""Choose the machine that runs the kernels."""

from ._backend import Backend
from .cpu import CPUBackend

FEW_VALUES = 256  # that array code gets through before kernels are loaded


def get_backend(n_jobs=1, *, work=None, device="cpu"):
    """Return a backend that runs on the CPU or on a CUDA device.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.
    work : int or None
        Stored values to predict from. A few go to array code, which gives the same bits and has
        nothing to compile or load.
    device : str
        ``"cpu"``, ``"cuda"`` or ``"cuda:N"``. A device takes and returns arrays of CuPy; `n_jobs`
        and `work` say nothing there.

    Returns
    -------
    Backend
        A fresh backend with its own threads and work space. Close it.

    Raises
    ------
    RuntimeError
        If CuPy, the CUDA toolkit, the driver or the device is missing.
    """
    if device != "cpu":
        from .gpu import CUDABackend, find_device  # its sources are of no use without a device

        return CUDABackend(find_device(device))
    return Backend() if work is not None and work <= FEW_VALUES else CPUBackend(n_jobs)
