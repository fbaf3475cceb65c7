"""A module imports its own package and lower floors: never upwards, never sideways."""

import ast
import sys

import pytest

from house import PACKAGE, SOURCES, imported_names, label, parse

FLOORS = {
    "core": 0,
    "kernels": 1,
    "persistence": 1,
    "losses": 2,
    "solvers": 2,
    "models": 2,
    "hashing": 2,
    "compress": 2,
    "training": 3,
    "partition": 4,
    "estimators": 5,
    "inspection": 5,
    "metrics": 5,
}
COMPILERS = {"numba", "llvmlite", "cupy", "cupyx"}
CORE_MAY_IMPORT = {"skembed", "numpy", "scipy"} | sys.stdlib_module_names

every_source = pytest.mark.parametrize("path", SOURCES, ids=label)


def home(path):
    """Package of a file directly under skembed; None for the files of the root itself."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def own_imports(path):
    """Triples (package, private module or None, text) for what a file imports from skembed."""
    for module, name in imported_names(path):
        parts = module.split(".")
        if parts[0] != "skembed":
            continue
        if len(parts) == 1 and name is not None:
            parts.append(name)
        private = next((part for part in parts[2:] if part.startswith("_")), None)
        if name in {child.stem for child in PACKAGE.joinpath(*parts[1:]).glob("_*.py")}:
            private = name
        yield (parts[1] if len(parts) > 1 else None), private, f"{module} ({name})"


def test_every_package_has_a_floor():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= set(FLOORS)


@every_source
def test_imports_stay_below(path):
    package = home(path)
    if package is None:
        return
    for target, private, text in own_imports(path):
        if target == package:
            continue
        assert target in FLOORS, f"imports the root of the package: {text}"
        assert FLOORS[target] < FLOORS[package], f"imports upwards or sideways: {text}"
        assert private is None, f"imports a private module of another package: {text}"


@every_source
def test_third_parties(path):
    roots = {module.split(".")[0] for module, _ in imported_names(path)}
    if home(path) == "core":
        assert roots <= CORE_MAY_IMPORT
    if home(path) != "kernels":
        assert not roots & COMPILERS


@every_source
def test_file(path):
    assert path.name.startswith("_"), "modules are private; packages carry the public names"
    assert "utils" not in path.relative_to(PACKAGE).as_posix()
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400, "holds two ideas: split it"
    if path.name != "__init__.py":
        stored = {
            node.id
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        assert "__all__" not in stored, "only a package re-exports"
