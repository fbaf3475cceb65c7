"""What a round is made of: packing, the step of a partition, checkpoints."""

import sys

import numpy as np
import pytest

from engines import BAG, data, partitioned
from skembed.compress import Everything, Header, TopK
from skembed.kernels import Backend
from skembed.partition import JoblibEngine, PartitionTrainer, _checkpoint
from skembed.partition._trainer import deal
from skembed.partition._update import Sender, row_list, unpack, whole
from skembed.partition._worker import STORE, PartitionWorker

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
HEADER = Header(7, 1, 3)


def params():
    """Return parameters of a small bag."""
    model = partitioned(max_iter=1, n_partitions=1).fit(*data(70))
    return model.estimator_._state.params


def test_update_is_read_as_it_was_written():
    p = params()
    arrays = {name: np.array(whole(param)) for name, param in p.items()}
    wanted = {"table": [1, 4], "coef_0": [0, 1, 2], "intercept_0": []}
    update = {name: row_list(arrays[name], np.array(rows, int)) for name, rows in wanted.items()}
    blob = Sender(Everything()).pack(update, HEADER, Backend())
    got = unpack(blob, p, Everything(), HEADER)
    assert {name: rows.indices.tolist() for name, rows in got.items()} == wanted
    assert all(np.array_equal(got[name].values, update[name].values) for name in got)
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
    all_of_it.sender = Sender(Everything())
    for worker in (one, all_of_it):
        worker.step(None)
    sums = []
    for worker in (one, all_of_it):
        header = Header(assignment.fit, assignment.partition, 0)
        sent = unpack(worker.reply.blob, worker.state.params, assignment.down, header)
        owed = worker.sender.memory
        sums.append({name: rows.to_csr() + owed[name].to_csr() for name, rows in sent.items()})
    for name, want in sums[1].items():
        assert abs(sums[0][name] - want).max() <= 1e-6 * abs(want).max()


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
