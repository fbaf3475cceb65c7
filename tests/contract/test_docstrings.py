"""Every public name has a valid numpydoc docstring, every public class a running example."""

import doctest
import inspect
import tomllib

import pytest
from numpydoc.validate import validate

from house import ROOT, public_objects

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WAIVED = set(SETTINGS["tool"]["numpydoc_validation"]["checks"]) - {"all"}

OBJECTS = public_objects()
CLASSES = {name: obj for name, obj in OBJECTS.items() if inspect.isclass(obj)}


def own_methods(klass):
    """Public methods and properties that skembed itself defines, as dotted names.

    An override without a docstring of its own inherits that of the method it overrides.
    """
    found = {}
    for base in reversed(klass.__mro__):
        if base.__module__.split(".")[0] != "skembed":
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or not (callable(member) or hasattr(member, "__get__")):
                continue
            if name.startswith("set_") and name.endswith("_request"):
                continue  # request methods are made and documented by scikit-learn
            if member.__doc__ or name not in found:
                found[name] = f"{base.__module__}.{base.__qualname__}.{name}"
    return found.values()


DOCUMENTED = sorted({*OBJECTS, *(m for klass in CLASSES.values() for m in own_methods(klass))})


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring(name):
    errors = [error for error in validate(name)["errors"] if error[0] not in WAIVED]
    assert not errors


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_class_has_an_example(name):
    doc = inspect.getdoc(CLASSES[name])
    assert "Examples\n--------" in doc
    assert doctest.DocTestParser().get_examples(doc)
