"""One partition: its data and state stay where it is; rounds come in, changes go out.

A process keeps its partitions in `STORE`. A call names the version of the state that it needs, so
that one that is repeated finds its answer ready, and one that meets another version, or none, says
so and changes nothing.
"""

import threading
import zlib
from dataclasses import dataclass, replace

import numpy as np

from skembed.compress import BROADCAST, Compressor, Header
from skembed.core import RowArray
from skembed.kernels import get_backend
from skembed.training import Beginning, FitProblem, epoch_order, run_epoch

from . import _checkpoint
from ._update import Sender, moved, unpack, whole, write

STORE, LOCK = {}, threading.Lock()  # (fit, partition) to its `PartitionWorker`


@dataclass(frozen=True, slots=True)
class Assignment:
    """All that a place needs to begin with a partition, or to begin with it again.

    Attributes
    ----------
    fit, partition : int
        Whose it is.
    problem : FitProblem
        What to fit and how.
    beginning : Beginning
        Where all partitions begin.
    source : callable
        ``source(state, backend)`` returns the `TrainingRows`.
    up, down : Compressor
        For changes and for broadcasts.
    rows_up, rows_down : bool
        Whether rows travel as they are, not as changes.
    local_steps : int or "epoch"
        Batches in a round.
    max_iter : int
        Rounds at most.
    resets_solver : bool
        Whether the solver begins anew in each round.
    """

    fit: int
    partition: int
    problem: FitProblem
    beginning: Beginning
    source: object
    up: Compressor
    down: Compressor
    rows_up: bool
    rows_down: bool
    local_steps: object
    max_iter: int
    resets_solver: bool

    @property
    def key(self):
        """Key of the partition in `STORE`."""
        return self.fit, self.partition


@dataclass(frozen=True, slots=True)
class Reply:
    """What a partition answers in a round.

    Attributes
    ----------
    blob : bytes
        Its change, packed.
    token : int
        Version of its state.
    loss : float
        Weighted mean loss of the round.
    memory_norm : float
        Euclidean norm of what it still owes.
    step : int
        Steps made.
    """

    blob: bytes
    token: int
    loss: float
    memory_norm: float
    step: int


