"""The API page names all that is public; README.md gives the commands that are checked."""

import shlex

import pytest

import skembed
from house import ROOT, public_objects

API_PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*skembed.__all__, *public_objects()])
def test_name_is_on_the_api_page(name):
    if not name.startswith("__"):
        assert f"`{name.rpartition('.')[2]}`" in API_PAGE


def test_all_is_true():
    assert len(set(skembed.__all__)) == len(skembed.__all__)
    assert all(hasattr(skembed, name) for name in skembed.__all__)


@pytest.mark.parametrize("variable", ["example_command", "test_command"])
def test_readme_gives_the_commands_of_ci(variable):
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    (assignment,) = [line for line in script if line.startswith(f"{variable}=")]
    (value,) = shlex.split(assignment)
    command = value.removeprefix(f"{variable}=")
    assert command in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
