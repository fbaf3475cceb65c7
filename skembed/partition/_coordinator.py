"""Rounds over partitions: collect changes, merge them, broadcast the result."""

from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import numpy as np

from skembed.compress import BROADCAST, Compressor, Everything, Header

from ._engine import Died, EngineLost, Failed
from ._merge import merge
from ._update import Sender, row_list, unpack, whole, write
from ._worker import Origin, Reply, Save, advance, forget, rebuild

LEAST_TIMEOUT, MEDIAN_ROUNDS = 60.0, 10
FIRST_TIMEOUT = 3600.0  # seconds for what comes first, of which nothing is known
MAX_LOSSES = 5  # of one partition in one round


@dataclass(frozen=True, slots=True)
class Terms:
    """How partitions and coordinator deal with each other.

    Attributes
    ----------
    fit : int
        Number of the fit.
    up, broadcast : Compressor
        For what partitions send, and the coordinator; `Everything` sends rows as they are.
    aggregate : {"mean", "touch", "sqrt"}
        How changes are merged.
    on_lost : {"replay", "reset", "raise"}
        What happens to a partition whose state is gone.
    timeout : float or "auto"
        Seconds that a round may take.
    """

    fit: int
    up: Compressor
    broadcast: Compressor
    aggregate: str
    on_lost: str
    timeout: object


def first_timeout(timeout):
    """Return how many seconds a call may take before there was a round."""
    return FIRST_TIMEOUT if timeout == "auto" else timeout


