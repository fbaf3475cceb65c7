"""Plain values as JSON and arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.persistence import Decoder, Encoder, Malformed


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def fields_of(obj):
    return ("Point", vars(obj)) if isinstance(obj, Point) else None


def there_and_back(value):
    encoder = Encoder(fields_of)
    text = encoder.json(value, "it")
    return Decoder(encoder.arrays.__getitem__, lambda name, fields: Point(**fields)).value(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_round_trip(value):
    found = there_and_back(value)
    assert found == value and repr(found) == repr(value)


def test_floats_that_json_does_not_have():
    assert there_and_back([math.inf, -math.inf]) == [math.inf, -math.inf]
    assert math.isnan(there_and_back(math.nan))


def test_scalars_of_numpy_become_those_of_python():
    found = there_and_back([np.int32(3), np.float64(0.5), np.True_, np.str_("a")])
    assert found == [3, 0.5, True, "a"]
    assert [type(v) for v in found] == [int, float, bool, str]


@pytest.mark.parametrize("value", [np.float32, np.dtype("int16"), float, int, bool])
def test_dtypes(value):
    assert there_and_back(value) is value


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array([1, 300], np.int64),
    np.array([-129, 5], np.int32),
    np.array([-128, 127], np.int64),
    np.array([2**63], np.uint64),
    np.empty((0, 2), np.int64),
    np.array(["a", "", "ünï\ud800"]),
    np.array(["a", "much longer"])[:1],
    np.array(["ab", "c" * 50], object).reshape(2, 1),
    np.array(["a", 1, None, 2.5], object),
    np.array([], str),
    np.array([], object),
    np.array(3.5),
]


@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays(array):
    found = there_and_back({"a": array})["a"]
    assert found.shape == array.shape and found.dtype == array.dtype
    assert found.tolist() == array.tolist()


def test_integers_take_few_bytes():
    encoder = Encoder(fields_of)
    encoder.json({"a": np.array([0, 255]), "b": np.array([-1, 255]), "c": np.array([-128])}, "it")
    assert [a.dtype.name for a in encoder.arrays.values()] == ["uint8", "int16", "int8"]


def test_objects():
    found = there_and_back([Point(1, Point(np.arange(3), "b"))])[0]
    assert (found.x, found.y.y) == (1, "b") and found.y.x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"f": len}, r"it\.f is a function"),
        ([1, {2: (print,)}], r"it\[1\]\.2\[0\] is a function"),
        (Point(1, {3}), r"it\.y is of the class set"),
        (np.array([1j]), "it has dtype complex128"),
        (np.array([{1}], object), r"it\[0\] is of the class set"),
        (Point, "it is a function"),
    ],
)
def test_what_files_do_not_hold(value, message):
    with pytest.raises(TypeError, match=message):
        Encoder(fields_of).json(value, "it")


@pytest.mark.parametrize(
    "text",
    [
        '{"eval": "1"}',
        '{"value": "1"}',
        '{"float": "1", "tuple": []}',
        "{}",
        '{"float": "two"}',
        '{"array": "none"}',
        '{"dtype": "no such"}',
        '{"tuple": 3}',
        '{"dict": [[[1], 2]]}',
        '{"integers": ["a", "float64"]}',
        '{"integers": ["a", "int8"]}',
        '{"objects": [[1, 2], [3]]}',
        '{"strings": ["t", [2], "U1"]}',
        '{"strings": ["t", [1], "U-1"]}',
        '{"strings": ["t", [1], "f8"]}',
        '{"strings": ["t", [1], "S"]}',
        "NaN",
        "[1",
    ],
)
def test_what_no_encoder_writes(text):
    arrays = {
        "a": np.array([1, 2], np.int16),
        "t.text": np.array([97], np.uint8),
        "t.ends": np.array([1], np.int64),
    }
    with pytest.raises((ValueError, TypeError, KeyError)):
        Decoder(arrays.__getitem__, None).value(text)


def test_texts_that_would_take_much_more_memory_than_the_file():
    n = 100_000
    arrays = {"t.text": np.full(n, 97, np.uint8), "t.ends": np.full(n, n)}
    with pytest.raises(Malformed, match="much more memory"):
        Decoder(arrays.__getitem__, None).value(f'{{"strings": ["t", [{n}], "U{n}"]}}')
