"""What each round sent, reached and met."""

import warnings

OFF = 0.25  # part by which a prediction may be wrong without a warning


class History:
    """The record of a fit, one entry a round.

    Attributes
    ----------
    rounds : dict of str to list
        "bytes_up" and "bytes_down": bytes of the messages of all partitions, as they were sent;
        "loss"; "n_rows": table rows that somebody changed; "memory_norms": norm of what each
        partition owes; "broadcast_memory_norm": what the coordinator owes; "seconds"; "events".
    """

    NAMES = (
        "bytes_up",
        "bytes_down",
        "loss",
        "n_rows",
        "memory_norms",
        "broadcast_memory_norm",
        "seconds",
        "events",
    )

    def __init__(self):
        self.rounds = {name: [] for name in self.NAMES}
        self._begin()

    def _begin(self):
        self.bytes_down, self.events = 0, []

    def event(self, number, partition, what, **more):
        """Note, and warn, that something went wrong and was mended."""
        self.events.append({"round": number, "partition": partition, "event": what, **more})
        details = "".join(f", {name} {value}" for name, value in more.items())
        warnings.warn(
            f"Partition {partition} in round {number}: {what}{details}.",
            RuntimeWarning,
            stacklevel=2,
        )

    def end_round(self, **values):
        """Close the entry of a round."""
        values |= {"bytes_down": self.bytes_down, "events": self.events}
        for name in self.NAMES:
            self.rounds[name].append(values[name])
        self._begin()