class Rounds:
    """The coordinator: its `run` is a round, as that of `LocalEpochs` is an epoch.

    It has all parameters twice: `common` is what all partitions have, the state has in addition
    what the coordinator still owes them. That is the better one to predict with.

    Parameters
    ----------
    terms : Terms
        What was agreed on.
    engine : Engine
        Started.
    assign : callable
        Number of a partition to its `Assignment`.
    weights : dict of int to float
        Weight of each partition that has rows.
    state : FitState
        All that was learned; trained in place.
    backend : Backend
        Runs the kernels.
    history : History
        Records.
    checkpoints : Checkpoints or None
        Where the fit can be taken up again.
    """

    def __init__(self, terms, engine, assign, weights, state, backend, history, checkpoints=None):
        self.terms, self.engine, self.assign = terms, engine, assign
        self.state, self.backend, self.history = state, backend, history
        self.partitions, total = sorted(weights), sum(weights.values())
        self.shares = [weights[p] / total for p in self.partitions]
        self.rows_up = isinstance(terms.up, Everything)
        self.rows_down = isinstance(terms.broadcast, Everything)
        self.checkpoints = checkpoints
        self.tokens = dict.fromkeys(self.partitions)  # None: it has no place yet
        self.origin, self.blobs, self.sender = 0, {0: None}, Sender(terms.broadcast)
        self.common = {name: param.copy() for name, param in state.params.items()}
        state.solver_state = {}  # each partition has its own

    def run(self):
        """Make a round."""
        number, began = len(self.state.loss_curve), perf_counter()
        if self.checkpoints is not None:
            self.checkpoints.save(self, number)
        replies = self._collect(number)
        updates = [self._open(p, replies[p], number) for p in self.partitions]
        n_rows = self._apply(updates, number)
        losses = [replies[p].loss for p in self.partitions]
        loss = sum(share * loss for share, loss in zip(self.shares, losses, strict=True))
        self.tokens = {p: replies[p].token for p in self.partitions}
        self.state.step = max(reply.step for reply in replies.values())
        self.state.loss_curve.append(loss)
        self.history.end_round(
            bytes_up=sum(len(reply.blob) for reply in replies.values()),
            loss=loss,
            n_rows=n_rows,
            memory_norms=[replies[p].memory_norm for p in self.partitions],
            broadcast_memory_norm=self.sender.norm(),
            seconds=perf_counter() - began,
        )

    def forget(self):
        """Let all places forget the fit."""
        self.engine.everywhere(forget, self.terms.fit)

    # ---------------------------------------------------------------- calls
    def _save(self, number):
        """Return where the round ends with a checkpoint, or None."""
        if self.checkpoints is None or not self.checkpoints.is_due(number + 1):
            return None
        return Save(self.checkpoints.folder, self.checkpoints.round)

    def _first_call(self, p, number):
        """Return the call of a partition, made to the state that it should have."""
        if self.tokens[p] is None:
            return self._rebuild(p, number)
        blob = self.blobs[number]
        self.history.bytes_down += len(blob)
        key = self.terms.fit, p
        return advance, (key, number, self.tokens[p], blob, self._save(number))

    def _rebuild(self, p, number):
        """Return the call that makes a partition from its origin, this round included."""
        folder = None if self.origin == 0 else self.checkpoints.folder
        blobs = [self.blobs[r] for r in range(self.origin, number + 1)]
        self.history.bytes_down += sum(len(blob) for blob in blobs if blob is not None)
        origin = Origin(self.origin, folder)
        return rebuild, (self.assign(p), origin, blobs, self._save(number))

    def _reset(self, p, number):
        """Return the call that makes a partition from the present parameters."""
        header = Header(self.terms.fit, BROADCAST, number - 1)
        arrays = {name: whole(param) for name, param in self.common.items()}
        rows = {name: row_list(array, np.arange(len(array))) for name, array in arrays.items()}
        snapshot = Sender(Everything()).pack(rows, header, self.backend)
        self.history.bytes_down += len(snapshot)
        origin = Origin(number, snapshot=snapshot)
        return rebuild, (self.assign(p), origin, [None], self._save(number))

    def _collect(self, number):
        """Return the reply of every partition; whoever lost its state is helped on."""
        calls = {p: self._first_call(p, number) for p in self.partitions}
        replies, losses = {}, dict.fromkeys(self.partitions, 0)
        while calls:
            answers = self._run(calls, number)
            calls = {}
            for p, answer in answers.items():
                if isinstance(answer, Reply):
                    replies[p] = answer
                elif isinstance(answer, Failed):
                    self._fail(p, answer, number)
                else:
                    losses[p] += 1
                    calls[p] = self._mend(p, answer, number, losses[p])
        return replies

    def _run(self, calls, number):
        n_rounds = max(len(args[2]) if call is rebuild else 1 for call, args in calls.values())
        seconds = self._timeout(n_rounds)
        try:
            return self.engine.run({p: (call, *args) for p, (call, args) in calls.items()}, seconds)
        except TimeoutError as error:
            raise TimeoutError(
                f"Round {number}: no answer from the partitions {error.args[0]} within "
                f"{seconds:.0f} seconds. Raise round_timeout if they need longer."
            ) from None
        except EngineLost as error:
            resume = (
                "Fit again with the same checkpoint_dir to go on from the last checkpoint."
                if self.checkpoints is not None
                else "With a checkpoint_dir a fit can be taken up again."
            )
            raise RuntimeError(f"Round {number}: {error}. {resume}") from error

    def _timeout(self, n_rounds):
        """Return how many seconds so many rounds may take."""
        seconds = self.history.rounds["seconds"]
        if self.terms.timeout != "auto" or not seconds:
            return first_timeout(self.terms.timeout) * n_rounds
        return max(LEAST_TIMEOUT, MEDIAN_ROUNDS * median(seconds)) * n_rounds

    def _fail(self, p, failed, number):
        raise failed.kind(f"Partition {p} in round {number}: {failed.message}")

    def _mend(self, p, answer, number, n_losses):
        """Return the call that brings a lost partition back."""
        reason = answer.reason if isinstance(answer, Died) else "its state was not there"
        if self.terms.on_lost == "raise" or n_losses > MAX_LOSSES:
            times = f" for the {n_losses}th time" if n_losses > 1 else ""
            raise RuntimeError(
                f"Partition {p} in round {number} lost its state{times}: {reason}. With "
                "on_lost='replay' it is computed again."
            )
        if self.terms.on_lost == "reset" and number > 0:
            norms = self.history.rounds["memory_norms"]
            lost = norms[-1][self.partitions.index(p)] if norms else 0.0
            self.history.event(number, p, f"{reason}; reset", lost_memory_norm=lost)
            return self._reset(p, number)
        self.history.event(number, p, f"{reason}; replayed", from_round=self.origin)
        return self._rebuild(p, number)

    # ---------------------------------------------------------------- merging
    def _open(self, p, reply, number):
        """Return the update in a reply, checked."""
        header = Header(self.terms.fit, p, number)
        try:
            return unpack(reply.blob, self.common, self.terms.broadcast, header)
        except ValueError as error:
            raise ValueError(f"Partition {p} in round {number}: {error}") from error

    def _apply(self, updates, number):
        """Merge, compress, and do what every partition will do with the broadcast."""
        common, broadcast = self.common, self.terms.broadcast
        merged = {name: self._merge(name, [u[name] for u in updates]) for name in common}
        header = Header(self.terms.fit, BROADCAST, number)
        blob = self.sender.pack(merged, header, self.backend)
        sent = unpack(blob, common, broadcast, header)
        write(common, sent, self.rows_down)
        for name, param in self.state.params.items():
            whole(param)[:] = whole(common[name])
        write(self.state.params, self.sender.memory, replaces=False)
        self.backend.count_updates(self.state.n_updates.values, sent["table"].indices)
        self.blobs[number + 1] = blob
        self._drop_blobs(number + 1)
        return len(merged["table"].indices)

    def _merge(self, name, parts):
        """Return the mean of a parameter, as changes or rows, whichever will be sent."""
        array = whole(self.common[name])
        aggregate = self.terms.aggregate if name == "table" else "mean"
        old = array if self.rows_up else None
        rows = merge(parts, self.shares, aggregate, self.backend, old)
        if self.rows_up and not self.rows_down:
            return replace(rows, values=rows.values - array[rows.indices])
        if self.rows_down and not self.rows_up:
            return replace(rows, values=rows.values + array[rows.indices])
        return rows

    def _drop_blobs(self, number):
        """Move the origin of lost partitions to a checkpoint that all have just written."""
        if self.checkpoints is None or not self.checkpoints.is_due(number):
            return
        self.origin = number
        self.blobs = {r: blob for r, blob in self.blobs.items() if r >= number}
