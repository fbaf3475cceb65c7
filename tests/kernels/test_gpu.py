"""Every operation of the CUDA backend, run on the CPU with all accesses checked, against numba.

The bits must be the same, for any order of threads and blocks.
"""

import numpy as np
import pytest

from cudaemu import emulator, standin
from skembed.core import (
    CSRBatch,
    FeatureIndex,
    Groups,
    PairShape,
    PendingPairGradient,
    PendingRowGradient,
    Spans,
    SparseRowGradient,
)
from skembed.kernels import Backend, get_backend
from skembed.kernels.cpu import _matrix
from skembed.kernels.gpu import CUDABackend
from skembed.kernels.gpu._kernels import SECTOR
from skembed.solvers import SOLVERS

pytestmark = pytest.mark.skipif(
    emulator.WHY_NOT is not None and not emulator.REQUIRED, reason=str(emulator.WHY_NOT)
)
WIDTHS = (1, 3, 4, 8, 12, 16, 64, 100, 128, 256)
DTYPES = (np.float32, np.float64)
CHUNK = 128
SETS = ORDERS = 12  # seeded data sets, each with so many orders of threads
ALWAYS = [(0, 1), (2, 5), (4, 2), (6, 8)]  # of even ones, most are float32: fewer builds

every_set = pytest.mark.parametrize(
    "data, order",
    [
        *ALWAYS,
        *(
            pytest.param(data, order, marks=pytest.mark.nightly)
            for data in range(SETS)
            for order in range(1, ORDERS + 1)
            if (data, order) not in ALWAYS
        ),
    ],
)


@pytest.fixture(scope="module", autouse=True)
def kernels_for_little_work():
    few, _matrix.FEW = _matrix.FEW, -1
    yield
    _matrix.FEW = few


@pytest.fixture
def cpu():
    with get_backend() as backend:
        yield backend


@pytest.fixture
def gpu():
    with CUDABackend(standin) as backend:
        backend.kernels.threads = 64  # several blocks for little data
        yield backend


def padded(d, dtype, unit):
    lanes = unit // np.dtype(dtype).itemsize
    return -(-d // lanes) * lanes


def rows_of(rng, n, d, dtype):
    """Random rows, padded to whole cache lines."""
    out = np.zeros((n, padded(d, dtype, 64)), dtype)
    out[:, :d] = rng.normal(size=(n, d))
    return out


def up(host, d=None):
    """The array on the device; rows of d numbers are padded to whole sectors of memory."""
    if host is None:
        return None
    if d is not None:
        host = np.ascontiguousarray(host[:, : padded(d, host.dtype, SECTOR)])
    return standin.asarray(host)


def same(got, want, d=None, err_msg=""):
    """The same bits; what pads the rows is zero."""
    got, want = standin.asnumpy(got), np.asarray(want)
    if d is not None:
        assert not got[:, d:].any(), "padding"
        got, want = got[:, :d], want[:, :d]
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    kind = {4: np.uint32, 8: np.uint64, 1: np.uint8}[got.itemsize]
    np.testing.assert_array_equal(
        np.ascontiguousarray(got).view(kind), np.ascontiguousarray(want).view(kind), err_msg
    )


class Data:
    """A seeded data set: bags of rows of a table, some empty, some rows often, some frozen.

    Parameters
    ----------
    seed : int
        Draws it.
    dtype : dtype
        Work dtype.
    d : int
        Width of a row.
    n : int
        Rows of the matrix.
    often : int
        Values that row 0 of the table has beside.
    """

    def __init__(self, seed, dtype, d, n=14, often=0):
        rng = self.rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 9, n) * (rng.random(n) > 0.2)
        self.n_rows, self.d, self.dtype = 23, d, dtype
        bags = [np.sort(rng.choice(self.n_rows, k, replace=False)) for k in sizes]
        bags = [np.unique(np.append(bag, [0, self.n_rows - 1])) if k else bag
                for k, bag in zip(sizes, bags, strict=True)]  # fmt: skip
        bags += [np.zeros(1, int)] * often
        self.indptr = np.append(0, np.cumsum([len(bag) for bag in bags])).astype(np.int64)
        self.indices = np.concatenate([np.zeros(0, int), *bags]).astype(np.int32)
        self.data = rng.normal(size=len(self.indices)).astype(dtype)
        self.table = rows_of(rng, self.n_rows, d, dtype)
        b = len(bags) if often else max(len(bags) - 3, 0)
        self.rows = rng.permutation(len(bags))[:b].astype(np.int64)
        self.scale = rng.random(b).astype(dtype)
        self.fields = rng.integers(0, 3, self.n_rows).astype(np.int32)
        self.host = CSRBatch(
            self.indptr, self.indices, self.data, self.rows, self.scale, fields=self.fields
        )
        parts = self.indptr, self.indices, self.data, self.rows, self.scale
        self.device = CSRBatch(*map(up, parts), fields=up(self.fields))

    def grads(self, n=None):
        return rows_of(self.rng, len(self.rows) if n is None else n, self.d, self.dtype)


