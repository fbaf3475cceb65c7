"""How reports show numbers, text and tables."""

import numpy as np
import pytest

from skembed.inspection._report import Report, Table, count, number, percent, size, some


@pytest.mark.parametrize(("show", "value", "text"), [
    (percent, 0.0, "0.0 %"), (percent, 1.0, "100.0 %"), (percent, 0.4567, "45.7 %"),
    (percent, 0.0123, "1.23 %"), (percent, 0.000012345, "0.00123 %"), (percent, np.nan, "-"),
    (number, 0.01234, "0.0123"), (number, 12345.6, "12,346"), (number, np.inf, "inf"),
    (number, np.nan, "-"), (number, -250.0, "-250"), (count, 1234567, "1,234,567"),
    (size, 999, "999 B"), (size, 1500, "1.5 kB"), (size, 4 * 10**12, "4 TB"),
])  # fmt: skip
def test_numbers(show, value, text):
    assert show(value) == text


def test_lists_of_names_are_cut():
    assert some(["a", "b"]) == "a, b"
    assert some(np.arange(1500)) == "0, 1, 2, 3, 4 and 1,495 more"


class Small(Report):
    _title = "A < B"

    def _tables(self):
        return [
            Table("Pairs", (), [("one", "1"), ("hundred", "100")]),
            Table("Nothing", ("name", "value"), []),
        ]

    def _notes(self):
        return ["x & y"]


def test_text_and_html():
    lines = str(Small()).splitlines()
    assert lines[:2] == ["A < B", "====="]
    assert lines[4:6] == ["  one        1", "  hundred  100"]
    assert lines[-1] == "- x & y"
    page = Small()._repr_html_()
    assert "<h3>A &lt; B</h3>" in page and "<li>x &amp; y</li>" in page
    assert "<th>name</th>" in page and page.count("<tr>") == 3
