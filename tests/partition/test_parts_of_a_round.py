"""What a round is made of: merging, packing, the step of a partition, checkpoints."""

import sys

import numpy as np
import pytest

from engines import BAG, data, partitioned
from skembed.compress import Everything, Header, TopK
from skembed.core import SparseRowGradient
from skembed.kernels import Backend
from skembed.partition import JoblibEngine, PartitionTrainer, _checkpoint
from skembed.partition._merge import average, merge
from skembed.partition._trainer import deal
from skembed.partition._update import pack, unpack
from skembed.partition._worker import STORE, PartitionWorker

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
HEADER = Header(7, 1, 3)


def rows(indices, values, n=6):
    """Return a row list."""
    values = np.array(values, np.float64)
    return SparseRowGradient(np.array(indices), values, np.ones(len(indices), int), (n, 2))


def test_merged_changes():
    parts = [rows([0, 2], [[4.0, 0.0], [8.0, 8.0]]), rows([2, 5], [[0.0, 4.0], [4.0, 4.0]])]
    shares = [0.25, 0.75]
    mean = merge(parts, shares, "mean")
    assert mean.indices.tolist() == [0, 2, 5]
    assert mean.values.tolist() == [[1, 0], [2, 5], [3, 3]]
    touch = merge(parts, shares, "touch")
    assert touch.values.tolist() == [[4, 0], [8, 5], [4, 4]]
    root = merge(parts, shares, "sqrt")
    assert np.allclose(root.values, [[2, 0], [4, 5], [3 / 0.75**0.5, 3 / 0.75**0.5]])


@pytest.mark.parametrize("aggregate", ["mean", "touch", "sqrt"])
def test_merged_rows_are_merged_changes_of_rows(aggregate):
    rng = np.random.default_rng(0)
    old, shares = rng.normal(size=(6, 2)), [0.2, 0.5, 0.3]
    parts = [rows(np.sort(rng.choice(6, 3, False)), rng.normal(size=(3, 2))) for _ in shares]
    changes = [
        SparseRowGradient(p.indices, p.values - old[p.indices], p.counts, p.shape) for p in parts
    ]
    got, want = merge(parts, shares, aggregate, old), merge(changes, shares, aggregate)
    assert np.allclose(got.values, want.values + old[want.indices])
    one = merge(parts[:1], [1.0], aggregate, old)
    assert one.values.tobytes() == parts[0].values.tobytes()


def test_mean_of_one_has_its_bits():
    array = np.array([[-0.0, 1e-300, np.pi]])
    assert average([array], [1.0]).tobytes() == array.tobytes()


def params():
    """Return parameters of a small bag."""
    model = partitioned(max_iter=1, n_partitions=1).fit(*data(70))
    return model.estimator_._state.params


def test_update_is_read_as_it_was_written():
    p = params()
    table = p["table"]
    change = SparseRowGradient(np.array([1, 4]), np.ones((2, 4)), np.ones(2, int), table.shape)
    message, _ = Everything().compress(change, None, Backend(), header=HEADER)
    head = {"coef_0": np.full((3, 4), 2.0), "intercept_0": np.arange(3.0)[:, None]}
    blob = pack(message, head, HEADER)
    read, got = unpack(blob, p, Everything(), HEADER)
    assert read.indices.tolist() == [1, 4]
    assert all(np.array_equal(got[name], head[name]) for name in head)
    with pytest.raises(ValueError, match="was expected, but it is one of"):
        unpack(blob, p, Everything(), Header(7, 1, 4))
    rng = np.random.default_rng(0)
    for _ in range(200):
        at, broken = rng.integers(len(blob)), bytearray(blob)
        broken[at] ^= 1 << rng.integers(8)
        for spoilt in (bytes(broken), blob[:at], blob + b"x"):
            with pytest.raises(ValueError, match=r"."):
                unpack(spoilt, p, Everything(), HEADER)


class Keeps(JoblibEngine):
    """Keeps the assignments that it is given."""

    def start(self, n_partitions, n_jobs):
        super().start(n_partitions, n_jobs)
        self.assignments = {}

    def run(self, calls, timeout):
        self.assignments |= {p: args[0] for p, (_, *args) in calls.items() if len(args) == 4}
        return super().run(calls, timeout)


@pytest.mark.parametrize("values", ["int8", "float32"])
def test_nothing_is_lost_in_a_round(values):
    """Sent and kept is what was owed and what changed, to 1e-6."""
    engine = Keeps()
    partitioned(engine, compressor=TopK(ratio=0.1, values=values), max_iter=1).fit(*data())
    assignment = next(a for a in engine.assignments.values() if hasattr(a, "partition"))
    assert not STORE
    one, all_of_it = PartitionWorker(assignment), PartitionWorker(assignment)
    for worker, up in ((one, assignment.up), (all_of_it, Everything())):
        object.__setattr__(worker.assignment, "up", up)
        worker.reply = worker.step(None)
    shape = one.state.params["table"].shape
    sums = []
    for worker in (one, all_of_it):
        header = Header(assignment.fit, assignment.partition, 0)
        sent, _ = unpack(worker.reply.blob, worker.state.params, assignment.down, header)
        sums.append(sent.to_csr() + worker.memory.to_csr() if len(worker.memory.indices)
                    else sent.to_csr())  # fmt: skip
    difference = abs(sums[0] - sums[1]).max()
    assert sums[0].shape == shape
    assert difference <= 1e-6 * abs(sums[1]).max()


def test_rows_are_dealt_once():
    dealt = deal(np.arange(10, 110), 3, seed=0, shuffle=True)
    assert sorted(map(len, dealt)) == [33, 33, 34]
    assert np.array_equal(np.sort(np.concatenate(dealt)), np.arange(10, 110))
    assert not np.array_equal(dealt[0], np.arange(10, 44))
    in_order = deal(np.arange(10, 110), 3, seed=0, shuffle=False)
    assert np.array_equal(np.concatenate(in_order), np.arange(10, 110))
    assert PartitionTrainer.unit == "rounds"


def test_file_of_a_checkpoint(tmp_path):
    path = tmp_path / "one.npz"
    _checkpoint.write(path, {"a": np.arange(3)}, {"round": 4})
    arrays, numbers = _checkpoint.read(path)
    assert arrays["a"].tolist() == [0, 1, 2]
    assert numbers == {"round": 4}
    before = path.read_bytes()
    with pytest.raises(TypeError):
        _checkpoint.write(path, {}, {"round": object()})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    path.write_bytes(before[:-40])
    with pytest.raises(ValueError, match="is not a checkpoint"):
        _checkpoint.read(path)
    np.savez(path, numbers=np.array([{}], object))
    with pytest.raises(ValueError, match="is not a checkpoint"):
        _checkpoint.read(path)


def test_missing_dask_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "skembed\[dask\]"'):
        partitioned("dask").fit(*data(70))
    assert BAG.get_params()["n_components"] == 4
