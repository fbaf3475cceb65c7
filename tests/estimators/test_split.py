"""Which rows are held out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.estimators._split import split_rows
from skembed.kernels import Backend

KEYS = np.random.default_rng(0).integers(0, 2**64, 40, np.uint64)
# (which of the keys, class, how often) of some rows
some_rows = st.lists(
    st.tuples(st.integers(0, 39), st.integers(0, 3), st.integers(1, 4)),
    min_size=2, max_size=60, unique_by=lambda row: row[:2],
)  # fmt: skip
fractions = st.floats(0.001, 0.4)
seeds = st.integers(0, 2**31 - 1)


def arrays_of(rows):
    which, classes, times = np.array(rows).T
    return KEYS[which], 3 * classes, times


def shares_hold(out, classes, fraction):
    """Check the number of items held out of each class."""
    sizes, held = (np.bincount(classes, a).astype(int) for a in (np.ones(len(out)), out))
    sizes, held = sizes[sizes > 0], held[sizes > 0]
    n = sizes.sum()
    n_out = min(int(np.ceil(fraction * n)), n - 1)
    whole = sizes * n_out // n
    assert (held >= np.minimum(whole, sizes - 1)).all()
    assert (held <= np.minimum(whole + 1, sizes - 1)).all(), "a row of each class is kept"
    if (whole + 1 < sizes).all():
        assert held.sum() == n_out


@given(some_rows, fractions, seeds, st.booleans())
@settings(max_examples=200)
def test_every_class_is_held_out_in_the_same_shares(rows, fraction, seed, with_classes):
    keys, classes, _ = arrays_of(rows)
    if not with_classes:
        keys = np.random.default_rng(seed).integers(0, 2**64, len(keys), np.uint64)
        classes = np.zeros(len(keys), int)
    out = split_rows(keys, fraction, seed, classes=classes if with_classes else None)
    assert out.dtype == bool
    shares_hold(out, classes, fraction)
    assert np.array_equal(split_rows(keys, fraction, seed, classes=classes), out)


@given(some_rows, fractions, seeds, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_a_few_equal_rows_stay_together_in_any_order(rows, fraction, seed, random):
    keys, classes, times = arrays_of(rows)
    once = split_rows(keys, fraction, seed, classes=classes)
    owner = np.repeat(np.arange(len(keys)), times).tolist()  # at most 4 times
    random.shuffle(owner)
    repeated = split_rows(keys[owner], fraction, seed, classes=classes[owner])
    assert np.array_equal(repeated, once[owner])
    weighted = split_rows(keys, fraction, seed, classes=classes, weights=times.astype(float))
    assert np.array_equal(weighted, once)


@given(st.lists(st.integers(25, 300), min_size=1, max_size=6), seeds)
def test_many_equal_rows_are_held_out_in_proportion(times, seed):
    keys = np.repeat(KEYS[: len(times)], times)
    out = split_rows(keys, 0.1, seed)
    share = out.mean()
    for key, n in zip(KEYS, times, strict=False):
        assert abs(out[keys == key].sum() - share * n) < 1
    assert out.sum() == np.ceil(0.1 * len(keys))


def test_ties_tell_rows_apart():
    keys, y = np.repeat(KEYS[:10], 4), np.tile([1.0, 1.0, 2.0, 2.0], 10)
    out = split_rows(keys, 0.2, 0, ties=(y,)).reshape(10, 2, 2)
    assert (out[..., 0] == out[..., 1]).all()
    assert (out[:, 0] != out[:, 1]).any()
    order = np.random.default_rng(0).permutation(40)
    again = split_rows(keys[order], 0.2, 0, ties=(y[order],))
    assert np.array_equal(again, out.ravel()[order])


def test_the_seed_shuffles():
    X, classes = sp.csr_array(np.arange(1.0, 101)[:, None]), np.repeat([0, 1], 50)
    for options in (dict(classes=classes), {}):
        splits = []
        for seed in range(20):
            keys = Backend().hash_rows(X.indptr, X.indices, X.data, seed)
            splits.append(np.flatnonzero(split_rows(keys, 0.1, seed, **options)))
        assert len({tuple(out) for out in splits}) == 20
        assert len({i for out in splits for i in out}) > 80
        neighbours = sum((np.diff(out) == 1).sum() for out in splits)
        assert neighbours < 50, "neighbours are not held out together"


def test_strict_split_names_the_class_of_one_row():
    keys, classes = KEYS[:5], np.array([0, 2, 0, 1, 1])
    names = np.array(["a", "b", "rare"])
    for options in ({}, dict(names=names), dict(names=names, weights=np.full(5, 0.5))):
        want = "rare" if options else "2"
        with pytest.raises(ValueError, match=f"^Class {want} has one row only"):
            split_rows(keys, 0.3, 0, classes=classes, strict=True, **options)
    weights = np.array([1.0, 2, 1, 1, 1])  # as if it were there twice
    out = split_rows(keys, 0.3, 0, weights=weights, classes=classes, names=names, strict=True)
    assert not out[1]
    assert out.sum() == 2


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least 2 rows, got 1 sample"):
        split_rows(KEYS[:1], 0.1, 0)
