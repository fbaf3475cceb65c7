"""Pooling rows into bags, and the way back: padding, empty bags, hot rows, ids out of range."""

import numpy as np
import pytest

from skembed.core import CSRBatch, ParamTable, PendingRowGradient
from skembed.kernels import get_backend
from steps import Lookup, bag_backward, bag_forward

POOLINGS = ("sum", "mean", "sqrtn")


def test_padding_is_outside_sum_and_divisor_for_one_bag_and_for_two():
    W = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    one = bag_forward(W, [0, 1, 2], [0, 3], pooling="mean", padding=(1,))
    two = bag_forward(W, [0, 1, 2, 0, 1, 2], [0, 3, 6], pooling="mean", padding=(1,))
    assert one.tolist() == [[3.5, 35.0]]
    assert two.tolist() == [[3.5, 35.0]] * 2
    total = bag_forward(W, [0, 1, 2], [0, 3], pooling="sum", padding=(1,))
    assert total.tolist() == [[7.0, 70.0]]
    root = bag_forward(W, [0, 1, 2], [0, 3], pooling="sqrtn", padding=(1,))
    np.testing.assert_allclose(root, total / np.sqrt(2), rtol=1e-15)


def bag_max(W, indices, indptr, padding=(), slopes=None):
    """Return the maximum over every bag; or the touched rows and their gradients for `slopes`."""
    with get_backend() as backend:
        look = Lookup(np.asarray(W), padding)
        batch = look.batch(backend, indices, indptr, pooling="max")
        pooled, winners = backend.forward_max(batch, look.table.values)
        if slopes is None:
            return pooled[:, : look.table.d].copy()
        groups = backend.group(batch, look.table.values, look.table.n_trainable)
        d_pooled = backend.d_pooled(len(batch.rows), look.table.width, look.table.dtype)
        d_pooled[:, : look.table.d] = slopes
        grad = PendingRowGradient(groups, d_pooled, look.table.values.shape, winners).sum(backend)
        return look.columns[grad.indices], grad.values[:, : look.table.d].copy()


@pytest.mark.parametrize("sign", [1, -1])
def test_padding_is_outside_the_maximum(sign):
    W = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    assert bag_max(W, [0, 1, 2], [0, 3], padding=(1,)).tolist() == [[6.0, 60.0]]
    W *= sign  # now padding has the largest vector, or the zero of a row that is not there would
    W[1] = 100.0
    largest = [6.0, 60.0] if sign == 1 else [-1.0, -10.0]
    assert bag_max(W, [0, 1, 2], [0, 3], padding=(1,)).tolist() == [largest]
    twice = bag_max(W, [0, 1, 2, 0, 1, 2], [0, 3, 6], padding=(1,))
    assert twice.tolist() == [largest] * 2
    rows, grads = bag_max(W, [0, 1, 2], [0, 3], padding=(1,), slopes=np.ones((1, 2)))
    assert rows.tolist() == [0, 2]
    assert grads.tolist() == ([[0, 0], [1, 1]] if sign == 1 else [[1, 1], [0, 0]])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_row_gets_no_gradient(pooling):
    W = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    rows, grads = bag_backward(np.ones((1, 2)), W, [0, 1, 2], [0, 3], pooling=pooling, padding=(1,))
    assert rows.tolist() == [0, 2]
    share = {"sum": 1.0, "mean": 0.5, "sqrtn": 1 / np.sqrt(2)}[pooling]
    np.testing.assert_allclose(grads, share)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_empty_bag_is_zero_and_leaves_its_neighbours_alone(pooling, sign):
    W, ids = np.arange(12.0).reshape(4, 3) - 5, [0, 1, 3]
    options = dict(pooling=pooling, weights=[sign] * 3)
    out = bag_forward(W, ids, [0, 2, 2, 3], **options)
    assert np.isfinite(out).all()
    assert out[1].tolist() == [0.0, 0.0, 0.0]
    assert np.array_equal(out[[0, 2]], bag_forward(W, ids, [0, 2, 3], **options))
    rows, grads = bag_backward(np.ones((3, 3)), W, ids, [0, 2, 2, 3], **options)
    assert set(rows.tolist()) <= {0, 1, 3}
    assert np.isfinite(grads).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_hot_rows_sum_as_in_one_thread(n_jobs):
    r = np.random.RandomState(0)
    ids, indptr = r.randint(0, 7, 200_000), np.arange(0, 200_001, 4)
    W, G = np.zeros((9, 16)), r.standard_normal((50_000, 16))
    want = np.zeros_like(W)
    np.add.at(want, ids, np.repeat(G, 4, axis=0))
    runs = []
    for _ in range(2):
        rows, grads = bag_backward(G, W, ids, indptr, pooling="sum", n_jobs=n_jobs)
        assert rows.tolist() == list(range(7))
        np.testing.assert_allclose(grads, want[rows], rtol=1e-9, atol=1e-9)
        runs.append(grads)
    assert np.array_equal(*runs)
    alone = bag_backward(G, W, ids, indptr, pooling="sum", n_jobs=1)[1]
    assert np.array_equal(runs[0], alone), "bits do not depend on the number of threads"


@pytest.mark.parametrize("bad", [4, -1, 10**12])
def test_unknown_row_id_is_refused_before_anything_is_written(bad):
    W = np.ones((4, 2))
    before, ids = W.copy(), np.array([0, bad], dtype=np.int64)
    with pytest.raises(ValueError, match="invalid CSR structure"):
        bag_forward(W, ids, [0, 2])
    with pytest.raises(ValueError, match="invalid CSR structure"):
        bag_backward(np.ones((1, 2)), W, ids, [0, 2])
    assert np.array_equal(W, before)


def test_ids_of_32_and_64_bits_give_the_same_bits():
    both = []
    for dtype in (np.int32, np.int64):
        ids, indptr = np.array([5, 0, 5], dtype), np.array([0, 3], dtype)
        pooled = bag_forward(np.eye(6), ids, indptr)
        rows, grads = bag_backward(np.ones((1, 6)), np.eye(6), ids, indptr)
        both.append((pooled, rows, grads))
    assert all(np.array_equal(a, b) for a, b in zip(*both, strict=True))
    assert both[0][0].tolist() == [[1.0, 0, 0, 0, 0, 2.0]]
    highest = [
        bag_max(np.eye(6), np.array([5, 0, 2], dtype), np.array([0, 2, 3], dtype))
        for dtype in (np.int32, np.int64)
    ]
    assert np.array_equal(*highest)
    assert highest[0].tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]]


@pytest.mark.nightly
def test_table_of_more_than_two_billion_numbers():
    """Needs 9 GiB."""
    n, d = 32_769, 65_536
    table = ParamTable(d, np.float32)
    table.insert(0, n)
    table.n_trainable = n
    table.values[n - 1] = 1
    ids, one = np.array([0, n - 1], np.int32), np.ones(1, np.float32)
    batch = CSRBatch(np.array([0, 2]), ids, np.ones(2, np.float32), np.array([0]), one)
    with get_backend() as backend:
        pooled, groups = backend.forward_and_group(batch, table.values, n)
        assert np.array_equal(pooled, np.ones((1, d), np.float32))
        d_pooled = backend.d_pooled(1, d, np.dtype(np.float32))
        d_pooled[:] = 1
        grad = PendingRowGradient(groups, d_pooled, table.values.shape).sum(backend)
        assert grad.indices.tolist() == [0, n - 1]
        assert np.array_equal(grad.values, np.ones((2, d), np.float32))
