"""Rounds, whatever happens to their partitions."""

import os
from dataclasses import replace

import numpy as np
import pytest

from engines import Here, bits, data, events, partitioned
from skembed import EmbeddingBagClassifier
from skembed.compress import Everything, Header, TopK
from skembed.kernels import Backend
from skembed.partition import JoblibEngine
from skembed.partition._engine import Died
from skembed.partition._update import Sender, row_list
from skembed.partition._worker import STORE

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = data()
lost = pytest.mark.filterwarnings("ignore:Partition .* (replayed|reset):RuntimeWarning")


@pytest.fixture(scope="module")
def clean():
    """Bits of the fit without failure."""
    return bits(partitioned().fit(X, Y))


@pytest.mark.parametrize("n_jobs, engine", [(2, JoblibEngine("threads")), (None, Here())])
def test_bits_depend_on_neither_engine_nor_order_of_arrival(n_jobs, engine, clean):
    assert bits(partitioned(engine, n_jobs=n_jobs).fit(X, Y)) == clean
    assert not STORE, "nothing stays behind"


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_processes_give_the_same_bits(n_jobs, clean):
    assert bits(partitioned(n_jobs=n_jobs).fit(X, Y)) == clean


@lost
@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("fault", ["before", "after"])
def test_lost_state_is_replayed(fault, folder, clean, tmp_path):
    faults = {(0, 0): fault, (2, 1): fault, (4, 3): fault, (4, 0): fault}
    options = {"checkpoint_dir": tmp_path} if folder else {}
    model = partitioned(Here(faults), **options).fit(X, Y)
    assert bits(model) == clean
    assert {p for _, p in events(model)} >= {0, 1, 3} if fault == "after" else {1, 3}
    assert not list(tmp_path.iterdir()), "a fit that has ended needs no checkpoints"


@lost
def test_process_that_ends_within_a_checkpoint_is_replayed(clean, tmp_path, monkeypatch):
    move, calls = os.replace, []

    def ends(source, target):
        if os.path.basename(target) != "coordinator.npz":
            calls.append(target)
            if len(calls) in (3, 7, 12):
                raise SystemExit
        move(source, target)

    monkeypatch.setattr(os, "replace", ends)
    model = partitioned(Here(), checkpoint_dir=tmp_path).fit(X, Y)
    assert bits(model) == clean
    assert len(events(model)) == 3


def test_a_loss_is_told(tmp_path):
    with pytest.warns(RuntimeWarning, match="Partition 2 in round 3: killed; replayed"):
        model = partitioned(Here({(3, 2): "after"})).fit(X, Y)
    (event,) = model.history_["events"][3]
    assert event == {
        "round": 3, "partition": 2, "event": "killed; replayed", "from_round": 0,
    }  # fmt: skip


def test_call_that_is_made_twice_changes_nothing(clean):
    faults = {(call, p): "twice" for call in range(1, 6) for p in range(4)}
    assert bits(partitioned(Here(faults)).fit(X, Y)) == clean


def test_losses_can_be_errors():
    model = partitioned(Here({(2, 1): "after"}), on_lost="raise")
    with pytest.raises(RuntimeError, match="Partition 1 in round 2 lost its state: killed"):
        model.fit(X, Y)
    assert not STORE


def test_partition_can_begin_anew(clean):
    with pytest.warns(RuntimeWarning, match="killed; reset, lost_memory_norm"):
        model = partitioned(Here({(3, 2): "after"}), on_lost="reset").fit(X, Y)
    (event,) = model.history_["events"][3]
    norms = model.history_["memory_norms"]
    assert event["lost_memory_norm"] == norms[2][2] > 0
    assert bits(model) != clean
    assert model.n_iter_ == 6


def test_loss_without_end_is_an_error():
    always = Here(spoil=lambda call, p, answer: Died("gone") if p == 1 else answer)
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="for the 6th time: gone"):
        partitioned(always).fit(X, Y)


