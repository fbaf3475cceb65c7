"""EmbeddingBagClassifier: learned vectors and a linear head for classes."""

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import StrOptions

from ._base import BaseEmbedding
from ._docs import documented
from ._targets import ClassTarget

LOSS = """
loss : {"auto", "log_loss"}, default="auto"
    Log loss of a sigmoid for two classes, of a softmax for more.
"""


@documented(loss=LOSS, class_weight=True)
class EmbeddingBagClassifier(ClassifierMixin, BaseEmbedding):
    """Classify rows of sparse features by learned vectors, pooled, and a linear head.

    The model of fastText, on CSR: each feature that occurs has a vector, a row is the pooled vector
    of its features, and the classes are linear in it. Two classes share one output and the
    logistic loss, more classes the softmax; probabilities are calibrated by the loss.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.

    {attributes}

    See Also
    --------
    EmbeddingBagRegressor : The same for numbers.
    EmbeddingBag : Returns the pooled vectors.

    References
    ----------
    A. Joulin, E. Grave, P. Bojanowski, T. Mikolov, "Bag of tricks for efficient text
    classification", EACL 2017.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from skembed import EmbeddingBagClassifier
    >>> texts = ["good film", "bad film", "good play", "bad play"] * 5
    >>> labels = ["yes", "no", "yes", "no"] * 5
    >>> model = make_pipeline(
    ...     CountVectorizer(), EmbeddingBagClassifier(n_components=4, tol=0.01, random_state=0)
    ... )
    >>> model.fit(texts, labels).predict(["a good one", "a bad one"])
    array(['yes', 'no'], dtype='<U3')
    """

    _parameter_constraints = {
        **BaseEmbedding._parameter_constraints,
        "loss": [StrOptions({"auto", "log_loss"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_components=64,
        *,
        pooling="sqrtn",
        loss="auto",
        solver="adagrad",
        learning_rate_init=None,
        weight_decay=0.0,
        batch_size="auto",
        max_iter=100,
        tol=1e-4,
        n_iter_no_change=5,
        shuffle=True,
        warm_start=False,
        min_count=1,
        padding_features=None,
        frozen_features=None,
        init="uniform",
        class_weight=None,
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        super().__init__(
            n_components,
            pooling=pooling,
            loss=loss,
            solver=solver,
            learning_rate_init=learning_rate_init,
            weight_decay=weight_decay,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            n_iter_no_change=n_iter_no_change,
            shuffle=shuffle,
            warm_start=warm_start,
            min_count=min_count,
            padding_features=padding_features,
            frozen_features=frozen_features,
            init=init,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _target_class(self, y):
        return ClassTarget

    def _fitted_attributes(self, state, target):
        return {**super()._fitted_attributes(state, target), "classes_": target.classes}

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 counts as absent.

        Returns
        -------
        self : EmbeddingBagClassifier
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Pass once over some rows, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a call whose weights are all zero changes nothing.

        Returns
        -------
        self : EmbeddingBagClassifier
            The fitted classifier.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs the classes of all data and is not supported by "
                "partial_fit. Pass class_weight as a dict, or weights as sample_weight."
            )
        known = lambda y, rows: ClassTarget.known(classes)  # noqa: E731
        return self._partial_fit(X, y, classes, sample_weight, known)

    def decision_function(self, X):
        """Compute raw scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log odds of ``classes_[1]`` for two classes; for more, logits of the softmax.
        """
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X):
        """Compute class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of `classes_`. A row without a known feature gets the
            probabilities of the intercept.
        """
        raw = self._raw(X)
        p = self._target.loss.inverse_link(raw.T, np).T
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The most probable class of each row.
        """
        raw = self._raw(X)
        best = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return self.classes_[best]
