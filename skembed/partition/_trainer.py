"""From rows in memory to partitions that train on them."""

import secrets
from dataclasses import dataclass, replace

import joblib
import numpy as np

from skembed.core import DEAL, stream
from skembed.training import TrainingRows

from ._coordinator import Rounds, Terms
from ._history import History
from ._resume import Checkpoints
from ._worker import Assignment

LEAST_ROWS = 64  # of a partition that is cut here


@dataclass(frozen=True, slots=True)
class Given:
    """Rows that are in memory.

    Attributes
    ----------
    data : TrainingRows
        The rows.
    """

    data: TrainingRows

    def __call__(self, state, backend):
        """Return the rows."""
        return self.data


def deal(rows, n_parts, seed, shuffle):
    """Return rows in `n_parts` parts of about equal size, each in ascending order.

    Rows are dealt at random, so that parts are alike; without `shuffle` they are cut in order.
    """
    if n_parts > 1 and shuffle:
        rows = stream(seed, DEAL).permutation(rows)
    return [np.sort(part) for part in np.array_split(rows, n_parts)]


class PartitionTrainer:
    """Trains by rounds over partitions, as `LocalTrainer` does by epochs over all rows.

    Parameters
    ----------
    engine : Engine
        Where partitions live.
    n_partitions : int
        Number of parts; fewer where a part would have fewer than 64 rows.
    labels : ndarray of shape (n_samples,), int, or None
        The partition of each row, from 0 to n_partitions - 1; None lets them be dealt.
    up, broadcast : Compressor
        What is sent to the coordinator, and by it.
    local_steps : int or "epoch"
        Batches in a round.
    max_iter : int
        Rounds at most.
    aggregate, on_lost, timeout : object
        See `Terms`.
    resets_solver : bool
        Whether the solver begins anew in each round.
    folder : path-like or None
        For checkpoints.
    settings : object
        What a fit that is taken up again must have in common; is hashed.
    n_jobs : int or None
        Partitions that run at a time.

    Attributes
    ----------
    history : History
        The record.
    """

    unit = "rounds"

    def __init__(
        self,
        engine,
        n_partitions,
        labels=None,
        *,
        up,
        broadcast,
        local_steps,
        max_iter,
        aggregate,
        on_lost,
        timeout,
        resets_solver,
        folder,
        settings,
        n_jobs,
    ):
        self.engine, self.up, self.broadcast = engine, up, broadcast
        self.n_partitions, self.labels = n_partitions, labels
        self.local_steps, self.max_iter = local_steps, max_iter
        self.aggregate, self.on_lost, self.timeout = aggregate, on_lost, timeout
        self.resets_solver, self.folder, self.settings = resets_solver, folder, settings
        self.n_jobs = n_jobs
        self.history, self.coordinator = History(), None
        self.fit = secrets.randbits(63)

    def start(self):
        """Have places for partitions."""
        self.engine.start(self.n_partitions, self.n_jobs)

    def clear(self):
        """Remove the checkpoints of a fit that has ended well."""
        if self.coordinator.checkpoints is not None:
            self.coordinator.checkpoints.clear(self.coordinator)

    def close(self):
        """End all places."""
        if self.coordinator is not None:
            self.coordinator.forget()
        self.engine.stop()

    def check(self, estimator, user, old):
        """Return the data that the user gave, checked, and their target."""
        return estimator._check(*user, state=old)

    def n_rows(self, n):
        """Return how many of n rows the loop of a partition goes over, on average."""
        if self.labels is None:
            self.n_partitions = min(self.n_partitions, max(1, n // LEAST_ROWS))
        return -(-n // self.n_partitions)

    def epochs(self, problem, beginning, state, data, backend, stopping):
        """Return the coordinator of rounds over rows in memory."""
        if self.labels is None:
            parts = deal(data.rows, self.n_partitions, state.seed, problem.shuffle)
        else:
            mine = self.labels[data.rows]
            parts = [data.rows[mine == p] for p in range(self.n_partitions)]
        weight = data.sample_weight
        weights = {
            p: float(len(rows) if weight is None else weight[rows].sum(dtype=np.float64))
            for p, rows in enumerate(parts)
        }

        def source(p):
            if self.engine.copies:
                return Given(data.take(parts[p]))
            return Given(replace(data, rows=parts[p]))

        return self.rounds(problem, beginning, state, backend, stopping, source, weights)

    def rounds(self, problem, beginning, state, backend, stopping, source, weights):
        """Return the coordinator of rounds over partitions.

        Parameters
        ----------
        problem, beginning, state, backend, stopping : object
            Those of the fit.
        source : callable
            Number of a partition to what gives its rows, where it lives.
        weights : list of float
            Weight of each partition; those of weight 0 take no part.
        """
        if problem.solver.rows_from_state and not self.resets_solver:
            raise ValueError(
                f"{type(problem.solver).__name__} computes rows from its state, which knows "
                "nothing of other partitions. Use solver_state='reset', or another solver."
            )
        weights = {p: w for p, w in weights.items() if w > 0}
        checkpoints = None
        if self.folder is not None:
            index = beginning.index
            what = self.settings, beginning.seed, index.columns, index.counts, weights
            every = max(1, self.max_iter // 10)
            checkpoints = Checkpoints(self.folder, every, joblib.hash(what), stopping)
        fit = self.fit if checkpoints is None else checkpoints.fit

        def assign(p):
            return Assignment(
                fit, p, problem, beginning, source(p), self.up, self.broadcast,
                rounds.rows_up, rounds.rows_down, self.local_steps, self.max_iter,
                self.resets_solver,
            )  # fmt: skip

        terms = Terms(fit, self.up, self.broadcast, self.aggregate, self.on_lost, self.timeout)
        line = assign, weights, state, backend, self.history
        self.coordinator = rounds = Rounds(terms, self.engine, *line, checkpoints)
        if checkpoints is not None:
            checkpoints.resume(rounds)
        return rounds
