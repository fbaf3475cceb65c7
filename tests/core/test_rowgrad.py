"""SparseRowGradient."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.core import SparseRowGradient

SHAPE = (6, 2)
OCCURRENCES = st.lists(
    st.tuples(st.integers(0, 5), st.floats(-9, 9), st.floats(-9, 9)), max_size=12
)


def gradient(occurrences):
    ids = np.array([o[0] for o in occurrences], dtype=np.int64)
    values = np.array([o[1:] for o in occurrences]).reshape(-1, 2)
    return SparseRowGradient.from_occurrences(ids, values, SHAPE)


def dense(occurrences):
    out = np.zeros(SHAPE)
    for row, *value in occurrences:
        out[row] += value
    return out


@given(OCCURRENCES)
def test_repeated_rows_are_summed(occurrences):
    g = gradient(occurrences)
    ids = [o[0] for o in occurrences]
    assert g.indices.tolist() == sorted(set(ids))
    assert g.counts.tolist() == [ids.count(i) for i in sorted(set(ids))]
    np.testing.assert_allclose(g.to_csr().toarray(), dense(occurrences), atol=1e-12)
    assert g.to_csr().shape == SHAPE


@given(OCCURRENCES, OCCURRENCES)
def test_addition_norm_and_scale(a, b):
    total = gradient(a).add(gradient(b))
    assert (np.diff(total.indices) > 0).all()
    np.testing.assert_allclose(total.to_csr().toarray(), dense(a) + dense(b), atol=1e-12)
    assert total.counts.sum() == len(a) + len(b)
    np.testing.assert_allclose(total.norm(), np.linalg.norm(dense(a) + dense(b)), atol=1e-12)
    np.testing.assert_allclose(total.scale(-0.5).values, -0.5 * total.values)


def test_the_dtype_is_kept_and_the_norm_is_summed_in_float64():
    g = SparseRowGradient.from_occurrences([1, 1], np.full((2, 2), 1e30, np.float32), SHAPE)
    assert g.values.dtype == g.scale(0.5).values.dtype == np.float32
    assert np.isclose(g.norm(), np.sqrt(2) * 2e30)


def test_wrong_input_is_refused():
    one = np.ones((1, 2))
    for ids in ([6], [-1]):
        with pytest.raises(ValueError, match=r"must lie in \[0, 6\)"):
            SparseRowGradient.from_occurrences(ids, one, SHAPE)
    with pytest.raises(ValueError, match="integers"):
        SparseRowGradient.from_occurrences([0.5], one, SHAPE)
    with pytest.raises(ValueError, match="shape"):
        SparseRowGradient.from_occurrences([0, 1], one, SHAPE)
    other = SparseRowGradient.from_occurrences([0], one, (7, 2))
    with pytest.raises(ValueError, match="shapes"):
        gradient([]).add(other)
