"""FeatureIndex."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.core import FeatureIndex


def observe(index, columns, counts=None, **options):
    counts = np.ones(len(columns), int) if counts is None else np.array(counts)
    return index.observe(np.array(columns, dtype=int), counts, **options)


def rows(index):
    return dict(zip(index.columns.tolist(), index.rows.tolist(), strict=True))


def test_rows_follow_the_columns_that_occur():
    index = observe(FeatureIndex(100), [3, 8, 90])
    assert rows(index) == {3: 0, 8: 1, 90: 2}
    assert (index.n_rows, index.n_trainable) == (3, 3)
    assert index.row_columns().tolist() == [3, 8, 90]
    assert index.direct[[3, 8, 90]].tolist() == [0, 1, 2]
    assert (index.direct >= 0).sum() == 3


def test_features_that_occur_often_come_first():
    index = observe(FeatureIndex(10), [0, 2, 4, 6, 8], [3, 90, 2, 1, 120])
    assert rows(index) == {0: 2, 2: 0, 4: 3, 6: 4, 8: 1}
    index = observe(index, [1, 3, 6], [1, 64, 5000])
    assert rows(index) == {0: 2, 1: 6, 2: 0, 3: 5, 4: 3, 6: 4, 8: 1}, "old rows keep their place"


def test_padding_has_no_row_and_rare_features_wait_for_theirs():
    options = dict(min_count=3, padding=np.array([5]))
    index = observe(FeatureIndex(10), [2, 5, 7], [3, 9, 2], **options)
    assert rows(index) == {2: 0, 5: -1, 7: -1}
    index = observe(index, [7], [1], **options)
    assert rows(index) == {2: 0, 5: -1, 7: 1}
    assert index.counts.tolist() == [3, 9, 3]


def test_frozen_rows_come_last_and_move_up_when_trainable_ones_arrive():
    options = dict(frozen=np.array([1, 4]))
    index = observe(FeatureIndex(10), [1, 2], **options)
    assert rows(index) == {1: 1, 2: 0}
    assert (index.n_trainable, index.n_rows) == (1, 2)
    index = observe(index, [0, 4, 9], **options)
    assert rows(index) == {0: 1, 1: 3, 2: 0, 4: 4, 9: 2}
    assert (index.n_trainable, index.n_rows) == (3, 5)
    assert index.row_columns().tolist() == [2, 0, 9, 1, 4]


def test_all_frozen():
    index = observe(FeatureIndex(10), [1, 2], frozen="all")
    assert (index.n_trainable, index.n_rows) == (0, 2)


def test_an_index_is_a_value():
    first = observe(FeatureIndex(10), [4])
    second = observe(first, [2, 4], [5, 5])
    assert rows(first) == {4: 0}
    assert first.counts.tolist() == [1]
    assert rows(second) == {2: 1, 4: 0}
    assert second.without_counts().counts.tolist() == [0, 0]
    assert rows(second.without_counts()) == rows(second)


@pytest.mark.parametrize("n_features", [50, 2**31 - 1, 2**40])
def test_memory_follows_the_features_that_occur(n_features):
    index = observe(FeatureIndex(n_features), [7, 49])
    assert len(pickle.dumps(index)) < 2000
    assert (index.direct is None) == (n_features > 50)
    again = pickle.loads(pickle.dumps(index))
    assert rows(again) == rows(index)
    assert again.n_features == n_features
    assert (again.direct is None) == (index.direct is None)


@given(
    st.lists(st.lists(st.integers(0, 30), unique=True), min_size=1, max_size=5), st.integers(1, 3)
)
def test_many_calls_give_the_features_of_one(calls, min_count):
    index = FeatureIndex(31)
    for columns in calls:
        index = observe(index, sorted(columns), min_count=min_count, frozen=np.array([3, 5]))
    total = np.bincount([c for columns in calls for c in columns], minlength=31)
    active = np.flatnonzero(total >= min_count)
    have = index.columns[index.rows >= 0]
    assert have.tolist() == active.tolist()
    assert sorted(index.rows[index.rows >= 0].tolist()) == list(range(len(active)))
    assert index.n_rows - index.n_trainable == np.isin(active, [3, 5]).sum()
    assert index.counts.tolist() == total[index.columns].tolist()
