"""Nothing in the package turns a sparse matrix into a dense one."""

import ast

import pytest

from house import SOURCES, label, parse

DENSIFIERS = {"toarray", "todense", "A"}


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_no_densify(path):
    lines = [
        f"line {node.lineno}: .{node.attr}"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr in DENSIFIERS
    ]
    assert not lines
