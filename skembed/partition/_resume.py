"""Checkpoints of the coordinator, from which a fit is taken up again."""

from pathlib import Path

import numpy as np

from . import _checkpoint
from ._update import whole
from ._worker import checkpoint_path


class Checkpoints:
    """A folder that all places see, with the state of every partition and of the coordinator.

    Partitions write at the end of a round, the coordinator at the start of the next one: whatever
    is interrupted, the files of the round that the coordinator names are complete.

    Parameters
    ----------
    folder : str or path-like
        Made if it does not exist.
    every : int
        Rounds between two checkpoints.
    fingerprint : str
        Tells fits apart.
    stopping : Plateau
        Of the fit; its best state is kept too.
    """

    def __init__(self, folder, every, fingerprint, stopping):
        self.folder, self.every, self.fingerprint = Path(folder).absolute(), every, fingerprint
        self.stopping, self.round = stopping, 0
        self.fit = int(fingerprint[:15], 16)  # the same in every attempt
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "coordinator.npz"

    def is_due(self, n_rounds):
        """Tell whether there is a checkpoint after so many rounds."""
        return n_rounds > 0 and n_rounds % self.every == 0

    def save(self, rounds, number):
        """Write the state of the coordinator after so many rounds, where that is due."""
        if not self.is_due(number) or number == self.round:
            return
        state, kept = rounds.state, self.stopping.kept
        arrays = _checkpoint.state_arrays(state, "state")
        arrays |= _checkpoint.memory_arrays(rounds.sender.memory)
        arrays |= {f"common {name}": whole(param) for name, param in rounds.common.items()}
        if kept is not None:
            arrays |= _checkpoint.state_arrays(kept, "kept")
        arrays["blob"] = np.frombuffer(rounds.blobs[number], np.uint8)
        numbers = {
            "fingerprint": self.fingerprint,
            "round": number,
            "step": state.step,
            "kept_step": None if kept is None else kept.step,
            "loss_curve": state.loss_curve,
            "validation_scores": state.validation_scores,
            "history": rounds.history.rounds,
        }
        _checkpoint.write(self.path, arrays, numbers)
        self.round = number

    def resume(self, rounds):
        """Bring the coordinator to where its file is; partitions follow when they are called."""
        try:
            arrays, numbers = _checkpoint.read(self.path)
        except FileNotFoundError:
            return
        if numbers["fingerprint"] != self.fingerprint:
            raise ValueError(
                f"checkpoint_dir={str(self.folder)!r} holds a checkpoint of another fit: its data, "
                "parameters or seed differ. Pass another folder, or empty it; a fit that is to be "
                "taken up again needs an integer as random_state."
            )
        state, number = rounds.state, numbers["round"]
        _checkpoint.fill_state(state, arrays, "state")
        state.step, state.loss_curve = numbers["step"], numbers["loss_curve"]
        state.validation_scores = numbers["validation_scores"]
        for score in state.validation_scores or [-loss for loss in state.loss_curve]:
            self.stopping.update(score)
        if numbers["kept_step"] is not None:
            self.stopping.kept = state.copy()
            _checkpoint.fill_state(self.stopping.kept, arrays, "kept")
            self.stopping.kept.step = numbers["kept_step"]
        for name, param in rounds.common.items():
            whole(param)[:] = arrays[f"common {name}"]
        rounds.sender.memory = _checkpoint.memory_of(arrays, rounds.common)
        rounds.history.rounds = numbers["history"]
        rounds.origin, rounds.blobs = number, {number: arrays["blob"].tobytes()}
        self.round = number

    def clear(self, rounds):
        """Remove the files of a fit that has ended."""
        self.path.unlink(missing_ok=True)
        for p in rounds.partitions:
            for path in self.folder.glob(
                checkpoint_path(self.folder, (rounds.terms.fit, p), "*").name
            ):
                path.unlink(missing_ok=True)
