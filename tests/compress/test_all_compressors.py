"""What every compressor promises: nothing is lost, and a message says what was sent."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skembed.compress import COMPRESSORS, Everything, Header, TopK
from skembed.core import RowArray, SparseRowGradient
from skembed.kernels import Backend, get_backend

HEADER = Header(fit=2**64 - 1, partition=3, round=9)
VALUES = ("int8", "float16", "bfloat16", "float32")
ALL = [
    Everything(),
    *(TopK(ratio=0.1, values=values) for values in VALUES),
    *(TopK(k=3, level="row", values=values) for values in VALUES),
]
every_compressor = pytest.mark.parametrize("compressor", ALL, ids=repr)
BACKENDS = Backend(), get_backend()


def test_every_name_is_here():
    assert {type(c) for c in ALL} == {Everything, *COMPRESSORS.values()}


def change(rng, shape, dtype, size=1.0):
    """Some padded rows, with zeros and values of very different sizes."""
    rows = np.flatnonzero(rng.random(shape[0]) < rng.random()).astype(np.int32)
    values = rng.normal(size=(len(rows), shape[1])) * 10 ** rng.normal(size=(len(rows), 1))
    padded = RowArray(len(rows), shape[1], dtype)
    padded.values[:, : shape[1]] = values * (rng.random(values.shape) < 0.8) * size
    return SparseRowGradient(rows, padded.values, np.ones(len(rows), np.int64), shape)


def dense(rows):
    return rows.to_csr().toarray()


@every_compressor
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 12), st.booleans())
@settings(max_examples=25)
def test_nothing_is_lost(compressor, seed, n_rows, d, single):
    rng, dtype = np.random.default_rng(seed), np.float32 if single else np.float64
    shape, memory, told, owed = (n_rows, d), None, np.zeros((n_rows, d)), np.zeros((n_rows, d))
    for backend in (*BACKENDS, BACKENDS[1]):
        news = change(rng, shape, dtype)
        before = news.values.copy()
        message, kept = compressor.compress(news, memory, backend, header=HEADER)
        assert np.array_equal(news.values, before)
        header, sent = compressor.decompress(message, shape=shape)
        assert header == HEADER
        assert sent.values.dtype == kept.values.dtype == dtype
        due = dense(news) if memory is None else dense(news) + dense(memory)
        exact = isinstance(compressor, Everything) or (compressor.values == "float32" and single)
        if exact:
            assert np.array_equal(dense(sent) + dense(kept), due)
        else:
            np.testing.assert_allclose(dense(sent) + dense(kept), due, rtol=1e-6, atol=1e-37)
        assert (np.diff(kept.indices) > 0).all()
        assert kept.values.any(axis=1).all(), "the memory lists what is owed"
        memory, told, owed = kept, told + dense(sent), owed + dense(news)
    size = np.abs(owed).max(initial=0) + 1
    np.testing.assert_allclose(told + dense(memory), owed, atol=1e-5 * size)


@every_compressor
def test_both_backends_write_the_same_message(compressor):
    news = change(np.random.default_rng(0), (4000, 5), np.float32)
    messages = {compressor.compress(news, None, b, header=HEADER)[0] for b in BACKENDS}
    assert len(messages) == 1


@every_compressor
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", ["largest", "smallest"])
def test_numbers_at_the_ends_of_the_range(compressor, dtype, size):
    info = np.finfo(dtype)
    x = float(info.max if size == "largest" else info.smallest_subnormal)
    values = np.array([[x, -x], [x / 2, 0]], dtype)
    news = SparseRowGradient(np.arange(2), values, np.ones(2, np.int64), (2, 2))
    message, kept = compressor.compress(news, None, get_backend(), header=HEADER)
    _, sent = compressor.decompress(message)
    assert np.isfinite(sent.values).all()
    assert np.isfinite(kept.values).all()
    total = dense(sent).astype(np.float64) + dense(kept)
    np.testing.assert_allclose(total, values, rtol=1e-6)


@every_compressor
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_partition_sends_nothing(compressor, bad):
    values = np.array([[1.0, bad]])
    news = SparseRowGradient(np.arange(1), values, np.ones(1, np.int64), (1, 2))
    with pytest.raises(ValueError, match=r"partition 3 in round 9 holds NaN or\s+infinity"):
        compressor.compress(news, None, get_backend(), header=HEADER)


@every_compressor
def test_no_state(compressor):
    twin = clone(compressor)
    news = change(np.random.default_rng(1), (50, 4), np.float32)
    first = compressor.compress(news, None, BACKENDS[1], header=HEADER)[0]
    assert compressor.compress(news, None, BACKENDS[1], header=HEADER)[0] == first
    assert twin.compress(news, None, BACKENDS[1], header=HEADER)[0] == first
    assert vars(twin) == vars(compressor)
    assert pickle.loads(pickle.dumps(compressor)).get_params() == compressor.get_params()
