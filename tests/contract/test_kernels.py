"""Compiled kernels are cached, release the lock, and never depend on another file."""

import ast
import builtins

import pytest

from house import PACKAGE, label, parse
from skembed.kernels import Backend

FILES = sorted((PACKAGE / "kernels" / "cpu").glob("_*.py"))
SHARED_LINES = "_lines"  # vector and prefetch instructions; the one file kernels may borrow from

every_file = pytest.mark.parametrize("path", FILES, ids=label)


def called_name(node):
    """Last part of the name of a decorator or of a called function."""
    func = node.func if isinstance(node, ast.Call) else node
    return getattr(func, "attr", getattr(func, "id", None))


def is_jit(node):
    return called_name(node) in {"jit", "njit"}


def kernels(tree):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(is_jit, node.decorator_list))
    ]


def jit_options(decorator, tree):
    """Options of a decorator, those from a dict literal at module level included."""
    dicts = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Dict | ast.Call)
    }
    options = {}
    for keyword in getattr(decorator, "keywords", []):
        if keyword.arg is not None:
            options[keyword.arg] = ast.literal_eval(keyword.value)
            continue
        value = dicts[keyword.value.id]
        if isinstance(value, ast.Call):  # dict(cache=True, ...)
            options |= {item.arg: ast.literal_eval(item.value) for item in value.keywords}
        else:
            options |= ast.literal_eval(value)
    return options


def names_from_other_files(tree):
    """Names that a file imports from skembed, those of the shared lines left out."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").startswith("skembed"))
        and (node.module or "").split(".")[-1] != SHARED_LINES
        for alias in node.names
    }


def test_there_are_kernels():
    assert any(kernels(parse(path)) for path in FILES)


@every_file
def test_options(path):
    tree = parse(path)
    for kernel in kernels(tree):
        for decorator in filter(is_jit, kernel.decorator_list):
            options = jit_options(decorator, tree)
            assert options.get("cache") is True, kernel.name
            assert options.get("nogil") is True, kernel.name
            assert not options.get("parallel"), kernel.name
            assert not options.get("fastmath"), kernel.name


@every_file
def test_kernels_are_plain_functions_of_the_module(path):
    tree = parse(path)
    assert all(kernel in tree.body for kernel in kernels(tree))
    jit_calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_jit(node)]
    decorators = [node for kernel in kernels(tree) for node in kernel.decorator_list]
    assert all(call in decorators for call in jit_calls), "jit is used as a decorator only"


@every_file
def test_kernels_use_no_other_file(path):
    tree = parse(path)
    foreign = names_from_other_files(tree)
    for kernel in kernels(tree):
        used = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name)}
        assert not used & foreign, kernel.name


def elements(node):
    """Source of an expression, or of each element of a tuple."""
    return [ast.unparse(e) for e in (node.elts if isinstance(node, ast.Tuple) else [node])]


@every_file
def test_kernels_call_only_what_numba_tracks(path):
    tree = parse(path)
    known = set(dir(builtins))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.Assign):
            known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.module == SHARED_LINES:
            known |= {alias.asname or alias.name for alias in node.names}
    for kernel in kernels(tree):
        types = {  # kind = table.dtype.type: what is called converts a number
            name
            for node in ast.walk(kernel)
            if isinstance(node, ast.Assign)
            for name, value in zip(*map(elements, (node.targets[0], node.value)), strict=False)
            if value.endswith(".dtype.type")
        }
        called = {
            node.func.id
            for statement in kernel.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert called <= known | types, kernel.name


@every_file
def test_no_prange(path):
    names = {called_name(node) for node in ast.walk(parse(path))}
    assert "prange" not in names


def test_no_two_families_of_operations_share_a_name():
    families = [cls for cls in Backend.__mro__ if cls is not object]
    names = [name for cls in families for name in vars(cls) if not name.startswith("__")]
    assert sorted(set(names)) == sorted(names)
