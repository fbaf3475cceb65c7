"""Reports: tables and sentences, as text, as HTML and as data frames."""

from dataclasses import dataclass
from html import escape

import numpy as np


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Parameters
    ----------
    title : str
        What it shows.
    header : tuple of str
        Names of its columns; empty for pairs of a name and a value.
    rows : list of tuple of str
        Its cells.
    """

    title: str
    header: tuple
    rows: list


class Report:
    """Base of the reports: `_tables` and `_notes` say what is shown."""

    _title = None

    def _tables(self):
        """Return the tables, a list of `Table`."""
        raise NotImplementedError

    def _notes(self):
        """Return sentences that follow the tables."""
        return []

    def __str__(self):
        parts = [self._title, "=" * len(self._title)]
        for table in self._tables():
            parts += ["", table.title, *_lines(table)]
        notes = self._notes()
        return "\n".join([*parts, *([""] if notes else []), *(f"- {note}" for note in notes)])

    __repr__ = __str__

    def _repr_html_(self):
        """Return the report as HTML; notebooks call this."""
        parts = [f"<h3>{escape(self._title)}</h3>"]
        for table in self._tables():
            parts.append(f"<h4>{escape(table.title)}</h4><table>")
            if table.header:
                parts.append(_row("th", table.header))
            parts += [_row("td", row) for row in table.rows]
            parts.append("</table>")
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._notes())
        return "\n".join([*parts, *([f"<ul>{notes}</ul>"] if notes else [])])


def _row(tag, cells):
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _lines(table):
    """Return a table as lines of text; names on the left, numbers on the right."""
    rows = [*([table.header] if table.header else []), *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def data_frame(data, index, what):
    """Return columns as a pandas data frame; `what` needs it, for the message without pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f"{what} needs pandas: pip install pandas") from None
    return pd.DataFrame(data, index=index)


def count(n):
    """Return an integer with separators."""
    return f"{int(n):,}"


def number(x):
    """Return a number with three digits, or a dash for NaN."""
    if np.isnan(x):
        return "-"
    return f"{x:,.0f}" if 100 <= abs(x) < 1e7 else f"{x:.3g}"


def percent(share):
    """Return a share in percent, or a dash for NaN."""
    if np.isnan(share):
        return "-"
    return f"{100 * share:.1f} %" if share == 0 or share >= 0.1 else f"{100 * share:.3g} %"


def size(n_bytes):
    """Return a number of bytes with a unit."""
    unit = 0
    while n_bytes >= 1000 and unit < 6:
        n_bytes, unit = n_bytes / 1000, unit + 1
    return f"{n_bytes:.3g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[unit]}"


def some(names, most=5):
    """Return some names as one text."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")
