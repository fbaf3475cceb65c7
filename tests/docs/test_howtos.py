"""The pages of documentation: code that runs, sources as they are, links that lead somewhere.

A block behind ``<!-- from path -->`` holds a file of the repository, or, behind
``<!-- from path: name, name -->``, functions or classes of it. Run as a script, this file writes
the blocks anew.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TAKEN = re.compile(
    r"^<!-- from (?P<path>[^\s:]+)(?:: (?P<names>[^>]+))? -->\n\n```python\n.*?^```\n",
    re.DOTALL | re.MULTILINE,
)
FENCE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
TELLS = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")

WITH_CODE = [page for page in PAGES if FENCE.search(page.read_text(encoding="utf-8"))]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def source(path, names):
    """Return the text of a file, or of some of its functions and classes."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if names is None:
        return text
    nodes = {node.name: node for node in ast.parse(text).body if hasattr(node, "name")}
    lines, parts = text.splitlines(), []
    for name in names.split(", "):
        node = nodes[name]
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        parts.append("\n".join(lines[first - 1 : node.end_lineno]) + "\n")
    return "\n\n".join(parts)


def renewed(text):
    """Return a page with the blocks that are taken from files as those are now."""

    def block(match):
        marker = match.group().partition("\n")[0]
        return f"{marker}\n\n```python\n{source(match['path'], match['names'])}```\n"

    return TAKEN.sub(block, text)


def code_of(text):
    """Return the code of a page, without blocks from files, at the line numbers of the page."""
    text = TAKEN.sub(lambda match: "\n" * match.group().count("\n"), text)
    code, at = "", 0
    for match in FENCE.finditer(text):
        code += "\n" * text.count("\n", at, match.start(1)) + match[1]
        at = match.end(1)
    return code


def alike(printed, told):
    """Tell whether two words are the same, or numbers that differ by one in the second digit."""
    try:
        return printed == told or abs(float(printed) - float(told)) < 0.015
    except ValueError:
        return printed.rstrip(",:") == told.rstrip(",:")


@every_page
def test_blocks_from_files_are_what_the_files_hold(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("\n<!-- from ") == len(TAKEN.findall(text)), "a marker without its block"
    assert text == renewed(text), "python tests/docs/test_howtos.py brings the page up to date"


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_runs_and_prints_what_its_comments_say(page, capsys, monkeypatch, tmp_path):
    code = code_of(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
    printed, told = capsys.readouterr().out.splitlines(), TELLS.findall(code)
    assert len(printed) == len(told), "every print of a page has one line, in a comment behind it"
    for line, comment in zip(printed, told, strict=True):
        words, said = line.split(), comment.split()
        assert len(said) >= len(words) and all(map(alike, words, said)), f"{line} # {comment}"


@every_page
def test_links_lead_to_files(page):
    missing = [
        target
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not missing


def test_the_index_lists_every_page():
    index = ROOT / "docs" / "index.md"
    listed = set(LINK.findall(index.read_text(encoding="utf-8")))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {index.name} <= listed


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
