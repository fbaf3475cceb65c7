"""When to stop, and which epoch to keep."""

import numpy as np


class Plateau:
    """Stops when a score has not improved by more than `tol` for `patience` epochs in a row.

    Parameters
    ----------
    tol : float
        Smallest improvement that counts.
    patience : int
        Epochs without one.

    Attributes
    ----------
    is_best : bool
        Whether the latest score is above all earlier ones.
    best_epoch : int
        Number of the epoch with the best score, from 1.
    kept : FitState or None
        A copy of the state of that epoch, where rows are held out.
    """

    def __init__(self, tol, patience):
        self.tol, self.patience = tol, patience
        self.best, self.waited, self.epoch, self.best_epoch = -np.inf, 0, 0, 0
        self.is_best, self.kept = False, None

    def update(self, score):
        """Take the score of an epoch; return whether to stop."""
        self.epoch += 1
        self.waited = 0 if score > self.best + self.tol else self.waited + 1
        self.is_best = score > self.best
        if self.is_best:
            self.best, self.best_epoch = score, self.epoch
        return self.waited >= self.patience
