"""Losses that look at each output alone."""

import numpy as np

from ._base import Loss, shares, weighted_sum


class SeparableLoss(Loss):
    """Base of the losses that are a sum over outputs; a subclass defines `pointwise`."""

    def value_and_gradient(self, y, raw, sample_weight, xp):
        share = shares(sample_weight, raw, xp)
        losses, slopes = self.pointwise(self.align(y, len(raw), raw.dtype, xp), raw, xp)
        value = weighted_sum(losses, share, xp)
        return value, (slopes * share).astype(raw.dtype, copy=False)

    def align(self, y, n_outputs, dtype, xp):
        return y.reshape(-1, n_outputs).T.astype(dtype, order="C", copy=False)

    def pointwise(self, target, raw, xp):
        """Return the loss of each target and its slope in the raw prediction.

        Parameters
        ----------
        target : ndarray of shape (n_outputs, b)
            Targets; not changed.
        raw : ndarray of shape (n_outputs, b)
            Raw predictions; not changed.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        losses : ndarray of shape (n_outputs, b)
            The losses.
        slopes : ndarray of shape (n_outputs, b)
            Their derivatives.
        """
        raise NotImplementedError


class NumberLoss(SeparableLoss):
    """Base of the losses of one number a row, or several."""

    targets = "numbers"


class ClassLoss(SeparableLoss):
    """Base of the losses that ask of each output whether it is true.

    Targets are codes: 0 or 1 for one output, 0, ..., n_outputs - 1 for several (one against the
    rest); or they are indicators of shape (b, n_outputs), where any number of labels is true.
    """

    targets = "classes"

    def align(self, y, n_outputs, dtype, xp):
        return indicator(y, n_outputs, dtype, xp)


def indicator(y, n_outputs, dtype, xp):
    """Return 1 where an output is true and 0 elsewhere, shape (n_outputs, b)."""
    if y.ndim == 2:
        return y.T.astype(dtype, order="C")
    if n_outputs == 1:
        return y[None].astype(dtype)
    out = xp.zeros((n_outputs, len(y)), dtype)
    out[y, xp.arange(len(y))] = 1
    return out


def weights_of_sides(y, sample_weight, n_outputs):
    """Return the weight of the rows where each output is true and where it is not, (n_outputs,)."""
    n = y.shape[0]
    weight = np.ones(n) if sample_weight is None else sample_weight.astype(np.float64)
    if y.ndim == 2:
        true = y.T @ weight
    else:
        true = np.bincount(y, weight, max(2, n_outputs))[-n_outputs:]
    return true, weight.sum() - true


def columns(y, n_outputs):
    """Return targets in float64, one column an output."""
    return np.asarray(y, np.float64).reshape(-1, n_outputs)
