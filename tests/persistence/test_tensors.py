"""Arrays and texts in the safetensors format."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skembed.persistence import Malformed, TensorFile, write_tensors

DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
ARRAYS = {
    "rows": np.arange(12, dtype=np.float32).reshape(3, 4),
    "one": np.array(7, dtype=np.int64),
    "none": np.empty((0, 3), np.float64),
    "flags": np.array([True, False, True]),
}


def written(arrays, texts=()):
    file = io.BytesIO()
    write_tensors(file, arrays, dict(texts))
    return file.getvalue()


def opened(tmp_path, raw):
    path = tmp_path / "file"
    path.write_bytes(raw)
    return open(path, "rb")


def test_round_trip(tmp_path):
    texts = {"format": "ours", "more": 'quotes " and ünicode'}
    with opened(tmp_path, written(ARRAYS, texts)) as file:
        tensors = TensorFile(file, signed=True)
        assert texts.items() <= tensors.texts.items()
        assert set(tensors.places) == set(ARRAYS)
        for name, array in ARRAYS.items():
            found = tensors.array(name)
            assert found.dtype == array.dtype and np.array_equal(found, array)
            assert found.flags.writeable and found.flags.c_contiguous
        with pytest.raises(Malformed, match="no array 'other'"):
            tensors.array("other")


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    )
)
def test_any_array(tmp_path_factory, array):
    with opened(tmp_path_factory.mktemp("any"), written({"a": array, "b": array[..., None]})) as f:
        found = TensorFile(f).array("a")
    assert found.dtype == array.dtype and found.tobytes() == array.tobytes()


def test_views_and_other_byte_orders(tmp_path):
    big = np.arange(24, dtype=">f8").reshape(4, 6)
    views = {"columns": big[:, ::2], "turned": big.T, "back": big[::-1]}
    with opened(tmp_path, written(views)) as file:
        tensors = TensorFile(file)
        for name, view in views.items():
            assert np.array_equal(tensors.array(name), view)
            assert tensors.array(name).dtype == np.float64


def test_large_arrays_are_copied_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("skembed.persistence._tensors.PIECE", 64)
    rows = np.random.default_rng(0).normal(size=(50, 7))[:, :5]
    with opened(tmp_path, written({"rows": rows})) as file:
        assert np.array_equal(TensorFile(file).array("rows"), rows)


def test_the_library_of_the_format_reads_it_and_writes_for_it(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load(written(ARRAYS))
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)
    with opened(tmp_path, safetensors.save(ARRAYS, {"by": "the library"})) as file:
        tensors = TensorFile(file)
        assert tensors.texts == {"by": "the library"}
        for name, array in ARRAYS.items():
            assert np.array_equal(tensors.array(name), array)


def unsigned(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(begin, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


MALFORMED = {
    "nothing": (b"", "ends before"),
    "too short": (b"\x01\0\0", "ends before"),
    "header beyond the end": ((1 << 40).to_bytes(8, "little") + b"{}", "ends before"),
    "no JSON": (unsigned(b"{'a': 1}"), "property name"),
    "no text": (unsigned(b"\xff\xff"), "utf-8"),
    "no object": (unsigned([1]), "not that of a safetensors file"),
    "nested": (unsigned(b"[" * 200_000), "nested too deeply"),
    "a name twice": (unsigned(b'{"a":1,"a":1}'), "names something twice"),
    "NaN": (unsigned(b'{"a":NaN}'), "holds NaN"),
    "texts of numbers": (unsigned({"__metadata__": {"a": 1}}), "no valid texts"),
    "an entry of another form": (unsigned({"a": [1]}), "does not describe"),
    "unknown dtype": (unsigned({"a": entry(0, 4, [1], "C64")}, bytes(4)), "unknown dtype"),
    "negative size": (unsigned({"a": entry(0, 4, [-1])}, bytes(4)), "no valid shape"),
    "true for a size": (unsigned({"a": entry(0, 4, [True])}, bytes(4)), "no valid shape"),
    "negative offset": (unsigned({"a": entry(-4, 0, [1])}, bytes(4)), "no valid offsets"),
    "three offsets": (
        unsigned({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 4]}}, bytes(4)),
        "no valid offsets",
    ),
    "backwards": (unsigned({"a": entry(4, 0, [1])}, bytes(4)), "beyond the end"),
    "beyond the end": (unsigned({"a": entry(0, 8, [2])}, bytes(4)), "beyond the end"),
    "overflowing shape": (unsigned({"a": entry(0, 4, [2**40, 2**40])}, bytes(4)), "shape of the"),
    "another shape": (unsigned({"a": entry(0, 8, [3])}, bytes(8)), "shape of the array"),
    "overlap": (unsigned({"a": entry(0, 8, [2]), "b": entry(4, 8, [1])}, bytes(8)), "overlap"),
    "a hole": (unsigned({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, bytes(12)), "between"),
    "bytes behind": (unsigned({"a": entry(0, 4, [1])}, bytes(8)), "longer than its arrays"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed(tmp_path, case):
    raw, message = MALFORMED[case]
    with opened(tmp_path, raw) as file, pytest.raises(ValueError, match=message):
        TensorFile(file)


def test_oversized_header(tmp_path, monkeypatch):
    monkeypatch.setattr("skembed.persistence._tensors.MOST_HEADER", 100)
    with opened(tmp_path, unsigned(b"{}" + b" " * 200)) as file:
        with pytest.raises(Malformed, match="more than 100"):
            TensorFile(file)
    with pytest.raises(ValueError, match="Pass long lists as arrays"):
        written({}, {"long": "x" * 200})


def test_file_that_is_cut_off_while_it_is_read(tmp_path):
    with opened(tmp_path, written({"a": np.zeros(10_000)})) as file:
        tensors = TensorFile(file)
        os_file = open(tmp_path / "file", "r+b")
        with os_file:
            os_file.truncate(1_000)
        with pytest.raises(Malformed, match="cut off"):
            tensors.array("a")


@pytest.mark.parametrize("bit", [1, 64])
def test_every_byte_counts(tmp_path, bit):
    raw = written({"a": np.arange(5.0)}, {"b": "c"})
    for i in range(len(raw)):
        changed = bytearray(raw)
        changed[i] ^= bit
        with opened(tmp_path, bytes(changed)) as file, pytest.raises(ValueError):
            TensorFile(file, signed=True)
