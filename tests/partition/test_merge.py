"""Many changes become one."""

import numpy as np
import pytest

from skembed.core import SparseRowGradient
from skembed.kernels import Backend, get_backend
from skembed.partition._merge import merge

SHAPE, SHARES = (60, 3), [0.5, 0.3, 0.2]


def parts(dtype=np.float32):
    rng = np.random.default_rng(0)
    for size in (30, 0, 45):
        rows = np.sort(rng.choice(SHAPE[0], size, replace=False)).astype(np.int32)
        values = rng.normal(size=(size, 3)) * (rng.random((size, 3)) < 0.7)
        yield SparseRowGradient(rows, values.astype(dtype), np.ones(size, np.int64), SHAPE)


def dense(part):
    return part.to_csr().toarray().astype(np.float64)


@pytest.mark.parametrize("backend", [Backend(), get_backend()], ids=["array code", "kernels"])
@pytest.mark.parametrize("aggregate", ["mean", "touch", "sqrt"])
def test_changes(backend, aggregate):
    changes = list(parts())
    merged = merge(changes, SHARES, aggregate, backend)
    total = sum(s * dense(p) for s, p in zip(SHARES, changes, strict=True))
    sent = sum(s * (dense(p) != 0) for s, p in zip(SHARES, changes, strict=True))
    sent[sent == 0] = 1
    divisor = {"mean": 1, "touch": sent, "sqrt": np.sqrt(sent)}[aggregate]
    np.testing.assert_allclose(dense(merged), total / divisor, rtol=1e-6)
    assert merged.values.dtype == np.float32
    assert np.array_equal(merged.indices, np.union1d(changes[0].indices, changes[2].indices))


def test_rows_that_replace_the_old_ones():
    old = np.random.default_rng(1).normal(size=SHAPE)
    rows = list(parts(np.float64))
    merged = merge(rows, SHARES, "mean", get_backend(), old)
    want = np.zeros(SHAPE)
    for share, part in zip(SHARES, rows, strict=True):
        new = old.copy()
        new[part.indices] = part.values
        want += share * new
    np.testing.assert_allclose(merged.values, want[merged.indices])
    one = merge(rows[:1], [1.0], "mean", get_backend(), old)
    assert np.array_equal(one.values, rows[0].values)
