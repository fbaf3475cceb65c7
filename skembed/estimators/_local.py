"""Training where the data are."""

from skembed.training import LocalEpochs


class LocalTrainer:
    """Trains where the data are.

    Parameters
    ----------
    max_iter : int
        Epochs at most.
    """

    unit = "epochs"

    def __init__(self, max_iter):
        self.max_iter = max_iter

    def check(self, estimator, user, old):
        """Return the data that the user gave as a `Sample`, and its target."""
        return estimator._check(*user, state=old)

    def n_rows(self, n):
        """Return how many of n rows a loop goes over."""
        return n

    def epochs(self, problem, beginning, state, data, backend, stopping):
        """Return what trains the state, epoch by epoch."""
        return LocalEpochs(problem, state, data, backend)
