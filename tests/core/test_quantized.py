"""Tables in whole numbers."""

import numpy as np
import pytest

from skembed.core import ParamTable, QuantizedTable

every_width = pytest.mark.parametrize("bits", [8, 16])


def some_table(n=40, d=5, n_linear=2, dtype=np.float32, seed=0):
    table = ParamTable(d, dtype, n_linear)
    table.insert(0, n)
    r = np.random.default_rng(seed)
    table.values[:, :d] = r.normal(size=(n, d)) * 10.0 ** r.integers(-6, 6, (n, 1))
    table.values[:, d : d + n_linear] = r.normal(size=(n, n_linear))
    table.values[3] = 0
    table.n_trainable = n - 2
    return table


@every_width
@pytest.mark.parametrize("n_linear", [0, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_number_is_off_by_more_than_half_a_unit_of_its_row(bits, n_linear, dtype):
    table = some_table(n_linear=n_linear, dtype=dtype)
    rounded = QuantizedTable.of(table, bits)
    assert (rounded.n_rows, rounded.d, rounded.d_embedding) == (40, table.d, 5)
    assert (rounded.bits, rounded.dtype, rounded.n_trainable) == (bits, dtype, 38)
    values = rounded.values
    assert values.dtype == dtype and values.shape == table.values.shape
    assert rounded.width == table.width
    most = 2 ** (bits - 1) - 1
    for part in (slice(0, 5), slice(5, table.d)):
        if part.start < part.stop:
            before, after = table.values[:, part], values[:, part]
            unit = np.abs(before).max(axis=1, keepdims=True) / most
            assert (np.abs(after - before) <= 0.51 * unit).all()
    assert not values[3].any() and not values[:, table.d :].any()


@every_width
def test_largest_numbers_and_signs(bits):
    table = some_table(n_linear=0)
    top = np.finfo(np.float32).max
    table.values[:2, :5] = [[top, -top, 0, 1, -1], [-1e-30, 5e-31, 0, 0, 0]]
    rounded = QuantizedTable.of(table, bits)
    most = 2 ** (bits - 1) - 1
    assert rounded.codes[0].tolist() == [most, -most, 0, 0, 0]
    assert rounded.codes[1, 0] == -most
    assert np.isfinite(rounded.values).all()
    again = QuantizedTable.of(rounded.table(np.arange(40)), bits)
    assert np.array_equal(again.codes, rounded.codes), "rounding twice changes nothing"


@pytest.mark.parametrize("n", [3, 200])
def test_part(n):
    rounded = QuantizedTable.of(some_table(), 8)
    indices = np.random.default_rng(1).integers(0, 40, n).astype(np.int32)
    table, places, rows = rounded.part(indices)
    assert places.dtype == np.int32 and set(rows) == set(indices)
    assert np.array_equal(rows[places], indices)
    assert np.array_equal(table.values, rounded.values[rows])
    table, places, rows = rounded.part(indices[:0])
    assert (table.n_rows, len(places), len(rows)) == (0, 0, 0)


def test_table_without_rows():
    rounded = QuantizedTable.of(ParamTable(4, np.float32), 8)
    assert rounded.values.shape == (0, 16) and rounded.nbytes == 0


def test_bytes():
    table = some_table(n=100, d=64, n_linear=0)
    assert QuantizedTable.of(table, 8).nbytes == 100 * (64 + 4)
    assert QuantizedTable.of(table, 16).nbytes == 100 * (128 + 4)