def chunked(cpu, groups, d_pooled):
    """Sums of the runs by the rule of chunks, each chunk by the kernel for the CPU."""
    begins, owner = [], []
    for u in range(len(groups.ids)):
        pieces = range(groups.starts[u], groups.starts[u + 1], CHUNK)
        begins += pieces
        owner += [u] * len(pieces)
    begins = np.array([*begins, groups.starts[-1]], np.int64)
    parts = Groups(np.arange(len(owner), dtype=np.int32), begins, groups.keys, groups.coef)
    sums = cpu.bag_backward(parts, d_pooled)
    out = np.zeros((len(groups.ids), sums.shape[1]), sums.dtype)
    for k, u in enumerate(owner):
        out[u] = out[u] + sums[k] if k and owner[k - 1] == u else sums[k]
    return out


@every_set
@pytest.mark.parametrize("dtype", DTYPES)
def test_forward(cpu, gpu, data, order, dtype):
    d = WIDTHS[data % len(WIDTHS)]
    x = Data(data, dtype, d)
    with emulator.scheduled(seed=order):
        same(gpu.forward(x.device, up(x.table, d)), cpu.forward(x.host, x.table), d)
        got, want = gpu.forward_max(x.device, up(x.table, d)), cpu.forward_max(x.host, x.table)
    same(got[0], want[0], d)
    same(got[1][:, :d], want[1][:, :d])


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_widths(cpu, gpu, d, dtype):
    x = Data(d, dtype, d)
    same(gpu.forward(x.device, up(x.table, d)), cpu.forward(x.host, x.table), d)
    groups, got = cpu.group(x.host, x.table, x.n_rows), gpu.group(x.device, x.table, x.n_rows)
    g = x.grads()
    same(gpu.bag_backward(got, up(g, d)), cpu.bag_backward(groups, g), d)
    exact = np.zeros((len(groups.ids), d))
    for u in range(len(groups.ids)):
        for p in range(groups.starts[u], groups.starts[u + 1]):
            exact[u] += float(groups.coef[p]) * g[groups.keys[p] & 0xFFFFFFFF, :d].astype(float)
    bound = 2e-6 if dtype is np.float32 else 1e-14
    got = gpu.bag_backward(got, up(g, d)).get()[:, :d]
    assert np.abs(got - exact).max(initial=0) <= bound * np.abs(exact).max(initial=1)


