"""When to stop."""

import numpy as np


class Plateau:
    """Stops when the loss has not improved by more than `tol` for `patience` epochs in a row.

    Parameters
    ----------
    tol : float
        Smallest improvement that counts.
    patience : int
        Epochs without one.
    """

    def __init__(self, tol, patience):
        self.tol, self.patience = tol, patience
        self.best, self.waited = np.inf, 0

    def update(self, loss):
        """Take the loss of an epoch; return whether to stop."""
        self.waited = 0 if loss < self.best - self.tol else self.waited + 1
        self.best = min(self.best, loss)
        return self.waited >= self.patience
