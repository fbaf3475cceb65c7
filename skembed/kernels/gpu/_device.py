"""Find the device, or say what is missing and what to do about it."""

INSTALL = 'pip install "cupy-cuda13x[ctk]" (or "cupy-cuda12x[ctk]" for a driver of CUDA 12)'


def find_device(device):
    """Return CuPy, with the device in use by the calling thread.

    Parameters
    ----------
    device : str
        ``"cuda"``, which is the first one, or ``"cuda:N"``.

    Returns
    -------
    module
        CuPy.

    Raises
    ------
    RuntimeError
        If CuPy, the toolkit, the driver or the device is missing.
    ValueError
        If the name is not that of a CUDA device.
    """
    kind, _, number = device.partition(":")
    if kind != "cuda" or (":" in device and not number.isdecimal()):
        raise ValueError(f"Expected device='cuda' or 'cuda:N', got {device!r}.")
    try:
        import cupy
    except ImportError as error:
        raise RuntimeError(
            f"device={device!r} needs CuPy, which could not be imported: {error}. "
            f"Install it and the CUDA toolkit: {INSTALL}."
        ) from error
    _check_toolkit(cupy, device)
    n_devices = _count(cupy, device)
    if int(number or 0) >= n_devices:
        raise RuntimeError(
            f"device={device!r} does not exist: CUDA finds {n_devices} device(s). Name one of "
            "them, or look at CUDA_VISIBLE_DEVICES, which may hide some."
        )
    cupy.cuda.Device(int(number or 0)).use()
    return cupy


def _check_toolkit(cupy, device):
    """CuPy compiles with NVRTC, which its own package does not bring."""
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # CuPy's own kinds of error differ by version
        raise RuntimeError(
            f"device={device!r} needs the CUDA toolkit; its compiler NVRTC could not be loaded: "
            f"{error}. Install it beside CuPy: {INSTALL}."
        ) from error


def _count(cupy, device):
    """Return the number of devices."""
    runtime = cupy.cuda.runtime
    if runtime.driverGetVersion() == 0:
        raise RuntimeError(
            f"device={device!r} needs the NVIDIA driver, and none is installed. Install it, start "
            "the container with access to GPUs, or use device='cpu'."
        )
    try:
        return runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if "NoDevice" in str(error):
            return 0
        raise RuntimeError(
            f"device={device!r}: the NVIDIA driver does not work with this CuPy: {error}. Update "
            f"the driver, or install the CuPy for its version of CUDA: {INSTALL}."
        ) from error
