"""Choosing and coding what is sent: kernels against array code, and both against what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _codecs

PLAIN, CPU = Backend(), get_backend()


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(_codecs, "SCANNED", 50)
    monkeypatch.setattr(_codecs, "CODED", 256)
    monkeypatch.setattr(_codecs, "MOVED", 64)


@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.integers(1, 160), st.booleans())
def test_the_largest_are_chosen_and_the_first_of_equals(seed, n, k, single):
    rng, dtype = np.random.default_rng(seed), np.float32 if single else np.float64
    x = rng.choice([0, -0.0, 1, -1, 3, 1e-42, -1e30, rng.normal()], n).astype(dtype)
    order = np.lexsort([np.arange(n), -np.abs(x)])
    want = np.sort([i for i in order[:k] if x[i] != 0])
    for backend in (PLAIN, CPU):
        got = backend.select_topk(x, k)
        assert got.dtype == np.int64
        assert np.array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_digit_decides(dtype):
    one = np.array([1], dtype)
    words = one.view(f"u{one.itemsize}") + np.arange(3000, dtype=f"u{one.itemsize}") ** 2
    x = np.random.default_rng(0).permutation(words).view(dtype)
    for k in (1, 2, 777, 2999, 3000, 5000):
        assert np.array_equal(CPU.select_topk(x, k), PLAIN.select_topk(x, k))


@st.composite
def places(draw):
    """Strictly increasing numbers whose gaps have very different sizes, and a bound on them."""
    rng, k = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.integers(0, 600))
    sizes = draw(st.lists(st.integers(0, 44), min_size=1, max_size=6))
    each = np.repeat(sizes, 100)[rng.integers(0, 200) :][:k]
    gaps = (rng.random(k) * 2.0 ** np.resize(each if len(each) else [0], k)).astype(np.int64)
    ids = np.cumsum(gaps + 1) - 1
    return ids, int(ids[-1]) + 1 + draw(st.integers(0, 9)) if k else draw(st.integers(0, 9))


@given(places())
@settings(max_examples=60)
def test_rice_codes_are_read_back_by_both(case):
    ids, n = case
    parameters, n_bytes = PLAIN.rice_plan(ids)
    planned, size = CPU.rice_plan(ids)
    assert np.array_equal(planned, parameters)
    assert size == n_bytes
    code = PLAIN.rice_encode(ids, parameters, n_bytes)
    assert len(code) == n_bytes
    assert np.array_equal(CPU.rice_encode(ids, parameters, n_bytes), code)
    for backend in (PLAIN, CPU):
        assert np.array_equal(backend.rice_decode(code, len(ids), n), ids)


def read(backend, code, k, n):
    try:
        return backend.rice_decode(code, k, n).tolist()
    except ValueError:
        return None


@given(places(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_damaged_rice_codes_are_refused_by_both(case, seed):
    (ids, n), rng = case, np.random.default_rng(seed)
    code = CPU.rice_encode(ids, *CPU.rice_plan(ids))
    assert read(CPU, code, len(ids) + 1, 1 << 56) is None
    assert read(CPU, np.append(code, np.uint8(0)), len(ids), n) is None
    if len(ids):
        assert read(CPU, code, len(ids), ids[-1]) is None
        assert read(CPU, code[:-1], len(ids), n) is None
    noise = rng.integers(0, 256, len(code) + 3).astype(np.uint8)
    flipped = code.copy()
    if len(code):
        flipped[rng.integers(len(code))] ^= np.uint8(1 << rng.integers(8))
    for wrong in (flipped, noise, noise & (rng.random(len(noise)) < 0.1)):
        for k in (len(ids), 1, 0):
            got = read(CPU, wrong, k, n)
            assert got == read(PLAIN, wrong, k, n)
            if got:  # another set, but a set
                assert got == sorted(set(got))
                assert 0 <= got[0] <= got[-1] < n


def test_gaps_may_be_as_large_as_a_table():
    ids = np.array([0, 2**56 - 2, 2**56 - 1])
    code = CPU.rice_encode(ids, *CPU.rice_plan(ids))
    assert np.array_equal(code, PLAIN.rice_encode(ids, *PLAIN.rice_plan(ids)))
    assert np.array_equal(CPU.rice_decode(code, 3, 2**56), ids)


@st.composite
def lists(draw, dtype, width):
    """Ids and values of some rows, padded, with rows of zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ids = np.flatnonzero(rng.random(draw(st.integers(0, 90))) < rng.random()).astype(np.int32)
    values = rng.normal(size=(len(ids), width + 3)).astype(dtype)
    return ids, (values * (rng.random(values.shape) < rng.random()))[:, :width].astype(dtype)


@given(st.data(), st.sampled_from([np.float32, np.float64]), st.sampled_from([1, 3, 16]))
def test_lists_of_rows(data, dtype, width):
    a, b = data.draw(lists(dtype, width)), data.draw(lists(dtype, width))
    before = [x.copy() for x in (*a, *b)]
    ids, values = PLAIN.merge_rows(*a, *b)
    got, total = CPU.merge_rows(*a, *b)
    assert np.array_equal(got, ids)
    assert np.array_equal(ids, np.union1d(a[0], b[0]))
    assert np.array_equal(total, values)
    assert all(map(np.array_equal, (*a, *b), before))
    want = np.zeros((90, width))
    want[a[0]] += a[1]
    want[b[0]] += b[1].astype(np.float64)
    np.testing.assert_allclose(total, want[ids], rtol=1e-6)

    kept, rest = PLAIN.keep_rows(ids.copy(), values.copy())
    assert np.array_equal(kept, ids[values.any(axis=1)])
    got, values = CPU.keep_rows(ids.copy(), values.copy())
    assert np.array_equal(got, kept)
    assert np.array_equal(values, rest)


@given(places(), st.sampled_from([1, 2, 7, 16, 1000]))
def test_rows_of_entries(case, width):
    rows, at = PLAIN.entry_rows(case[0], width)
    got, same = CPU.entry_rows(case[0], width)
    assert np.array_equal(got, rows)
    assert np.array_equal(same, at)
    assert np.array_equal(rows[at // width] * width + at % width, case[0])
