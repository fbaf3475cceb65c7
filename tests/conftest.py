"""Settings that hold for every test; they are made before anything imports numba or SciPy."""

import hashlib
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from hypothesis import settings


def _kernel_key():
    """Digest of all that decides what numba compiles."""
    digest = hashlib.sha256(f"{sys.version} {version('numba')}".encode())
    kernels = Path(__file__).parent.parent / "skembed" / "kernels" / "cpu"
    for path in sorted(kernels.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# Numba does not notice an edit in another file than the kernel's own, so each state of the
# kernels has its own cache folder.
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"skembed-numba-{_kernel_key()}")
)

# Lets scikit-learn's estimator checks run those of the array API; SciPy reads it when imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Plots are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")

# The first call of a kernel compiles it, so a time limit per example would fail at random.
settings.register_profile("skembed", deadline=None, derandomize=True)
settings.load_profile("skembed")
