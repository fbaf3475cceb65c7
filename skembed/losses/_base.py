"""What every loss offers."""

from sklearn.base import BaseEstimator

from skembed.core import LaterDefaults, Registry

LOSSES = Registry("loss")


class Loss(LaterDefaults, BaseEstimator):
    """Base of the losses: array code over raw predictions, no state.

    Raw predictions are class-major, shape (n_outputs, b): sums over few outputs are then long
    vector operations. Values and gradients are those of the weighted mean over the batch,
    ``sum(w * loss) / sum(w)``; losses of several outputs of one row are summed.

    Attributes
    ----------
    name : str
        Name of the kernels in a backend.
    targets : {"classes", "numbers", "features"}
        What the targets are; those that are features come from the rows.
    probabilities : bool
        Whether `inverse_link` gives probabilities.
    sampled : bool
        Whether a batch scores some outputs only, which the loss draws.
    """

    name = None
    targets = None
    probabilities = False
    sampled = False
    _parameter_constraints = {}

    def check(self, y):
        """Check that the loss is defined for the targets.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs)
            Encoded targets of the rows that count.

        Raises
        ------
        ValueError
            If it is not.
        """

    def start(self, y, sample_weight, n_outputs):
        """Return the constant raw prediction to begin with.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or SciPy sparse indicator
            Encoded targets; never densified.
        sample_weight : ndarray of shape (n,) or None
            Weights with a positive sum; None weighs all rows alike.
        n_outputs : int
            Number of outputs.

        Returns
        -------
        ndarray of shape (n_outputs,), dtype float64
            The raw predictions.
        """
        raise NotImplementedError

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
            The array library, numpy or cupy.

        Returns
        -------
        value : float
            The loss.
        d_raw : ndarray of shape (n_outputs, b)
            Its gradient in the dtype of `raw`.
        """
        raise NotImplementedError

    def evaluate(self, y, raw, sample_weight, backend):
        """Return `value_and_gradient`, by the backend's kernels where it has them.

        Parameters
        ----------
        y : ndarray of shape (b,) or (b, n_outputs)
            Encoded targets.
        raw : ndarray of shape (n_outputs, b)
            Raw predictions; not changed.
        sample_weight : ndarray of shape (b,) or None
            Weights with a positive sum; None weighs all rows alike.
        backend : Backend
            Runs the kernels.

        Returns
        -------
        value : float
            The loss.
        d_raw : ndarray of shape (n_outputs, b)
            Its gradient in the dtype of `raw`.
        """
        if self.name in backend.losses:
            target = self.align(y, len(raw), raw.dtype, backend.xp)
            return backend.loss(self.name, target, raw, sample_weight)
        return self.value_and_gradient(y, raw, sample_weight, backend.xp)

    def align(self, y, n_outputs, dtype, xp):
        """Return the targets as the kernels take them.

        Parameters
        ----------
        y : ndarray of shape (b,) or (b, n_outputs)
            Encoded targets.
        n_outputs : int
            Number of outputs.
        dtype : dtype
            That of raw predictions.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        ndarray
            `y`; a loss that looks at each output alone wants shape (n_outputs, b) in that dtype.
        """
        return y

    def inverse_link(self, raw, xp):
        """Return predictions on the scale of the targets; without a link these are `raw` itself.

        Parameters
        ----------
        raw : ndarray of shape (n_outputs, b)
            Raw predictions; not changed.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        ndarray of shape (n_outputs, b)
            The predictions, in the dtype of `raw`.
        """
        return raw


def shares(sample_weight, raw, xp):
    """Return the share of each row in the mean: one number or shape (b,)."""
    if sample_weight is None:
        return 1 / raw.shape[1]
    return (sample_weight / sample_weight.sum(dtype=xp.float64)).astype(raw.dtype)


def weighted_sum(losses, share, xp):
    """Return the sum of the losses, shape (b,) or (n_outputs, b), by share, in float64."""
    if isinstance(share, float):
        return float(losses.sum(dtype=xp.float64)) * share
    return float((losses.astype(xp.float64) * share).sum())
