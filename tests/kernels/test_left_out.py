"""Features left out of rows: kernels against array code, and what is drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.core import CSRBatch, FeatureNoise, RowArray
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix

FIELDS = ("borders", "ids", "labels", "weights")


@pytest.fixture(autouse=True)
def threads_for_little_work(monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)


def noise_of(rng, chance, n_rows, dtype=np.float64):
    order = rng.permutation(len(chance)).astype(np.int32)
    borders = np.cumsum(chance[order])
    borders /= borders[-1]
    slots = np.arange(1 << len(chance).bit_length()) / (1 << len(chance).bit_length())
    guide = np.searchsorted(borders, slots, side="right").astype(np.int32)
    keep, offset = rng.random(len(chance)) * 1.5, rng.normal(size=len(chance)).astype(dtype)
    keys = rng.integers(0, 1 << 63, n_rows).astype(np.uint64)
    return FeatureNoise(keep, order, borders, guide, offset, keys)


def rows_of(rng, n, n_features, dtype=np.float64, least=2, most=9):
    sizes = rng.integers(least, most, n)
    indices = np.concatenate([rng.permutation(n_features)[:s] for s in sizes]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return indptr, indices, rng.normal(size=len(indices)).astype(dtype)


def case(seed, n=40, n_features=12, dtype=np.float64, pooling="sqrtn"):
    rng = np.random.default_rng(seed)
    x = rows_of(rng, n, n_features, dtype)
    rows = rng.permutation(n)[: n // 2]
    scale = Backend().scale(x[0], x[2], pooling)[rows]
    chance = rng.random(n_features) * (rng.random(n_features) > 0.3)
    chance[0] += 0.1
    return CSRBatch(*x, rows, scale), rng.random(len(rows)) + 0.1, noise_of(rng, chance, n, dtype)


def lists_of(left_out):
    """For each row its bag and its list, without the places between the lists."""
    bag, borders = left_out.bag, left_out.borders
    for i, r in enumerate(bag.rows):
        s, e = bag.indptr[r], bag.indptr[r + 1]
        at = slice(borders[2 * i], borders[2 * i + 1])
        yield bag.indices[s:e], bag.data[s:e], *(getattr(left_out, f)[at] for f in FIELDS[1:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn", "max"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), n_targets=st.integers(1, 6), n_negatives=st.integers(1, 7))
def test_kernels_draw_what_array_code_draws(dtype, pooling, seed, n_targets, n_negatives):
    batch, weight, noise = case(seed, dtype=dtype, pooling=pooling)
    args = batch, weight.astype(dtype), noise, seed, pooling, n_targets, n_negatives
    want = Backend().leave_out(*args)
    table = RowArray(12, 5, dtype)
    table.values[:, :5] = np.random.default_rng(seed).normal(size=(12, 5))
    pooled = table.values[np.arange(len(batch.rows)) % 12]
    for jobs in (1, 3):
        with get_backend(jobs) as backend:
            got = backend.leave_out(*args)
            raw = backend.score_listed(got, pooled, table.values)
        np.testing.assert_allclose(got.bag.scale, want.bag.scale, rtol=1e-6)
        for a, b in zip(lists_of(got), lists_of(want), strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
        assert np.array_equal(got.borders, want.borders)
        assert np.array_equal(got.weights > 0, want.weights > 0), (
            "places between lists weigh nothing"
        )
        np.testing.assert_allclose(
            raw, Backend().score_listed(want, pooled, table.values), rtol=1e-5, atol=1e-5
        )


def test_rows_are_divided():
    batch, weight, noise = case(3)
    left_out = Backend().leave_out(batch, weight, noise, 5, "mean", 3, 4)
    for i, (ids, data, listed, labels, weights) in enumerate(lists_of(left_out)):
        s, e = batch.indptr[batch.rows[i]], batch.indptr[batch.rows[i] + 1]
        row = dict(zip(batch.indices[s:e].tolist(), batch.data[s:e].tolist(), strict=True))
        targets = listed[labels == 1]
        assert 1 <= len(targets) <= min(3, len(row) // 2)
        assert not set(targets) & set(ids)
        assert set(targets) | set(ids) <= set(row), "what is dropped may be missing"
        assert [row[j] for j in ids] == data.tolist()
        assert not set(listed[labels == 0]) & set(row), "a true neighbour is not drawn"
        assert (
            np.flatnonzero(labels) == np.searchsorted(np.cumsum(labels), range(1, len(targets) + 1))
        ).all()
        owner = targets[np.cumsum(labels).astype(int) - 1]
        want = [abs(row[j]) * weight[i] for j in owner]
        np.testing.assert_allclose(weights, want)
        np.testing.assert_allclose(left_out.bag.scale[i], 1 / np.abs(data).sum())


def test_shares_of_what_is_drawn():
    n, rng = 4000, np.random.default_rng(0)
    indptr, indices = np.arange(0, 4 * n + 1, 4), np.tile(np.arange(4, dtype=np.int32), n)
    batch = CSRBatch(indptr, indices, np.ones(4 * n), np.arange(n), np.full(n, 0.5))
    chance = np.array([3.0, 0, 0, 0, 1, 2, 0, 4])
    noise = noise_of(rng, chance, n)
    noise.keep[:] = 1.0
    noise.keep[3] = 0.25
    with get_backend(2) as backend:
        left_out = backend.leave_out(batch, None, noise, 1, "sqrtn", 1, 5)
    drawn = np.bincount(
        left_out.ids[left_out.weights > 0][left_out.labels[left_out.weights > 0] == 0], minlength=8
    )
    assert not drawn[[0, 1, 2, 3, 6]].any(), "feature 0 is in every row"
    np.testing.assert_allclose(drawn[[4, 5, 7]] / (5 * n), np.array([1, 2, 4]) / 10, atol=0.02)
    targets = np.bincount(left_out.ids[left_out.labels == 1], minlength=8) / n
    # three stay and one of them is picked, or four
    want = [0.75 / 3 + 0.25 / 4] * 3 + [0.25 / 4]
    np.testing.assert_allclose(targets[:4], want, atol=0.02)


def test_a_row_of_rare_chances_keeps_two():
    batch, weight, noise = case(4)
    noise.keep[:] = 0.0
    left_out = Backend().leave_out(batch, weight, noise, 2, "sum", 1, 1)
    sizes = np.diff(batch.indptr)[batch.rows]
    assert [len(ids) for ids, *_ in lists_of(left_out)] == (sizes - 1).tolist()


def test_equal_rows_draw_alike_and_batches_differ():
    batch, _, noise = case(6, n=40)
    twice = CSRBatch(*(getattr(batch, f) for f in ("indptr", "indices", "data")),
                     np.repeat(batch.rows, 2), np.repeat(batch.scale, 2))  # fmt: skip
    first, second = (
        list(lists_of(Backend().leave_out(twice, None, noise, seed, "sqrtn", 2, 3)))
        for seed in (1, 2)
    )
    for a, b in zip(first[::2], first[1::2], strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert any(not np.array_equal(a[2], b[2]) for a, b in zip(first, second, strict=True))
