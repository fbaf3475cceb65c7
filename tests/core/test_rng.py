"""Streams and hashed values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skembed.core import hashed_uniform, stream


def test_streams_are_keyed_by_everything():
    keys = [(0, 1, 0), (1, 1, 0), (0, 2, 0), (0, 1, 1)]
    draws = {tuple(stream(*key).integers(1 << 30, size=4)) for key in keys}
    assert len(draws) == len(keys)
    assert np.array_equal(stream(5, 1, 3).random(3), stream(5, 1, 3).random(3))


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**40), min_size=1, max_size=20))
def test_a_row_does_not_depend_on_its_company(seed, columns):
    together = hashed_uniform(seed, np.array(columns), 7)
    alone = [hashed_uniform(seed, np.array([c]), 7)[0] for c in columns]
    assert np.array_equal(together, alone)
    assert np.array_equal(together[:, :3], hashed_uniform(seed, np.array(columns), 3))
    assert ((together >= 0) & (together < 1)).all()


def test_values_look_uniform_and_independent():
    u = hashed_uniform(0, np.arange(20_000), 8)
    assert abs(u.mean() - 0.5) < 0.003
    assert abs(u.var() - 1 / 12) < 0.001
    correlation = np.corrcoef(u, rowvar=False) - np.eye(8)
    assert np.abs(correlation).max() < 0.03
    assert np.abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < 0.03  # neighbouring columns
    assert np.abs(np.corrcoef(u[:, 0], hashed_uniform(1, np.arange(20_000), 1)[:, 0])[0, 1]) < 0.03
