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

    def compare(self, plan):
        """Put what a plan predicted beside what was measured, for the rounds that were made.

        Parameters
        ----------
        plan : CompressionPlan
            The plan.
        """
        n = len(self.rounds["loss"])
        names = ("bytes_up", "bytes_down", "seconds", "joules")
        each = {name: getattr(plan, name) / plan.rounds for name in names}
        self.rounds |= {f"predicted_{name}": [value] * n for name, value in each.items()}
        measured = {
            "bytes": sum(self.rounds["bytes_up"]) + sum(self.rounds["bytes_down"]),
            "seconds": sum(self.rounds["seconds"]),
        }
        predicted = {
            "bytes": n * (each["bytes_up"] + each["bytes_down"]),
            "seconds": n * each["seconds"],
        }
        for name, value in measured.items():
            if abs(value - predicted[name]) > OFF * predicted[name]:
                warnings.warn(
                    f"The plan is off: {predicted[name]:.4g} {name} were predicted for {n} rounds, "
                    f"and {value:.4g} were measured. Plan again from what was measured.",
                    RuntimeWarning,
                    stacklevel=2,
                )
