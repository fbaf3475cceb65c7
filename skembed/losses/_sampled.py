"""Negative sampling: a few wrong classes stand for all of them."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import LOSSES, Loss
from ._log import LogLoss


@LOSSES.register("negative_sampling")
class NegativeSampling(Loss):
    """Log loss of a sigmoid for the class of a row and for classes drawn at random.

    ``-log s(z[y]) - sum over k of log s(-z[k])`` with s the sigmoid, for n_negatives classes k that
    a batch draws with probability proportional to (rows of the class)^power. A draw that is the
    class of a row does not count for that row. Only the classes of the batch and those drawn are
    scored and stepped, so that a step does not get dearer with their number. Scores tell classes
    apart; they are no probabilities, and none are offered. Training starts with intercepts of
    log(share of the class / expected draws of it).

    Parameters
    ----------
    n_negatives : int, default=100
        Classes drawn for a batch.
    power : float, default=0.5
        Of the rows of a class in its chance to be drawn; 0 draws all classes alike.

    See Also
    --------
    Softmax : Scores every class.

    References
    ----------
    T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean, "Distributed representations of words
    and phrases and their compositionality", NeurIPS 2013.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.losses import NegativeSampling
    >>> clf = EmbeddingBagClassifier(loss=NegativeSampling(n_negatives=50))
    """

    targets = "classes"
    sampled = True
    _parameter_constraints = {
        "n_negatives": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_negatives=100, power=0.5):
        self.n_negatives = n_negatives
        self.power = power

    def noise(self, counts):
        """Return the chance of each class to be drawn.

        Parameters
        ----------
        counts : ndarray of shape (n_classes,)
            Rows of each class, or their weight.

        Returns
        -------
        ndarray of shape (n_classes,)
            Chances that sum to 1.
        """
        chance = np.where(counts > 0, counts.astype(np.float64) ** self.power, 0)
        return chance / chance.sum()

    def draw(self, borders, rng):
        """Draw the classes of a batch.

        Parameters
        ----------
        borders : ndarray of shape (n_classes,)
            Chance of each class and those before it.
        rng : numpy.random.Generator
            Draws.

        Returns
        -------
        ndarray of shape (n_negatives,), int64
            The classes, with repeats.
        """
        at = np.searchsorted(borders, rng.random(self.n_negatives) * borders[-1], side="right")
        return np.minimum(at, len(borders) - 1)

    def start(self, y, sample_weight, n_outputs):
        counts = np.bincount(y, sample_weight, n_outputs)
        share = (counts + 0.5) / (counts.sum() + 0.5 * n_outputs)
        return np.log(share / (self.n_negatives * np.maximum(self.noise(counts), share / 2)))

    def value_and_gradient(self, y, raw, sample_weight, xp):
        """Return the weighted mean loss and its gradient.

        Parameters
        ----------
        y : tuple of two ndarray
            Classes of the rows, shape (b,), and those drawn, shape (n_negatives,).
        raw : ndarray of shape (1 + n_negatives, b)
            Scores of the class of each row, then of those drawn.
        sample_weight : ndarray of shape (b,) or None
            Weights with a positive sum; None weighs all rows alike.
        xp : module
            The array library, numpy or cupy.

        Returns
        -------
        value : float
            The loss.
        d_raw : ndarray of shape (1 + n_negatives, b)
            Its gradient.
        """
        return LogLoss().value_and_gradient(*self._first_of(y, raw, xp), sample_weight, xp)

    def evaluate(self, y, raw, sample_weight, backend):
        return LogLoss().evaluate(*self._first_of(y, raw, backend.xp), sample_weight, backend)

    @staticmethod
    def _first_of(y, raw, xp):
        """Return labels that say that the first output is true, and scores that agree on draws.

        A draw that is the class of a row gets a score of no loss and no slope.
        """
        y, drawn = y
        raw = raw.copy()
        raw[1:][drawn[:, None] == y] = xp.finfo(raw.dtype).min / 4
        return xp.zeros(len(y), np.intp), raw
