"""Gradient transforms."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skembed.core import SparseRowGradient
from skembed.solvers import SGD
from skembed.training import clip_by_norm, transforms_of


def grads(values):
    values = np.array(values, float).reshape(-1, 2)
    table = SparseRowGradient.from_occurrences(np.arange(len(values)), values, (99, 2))
    return {"table": table, "coef": np.array([[3.0, 4.0]])}


def total(g):
    return np.hypot(g["table"].norm(), np.linalg.norm(g["coef"]))


@given(
    st.lists(st.floats(-9, 9), max_size=10).filter(lambda v: len(v) % 2 == 0), st.floats(0.1, 40)
)
def test_the_common_norm_is_bounded_and_the_direction_kept(values, bound):
    before = grads(values)
    after = clip_by_norm(before, bound)
    assert total(after) <= bound * (1 + 1e-12)
    factor = min(1, bound / total(before))
    np.testing.assert_allclose(after["table"].values, before["table"].values * factor)
    np.testing.assert_allclose(after["coef"], before["coef"] * factor)
    assert np.array_equal(after["table"].indices, before["table"].indices)


def test_within_the_bound_every_bit_is_kept():
    before = grads([1, 2])
    assert clip_by_norm(before, total(before)) is before


def test_a_gradient_of_zero_stays_zero():
    zero = {"table": grads([])["table"], "coef": np.zeros((1, 2))}
    assert not clip_by_norm(zero, 1.0)["coef"].any()


def test_only_what_a_solver_asks_for():
    assert transforms_of(SGD()) == ()
    (clip,) = transforms_of(SGD(clip_norm=1.0))
    assert np.isclose(total(clip(grads([9, 9]))), 1)
