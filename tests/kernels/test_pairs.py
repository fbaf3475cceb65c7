"""Operations on pairs: kernels against array code, and against themselves on more threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.core import CSRBatch, PairShape, PendingPairGradient, RowArray
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix


@st.composite
def batches(draw):
    """A batch with repeated and empty rows, its table, and how that is divided."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    pairs = PairShape(
        draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 5, 8, 17]))
    )
    n_linear = pairs.n_outputs * draw(st.integers(0, 1))
    n, n_rows = draw(st.integers(1, 12)), draw(st.integers(1, 40))
    sizes = rng.integers(0, draw(st.sampled_from([3, 11, 90])), n) * (rng.random(n) > 0.2)
    indptr = np.append(0, np.cumsum(sizes)).astype(np.int64)
    indices = rng.integers(0, n_rows, indptr[-1]).astype(np.int32)
    data = rng.choice([-2.0, 0.5, 1.0, 3.0], indptr[-1]).astype(dtype)
    rows = rng.integers(0, n, draw(st.integers(1, 15)))
    scale = rng.random(len(rows)).astype(dtype)
    fields = rng.integers(0, pairs.n_fields, n_rows).astype(np.int32)
    table = RowArray(n_rows, pairs.d_embedding + n_linear, dtype)
    table.values[:, : table.d] = rng.normal(size=(n_rows, table.d))
    batch = CSRBatch(
        indptr, indices, data, rows, scale, None, fields if pairs.n_fields > 1 else None
    )
    d_raw = rng.normal(size=(pairs.n_outputs, len(rows))).astype(dtype)
    return batch, table.values, pairs, n_linear, draw(st.integers(0, n_rows)), d_raw


def line(backend, batch, table, pairs, n_linear, n_trainable, d_raw):
    """Copies of all that the operations return."""
    backend.prepare(batch.indices, n_trainable)
    pooled, raw, groups = backend.fm_forward_and_group(batch, table, n_trainable, pairs, n_linear)
    found = [pooled.copy(), raw.copy(), groups.ids.copy()]
    again = backend.fm_forward(batch, table, pairs, n_linear)
    assert all(map(np.array_equal, again, found[:2]))
    d_pooled, own = backend.fm_slopes(pooled, d_raw, batch.scale, pairs, n_linear)
    grad = PendingPairGradient(
        groups, d_pooled, table.shape, own=own, table=table, fields=batch.fields, pairs=pairs
    )
    return [*found, d_pooled.copy(), own.copy(), grad.sum(backend).values.copy()]


@given(batches())
@settings(max_examples=150)
def test_kernels_equal_array_code(drawn):
    want = line(Backend(), *drawn)
    with get_backend() as backend:
        found = line(backend, *drawn)
    rtol = 1e-12 if drawn[1].dtype == np.float64 else 2e-6
    for name, got, expected in zip(
        ("pooled", "raw", "ids", "d_pooled", "own"), found, want, strict=False
    ):
        assert np.array_equal(got, expected), f"{name}: few rows are predicted by the array code"
    size = np.abs(want[3]).max() * 3 + np.abs(want[4]).max() * 9 * np.abs(drawn[1]).max()
    np.testing.assert_allclose(found[5], want[5], rtol=rtol, atol=100 * rtol * size)


@pytest.mark.parametrize("n_fields", [1, 3])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_bits_do_not_depend_on_threads(n_fields, n_outputs, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    rng, pairs, n = np.random.default_rng(0), PairShape(n_fields, n_outputs, 5), 300
    indptr = np.append(0, np.cumsum(rng.integers(0, 12, n)))
    indices = (rng.zipf(1.3, indptr[-1]) % 500).astype(np.int32)
    data = rng.normal(size=len(indices)).astype(np.float32)
    table = RowArray(500, pairs.d_embedding + n_outputs, np.float32)
    table.values[:, : table.d] = rng.normal(size=(500, table.d))
    fields = rng.integers(0, n_fields, 500).astype(np.int32) if n_fields > 1 else None
    scale = rng.random(n).astype(np.float32)
    batch = CSRBatch(indptr, indices, data, rng.permutation(n), scale, None, fields)
    d_raw = rng.normal(size=(n_outputs, n)).astype(np.float32)
    results = set()
    for n_jobs in (1, 2, 3, 4):
        with get_backend(n_jobs) as backend:
            found = line(backend, batch, table.values, pairs, n_outputs, 450, d_raw)
            results.add(b"".join(part.tobytes() for part in found))
    assert len(results) == 1


def test_blocks_are_a_view():
    pairs, rows = PairShape(2, 3, 4), np.arange(2 * 32.0).reshape(2, 32)
    blocks = pairs.blocks(rows)
    assert blocks.shape == (2, 2, 3, 4)
    assert np.shares_memory(blocks, rows)
    assert blocks[1, 1, 2].tolist() == rows[1, 20:24].tolist()
    assert pairs.d_embedding == 24