@every_set
def test_groups(cpu, gpu, data, order):
    x = Data(data, np.float32, 4, often=300 * (data % 3 == 2))
    for n_trainable in (x.n_rows, 9, 1, 0):
        want = cpu.group(x.host, x.table, n_trainable)
        with emulator.scheduled(seed=order):
            got = gpu.group(x.device, x.table, n_trainable)
        same(got.ids, want.ids)
        n = int(want.starts[-1])
        same(got.starts, want.starts)
        same(got.keys[:n], (want.keys & 0xFFFFFFFF).astype(np.int32))
        same(got.coef[:n], want.coef)
        chunks, lengths = got.chunks, np.diff(want.starts)
        per_run = -(-lengths // CHUNK)
        assert (chunks.n, chunks.n_split) == (per_run.sum(), (per_run > 1).sum())
        begins = chunks.begins.get()
        assert np.array_equal(np.diff(begins) > CHUNK, np.zeros(chunks.n, bool))
        assert set(want.starts) <= set(begins) | {0}
        assert np.array_equal(chunks.rows.get(), np.repeat(want.ids, per_run))


@every_set
@pytest.mark.parametrize("often", [0, 300])
def test_summed_gradients(cpu, gpu, data, order, often):
    d = WIDTHS[data % 6]
    x = Data(data, np.float32, d, often=often)
    groups = cpu.group(x.host, x.table, 20)
    g = x.grads()
    with emulator.scheduled(seed=order):
        device = gpu.group(x.device, x.table, 20)
        got = gpu.bag_backward(device, up(g, d))
        _, winners = cpu.forward_max(x.host, x.table)
        narrow = up(np.ascontiguousarray(winners[:, : padded(d, np.float32, SECTOR)]))
        won = gpu.bag_backward(device, up(g, d), narrow)
    same(got, chunked(cpu, groups, g), d)
    if not often:
        same(got, cpu.bag_backward(groups, g), d)
        same(won, cpu.bag_backward(groups, g, winners.copy()), d)
    else:
        want = cpu.bag_backward(groups, g, winners.copy())[:, :d]
        np.testing.assert_allclose(won.get()[:, :d], want, rtol=2e-6, atol=2e-5)


SOLVER_CASES = {
    "sgd": ("sgd", {}),
    "momentum": ("sgd", {"momentum": 0.9, "nesterov": True}),
    "adagrad": ("adagrad", {"eps": 0.0}),
    "rowwise_adagrad": ("rowwise_adagrad", {}),
    "adam": ("adamw", {}),
    "lazy_adam": ("lazy_adam", {}),
    "ftrl": ("ftrl", {"l1": 1e-2, "l2": 1e-3}),
}


def state_of(solver, x):
    """Starting state of a table: random where a solver allows it."""
    arrays = []
    for slot, kind in solver.slots.items():
        if kind == "element":
            rows = rows_of(x.rng, x.n_rows, x.d, x.dtype)
            arrays.append(rows if slot in ("m", "velocity", "z") else np.abs(rows))
        elif kind == "row":
            arrays.append(x.rng.random((x.n_rows, 1)).astype(x.dtype))
        else:
            arrays.append(x.rng.integers(0, 5, (x.n_rows, 1)).astype(np.int32))
    return arrays


def narrow(arrays, d):
    return [up(a, d) if a.shape[1] > 1 else up(a) for a in arrays]


def test_every_solver_has_its_kernels():
    assert set(CUDABackend.row_updates) == set(get_backend().row_updates) == set(SOLVER_CASES)


@every_set
@pytest.mark.parametrize("name", SOLVER_CASES)
def test_solvers(cpu, gpu, data, order, name):
    registered, params = SOLVER_CASES[name]
    solver = SOLVERS.resolve(registered).set_params(**params)
    assert solver.name == name
    d, dtype = WIDTHS[(data + len(name)) % 7], DTYPES[data % 2]
    x = Data(data, dtype, d, often=260 * (data % 4 == 2))
    start = [x.table, *state_of(solver, x)]
    groups, g = cpu.group(x.host, x.table, 20), x.grads()
    args = solver.kernel_args(lr=0.1, keep=0.999, step=3, d=d, name="table")
    summed = SparseRowGradient(
        groups.ids.copy(), chunked(cpu, groups, g), np.diff(groups.starts), x.table.shape
    )
    want = [a.copy() for a in start]
    cpu.update_rows(name, summed, want, args)
    with emulator.scheduled(seed=order):
        device = gpu.group(x.device, x.table, 20)
        got = narrow(start, d)
        pending = PendingRowGradient(device, up(g, d), got[0].shape)
        gpu.update_rows(name, pending, got, args)
        listed = narrow(start, d)
        rows = SparseRowGradient(device.ids, up(summed.values, d), None, got[0].shape)
        gpu.update_rows(name, rows, listed, args)
    for a, b, w in zip(got, listed, want, strict=True):
        width = d if w.shape[1] > 1 else None
        same(a, w, width, name)
        same(b, w, width, name)
    if np.diff(groups.starts).max() <= CHUNK:
        fused = [a.copy() for a in start]
        cpu.update_rows(name, PendingRowGradient(groups, g, x.table.shape), fused, args)
        for a, w in zip(got, fused, strict=True):
            same(a, w, d if w.shape[1] > 1 else None)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("adagrad", "rowwise_adagrad")
        else pytest.param(name, marks=pytest.mark.nightly)
        for name in SOLVER_CASES
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 40), (5, 130)])
def test_dense_parameters(cpu, gpu, name, shape):
    registered, params = SOLVER_CASES[name]
    solver, rng = SOLVERS.resolve(registered).set_params(**params), np.random.default_rng(3)
    param, g = rng.normal(size=(2, *shape)).astype(np.float32)
    state = solver.init_state(param, "coef_0", np, 0.1, 64)
    args = solver.kernel_args(lr=0.1, keep=0.999, step=3, d=shape[1], name="coef_0")
    want, got = [param.copy(), *state.values()], [up(param), *map(up, state.values())]
    cpu.update_dense(name, g, want, args)
    gpu.update_dense(name, up(g), got, args)
    for a, w in zip(got, want, strict=True):
        same(a, w)


