"""Columns of the containers that people have, read some rows at a time.

A column has ``cells(lo, hi)``. Text that lies in Arrow buffers is hashed where it lies.
"""

import numpy as np

from skembed.core import Spans

from ._cells import Cells, category_text, cells_of_numbers, cells_of_objects, is_missing
from ._strings import spans_of

NO_BYTES = np.empty(0, np.uint8)
LISTINGS = ("tolist", "to_list", "to_pylist")  # of NumPy and pandas, polars, Arrow


class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        Goes before the text of its tokens.
    values : object
        What is sliced and read; never written to.
    """

    def __init__(self, name, values):
        self.name, self.values = name, values
        self.prefix = f"{name}=".encode()


class ObjectColumn(Column):
    """Python objects, or what turns into a list of them."""

    def cells(self, lo, hi):
        """Return rows lo to hi."""
        part = self.values[lo:hi]
        listing = next(getattr(part, name) for name in LISTINGS if hasattr(part, name))
        return cells_of_objects(listing(), lo, self.name, self.prefix)


class FixedColumn(ObjectColumn):
    """Text in a NumPy array of fixed width, code points or bytes."""

    def cells(self, lo, hi):
        """Return rows lo to hi; bytes and ASCII are hashed without making strings."""
        part = np.ascontiguousarray(self.values[lo:hi])
        width = part.itemsize // (4 if part.dtype.kind == "U" else 1)
        points = part.view(np.uint32 if part.dtype.kind == "U" else np.uint8)
        if part.dtype.kind == "U" and (not part.dtype.isnative or points.max(initial=0) > 127):
            return super().cells(lo, hi)
        starts = np.arange(len(part), dtype=np.int64) * width
        ends = starts + np.strings.str_len(part)
        return Cells(Spans(points.astype(np.uint8, copy=False), starts, ends, self.prefix))


class NumberColumn(Column):
    """Numbers of NumPy, pandas, polars or Arrow."""

    def cells(self, lo, hi):
        """Return rows lo to hi."""
        part = self.values[lo:hi]
        if hasattr(part, "combine_chunks"):
            part = part.cast("float64", safe=False)
        elif hasattr(part, "isna"):  # an array of pandas
            part = part.to_numpy(np.float64, na_value=np.nan)
        return cells_of_numbers(np.asarray(part, np.float64), lo, self.name)


class CategoryColumn(Column):
    """Codes of categories; -1 is missing.

    Parameters
    ----------
    name : str
        Goes before the text of its tokens.
    codes : ndarray of shape (n,), int
        Which category each row has.
    categories : list
        The categories.
    """

    def __init__(self, name, codes, categories):
        super().__init__(name, codes)
        try:
            self.spans = spans_of(categories or [""], self.prefix)
        except TypeError:
            gone = np.array([is_missing(x) for x in categories], bool)
            self.values = np.where(np.append(gone, False)[codes], -1, codes)
            texts = ["" if is_missing(x) else category_text(x, name) for x in categories]
            self.spans = spans_of(texts, self.prefix)

    def cells(self, lo, hi):
        """Return rows lo to hi."""
        codes = self.values[lo:hi]
        missing = codes < 0
        if not missing.any():
            return Cells(self.spans, codes)
        return Cells(self.spans, np.where(missing, 0, codes), None, missing)


class ArrowTextColumn(Column):
    """Text in an Arrow ChunkedArray of type (large_)string or (large_)binary."""

    def cells(self, lo, hi):
        """Return rows lo to hi; they are copied only where they lie in several chunks."""
        part = self.values.slice(lo, hi - lo)
        part = part.chunk(0) if part.num_chunks == 1 else part.combine_chunks()
        n, (_, offsets, text) = len(part), part.buffers()
        wide = str(part.type).startswith("large")
        offsets = np.frombuffer(offsets, np.int64 if wide else np.int32)
        offsets = offsets[part.offset : part.offset + n + 1].astype(np.int64)
        text = NO_BYTES if text is None else np.frombuffer(text, np.uint8)
        if offsets[0] < 0 or offsets[-1] > len(text) or (offsets[1:] < offsets[:-1]).any():
            raise ValueError(f"The offsets of the Arrow column {self.name!r} are corrupt.")
        spans = Spans(text, offsets[:-1], offsets[1:], self.prefix)
        if not part.null_count:
            return Cells(spans)
        return Cells(spans, None, None, part.is_null().to_numpy(zero_copy_only=False))


def arrow_column(name, values):
    """Return the column of an Arrow ChunkedArray."""
    kind = str(values.type)
    if kind in ("string_view", "binary_view"):
        values = values.cast(f"large_{kind.removesuffix('_view')}")
        kind = str(values.type)
    if kind in ("string", "large_string", "binary", "large_binary"):
        return ArrowTextColumn(name, values)
    if kind.startswith("dictionary"):
        values = values.unify_dictionaries()
        categories = values.chunk(0).dictionary.to_pylist() if values.num_chunks else []
        codes = [part.indices.cast("int64").fill_null(-1).to_numpy() for part in values.chunks]
        return CategoryColumn(name, np.concatenate([np.empty(0, np.int64), *codes]), categories)
    if kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal", "bool")):
        return NumberColumn(name, values)
    return ObjectColumn(name, values)
