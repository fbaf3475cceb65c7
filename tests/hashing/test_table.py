"""Tables give the matrix of their records, whatever holds them."""

import datetime
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher as Peer

from skembed import FeatureHasher
from skembed.hashing import _rows
from skembed.kernels.cpu._tokens import TokenKernels

pa = pytest.importorskip("pyarrow")

N = 700


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "city": r.choice(["Bonn", "Kyoto", "東京", "", "a=b", "x\0y"], N),
            "stops": r.integers(-2, 5, N),
            "miles": r.normal(size=N),
            "late": r.choice([True, False], N),
            "id": r.integers(0, 300, N).astype(str),
        }
    )


@pytest.fixture(params=[1, 3])
def small_parts(request, monkeypatch):
    """Read few rows at a time, on one thread and on several."""
    monkeypatch.setattr(_rows, "AT_A_TIME", 500)
    return request.param


def objects(frame):
    return frame.astype({"city": object, "id": object})


def categories(frame):
    return frame.astype({"city": "category", "id": "category"})


def arrow(frame):
    return pa.Table.from_pandas(frame)


def arrow_chunks(frame):
    return pa.concat_tables([arrow(frame[:100]), arrow(frame[100:450]), arrow(frame[450:])])


def sliced_arrow(frame):
    return pa.concat_tables([arrow(frame[:9]), arrow(frame)]).combine_chunks().slice(9)


CONTAINERS = {
    "pandas": lambda f: f,
    "pandas, index": lambda f: f.set_index(np.linspace(5, 0, N)),
    "pandas, object": objects,
    "pandas, all object": lambda f: f.astype(object),
    "pandas, category": categories,
    "pandas, nullable": lambda f: f.convert_dtypes(),
    "pandas, python strings": lambda f: f.astype({"city": "string[python]", "late": "boolean"}),
    "pandas, arrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, sparse": lambda f: f.astype({"stops": pd.SparseDtype("int64", 0)}),
    "pandas, float32": lambda f: f.astype({"stops": np.float32, "late": np.int8}),
    "polars": pl.from_pandas,
    "polars, category": lambda f: pl.from_pandas(f).with_columns(
        pl.col("city", "id").cast(pl.Categorical)
    ),
    "arrow": arrow,
    "arrow, chunks": arrow_chunks,
    "arrow, slice": sliced_arrow,
    "arrow, batch": lambda f: arrow(f).to_batches()[0],
    "arrow, dictionary": lambda f: arrow(categories(f)),
    "arrow, views": lambda f: arrow(f).set_column(
        0, "city", pa.array(f["city"].tolist(), pa.string_view())
    ),
    "arrow, string": lambda f: arrow(f).set_column(
        0, "city", pa.array(f["city"].tolist(), pa.string())
    ),
}


def assert_equal(got, want):
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(got, part), getattr(want, part))
    assert got.shape == want.shape


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=list(CONTAINERS))
def test_matrix_of_the_records(frame, make, small_parts):
    X, records = make(frame), frame.to_dict("records")
    if "float32" in str(getattr(X, "dtypes", "")):
        records = X.to_dict("records")
    want = Peer().transform(records)
    want.eliminate_zeros()
    assert_equal(FeatureHasher(input_type="table", n_jobs=small_parts).transform(X), want)


def test_polars_without_pyarrow(frame, monkeypatch):
    want = FeatureHasher(input_type="table").transform(frame)
    X = pl.from_pandas(frame)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_equal(FeatureHasher(input_type="table").transform(X), want)


def test_arrays():
    text = np.array([["a", "grün"], ["", "b"]] * 40)
    want = Peer().transform([dict(zip(("x0", "x1"), row, strict=True)) for row in text.tolist()])
    for X in (text, text.astype(object), text.tolist(), text.astype(">U4"), text[::-1][::-1]):
        assert_equal(FeatureHasher(input_type="table").transform(X), want)
    ascii_text = np.where(text == "grün", "green", text)
    want = FeatureHasher(input_type="table").transform(ascii_text.astype(object))
    for X in (ascii_text, ascii_text.astype("S9"), np.asfortranarray(ascii_text)):
        assert_equal(FeatureHasher(input_type="table").transform(X), want)
    if hasattr(np.dtypes, "StringDType"):
        X = ascii_text.astype(np.dtypes.StringDType())
        assert_equal(FeatureHasher(input_type="table").transform(X), want)
    numbers = np.array([[1.5, 0], [2, -3]])
    want = Peer().transform([{"x0": 1.5, "x1": 0.0}, {"x0": 2.0, "x1": -3.0}])
    for dtype in (np.float64, np.float32):
        X = FeatureHasher(input_type="table").transform(numbers.astype(dtype))
        assert_equal(X, want)


