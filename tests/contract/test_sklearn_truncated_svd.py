"""scikit-learn's own tests of TruncatedSVD, read from where it is installed, run against ours."""

from pathlib import Path

import pytest
import sklearn.decomposition

FILE = Path(sklearn.decomposition.__file__).parent / "tests" / "test_truncated_svd.py"
IMPORT = "from sklearn.decomposition import PCA, TruncatedSVD\n"
SWAPPED = "from sklearn.decomposition import PCA\nfrom skembed import TruncatedSVD\n"


@pytest.fixture(params=[0, 42])
def global_random_seed(request):
    """Stand in for the fixture of scikit-learn's own configuration of pytest."""
    return request.param


source = FILE.read_text(encoding="utf-8")
assert source.count(IMPORT) == 1, "the imports of scikit-learn's tests have changed"
exec(compile(source.replace(IMPORT, SWAPPED), str(FILE), "exec"))
assert TruncatedSVD.__module__.startswith("skembed"), "the import was not swapped"  # noqa: F821
