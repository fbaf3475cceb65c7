"""What top-k chooses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.compress import BROADCAST, Header, TopK
from skembed.compress._message import HEAD
from skembed.core import SparseRowGradient
from skembed.kernels import get_backend

N_PLACES = -3  # field of the head


def rows_of(values):
    listed = np.flatnonzero(values.any(axis=1)).astype(np.int32)
    return SparseRowGradient(listed, values[listed], np.ones(len(listed), np.int64), values.shape)


def send(compressor, values, memory=None, partition=0):
    message, kept = compressor.compress(
        rows_of(values), memory, get_backend(), header=Header(0, partition, 0)
    )
    sent = compressor.decompress(message)[1]
    return HEAD.unpack_from(message)[N_PLACES], sent.to_csr().toarray(), kept


@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.sampled_from(["int8", "float32"]))
def test_exactly_k(seed, k, values):
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 1.0, -1.0, 2.0, -3.0], (12, 5), p=[0.4, 0.2, 0.2, 0.1, 0.1])
    n, sent, _ = send(TopK(k=k, values=values), x)
    assert n == min(k, np.count_nonzero(x))
    order = np.argsort(-np.abs(x.ravel()), kind="stable")[:n]
    want = np.zeros(x.size)
    want[order] = x.ravel()[order]
    rounding = 3 / 254 if values == "int8" else 0
    np.testing.assert_allclose(sent.ravel(), want, atol=rounding)

    n, sent, _ = send(TopK(k=k, values=values, level="row"), x)
    norms = np.linalg.norm(x, axis=1)
    assert n == min(k, np.count_nonzero(norms))
    order = np.argsort(-norms.round(9), kind="stable")[:n]
    want = np.zeros(x.shape)
    want[order] = x[order]
    np.testing.assert_allclose(sent, want, atol=rounding)


@pytest.mark.parametrize("level", ["entry", "row"])
def test_of_equals_the_first_go(level):
    x = np.ones((6, 3), np.float32)
    n, sent, kept = send(TopK(k=4, level=level, values="float32"), x)
    want = np.zeros((6, 3))
    want.reshape(-1)[: 4 if level == "entry" else 12] = 1
    assert n == 4
    assert np.array_equal(sent, want)
    assert np.array_equal(kept.to_csr().toarray(), 1 - want)


def test_an_int8_that_becomes_zero_is_an_entry_nevertheless():
    x = np.array([[1000.0, 1.0, 0.0]])
    n, sent, kept = send(TopK(k=5), x)
    assert n == 2
    assert np.array_equal(sent, [[1000, 0, 0]])
    assert np.array_equal(kept.to_csr().toarray(), [[0, 1, 0]])


def test_the_ratio_is_a_share_of_the_table():
    assert TopK().count((1000, 8), 0) == 800
    assert TopK(ratio=0.25).count((10, 8), 0) == 20
    assert TopK(ratio=0.25, level="row").count((10, 8), 0) == 2
    assert TopK(ratio=1e-9).count((10, 8), 0) == 1


def test_each_partition_may_have_its_own_k():
    compressor = TopK(k=[1, 4], values="float32")
    x = np.arange(6.0).reshape(2, 3)
    assert [send(compressor, x, partition=p)[0] for p in (0, 1)] == [1, 4]
    with pytest.raises(ValueError, match="k holds 2 numbers, and none for partition 2"):
        send(compressor, x, partition=2)
    with pytest.raises(ValueError, match="none for the broadcast"):
        send(compressor, x, partition=BROADCAST)


@pytest.mark.parametrize("k", [[0], [1.5], [[1]], ["a"], 0, 1.5, "all"])
def test_wrong_k(k):
    with pytest.raises(ValueError, match="k"):
        TopK(k=k).count((5, 5), 0)


def test_wrong_parameters():
    for wrong in (dict(ratio=0), dict(ratio=1.5), dict(level="x"), dict(values="float64")):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of TopK"):
            TopK(**wrong).count((5, 5), 0)
    with pytest.raises(ValueError, match="Give ratio or k, not both"):
        TopK(0.1, k=3).count((5, 5), 0)


def test_without_memory_the_rest_is_forgotten():
    x = np.array([[3.0, 1.0]])
    compressor = TopK(k=1, error_memory=False)
    _, sent, kept = send(compressor, x)
    assert len(kept.indices) == 0
    _, again, kept = send(compressor, x, kept)
    assert np.array_equal(sent, again)


def test_with_memory_a_small_entry_is_sent_in_the_end():
    compressor, memory, total = TopK(k=1, values="float32"), None, np.zeros((1, 3))
    for _ in range(6):
        _, sent, memory = send(compressor, np.array([[1.0, 0.5, 0.4]]), memory)
        total += sent
    assert (total > 0).all()
    np.testing.assert_allclose(total + memory.to_csr().toarray(), [[6, 3, 2.4]])