def hash_one(value, dtype=object, **params):
    """Return {column: value} of a table of one cell."""
    column = pd.Series([value], dtype=dtype, name="c")
    X = FeatureHasher(input_type="table", **params).transform(column.to_frame())
    return dict(zip(X.indices.tolist(), X.data.tolist(), strict=True))


def test_numbers_weigh_and_text_is_a_category():
    one = hash_one(1)
    assert list(one) == list(hash_one(2.5))
    for value, dtype in [(1.0, object), (True, object), (np.int8(1), object), (1, np.int8),
                         (1, np.float32), (True, bool), (1, "Int64"), (1, "category")]:  # fmt: skip
        assert (hash_one(value, dtype) == one) == (dtype != "category")
    assert hash_one("1") not in (one, hash_one("1.0"))
    assert hash_one(0) == {}


def test_categories_of_numbers_are_text():
    assert hash_one(1, "category") == hash_one(1.0, "category") == hash_one("1")
    assert hash_one(True, "category") == hash_one("True")
    assert hash_one(0.5, "category") == hash_one("0.5")
    assert hash_one(np.float32(0.1), "category") == hash_one("0.1")
    with_gap = pd.Series([1, None, 2]).astype("category").to_frame("c")
    X = FeatureHasher(input_type="table").transform(with_gap)
    want = pd.Series(["1", None, "2"], dtype=object).to_frame("c")
    assert_equal(X, FeatureHasher(input_type="table").transform(want))
    cut = pd.cut(pd.Series([1.0, 5.0]), [0, 2, 9]).to_frame("c")
    want = pd.DataFrame({"c": ["(0, 2]", "(2, 9]"]})
    table = FeatureHasher(input_type="table")
    assert_equal(table.transform(cut), table.transform(want))


def test_dates_are_text_in_iso_format():
    day = datetime.datetime(2013, 1, 31)
    want = hash_one("2013-01-31T00:00:00")
    for value, dtype in [(day, object), (pd.Timestamp(day), object), (day, "datetime64[ns]"),
                         (day, "datetime64[s]"), (np.datetime64(day), object),
                         (day, pd.ArrowDtype(pa.timestamp("us")))]:  # fmt: skip
        assert hash_one(value, dtype) == want
    table = FeatureHasher(input_type="table")
    frames = (pl.DataFrame({"c": [day]}), pa.table({"c": [day]}))
    for X in frames:
        assert table.transform(X).indices.tolist() == list(want)
    array = np.array([["2013-01-31"]], "datetime64[D]")
    names = table.set_params(store_names=True).fit(array).get_feature_names_out()
    assert "x0=2013-01-31T00:00:00" in names
    assert hash_one(datetime.date(2013, 1, 31)) == hash_one("2013-01-31")


MISSING = {
    "object": [None, np.nan, pd.NA, pd.NaT, float("nan")],
    "float64": [np.nan],
    "Int64": [pd.NA],
    "str": [None],
    "string[python]": [pd.NA],
    "category": [None],
    "datetime64[ns]": [pd.NaT],
    "boolean": [pd.NA],
}


@pytest.mark.parametrize("dtype", MISSING)
def test_missing_values_are_one_token_or_none(dtype):
    (expected,) = {tuple(hash_one(x).items()) for x in MISSING["object"]}
    for value in MISSING[dtype]:
        assert tuple(hash_one(value, dtype).items()) == expected
        assert hash_one(value, dtype, on_missing="skip") == {}
    texts = ["nan", "None", "", "<missing>", "\udcff".encode("utf-8", "replace").decode()]
    assert all(dict(expected) != hash_one(text) for text in texts)


