"""The examples: they compile, call what exists, and open as the gallery wants.

They are run when the documentation is built, which stops at the first error. Here they are only
read, because running them takes longer than a test may.
"""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))

every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def parsed(path):
    """Return the tree of a script, which must compile."""
    text = path.read_text(encoding="utf-8")
    compile(text, str(path), "exec")
    return ast.parse(text)


def of_skembed(tree):
    """Return what a script imports from the package, by the name it has there."""
    return {
        alias.asname or alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "skembed"
        for alias in node.names
    }


@every_example
def test_calls_name_parameters_that_exist(path):
    tree = parsed(path)
    imported = of_skembed(tree)
    assert imported
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in imported:
            known = inspect.signature(imported[node.func.id]).parameters
            named = {keyword.arg for keyword in node.keywords} - {None}  # None: of a **
            assert named <= set(known), f"line {node.lineno}"


@every_example
def test_opens_with_a_title_and_a_story(path):
    over, title, under, blank, *story = ast.get_docstring(parsed(path)).splitlines()
    assert re.fullmatch("=+", over) and over == under and len(over) >= len(title)
    assert not blank and len(" ".join(story)) > 200


def test_the_list_has_every_example():
    text = (FOLDER / "README.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^- ``(plot_\w+\.py)``: ", text, re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]