@every_set
@pytest.mark.parametrize("shape", [(1, 1, 5, 0), (1, 3, 4, 3), (3, 1, 4, 1), (3, 2, 3, 2)])
def test_factorization_machines(cpu, gpu, data, order, shape):
    n_fields, n_outputs, k, n_linear = shape
    pairs, dtype = PairShape(n_fields, n_outputs, k), DTYPES[data % 2]
    d = pairs.d_embedding + n_linear
    x = Data(data, dtype, d)
    d_raw = x.rng.normal(size=(n_outputs, len(x.rows))).astype(dtype)
    pooled, raw, groups = cpu.fm_forward_and_group(x.host, x.table, 20, pairs, n_linear)
    fields = x.fields if n_fields > 1 else None
    with emulator.scheduled(seed=order):
        table = up(x.table, d)
        got, got_raw, device = gpu.fm_forward_and_group(x.device, table, 20, pairs, n_linear)
        same(got, pooled, d)
        same(got_raw, raw)
        d_pooled, own = cpu.fm_slopes(pooled, d_raw, x.scale, pairs, n_linear)
        slopes, got_own = gpu.fm_slopes(got, up(d_raw), up(x.scale), pairs, n_linear)
        same(slopes, d_pooled, d)
        same(got_own, own)
        grad = PendingPairGradient(
            groups, d_pooled, x.table.shape, own=own, table=x.table, fields=fields, pairs=pairs
        )
        on_device = PendingPairGradient(
            device, slopes, table.shape, own=got_own, table=table, fields=up(fields), pairs=pairs
        )
        want = cpu.fm_backward(grad)
        same(gpu.fm_backward(on_device), want, d)
        sum_sq = rows_of(x.rng, x.n_rows, d, dtype) ** 2
        stepped = [table, up(sum_sq, d)]
        gpu.update_rows("adagrad", on_device, stepped, (0.99, 0.1, 1e-10))
    cpu.update_rows("adagrad", grad, [x.table, sum_sq], (0.99, 0.1, 1e-10))
    same(stepped[0], x.table, d)
    same(stepped[1], sum_sq, d)


@pytest.mark.parametrize("n_fields", [1, 3])
def test_factorization_machines_with_a_feature_in_every_row(cpu, gpu, n_fields):
    pairs, k = PairShape(n_fields, 2, 4), 8 * n_fields
    x = Data(5, np.float64, k, often=270)
    fields = x.fields if n_fields > 1 else None
    groups, device = cpu.group(x.host, x.table, 23), gpu.group(x.device, x.table, 23)
    d_pooled, own = (
        rows_of(x.rng, len(x.rows) * n_fields, k, np.float64),
        x.rng.random((len(x.rows), 2)),
    )
    grad = PendingPairGradient(
        groups, d_pooled, x.table.shape, own=own, table=x.table, fields=fields, pairs=pairs
    )
    table = up(x.table, k)
    on_device = PendingPairGradient(
        device,
        up(d_pooled, k),
        table.shape,
        own=up(own),
        table=table,
        fields=up(fields),
        pairs=pairs,
    )
    assert device.chunks.n_split
    want = cpu.fm_backward(grad)[:, :k]
    np.testing.assert_allclose(
        gpu.fm_backward(on_device).get()[:, :k], want, rtol=1e-12, atol=1e-12
    )


