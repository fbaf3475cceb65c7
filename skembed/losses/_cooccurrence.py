"""Co-occurrence: features of a row predict others of it."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import Loss
from ._log import LogLoss


class Cooccurrence(Loss):
    """Log loss of a sigmoid for features that were left out of a row and for features drawn.

    The loss of `EmbeddingBag` that needs no targets. From each row of two features or more some are
    left out; with h the pooled vector of the others and w an output vector a feature, a feature j
    that was left out costs ``-log s(h w[j] + b[j]) - sum over k of log s(-h w[k] - b[k])``, s the
    sigmoid, for n_negatives features k, drawn for it with probability proportional to (rows of the
    feature)^power. A draw that the row has does not count. The constant b[j] is the logarithm of
    how much oftener j is left out than drawn: vectors have to tell only what a feature has to do
    with its row, not how frequent it is.

    Parameters
    ----------
    n_negatives : int, default=5
        Features drawn for each that is left out.
    n_targets : int, default=5
        Features left out of a row in an epoch, at most half of it. All of them are predicted from
        the same bag, which takes little more time than one of them.
    power : float, default=0.75
        Of the rows of a feature in its chance to be drawn; 0 draws all features alike.
    frequent : float, default=0.1
        Share of the rows from which a feature is too frequent to tell much: of a share f beyond it
        it is dropped from a row with probability 1 - sqrt(frequent / f), at random in each epoch. 1
        drops nothing.

    See Also
    --------
    NegativeSampling : Classes that were given, told from classes drawn.

    References
    ----------
    T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean, "Distributed representations of words
    and phrases and their compositionality", NeurIPS 2013.
    L. Wu, A. Fisch, S. Chopra, K. Adams, A. Bordes, J. Weston, "StarSpace: embed all the things!",
    AAAI 2018.

    Examples
    --------
    >>> from skembed import EmbeddingBag
    >>> from skembed.losses import Cooccurrence
    >>> bag = EmbeddingBag(loss=Cooccurrence(n_negatives=10, frequent=1))
    """

    targets = "features"
    sampled = True
    _parameter_constraints = {
        "n_negatives": [Interval(Integral, 1, None, closed="left")],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="left")],
        "frequent": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, n_negatives=5, n_targets=5, power=0.75, frequent=0.1):
        self.n_negatives = n_negatives
        self.n_targets = n_targets
        self.power = power
        self.frequent = frequent

    def keep(self, shares):
        """Return the chance of each feature to stay in a row.

        Parameters
        ----------
        shares : ndarray of shape (n_features,)
            Share of the rows that each feature is in.

        Returns
        -------
        ndarray of shape (n_features,)
            Chances.
        """
        return np.sqrt(self.frequent / np.maximum(shares, self.frequent))

    def noise(self, counts):
        """Return the chance of each feature to be drawn.

        Parameters
        ----------
        counts : ndarray of shape (n_features,)
            Rows of each feature, or their weight.

        Returns
        -------
        ndarray of shape (n_features,)
            Chances that sum to 1.
        """
        chance = np.where(counts > 0, counts.astype(np.float64) ** self.power, 0)
        return chance / chance.sum()

    def offset(self, counts, n_rows):
        """Return the constant in the score of each feature.

        Parameters
        ----------
        counts : ndarray of shape (n_features,)
            Rows of each feature, or their weight.
        n_rows : float
            Rows, or their weight.

        Returns
        -------
        ndarray of shape (n_features,)
            Logarithms of how often features are left out, over how often they are drawn.
        """
        left_out = counts * self.keep(counts / n_rows)
        share = np.divide(left_out, left_out.sum(), out=np.zeros(len(counts)), where=counts > 0)
        ratio = share / (self.n_negatives * np.where(counts > 0, self.noise(counts), 1))
        return np.log(ratio, out=np.zeros(len(counts)), where=counts > 0)

    def start(self, y, sample_weight, n_outputs):
        return np.zeros(0)  # no output has an intercept that is learned

    def evaluate(self, y, raw, sample_weight, backend):
        """Return the weighted mean loss of what was left out, and its gradient.

        Parameters
        ----------
        y : ndarray of shape (n,)
            1 for features left out, 0 for features drawn.
        raw : ndarray of shape (n,)
            Scores.
        sample_weight : ndarray of shape (n,)
            Weights; those of what was left out have a positive sum.
        backend : Backend
            Runs the kernels.

        Returns
        -------
        value : float
            The loss.
        d_raw : ndarray of shape (n,)
            Its gradient.
        """
        value, slope = LogLoss().evaluate(y, raw[None], sample_weight, backend)
        total = sample_weight.sum(dtype=np.float64)
        ratio = total / np.dot(y, sample_weight).astype(np.float64)
        return float(value * ratio), slope[0] * raw.dtype.type(ratio)
