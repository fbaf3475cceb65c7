"""Starting values of rows."""

import numpy as np
import pytest
from scipy import stats

from skembed.core import ParamTable
from skembed.kernels import get_backend
from skembed.models import ArrayStart, ComponentsStart, KnownStart, NormalStart, UniformStart


def rows(start, columns, d=4, dtype=np.float64):
    table = ParamTable(d, dtype)
    table.insert(0, len(columns) + 2)
    start.write(np.array(columns), table, 1, get_backend())
    assert not table.values[[0, -1]].any()
    assert not table.values[:, d:].any()
    return table.values[1:-1, :d]


@pytest.mark.parametrize("kind", [UniformStart, NormalStart])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_is_a_function_of_seed_and_column(kind, dtype):
    together = rows(kind(3), [9, 2**40, 5], dtype=dtype)
    assert np.array_equal(together[[2, 0]], rows(kind(3), [5, 9], dtype=dtype))
    assert not np.array_equal(together, rows(kind(4), [9, 2**40, 5], dtype=dtype))
    exact = rows(kind(3), [9, 2**40, 5])
    assert np.array_equal(together, exact.astype(dtype))


def test_distributions():
    d = 4
    u = rows(UniformStart(0), range(20_000), d).ravel()
    z = rows(NormalStart(0), range(70_000), d).ravel()[: 4 * 20_000]
    assert stats.kstest(u, "uniform", (-1 / d, 2 / d)).pvalue > 0.01
    assert stats.kstest(z * d * np.sqrt(3), "norm").pvalue > 0.01
    assert np.isclose(u.std(), z.std(), rtol=0.01)


def test_rows_of_an_array():
    array = np.arange(40.0).reshape(10, 4)
    assert np.array_equal(rows(ArrayStart(array), [7, 2]), array[[7, 2]])


def test_rows_of_a_factor_are_as_large_as_drawn_ones():
    array = np.random.default_rng(0).normal(0, 7, (500, 4))
    got = rows(ComponentsStart(array), range(500))
    np.testing.assert_allclose(got, array * (got[0, 0] / array[0, 0]))
    drawn = rows(UniformStart(0), range(20_000))
    assert np.isclose(np.sqrt((got**2).mean()), drawn.std(), rtol=0.01)
    assert not rows(ComponentsStart(np.zeros((10, 4))), range(10)).any()


def test_rows_of_known_features():
    columns, known = np.array([2, 5, 2**40]), np.arange(1.0, 13).reshape(3, 4)
    got = rows(KnownStart(columns, known), [2**40, 3, 2, 2**41])
    assert np.array_equal(got, [known[2], np.zeros(4), known[0], np.zeros(4)])
    assert not rows(KnownStart(columns[:0], known[:0]), [1, 2]).any()