@every_set
def test_listed_rows(cpu, gpu, data, order):
    d, dtype, now = WIDTHS[data % 7], DTYPES[data % 2], 5
    x = Data(data, dtype, d)
    ids = np.sort(x.rng.choice(x.n_rows, 11, replace=False)).astype(np.int32)
    last = x.rng.integers(0, now + 1, (x.n_rows, 1)).astype(np.int32)
    m, v = rows_of(x.rng, x.n_rows, d, dtype), rows_of(x.rng, x.n_rows, d, dtype) ** 2
    v[3] = 0
    factors = x.rng.random((7, now + 1))
    factors[1, now] = 1
    factors[6] += factors[4]
    decay, bound = factors[0], 0.6 * d**0.5
    counts = np.zeros((x.n_rows, 1), np.int32)
    with emulator.scheduled(seed=order):
        for name, arrays, args in (
            ("catch_up_decay", [x.table, last], (now, decay)),
            ("catch_up_adam", [x.table, m, v, last], (now, *factors)),
            ("mark", [last], (now,)),
            ("limit_norm", [x.table], (bound,)),
        ):
            got = [up(a, d) if a.shape[1] > 1 else up(a) for a in arrays]
            want = [a.copy() for a in arrays]
            getattr(gpu, name)(up(ids), *got, *args)
            getattr(cpu, name)(ids, *want, *args)
            for a, w in zip(got, want, strict=True):
                same(a, w, d if w.shape[1] > 1 else None, name)
        got = up(counts)
        gpu.count_updates(got, up(ids))
    cpu.count_updates(counts, ids)
    same(got, counts)


@every_set
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_matrix_operations(cpu, gpu, data, order, index_dtype):
    dtype = DTYPES[data % 2]
    x = Data(data, dtype, 12)
    x.data[x.rng.random(len(x.data)) < 0.2] = 0
    indices = (x.indices * 3).astype(index_dtype)
    for n_features, min_count in ((70, 2), (2**40 if index_dtype is np.int64 else 2**31 - 1, 1)):
        columns, counts = np.unique(indices, return_counts=True)
        index = FeatureIndex(n_features).observe(columns, counts, min_count=min_count)
        want = cpu.map_columns(x.indptr, indices, x.data, index)
        with emulator.scheduled(seed=order):
            got = gpu.map_columns(up(x.indptr), up(indices), up(x.data), index)
        for a, w in zip(got, want, strict=True):
            same(a, w)
    with emulator.scheduled(seed=order):
        for pooling in ("sum", "mean", "sqrtn", "max"):
            want = cpu.scale(x.indptr, x.data, pooling)
            same(gpu.scale(up(x.indptr), up(x.data), pooling), want)
        block, n = rows_of(x.rng, x.n_rows, 12, dtype), len(x.indptr) - 1
        X = CSRBatch(x.indptr, x.indices, x.data, None, None)
        on_device = CSRBatch(up(x.indptr), up(x.indices), up(x.data), None, None)
        for rows, add in ((None, False), ((3, 9), False), (None, True)):
            out = rows_of(x.rng, n, 12, dtype)
            got = up(out, 12)
            gpu.times(on_device, up(block, 12), got, rows, add)
            cpu.times(X, block, out, rows, add)
            same(got, out, 12)
        tall = rows_of(x.rng, n, 12, dtype)
        out, got = rows_of(x.rng, x.n_rows, 12, dtype), up(block, 12)
        cpu.transposed_times(X, tall, out)
        gpu.transposed_times(on_device, up(tall, 12), got)
        close = dict(rtol=2e-6, atol=1e-6) if dtype is np.float32 else dict(rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got.get()[:, :12], out[:, :12], **close)


@every_set
def test_topk_with_memory(cpu, gpu, data, order):
    rng, dtype, n = np.random.default_rng(data), DTYPES[data % 2], 300
    change = (rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)).astype(dtype)
    change[rng.random(n) < 0.3] = rng.choice(np.array([0, -0.0, 1.5, -1.5], dtype))
    memory = np.where(rng.random(n) < 0.5, 0, rng.normal(size=n)).astype(dtype)
    total = change + memory
    with emulator.scheduled(seed=order):
        for k in (1, 7, 150, n - 1, n, n + 5):
            at = gpu.select_topk(up(total), k).get()
            assert np.array_equal(at, cpu.select_topk(total, k))
        assert len(gpu.select_topk(up(np.zeros(70, dtype)), 3)) == 0
        same_size = np.full(70, -2, dtype)
        assert gpu.select_topk(up(same_size), 5).get().tolist() == [0, 1, 2, 3, 4]
        left = up(change) + up(memory)
        places = gpu.select_topk(left, 40)
        sent = left[places]
        left[places] = left[places] - sent
    whole = left.get()
    whole[places.get()] += sent.get()
    same(whole, total)


