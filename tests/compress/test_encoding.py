"""Codes of places: the shortest, near the bound, read back as they were."""

from math import lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.compress._encoding import ALL, BITMAP, RAW, RICE, decode_ids, encode_ids
from skembed.kernels import get_backend

BACKEND = get_backend()


def bound(n, k):
    """Bytes that a set of k of n numbers needs where all are equally likely."""
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2) / 8


def draw(n, share):
    return np.sort(np.random.default_rng(0).choice(n, int(n * share), replace=False))


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.1, 0.2, 0.22, 0.3, 0.35, 0.38, 0.39, 0.5])
def test_hashed_places_take_the_bound_and_four_percent(share):
    n = 400_000
    ids = draw(n, share)
    codec, code = encode_ids(ids, n, BACKEND)
    assert len(code) <= 1.04 * bound(n, len(ids))
    assert np.array_equal(decode_ids(codec, code, len(ids), n, BACKEND), ids)


def test_places_by_frequency_take_less_than_the_bound():
    n = 100_000
    rng = np.random.default_rng(0)
    ids = np.flatnonzero(rng.random(n) < 0.5 * (1 + np.arange(n) / 100) ** -0.7)
    assert len(encode_ids(ids, n, BACKEND)[1]) < 0.95 * bound(n, len(ids))


@pytest.mark.parametrize(
    "ids, n, codec, size",
    [
        (range(9), 9, ALL, 0),
        ([], 9, RAW, 0),
        ([70_000], 100_000, RAW, 4),
        (range(0, 800, 2), 800, BITMAP, 100),
        (range(0, 80_000, 100), 80_000, RICE, 802),
        (range(5), 1 << 40, RICE, 2),
    ],
)
def test_the_shortest_is_chosen(ids, n, codec, size):
    ids = np.array(ids, np.int64)
    got, code = encode_ids(ids, n, BACKEND)
    assert (got, len(code)) == (codec, size)
    assert np.array_equal(decode_ids(got, code, len(ids), n, BACKEND), ids)


@given(st.sets(st.integers(0, 300)), st.integers(301, 2000))
def test_any_set(ids, n):
    ids = np.array(sorted(ids), np.int64)
    codec, code = encode_ids(ids, n, BACKEND)
    assert len(code) <= min(4 * len(ids), -(-n // 8))
    assert np.array_equal(decode_ids(codec, code, len(ids), n, BACKEND), ids)


@pytest.mark.parametrize("n", [100, 1 << 40])
def test_raw_numbers_of_either_size(n):
    raw = np.array([3, 5, n - 1], np.uint32 if n <= 1 << 32 else np.uint64)
    code = raw.view(np.uint8)
    assert np.array_equal(decode_ids(RAW, code, 3, n, BACKEND), [3, 5, n - 1])
    for wrong in ([3, 3, 5], [5, 3, 9], [3, 5, n]):
        with pytest.raises(ValueError, match="do not increase, or lie outside"):
            decode_ids(RAW, np.array(wrong, raw.dtype).view(np.uint8), 3, n, BACKEND)


@pytest.mark.parametrize(
    "codec, code, k, n",
    [
        (ALL, [], 3, 4),
        (ALL, [1], 4, 4),
        (RAW, [0] * 5, 1, 9),
        (BITMAP, [1, 0], 2, 9),
        (BITMAP, [1], 1, 9),
        (BITMAP, [0, 4], 1, 10),
        (RICE, [], 1, 9),
        (RICE, [255], 9, 9),
        (4, [], 0, 9),
    ],
)
def test_what_is_no_code_is_refused(codec, code, k, n):
    with pytest.raises(ValueError, match=r"places|Rice|bits"):
        decode_ids(codec, np.array(code, np.uint8), k, n, BACKEND)