def test_replay_without_its_checkpoint_is_an_error(tmp_path):
    def removes(call, p, answer):
        if call != 4 or p != 1:
            return answer
        for path in tmp_path.glob("*-1-*.npz"):
            path.unlink()
        return Died("gone")

    model = partitioned(Here(spoil=removes), checkpoint_dir=tmp_path)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(RuntimeError, match="Partition 1 in round 4: it cannot be rebuilt"),
    ):
        model.fit(X, Y)


@pytest.mark.parametrize("part", ["table", "coef_0"])
def test_numbers_that_are_not_finite_are_refused(part, monkeypatch):
    monkeypatch.setattr(Everything, "_check_finite", staticmethod(lambda total, header: None))

    def nan(call, p, answer):
        if call != 2 or p != 3:
            return answer
        fit, n_rows = next(iter(STORE))[0], len(np.unique(X.indices))
        shapes = {"table": (n_rows, 4), "coef_0": (3, 4), "intercept_0": (3, 1)}
        arrays = {n: np.full(shape, np.nan if n == part else 0.0) for n, shape in shapes.items()}
        rows = {name: row_list(array, np.arange(len(array))) for name, array in arrays.items()}
        blob = Sender(Everything()).pack(rows, Header(fit, 3, 2), Backend())
        return replace(answer, blob=blob)

    with pytest.raises(ValueError, match=r"Partition 3 in round 2: .* NaN or infinity"):
        partitioned(Here(spoil=nan)).fit(X, Y)


def test_divergence_names_partition_and_round():
    wild = EmbeddingBagClassifier(
        4, solver="sgd", learning_rate_init=1e200, early_stopping=False, random_state=0
    )
    with pytest.raises(ValueError, match=r"Partition \d in round \d: Training diverged"):
        partitioned(estimator=wild).fit(X, Y)


def test_late_answer_is_an_error():
    def late(call, p, answer):
        if call == 1 and p == 2:
            raise TimeoutError([2])
        return answer

    with pytest.raises(TimeoutError, match=r"Round 1: no answer from the partitions \[2\]"):
        partitioned(Here(spoil=late), round_timeout=5.0).fit(X, Y)


def test_history_has_the_bytes_of_the_transport():
    engine = Here()
    h = partitioned(engine).fit(X, Y).history_
    assert h["bytes_up"] == engine.up
    assert h["bytes_down"] == engine.down
    assert engine.down[0] == 0 < engine.down[1]
    assert {len(column) for column in h.values()} == {6}


class Stops:
    """A callback that interrupts a fit at a round, as Ctrl-C does."""

    def __init__(self, at):
        self.at, self.n = at, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            self.n += 1
            if self.n == self.at:
                raise KeyboardInterrupt


@pytest.mark.parametrize("stops_early", [False, True])
@pytest.mark.parametrize("at", [1, 3, 5])
def test_interrupted_fit_goes_on_from_its_checkpoint(at, stops_early, tmp_path):
    bag = EmbeddingBagClassifier(4, early_stopping=stops_early, tol=0.0, random_state=0)
    want = bits(partitioned(estimator=bag).fit(X, Y))
    stopped = partitioned(estimator=bag, checkpoint_dir=tmp_path)
    bag.set_callbacks(Stops(at))
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, Y)
    bag.set_callbacks()
    engine = Here()
    again = partitioned(engine, estimator=bag, checkpoint_dir=tmp_path).fit(X, Y)
    assert bits(again) == want
    assert engine.n_calls == 6 - (at - 1)
    assert not list(tmp_path.iterdir())


def test_checkpoint_of_another_fit_is_refused(tmp_path):
    bag = EmbeddingBagClassifier(4, early_stopping=False, tol=0.0, random_state=0)
    bag.set_callbacks(Stops(3))
    with pytest.raises(KeyboardInterrupt):
        partitioned(estimator=bag, checkpoint_dir=tmp_path).fit(X, Y)
    bag.set_callbacks()
    for other in (dict(compressor=TopK(ratio=0.2)), dict(random_state=1), dict(n_partitions=3)):
        with pytest.raises(ValueError, match="holds a checkpoint of another fit"):
            partitioned(estimator=bag, checkpoint_dir=tmp_path, **other).fit(X, Y)
    (tmp_path / "coordinator.npz").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        partitioned(estimator=bag, checkpoint_dir=tmp_path).fit(X, Y)
