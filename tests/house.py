"""The source tree and the public names of skembed, as the contract tests read them."""

import ast
import inspect
from functools import cache
from pathlib import Path

import skembed

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "skembed"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def label(path):
    """Path relative to the root of the repository, to name a test case."""
    return path.relative_to(ROOT).as_posix()


@cache
def parse(path):
    """Syntax tree of a source file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path):
    """Dotted name under which a source file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path):
    """Pairs of (module, name) for every import in a file, in functions too.

    ``import a.b`` gives ``("a.b", None)``; ``from .c import d`` gives the absolute name of ``.c``
    and ``"d"``.
    """
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                yield module, alias.name


def public_objects():
    """Dotted name and object of every public class and function.

    A module listed in ``skembed.__all__`` is public with the names of its own ``__all__``.
    """
    found = {}
    for name in skembed.__all__:
        obj = getattr(skembed, name)
        if inspect.ismodule(obj):
            for member in obj.__all__:
                found[f"skembed.{name}.{member}"] = getattr(obj, member)
        elif callable(obj):
            found[f"skembed.{name}"] = obj
    return found
