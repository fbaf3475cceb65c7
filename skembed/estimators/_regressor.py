"""EmbeddingBagRegressor: learned vectors and a linear head for numbers."""

from sklearn.base import RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import StrOptions

from ._base import BaseEmbedding
from ._docs import documented
from ._targets import NumberTarget

LOSS = """
loss : {"auto", "squared_error"}, default="auto"
    Half the squared error, summed over the targets.
"""


@documented(loss=LOSS)
class EmbeddingBagRegressor(RegressorMixin, BaseEmbedding):
    """Predict numbers from rows of sparse features by learned vectors, pooled, and a linear head.

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
        **BaseEmbedding._parameter_constraints,
        "loss": [StrOptions({"auto", "squared_error"})],
    }

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target_class(self, y):
        return NumberTarget

    def _y_options(self):
        return {"multi_output": True, "y_numeric": True}

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 counts as absent.

        Returns
        -------
        self : EmbeddingBagRegressor
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Pass once over some rows, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a call whose weights are all zero changes nothing.

        Returns
        -------
        self : EmbeddingBagRegressor
            The fitted regressor.
        """
        return self._partial_fit(X, y, None, sample_weight, NumberTarget.of)

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
        raw = self._raw(X)
        return raw[:, 0] if self._target.n_columns is None else raw