@every_set
def test_hashes(cpu, gpu, data, order):
    rng = np.random.default_rng(data)
    tokens = [bytes(rng.integers(0, 256, k, dtype=np.uint8)) for k in rng.integers(0, 11, 20)]
    ends = np.cumsum([len(t) + 1 for t in tokens], dtype=np.int64)
    buffer = np.frombuffer(b"".join(b"-" + t for t in tokens), np.uint8)
    columns = [
        Spans(buffer, ends - [len(t) for t in tokens], ends, prefix)
        for prefix in (b"", b"a", b"abcd", b"column=")
    ]
    ids = rng.integers(-(2**40), 2**40, 20)
    with emulator.scheduled(seed=order):
        for seed in (0, 2**32 - 1):
            same(gpu.hash_spans(columns, seed), cpu.hash_spans(columns, seed))
            same(gpu.hash_ids(up(ids), seed), cpu.hash_ids(ids, seed))


@pytest.mark.parametrize("b", [0, 1])
def test_empty_grids_and_empty_bags(cpu, gpu, b):
    indptr = np.zeros(3, np.int64)
    parts = indptr, np.zeros(0, np.int32), np.zeros(0, np.float32)
    rows, scale = np.arange(b, dtype=np.int64), np.ones(b, np.float32)
    batch = CSRBatch(*map(up, parts), up(rows), up(scale))
    table = up(np.ones((2, 8), np.float32))
    assert not gpu.forward(batch, table).get().any()
    assert (gpu.forward_max(batch, table)[1].get() == -1).all()
    groups = gpu.group(batch, table, 2)
    assert len(groups.ids) == groups.chunks.n == 0
    assert gpu.bag_backward(groups, up(np.ones((b, 8), np.float32))).shape == (0, 8)
    nothing = up(np.zeros(0, np.int32))
    gpu.mark(nothing, up(np.zeros((2, 1), np.int32)), 1)
    gpu.count_updates(up(np.zeros((2, 1), np.int32)), nothing)
    assert gpu.hash_ids(np.zeros(0, np.int64), 0).shape == (0,)
    assert len(gpu.select_topk(up(np.zeros(0, np.float32)), 3)) == 0
    raw = gpu.fm_forward(batch, table, PairShape(1, 1, 8), 0)[1]
    assert not raw.get().any()


def measured(action):
    """Bytes of memory that the launches of an action touch: whole sectors, each once."""
    emulator.launches.clear()
    action()
    return list(emulator.launches)


@pytest.mark.parametrize("d", [16, 64, 128])
def test_traffic_is_what_the_model_says(gpu, d):
    """Forward 8 n + rows + bags; sums 8 n + bags; Adagrad reads and writes two rows a run."""
    x = Data(0, np.float32, d, n=60)
    n, b = int(np.diff(x.indptr)[x.rows].sum()), len(x.rows)
    touched = len(
        np.unique(np.concatenate([x.indices[x.indptr[r] : x.indptr[r + 1]] for r in x.rows]))
    )
    row, of_bag = 4 * padded(d, np.float32, SECTOR), 8 + 4 + 16
    table, g = up(x.table, d), up(x.grads(), d)
    (one,) = measured(lambda: gpu.forward(x.device, table))
    assert one["wide"] == (n + b) * row // 16
    model = 8 * n + of_bag * b + touched * row
    assert one["bytes_read"] == pytest.approx(model, rel=0.1)
    assert one["bytes_written"] == b * row
    groups = gpu.group(x.device, x.table, x.n_rows)
    grad = PendingRowGradient(groups, g, table.shape)
    arrays = [table, up(np.ones_like(x.table), d)]
    (one,) = measured(lambda: gpu.update_rows("adagrad", grad, arrays, (1.0, 0.1, 1e-10)))
    used = int((np.diff(x.indptr)[x.rows] > 0).sum())
    model = 8 * n + 16 * touched + used * row + 2 * touched * row
    assert one["bytes_read"] == pytest.approx(model, rel=0.1)
    assert one["bytes_written"] == 2 * touched * row


def test_array_code_is_what_has_no_kernel(gpu):
    assert gpu.losses == Backend.losses == {}