def test_missing_values_among_others(small_parts):
    values = {"a": ["x", None, "y", ""] * 200, "b": [1.5, 2.0, None, 0.0] * 200}
    table, pandas = pa.table(values), pd.DataFrame(values)
    shapes = (table, pandas, pandas.astype({"a": object}), pl.DataFrame(values))
    shapes += (pandas.astype({"a": "category"}), pandas.convert_dtypes())
    for on_missing, n in (("token", 7), ("skip", 5)):
        hasher = FeatureHasher(input_type="table", on_missing=on_missing, n_jobs=small_parts)
        first = hasher.transform(table)
        assert np.diff(first.indptr).sum() == n * 200
        for X in shapes:
            assert_equal(hasher.transform(X), first)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.text(max_size=9), st.none() | st.text(max_size=3)), min_size=1),
    st.sampled_from([0, 7]),
)
def test_any_text(rows, seed):
    try:
        "".join(a + (b or "") for a, b in rows).encode()
    except UnicodeEncodeError:
        with pytest.raises(ValueError, match="no text"):
            FeatureHasher(input_type="table").transform(pd.DataFrame(rows, dtype=object))
        return
    hasher = FeatureHasher(input_type="table", seed=seed, on_missing="skip")
    records = [
        {k: v for k, v in zip(("a", "b"), row, strict=True) if v is not None} for row in rows
    ]
    want = FeatureHasher(seed=seed).transform(records)
    columns = dict(zip(("a", "b"), map(list, zip(*rows, strict=True)), strict=True))
    assert_equal(hasher.transform(pd.DataFrame(columns, dtype=object)), want)
    schema = pa.schema({"a": pa.string(), "b": pa.string()})
    assert_equal(hasher.transform(pa.table(columns, schema=schema)), want)


def test_arrow_text_is_not_copied(monkeypatch):
    table, seen = pa.table({"a": ["x", "yy", "zzz"]}), []
    plain = TokenKernels.hash_spans

    def spy(self, columns, seed):
        seen.extend(spans.buffer for spans in columns)
        return plain(self, columns, seed)

    monkeypatch.setattr(TokenKernels, "hash_spans", spy)
    FeatureHasher(input_type="table").transform(table)
    text = np.frombuffer(table["a"].chunk(0).buffers()[2], np.uint8)
    assert any(np.shares_memory(buffer, text) for buffer in seen)


def test_memory_is_that_of_the_output():
    codes = np.random.default_rng(0).integers(0, 5000, (150_000, 26)).astype("S4")
    hasher = FeatureHasher(input_type="table")
    hasher.transform(codes[:10])
    tracemalloc.start()
    X = hasher.transform(codes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.3 * sum(part.nbytes for part in (X.data, X.indices, X.indptr))


BAD = {
    "1-D": (np.array(["a", "b"], object), ValueError, "Expected 2D array, got 1D"),
    "list of text": (["a", "b"], ValueError, "Expected 2D array"),
    "no rows": (np.empty((0, 2), object), ValueError, r"0 sample\(s\)"),
    "no columns": (pd.DataFrame(index=[0, 1]), ValueError, r"0 feature\(s\)"),
    "complex": (np.ones((2, 2), complex), ValueError, "Complex data not supported"),
    "infinite": (np.array([[0.0], [np.inf]]), ValueError, "'x0' holds inf in row 1"),
    "infinite object": (np.array([["a"], [-np.inf]], object), ValueError, "holds -inf in row 1"),
    "list in a cell": (pd.DataFrame({"c": ["a", [1]]}), TypeError, r"'c' holds \[1\] .* row 1"),
    "span of time": (pd.DataFrame({"c": pd.to_timedelta([1, 2])}), TypeError, "Timedelta"),
    "half a pair": (pd.DataFrame({"c": ["a", "\ud800"]}, dtype=object), ValueError, "row 1"),
    "equal names": (pd.DataFrame([["a", "b"]], columns=["c", "c"]), ValueError, "2 columns"),
    "mixed names": (pd.DataFrame([["a", "b"]], columns=["c", 1]), TypeError, "must be strings"),
    "bytes of nothing": (np.zeros((2, 2), "V3"), TypeError, "has no tokens"),
}


@pytest.mark.parametrize(("X", "error", "message"), BAD.values(), ids=list(BAD))
def test_bad_tables(X, error, message):
    with pytest.raises(error, match=message):
        FeatureHasher(input_type="table").fit_transform(X)


def test_corrupt_offsets_are_refused():
    offsets = pa.py_buffer(np.array([0, 3, 1, 3], np.int32).tobytes())
    array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(ValueError, match="corrupt"):
        FeatureHasher(input_type="table").transform(pa.table({"c": array}))


@pytest.mark.parametrize("input_type", ["dict", "pair", "string"])
@pytest.mark.parametrize("make", [lambda f: f, arrow, pl.from_pandas], ids=["pd", "pa", "pl"])
def test_a_table_where_records_are_expected(frame, input_type, make):
    with pytest.raises(ValueError, match='set input_type="table"'):
        FeatureHasher(input_type=input_type).fit_transform(make(frame))
