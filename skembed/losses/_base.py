"""What every loss offers."""

from sklearn.base import BaseEstimator

from skembed.core import Registry

LOSSES = Registry("loss")


class Loss(BaseEstimator):
    """Base of the losses: array code over raw predictions, no state.

    Raw predictions are class-major, shape (n_outputs, b): sums over few outputs are then long
    vector operations. Values and gradients are those of the weighted mean over the batch,
    ``sum(w * loss) / sum(w)``; losses of several outputs of one row are summed.
    """

    def value_and_gradient(self, y, raw, sample_weight, xp):
        """Return the weighted mean loss and its gradient.

        Parameters
        ----------
        y : ndarray of shape (b,) or (b, n_outputs)
            Encoded targets.
        raw : ndarray of shape (n_outputs, b)
            Raw predictions; not changed.
        sample_weight : ndarray of shape (b,) or None
            Weights with a positive sum; None weighs all rows alike.
        xp : module
            numpy or cupy.

        Returns
        -------
        value : float
            The loss.
        d_raw : ndarray of shape (n_outputs, b)
            Its gradient in the dtype of `raw`.
        """
        raise NotImplementedError

    def inverse_link(self, raw, xp):
        """Return predictions on the scale of the target, shape (n_outputs, b)."""
        raise NotImplementedError

    def start(self, y, sample_weight, n_outputs):
        """Return the constant raw prediction to begin with, shape (n_outputs,), float64."""
        raise NotImplementedError

    @staticmethod
    def share(sample_weight, raw, xp):
        """Return the share of each row in the mean: one number or shape (b,)."""
        if sample_weight is None:
            return 1 / raw.shape[1]
        return (sample_weight / sample_weight.sum(dtype=xp.float64)).astype(raw.dtype)

    @staticmethod
    def mean(losses, share, xp):
        """Return the weighted sum of losses per row, in float64."""
        if isinstance(share, float):
            return float(losses.sum(dtype=xp.float64)) * share
        return float((losses.astype(xp.float64) * share).sum())
