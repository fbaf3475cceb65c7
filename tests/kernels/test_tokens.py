"""Hashes of tokens and folded rows against scikit-learn's hash and plain Python."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from skembed.core import Spans
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix

SEEDS = (0, 1, 2**32 - 1)


def spans_of(tokens, prefix=b""):
    """Return tokens, bytes, as spans with a gap before each."""
    ends = np.cumsum([len(t) + 3 for t in tokens], dtype=np.int64)
    buffer = np.frombuffer(b"".join(b"<->" + t for t in tokens), np.uint8)
    return Spans(buffer, ends - [len(t) for t in tokens], ends, prefix)


def plain_rows(indptr, hashes, values, n_features, alternate_sign, dtype):
    """Return [{column: sum}] of each row, with sums in the order of the tokens."""
    rows = []
    for s, e in pairwise(indptr.tolist()):
        row = {}
        for h, v in zip(hashes[s:e].tolist(), values[s:e].tolist(), strict=True):
            if v != 0:
                x = np.array(-v if h < 0 and alternate_sign else v).astype(dtype)
                column = abs(h) % n_features
                row[column] = row.get(column, dtype(0)) + x
        rows.append({c: row[c] for c in sorted(row) if row[c] != 0})
    return rows


def folded_rows(backend, indptr, *args):
    counts, pieces = backend.fold_rows(indptr, *args)
    columns, sums = (np.concatenate(parts).tolist() for parts in zip(*pieces, strict=True))
    assert counts.dtype == pieces[0][0].dtype == np.int32
    ends = [0, *np.cumsum(counts).tolist()]
    assert len(columns) == ends[-1]
    return [dict(zip(columns[s:e], sums[s:e], strict=True)) for s, e in pairwise(ends)]


@pytest.fixture(scope="module", params=["plain", 1, 3])
def backend(request):
    if request.param == "plain":
        yield Backend()
        return
    share, _matrix.MIN_SHARE = _matrix.MIN_SHARE, 1
    with get_backend(request.param) as cpu:
        yield cpu
    _matrix.MIN_SHARE = share


@settings(deadline=None, max_examples=60)
@given(
    tokens=st.lists(st.binary(max_size=23), min_size=1, max_size=40),
    prefix=st.binary(max_size=11),
    seed=st.sampled_from(SEEDS),
)
def test_hash_is_that_of_scikit_learn(backend, tokens, prefix, seed):
    columns = [spans_of(tokens, prefix), spans_of(tokens[::-1])]
    got = backend.hash_spans(columns, seed)
    assert got.dtype == np.int32
    assert got[:, 0].tolist() == [murmurhash3_32(prefix + t, seed=seed) for t in tokens]
    assert got[:, 1].tolist() == [murmurhash3_32(t, seed=seed) for t in tokens[::-1]]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_hash_of_numbers_is_that_of_their_bytes(backend, dtype):
    ids = np.array([0, 1, 255, 2**31 - 1, -1, 12345], dtype)
    want = [murmurhash3_32(int(i).to_bytes(8, "little", signed=True), seed=7) for i in ids]
    assert backend.hash_ids(ids, 7).tolist() == want


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 5, 31, 32, 33, 64, 65, 200]), max_size=9),
    n_features=st.sampled_from([1, 2, 7, 1000, 2**20, 2**31 - 1]),
    alternate_sign=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32, np.int64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_folded_rows(backend, sizes, n_features, alternate_sign, dtype, seed):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    hashes = rng.integers(-(2**31), 2**31, indptr[-1], np.int32)
    repeated = rng.random(len(hashes)) < 0.4
    hashes[repeated] = rng.choice([-(2**31), 2**31 - 1, -5, 5, 0], repeated.sum())
    values = rng.integers(-2, 3, indptr[-1]).astype(float)
    if dtype != np.int64:
        values *= 0.1
    args = indptr, hashes, values, n_features, alternate_sign, dtype
    got, want = folded_rows(backend, *args), plain_rows(*args)
    assert got == want
    assert [list(row) for row in got] == [list(row) for row in want]


def test_smallest_hash_has_the_column_of_its_absolute_value(backend):
    hashes, indptr = np.array([-(2**31)], np.int32), np.array([0, 1])
    for n in (1, 3, 2**20, 2**31 - 1):
        (row,) = folded_rows(backend, indptr, hashes, np.ones(1), n, True, np.float64)
        assert row == {(2147483647 - (n - 1)) % n: -1.0}  # as scikit-learn writes it
