"""Engines that fail on purpose, in this process; and small partitioned fits to run on them."""

import zlib

import numpy as np
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier, PartitionedFit
from skembed.partition import Engine
from skembed.partition._engine import Died, guarded
from skembed.partition._worker import STORE

BAG = EmbeddingBagClassifier(4, early_stopping=False, tol=0.0, random_state=0)


def data(n=300, n_features=40, seed=0):
    """Return CSR rows and three classes."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_features), density=0.15, format="csr", rng=rng)
    return X, rng.integers(0, 3, n)


def partitioned(engine="joblib", estimator=BAG, **options):
    """Return a model of 4 partitions and 6 rounds."""
    return PartitionedFit(estimator, engine=engine, **{"max_iter": 6, **options})


def bits(model):
    """Return a checksum of all that a partitioned fit has learned and sent."""
    e, h = model.estimator_, model.history_
    arrays = [e.embedding_, e.coef_, e.intercept_, e.n_updates_, np.array(h["loss"])]
    arrays += [np.array(h["bytes_up"]), np.array(e.validation_scores_)]
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array), crc)
    return crc


def events(model):
    """Return (round, partition) of all events of a fit."""
    return [(e["round"], e["partition"]) for entry in model.history_["events"] for e in entry]


class Here(Engine):
    """Runs calls in this process, last partition first; notes the bytes that it carries.

    Parameters
    ----------
    faults : dict of (call, partition) to str, default=None
        What goes wrong in the given call to `run`, from 0: "before" loses a partition before it
        computes, "after" loses it and its answer, "twice" makes the call twice, "in save" ends the
        process while a checkpoint is written.
    spoil : callable, default=None
        Called with (call, partition, answer); returns the answer to give instead.
    """

    copies = False

    def __init__(self, faults=None, spoil=None):
        self.faults = faults
        self.spoil = spoil

    def start(self, n_partitions, n_jobs):
        self.n_calls, self.up, self.down = 0, [], []

    def run(self, calls, timeout):
        number, answers = self.n_calls, {}
        self.n_calls += 1
        for p in sorted(calls, reverse=True):
            fault = (self.faults or {}).get((number, p))
            answers[p] = self._call(p, calls[p], fault)
            if self.spoil is not None:
                answers[p] = self.spoil(number, p, answers[p])
        self._note(calls, answers)
        return {p: answers[p] for p in calls}

    def _call(self, p, call, fault):
        if fault == "before":
            self._lose(p)
        try:
            answer = guarded(*call)
        except SystemExit:
            self._lose(p)
            return Died("ended")
        if fault == "after":
            self._lose(p)
            return Died("killed")
        return guarded(*call) if fault == "twice" else answer

    @staticmethod
    def _lose(p):
        for key in [key for key in STORE if key[1] == p]:
            del STORE[key]

    def _note(self, calls, answers):
        blobs = [arg for call in calls.values() for arg in call if isinstance(arg, bytes)]
        lists = [arg for call in calls.values() for arg in call if isinstance(arg, list)]
        self.down.append(sum(map(len, blobs)) + sum(len(b) for bs in lists for b in bs if b))
        replies = [answer.blob for answer in answers.values() if hasattr(answer, "blob")]
        self.up.append(sum(map(len, replies)))

    def everywhere(self, function, *args):
        function(*args)

    def stop(self):
        pass
