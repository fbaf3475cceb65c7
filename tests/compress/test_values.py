"""Codes of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.compress._values import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    INT8,
    KINDS,
    decode_values,
    encode_values,
    pack,
    unpack,
)

KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def back(x, kind):
    scale, coded = encode_values(x, kind)
    return decode_values(unpack(pack(coded), kind, len(x)), kind, scale, x.dtype)


@KIND
@given(st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(-300, 280))
def test_rounding_is_to_nearest(kind, seed, n, power):
    x = np.random.default_rng(seed).normal(size=n) * 10.0**power
    largest = np.abs(x).max(initial=0)
    if kind in (FLOAT32, BFLOAT16):  # their range is that of float32
        x = np.clip(x * 10.0**-power * 10.0 ** np.clip(power, -30, 30), -1e38, 1e38)
        largest = np.abs(x).max(initial=0)
    relative = {FLOAT32: 2**-24, FLOAT16: 2**-11, BFLOAT16: 2**-8, INT8: 0}.get(kind, 0)
    absolute = {FLOAT16: largest * 2**-38, INT8: largest / 254 * (1 + 1e-9)}.get(kind, 0)
    assert (np.abs(back(x, kind) - x) <= relative * np.abs(x) + absolute).all()


def test_bfloat16_is_the_nearest_and_ties_are_even():
    x = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8 + 2**-20), 3e38, -3.4e38], np.float32)
    want = [1, 1, 1 + 2**-6, -(1 + 2**-7), 3e38, -(2.0**127) * (2 - 2**-7)]
    np.testing.assert_allclose(back(x, BFLOAT16), want, rtol=2**-9)
    assert np.array_equal(back(x, BFLOAT16)[:4], want[:4])


@pytest.mark.parametrize("kind", [FLOAT32, FLOAT16, BFLOAT16])
def test_beyond_the_range_is_the_largest_number(kind):
    x = np.array([1e300, -1e300, 1.0])
    got = back(x, kind)
    assert np.isfinite(got).all()
    assert got[0] == -got[1] > 1e38


def test_alike_bytes_are_packed():
    rng = np.random.default_rng(0)
    coded = (60 + rng.integers(0, 16, 4000) * rng.choice([-1, 1], 4000)).astype(np.int8)
    data = pack(coded)
    assert len(data) < 0.7 * 4000
    assert np.array_equal(unpack(data, INT8, 4000), coded)
    noise = rng.integers(-128, 128, 4000).astype(np.int8)
    assert len(pack(noise)) == 4000
    for n in (3999, 4001, 0, 2**40):
        with pytest.raises(ValueError, match="values"):
            unpack(data, INT8, n)
    for wrong in (data[:-1], data + b"\0", b"", bytes(len(data))):
        with pytest.raises(ValueError, match="values"):
            unpack(wrong, INT8, 4000)
