"""Partitions on the workers of a Dask cluster."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import clone

from engines import BAG, bits, data, events, partitioned
from skembed.partition import DaskEngine

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
X, Y = data()


@pytest.fixture(scope="module")
def clean():
    """Bits of the fit in this process."""
    return bits(partitioned().fit(X, Y))


@pytest.fixture(scope="module")
def client():
    """Two processes; started once, since that takes seconds."""
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with distributed.LocalCluster(**options) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            yield client


class Kills:
    """A callback that kills a worker after a round."""

    def __init__(self, at, client):
        self.at, self.client, self.n = at, client, 0

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
                self.act()

    def act(self):
        pid = min(self.client.run(os.getpid).items())[1]
        os.kill(pid, signal.SIGKILL)


class ClosesScheduler(Kills):
    def act(self):
        self.client.cluster.close()


def with_callback(callback):
    """Return the bag with a callback."""
    return clone(BAG).set_callbacks(callback)


def test_bits_are_those_of_one_process(client, clean):
    assert bits(partitioned(DaskEngine(client)).fit(X, Y)) == clean


def test_blocks_of_dask_are_loaded_where_they_are_trained_on(client):
    dask = pytest.importorskip("dask")
    parts = [X[i::4] for i in range(4)]
    targets = [Y[i::4] for i in range(4)]
    model = partitioned(DaskEngine(client))
    lazy = model.fit([dask.delayed(p) for p in parts], [dask.delayed(t) for t in targets])
    assert bits(lazy) == bits(partitioned().fit(parts, targets))


def test_worker_that_does_not_answer_in_time(client):
    def slow(part, target):
        time.sleep(20)
        return part, target

    loaders = [lambda i=i: (X[i::2], Y[i::2]) for i in range(2)]
    loaders[1] = lambda: slow(X[1::2], Y[1::2])
    model = partitioned(DaskEngine(client), round_timeout=2.0)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"\[1\]"):
        model.fit(loaders)
    assert time.monotonic() - began < 15


def test_lost_scheduler_names_the_round_and_leaves_a_checkpoint(tmp_path, clean):
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    client = distributed.Client(cluster, set_as_default=False, timeout=2)
    bag = with_callback(ClosesScheduler(3, client))
    model = partitioned(DaskEngine(client), estimator=bag, checkpoint_dir=tmp_path)
    with pytest.raises(RuntimeError, match=r"Round 3: .* same checkpoint_dir"):
        model.fit(X, Y)
    client.close()
    again = partitioned(estimator=bag.set_callbacks(), checkpoint_dir=tmp_path).fit(X, Y)
    assert bits(again) == clean


def test_worker_that_is_gone_when_it_is_handed_its_rows(client, clean, monkeypatch):
    scatter, calls = client.scatter, []

    def closed_once(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise OSError("closed")
        return scatter(*args, **options)

    monkeypatch.setattr(client, "scatter", closed_once)
    with pytest.warns(RuntimeWarning, match="in round 0: its worker is gone; replayed"):
        model = partitioned(DaskEngine(client)).fit(X, Y)
    assert bits(model) == clean


def test_killed_worker_is_replayed(client, clean, tmp_path):
    bag = with_callback(Kills(3, client))
    with pytest.warns(RuntimeWarning, match=r"Partition \d in round 3: .*; replayed"):
        model = partitioned(DaskEngine(client), estimator=bag, checkpoint_dir=tmp_path).fit(X, Y)
    assert bits(model) == clean
    assert {number for number, _ in events(model)} == {3}
    assert np.all(np.diff(model.history_["bytes_up"]) < 1e6)
