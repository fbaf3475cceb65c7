"""Regressors: what they share, and EmbeddingBagRegressor."""

from sklearn.base import RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._metadata_requests import UNUSED
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from skembed.losses import LOSSES, Loss

from ._base import BaseEmbedding, does_not_stop_early
from ._docs import documented
from ._settings import BagSettings
from ._targets import NumberTarget

NAMES = {name for name, cls in LOSSES.items() if cls.targets == "numbers"}
LOSS = """
loss : str or Loss, default="auto"
    ``"squared_error"`` (half the square, also ``"auto"``), ``"huber"``, ``"poisson"`` (counts and
    other targets that are not negative; predicts through exp), ``"quantile"``, or an instance from
    :mod:`skembed.losses`. Losses of several targets are summed.
"""


class BaseRegressor(RegressorMixin, BaseEmbedding):
    """Base of the regressors that train a table of embeddings."""

    __metadata_request__partial_fit = {"grow": UNUSED}

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target_of(self, y, rows):
        loss = self.loss
        if not isinstance(loss, str) and loss.targets != "numbers":
            raise ValueError(
                f"loss={loss!r} is for {loss.targets}; a regressor needs one for numbers."
            )
        return NumberTarget.of(y, loss)

    def _y_options(self):
        return {"multi_output": True, "y_numeric": True}

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 counts as absent.
        X_val : {array-like, sparse matrix, sparse array} of shape (n_val, n_features), default=None
            Rows to score after each epoch; no training rows are held out then.
        y_val : array-like, default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)

    @available_if(does_not_stop_early)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, *, grow=False):
        """Pass once over some rows, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a call whose weights are all zero changes nothing.
        grow : bool, default=False
            Whether X may have more columns than in earlier calls. New columns come last; the
            vectors of old ones keep their bits.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        return self._partial_fit(X, y, None, sample_weight, self._target_of, grow)

    def predict(self, X):
        """Predict numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, shaped like the y of fit.
        """
        return self._decide(X)


@documented(loss=LOSS)
class EmbeddingBagRegressor(BagSettings, BaseRegressor):
    """Predict numbers from rows of sparse features by learned vectors, pooled, and a head on them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    EmbeddingBagClassifier : The same for classes.
    EmbeddingBag : Returns the pooled vectors.

    Notes
    -----
    A step of Adagrad or Adam moves a coordinate by about the learning rate, whatever the unit of y:
    targets with a spread far from 1 train slowly or roughly. Scale them, for instance with
    :class:`sklearn.compose.TransformedTargetRegressor`.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skembed import EmbeddingBagRegressor
    >>> X = OneHotEncoder().fit_transform([["red"], ["green"], ["blue"]] * 20)
    >>> reg = EmbeddingBagRegressor(n_components=4, tol=1e-3, random_state=0)
    >>> reg.fit(X, [1.0, 2.0, 3.0] * 20).predict(X[:3]).round(1)
    array([1., 2., 3.])
    """

    _parameter_constraints = {
        **BagSettings._parameter_constraints,
        "loss": [StrOptions({"auto", *NAMES}), Loss],
    }