class PartitionWorker:
    """The loop over the rows of a partition.

    Parameters
    ----------
    assignment : Assignment
        What to do.
    """

    def __init__(self, assignment):
        self.assignment, self.lock = a, _ = assignment, threading.Lock()
        with get_backend() as backend:
            self.state = a.beginning.state(a.problem, backend)
            self.state.partition = a.partition
            self.data = a.source(self.state, backend)
        schedule = replace(a.problem.schedule, n_steps=a.max_iter * self._steps)
        self.problem = replace(a.problem, schedule=schedule)
        self.sender = Sender(assignment.up)
        self.reply, self.round, self.token = None, 0, None

    @property
    def _steps(self):
        if self.assignment.local_steps != "epoch":
            return self.assignment.local_steps
        return -(-len(self.data.rows) // self.assignment.problem.batch_size)

    def _order(self):
        """Return the rows of the round, in order: passes over the data, cut wherever a round ends.

        A pass is shuffled by (seed, number of the pass, partition).
        """
        line, n = (self.problem, self.state, self.data), len(self.data.rows)
        if self.assignment.local_steps == "epoch":
            return epoch_order(*line, self.round)
        size = self.assignment.local_steps * self.problem.batch_size
        lo = self.round * size
        first, end = lo // n, -(-(lo + size) // n)
        passes = np.concatenate([epoch_order(*line, number) for number in range(first, end)])
        return passes[lo - first * n :][:size]

    def receive(self, blob, replaces):
        """Apply a broadcast of the round before: rows that replace the old ones, or changes."""
        a, params = self.assignment, self.state.params
        updates = unpack(blob, params, a.down, Header(a.fit, BROADCAST, self.round - 1))
        write(params, updates, replaces)

    def skip(self, n_rounds):
        """Go on as if so many rounds had been made elsewhere."""
        self.round, self.state.step = n_rounds, n_rounds * self._steps

    def step(self, blob):
        """Make a round: apply the broadcast of the one before, train, pack the change."""
        a, state = self.assignment, self.state
        if blob is not None:
            self.receive(blob, a.rows_down)
        before = {name: whole(p).copy() for name, p in state.params.items()}
        if a.resets_solver:
            state.start_solver(self.problem.solver)
        with get_backend() as backend:
            run_epoch(self.problem, state, self.data, self._order(), backend)
            updates = moved(state.params, before, a.rows_up)
            header = Header(a.fit, a.partition, self.round)
            packed = self.sender.pack(updates, header, backend)
        for name, values in before.items():
            whole(state.params[name])[:] = values
        self.round += 1
        self.token, loss = self._version(packed), state.loss_curve.pop()
        self.reply = Reply(packed, self.token, loss, self.sender.norm(), state.step)
        return self.reply

    def _version(self, packed):
        """Return a checksum of what the next round depends on."""
        solver = self.state.solver_state.values()
        arrays = [a for slots in solver for a in slots.values()]
        arrays += [a for owed in self.sender.memory.values() for a in (owed.indices, owed.values)]
        token = zlib.crc32(packed, self.round)
        for array in arrays:
            values = array.values if isinstance(array, RowArray) else array
            token = zlib.crc32(np.ascontiguousarray(values), token)
        return token

    # ---------------------------------------------------------------- checkpoints
    def save(self, folder, keep):
        """Write a checkpoint; remove earlier ones, but for the round `keep`."""
        arrays = _checkpoint.state_arrays(self.state, "state")
        arrays |= _checkpoint.memory_arrays(self.sender.memory)
        numbers = {"round": self.round, "token": self.token, "step": self.state.step}
        path = checkpoint_path(folder, self.assignment.key, self.round)
        _checkpoint.write(path, arrays, numbers)
        kept = {path, checkpoint_path(folder, self.assignment.key, keep)}
        for old in path.parent.glob(checkpoint_path(folder, self.assignment.key, "*").name):
            if old not in kept:
                old.unlink(missing_ok=True)

    def load(self, folder, number):
        """Go to the checkpoint of a round."""
        path = checkpoint_path(folder, self.assignment.key, number)
        try:
            arrays, numbers = _checkpoint.read(path)
        except FileNotFoundError as error:
            raise RuntimeError(f"it cannot be rebuilt, its checkpoint {path} is gone") from error
        _checkpoint.fill_state(self.state, arrays, "state")
        self.sender.memory = _checkpoint.memory_of(arrays, self.state.params)
        self.round, self.token = numbers["round"], numbers["token"]
        self.state.step = numbers["step"]


def checkpoint_path(folder, key, number):
    """Return where the checkpoint of a partition after so many rounds is."""
    fit, partition = key
    return folder / f"{fit:016x}-{partition}-{number}.npz"


@dataclass(frozen=True, slots=True)
class Save:
    """Where a round ends with a checkpoint.

    Attributes
    ----------
    folder : Path
        All places see it.
    keep : int
        Round whose checkpoints are still needed.
    """

    folder: object
    keep: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a partition is rebuilt from.

    Attributes
    ----------
    round : int
        Rounds that it has behind it; 0 is the beginning.
    folder : Path or None
        Where the checkpoint of that round is.
    snapshot : bytes or None
        Instead of a checkpoint, all parameters: memory and solver begin anew.
    """

    round: int = 0
    folder: object = None
    snapshot: bytes | None = None


def advance(key, number, token, blob, save):
    """Make a round on a state that is here.

    Parameters
    ----------
    key : tuple
        Fit and partition.
    number : int
        The round.
    token : int
        Version of the state before it.
    blob : bytes
        Broadcast of the round before.
    save : Save or None
        Whether and where to write a checkpoint.

    Returns
    -------
    Reply or None
        None where the state is not here, or another version.
    """
    worker = STORE.get(key)
    if worker is None:
        return None
    with worker.lock:
        if worker.round == number + 1 and worker.reply is not None:
            return worker.reply  # a second call: the state has taken this step already
        if worker.round != number or worker.token != token:
            return None
        reply = worker.step(blob)
        if save is not None:
            worker.save(save.folder, save.keep)
        return reply


def rebuild(assignment, origin, blobs, save):
    """Make a partition here, and all rounds since its origin again; the bits are the same.

    Parameters
    ----------
    assignment : Assignment
        The partition.
    origin : Origin
        Where to begin.
    blobs : list of bytes or None
        What each round begins with.
    save : Save or None
        Whether and where to write a checkpoint after the last.

    Returns
    -------
    Reply
        That of the last round.
    """
    worker = PartitionWorker(assignment)
    if origin.snapshot is not None:
        worker.skip(origin.round)
        worker.receive(origin.snapshot, replaces=True)
    elif origin.folder is not None:
        worker.load(origin.folder, origin.round)
    for blob in blobs:
        reply = worker.step(blob)
    if save is not None:
        worker.save(save.folder, save.keep)
    with LOCK:
        STORE[assignment.key] = worker
    return reply


def forget(fit):
    """Drop all partitions of a fit from this process."""
    with LOCK:
        for key in [key for key in STORE if key[0] == fit]:
            del STORE[key]
