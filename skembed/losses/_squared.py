"""Half the squared error."""

import numpy as np

from ._base import LOSSES, Loss


@LOSSES.register("squared_error")
class SquaredError(Loss):
    """Half the squared error, ``(z - y)^2 / 2``; several targets are summed.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.losses import SquaredError
    >>> SquaredError().value_and_gradient(np.array([3.0]), np.array([[1.0]]), None, np)
    (2.0, array([[-2.]]))
    """

    def value_and_gradient(self, y, raw, sample_weight, xp):
        """Return the weighted mean loss and its gradient with respect to `raw`."""
        share = self.share(sample_weight, raw, xp)
        error = raw - y.reshape(raw.shape[::-1]).T
        value = self.mean((error * error).sum(axis=0) / 2, share, xp)
        return value, (error * share).astype(raw.dtype, copy=False)

    def inverse_link(self, raw, xp):
        """Return `raw`: predictions are the raw scores."""
        return raw

    def start(self, y, sample_weight, n_outputs):
        """Return the weighted mean of each target."""
        y = np.asarray(y, np.float64).reshape(-1, n_outputs)
        return np.average(y, axis=0, weights=sample_weight)
