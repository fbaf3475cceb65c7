"""What the repository holds, and what importing the package costs."""

import re
import subprocess
import sys

import pytest

from house import PACKAGE, ROOT

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "LICENSE",
    "README.md",
    "docs",
    "examples",
    "pyproject.toml",
    "setup.cfg",
    "skembed",
    "tests",
}
ONE_MACHINE_ONLY = re.compile(
    r"(?<![\w.~$}])/(?:home|root|tmp|opt|mnt|work|Users)/"  # absolute paths
    r"|\b(?:pypi|pythonhosted|anaconda|npmjs)\.(?:org|com|io)\b"  # registries
)
HEAVY = {"cupy", "dask", "matplotlib", "pandas", "polars", "pyarrow", "rich", "torch"}
PREFIXES = ("ENH: ", "FIX: ", "PERF: ", "DOC: ", "TST: ", "MNT: ")


@pytest.fixture(scope="module")
def files():
    """Paths of the files that belong to the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in listing.split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).exists()]


def test_top_level(files):
    assert {path.relative_to(ROOT).parts[0] for path in files} <= TOP_LEVEL


def test_no_trace_of_one_machine(files):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if ONE_MACHINE_ONLY.search(line)
    ]
    assert not found


def test_change_fragments():
    for path in (ROOT / "docs" / "changes").glob("*.md"):
        if path.name != "README.md":
            assert path.read_text(encoding="utf-8").startswith(PREFIXES), path.name


def test_root_module_is_short():
    assert len((PACKAGE / "__init__.py").read_text(encoding="utf-8").splitlines()) < 50


def test_import_stays_light():
    code = (
        "import sys, sklearn.callback, sklearn.pipeline; before = set(sys.modules); import skembed;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    command = [sys.executable, "-c", code]
    added = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert HEAVY.isdisjoint(added.split()), "beyond what scikit-learn itself imports"
