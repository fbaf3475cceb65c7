"""Learning rates by step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate of each step.

    Attributes
    ----------
    initial : float
        Rate to begin with.
    kind : {"constant", "linear", "invscaling"}
        "linear" falls to zero over `n_steps` steps, "invscaling" as the root of the step.
    first : int
        Steps that were made before this fit.
    n_steps : int
        Steps that this fit makes at most.
    """

    initial: float
    kind: str = "constant"
    first: int = 0
    n_steps: int = 1

    def rate(self, step):
        """Return the rate of step number `step`, from 1."""
        if self.kind == "linear":
            return self.initial * max(0.0, 1 - (step - self.first - 1) / self.n_steps)
        if self.kind == "invscaling":
            return self.initial / step**0.5
        return self.initial
