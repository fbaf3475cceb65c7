"""Packed messages: small, checked, and refused when damaged."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest

from skembed.compress import OVERHEAD, Everything, Header, TopK
from skembed.compress._message import HEAD, MAX_GROWTH, decode
from skembed.core import SparseRowGradient
from skembed.kernels import get_backend

HEADER, SHAPE = Header(fit=12345678901234567890, partition=2, round=77), (300, 7)
COMPRESSORS = [
    TopK(),
    TopK(k=3),
    TopK(ratio=0.5, values="float16"),
    TopK(ratio=0.01, values="bfloat16", level="row"),
    TopK(ratio=1.0, values="float32"),
    Everything(),
]


def message_of(compressor, dtype=np.float32):
    rng = np.random.default_rng(0)
    values = rng.normal(size=SHAPE).astype(dtype)
    rows = np.arange(SHAPE[0], dtype=np.int32)
    news = SparseRowGradient(rows, values, np.ones(SHAPE[0], np.int64), SHAPE)
    return compressor.compress(news, None, get_backend(), header=HEADER)[0]


MESSAGES = [message_of(c, d) for c in COMPRESSORS for d in (np.float32, np.float64)]


def sealed(message):
    """The message with the checksum that it should have: someone means harm."""
    body = bytes(message[:-4])
    return body + struct.pack("<I", zlib.crc32(body))


def contents(message, **expected):
    """What a message says; None where it is refused."""
    try:
        header, rows = decode(message, **expected)
    except ValueError as error:
        assert "not a valid skembed message" in str(error)
        return None
    assert (np.diff(rows.indices) > 0).all()
    assert len(rows.indices) == 0 or 0 <= rows.indices[0] <= rows.indices[-1] < rows.shape[0]
    assert rows.values.shape == (len(rows.indices), rows.shape[1])
    assert np.isfinite(rows.values).all()
    return header, rows.indices.tolist(), rows.values.tolist(), rows.shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_little_is_added_to_a_whole_array(dtype):
    assert OVERHEAD <= 256
    message = message_of(Everything(), dtype)
    assert len(message) == np.dtype(dtype).itemsize * SHAPE[0] * SHAPE[1] + OVERHEAD
    header, rows = decode(message, SHAPE)
    assert header == HEADER
    assert rows.values.dtype == dtype
    assert np.array_equal(rows.values, np.random.default_rng(0).normal(size=SHAPE).astype(dtype))


def test_a_message_is_read_from_any_bytes():
    want = contents(MESSAGES[0])
    assert want[0] == HEADER
    assert contents(bytearray(MESSAGES[0])) == contents(memoryview(MESSAGES[0])) == want


def test_the_table_of_the_reader_is_compared():
    assert contents(MESSAGES[0], shape=SHAPE) == contents(MESSAGES[0])
    with pytest.raises(ValueError, match=r"for a table of shape \(300, 7\), not \(300, 8\)"):
        decode(MESSAGES[0], (300, 8))


def test_truncated_and_extended_messages_are_refused():
    for message in MESSAGES:
        for n in {*range(HEAD.size + 9), *range(0, len(message), 97), len(message) - 1}:
            assert contents(message[:n]) is None
            if n > 4:
                assert contents(sealed(message[:n])) is None
        assert contents(message + b"\0") is None
        assert contents(sealed(message + b"\0")) is None


def test_every_changed_byte_is_noticed():
    rng = np.random.default_rng(1)
    for message in MESSAGES:
        for at in {*range(HEAD.size), *rng.integers(0, len(message), 100).tolist()}:
            wrong = bytearray(message)
            wrong[at] ^= int(rng.integers(1, 256))
            assert contents(wrong) is None


def test_a_forged_message_is_refused_or_means_what_it_says():
    """Ten thousand: bytes of the head and of the codes are changed, and the checksum is right."""
    rng, read = np.random.default_rng(2), 0
    for i in range(10_000):
        wrong = bytearray(MESSAGES[i % len(MESSAGES)])
        inside = HEAD.size if i % 3 else len(wrong) - 4
        for at in rng.integers(4, inside, rng.integers(1, 4)):
            wrong[at] = rng.choice([0, 1, 255, wrong[at] ^ 1 << rng.integers(8)])
        read += contents(sealed(wrong)) is not None
    assert 500 < read < 9500, "some are other messages, most are none"


def test_noise_is_refused():
    rng = np.random.default_rng(3)
    for n in range(600):
        noise = rng.bytes(n)
        assert contents(noise) is None
        assert contents(sealed(MESSAGES[0][:6] + noise)) is None


def peak_of(message, shape):
    tracemalloc.start()
    try:
        decode(message, shape)
    except ValueError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("field", ["rows", "width", "places", "bytes of the code"])
@pytest.mark.parametrize("number", [2**16, 2**20 + 1, 2**30, 2**32 - 1, 2**56, 2**64 - 1])
def test_nothing_large_is_allocated_for_a_claim(field, number):
    offset, fmt = {"rows": (25, "<Q"), "width": (33, "<I"), "places": (37, "<Q")}.get(
        field, (HEAD.size - 8, "<Q")
    )
    if fmt == "<I" and number >= 2**32:
        number = 2**32 - 1
    for message in MESSAGES:
        wrong = bytearray(message)
        struct.pack_into(fmt, wrong, offset, number)
        wrong = sealed(wrong)
        assert peak_of(wrong, SHAPE) <= 100 * len(message) + 50_000
        assert peak_of(wrong, None) <= 100 * len(message) + 50_000 + 2 * 8 * number


def test_a_wide_table_cannot_blow_up_a_message():
    rows = np.arange(2)
    for width, fine in ((1000, True), (2**26, False)):
        n = 2 * width
        places = np.array([0, n - 1])
        body = (
            HEAD.pack(b"skem", 1, 1, 0, 0, 0, 0, 0, 0, 2, width, 2, 1.0, 8)
            + places.astype("<u4").tobytes()
            + np.ones(2, "<f4").tobytes()
        )
        got = contents(sealed(body + bytes(4)))
        assert (got is not None) == fine == (8 * width <= MAX_GROWTH * len(body))
        if fine:
            assert got[1] == rows.tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_are_finite(bad):
    message = bytearray(message_of(TopK(k=3, values="float32")))
    struct.pack_into("<f", message, len(message) - 8, bad)
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        decode(sealed(message))
    message = bytearray(MESSAGES[0])
    for scale in (bad, 0.0, -1.0):
        struct.pack_into("<d", message, HEAD.size - 16, scale)
        with pytest.raises(ValueError, match="the scale is"):
            decode(sealed(message))
