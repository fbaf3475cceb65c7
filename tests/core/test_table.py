"""RowArray and ParamTable."""

import copy
import pickle

import numpy as np
import pytest

from skembed.core import ParamTable, RowArray, padded_width


@pytest.mark.parametrize("dtype, lanes", [(np.float32, 16), (np.float64, 8)])
def test_rows_start_on_cache_lines(dtype, lanes):
    assert [padded_width(d, dtype) for d in (1, lanes, lanes + 1)] == [lanes, lanes, 2 * lanes]
    for d in (1, 5, lanes, 40):
        array = RowArray(3, d, dtype)
        assert array.values.ctypes.data % 64 == 0
        assert array.values.strides[0] % 64 == 0
        assert not array.values.any()


def test_insertion_moves_the_tail_and_keeps_every_bit():
    array = RowArray(0, 3, np.float64)
    array.insert(0, 4)
    array.values[:, :3] = np.arange(12).reshape(4, 3)
    before = array.values.copy()
    for at, n in ((2, 1), (0, 3), (8, 5), (4, 100)):
        array.insert(at, n)
        assert not array.values[at : at + n].any()
        before = np.insert(before, at, np.zeros((n, before.shape[1])), axis=0)
        assert array.values.tobytes() == before.tobytes()


def test_growth_does_not_copy_every_time():
    array = RowArray(10, 3, np.float64)
    buffers = set()
    for _ in range(100):
        array.insert(array.n_rows, 1)
        buffers.add(id(array._buffer))
    assert len(buffers) <= 8


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, RowArray.copy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_copies_are_compact_independent_and_writable(duplicate):
    array = RowArray(5, 3, np.float32)
    array.values[:, :3] = 7
    array.insert(5, 1)
    other = duplicate(array)
    assert np.array_equal(other.values, array.values)
    assert other.values.ctypes.data % 64 == 0
    assert len(other._buffer) == 6
    other.values[0, 0] = 1
    assert array.values[0, 0] == 7
    assert len(pickle.dumps(array)) < 6 * 3 * 4 + 400


def test_one_number_a_row_is_not_padded():
    assert RowArray(4, 1, np.float32, padded=False).values.shape == (4, 1)


def test_a_table_that_cannot_fit_says_how_large_it_is():
    with pytest.raises(MemoryError, match=r"2147483648 rows and 1048576 components needs \d+"):
        RowArray(2**31, 2**20, np.float64)


def test_param_table_keeps_its_border_when_copied():
    table = ParamTable(2, np.float64)
    table.insert(0, 3)
    table.n_trainable = 2
    again = pickle.loads(pickle.dumps(table))
    assert (again.n_trainable, again.shape) == (2, (3, 2))
