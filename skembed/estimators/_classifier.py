"""Classifiers: what they share, and EmbeddingBagClassifier."""

from numbers import Integral

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._metadata_requests import UNUSED
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skembed.losses import LOSSES, Loss, Softmax

from ._base import BaseEmbedding, does_not_stop_early
from ._docs import documented
from ._settings import BagSettings
from ._targets import ClassTarget, LabelTarget, class_target, is_indicator

NAMES = {name for name, cls in LOSSES.items() if cls.targets == "classes"}
LOSS = """
loss : str or Loss, default="auto"
    ``"log_loss"`` (also ``"auto"``): a sigmoid for two classes, a softmax for more, independent
    sigmoids for several labels a row; ``"ova"``: independent sigmoids for classes as well;
    ``"hinge"`` and ``"squared_hinge"``: one class against the rest; ``"negative_sampling"``: for
    thousands of classes, of which a batch scores some; or an instance from :mod:`skembed.losses`.
"""


def has_probabilities(estimator):
    """Tell whether the loss of a classifier gives probabilities."""
    loss = "log_loss" if estimator.loss == "auto" else estimator.loss
    return LOSSES.resolve(loss).probabilities


class BaseClassifier(ClassifierMixin, BaseEmbedding):
    """Base of the classifiers that train a table of embeddings."""

    __metadata_request__partial_fit = {"grow": UNUSED}
    _class_weight_constraint = [dict, StrOptions({"balanced"}), None]

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _target_of(self, y, rows):
        self._refuse_number_loss()
        return class_target(y, rows, self.loss)

    def _refuse_number_loss(self):
        loss = self.loss
        if not isinstance(loss, str) and loss.targets != "classes":
            raise ValueError(
                f"loss={loss!r} is for {loss.targets}; a classifier needs one for classes."
            )

    def _fitted_attributes(self, state, target):
        return {**super()._fitted_attributes(state, target), "classes_": target.classes}

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Class labels; or, where a row may have several labels or none, 0 and 1 for each label,
            dense or sparse.
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
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)

    @available_if(does_not_stop_early)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, grow=False):
        """Pass once over some rows, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Class labels; or, where a row may have several labels or none, 0 and 1 for each label,
            dense or sparse.
        classes : array-like of shape (n_classes,), default=None
            All classes that will come; needed in the first call, unless y marks labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a call whose weights are all zero changes nothing.
        grow : bool, default=False
            Whether X may have more columns than in earlier calls. New columns come last; the
            vectors of old ones keep their bits.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs the classes of all data and is not supported by "
                "partial_fit. Pass class_weight as a dict, or weights as sample_weight."
            )

        def first_target(y, rows):
            if is_indicator(y):
                return self._target_of(y, rows)
            self._refuse_number_loss()
            return ClassTarget.known(classes, self.loss)

        return self._partial_fit(X, y, classes, sample_weight, first_target, grow)

    def decision_function(self, X):
        """Compute raw scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score a row, for ``classes_[1]``; else one a class or label. Log
            odds or logits for the log losses, signed margins for the hinges.
        """
        raw = self._raw(X)
        return raw[:, 0] if len(self.classes_) == 2 and raw.shape[1] == 1 else raw

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,), or (n_samples, n_labels)
            The class of the highest score of each row; or 0 and 1 for each label, as a CSR matrix
            if the y of fit was sparse.
        """
        return self._decide(X)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Compute class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class or label, in the order of `classes_`. A row without a known feature
            gets the probabilities of the intercepts.

        Notes
        -----
        The log losses make probabilities calibrated: those of two classes or of a softmax as
        shares of one row, those of labels each on its own. With ``loss="ova"`` and more than two
        classes the sigmoids are divided by their sum, which calibrates nothing; they are then a
        ranking. The hinges have no probabilities, and then no such method.
        """
        return np.exp(self._log_proba(X))

    @available_if(has_probabilities)
    def predict_log_proba(self, X):
        """Compute logarithms of class probabilities, without underflow.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column a class or label, in the order of `classes_`.
        """
        return self._log_proba(X)

    def _log_proba(self, X):
        raw = self._raw(X)
        if isinstance(self._target.loss, Softmax):
            return log_softmax(raw, axis=1)
        if isinstance(self._target, LabelTarget):
            return log_expit(raw)
        if raw.shape[1] == 1:
            return log_expit(np.hstack([-raw, raw]))
        each = log_expit(raw)
        return each - logsumexp(each, axis=1, keepdims=True)

    def predict_top_k(self, X, k):
        """Find the k classes or labels with the highest scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.
        k : int
            How many, at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Classes, or column numbers of labels, best first; of equal scores the first class
            first.
        scores : ndarray of shape (n_samples, k)
            Their values of `decision_function`; for two classes, that of the first class is the
            opposite of that of the second.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if not isinstance(k, Integral) or not 1 <= k <= n_classes:
            raise ValueError(f"k must be an integer from 1 to {n_classes} classes, got {k!r}.")

        def best(model, params, batch, backend):
            raw = model.predict(params, batch, backend).T
            raw = np.hstack([-raw, raw]) if n_classes == 2 and raw.shape[1] == 1 else raw
            order = np.argsort(-raw, axis=1, kind="stable")[:, :k]
            found = np.empty(order.shape, [("order", np.intp), ("score", raw.dtype)])
            found["order"], found["score"] = order, np.take_along_axis(raw, order, axis=1)
            return found

        found = np.concatenate(self._by_block(X, best))
        return self.classes_[found["order"]], found["score"].copy()


@documented(loss=LOSS, class_weight=True)
class EmbeddingBagClassifier(BagSettings, BaseClassifier):
    """Classify rows of sparse features by learned vectors, pooled, and a head on them.

    The model of fastText, on CSR: each feature that occurs has a vector, a row is the pooled vector
    of its features, and the classes are linear in it, or a small neural network of it. Two classes
    share one output and the logistic loss, more classes the softmax; several labels a row have an
    output each.

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
        **BagSettings._parameter_constraints,
        "loss": [StrOptions({"auto", *NAMES} - {"softmax"}), Loss],
        "class_weight": BaseClassifier._class_weight_constraint,
    }

    def __init__(
        self,
        n_components=64,
        *,
        pooling="sqrtn",
        hidden_layer_sizes=(),
        numeric_features=None,
        linear_term=False,
        loss="auto",
        solver="adagrad",
        learning_rate_init=None,
        learning_rate="constant",
        weight_decay=0.0,
        batch_size="auto",
        max_iter=100,
        tol=1e-4,
        n_iter_no_change=5,
        early_stopping="auto",
        validation_fraction=0.1,
        scoring=None,
        refit=False,
        shuffle=True,
        warm_start=False,
        min_count=1,
        padding_features=None,
        frozen_features=None,
        init="uniform",
        unseen="zero",
        class_weight=None,
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        super().__init__(
            n_components,
            pooling=pooling,
            hidden_layer_sizes=hidden_layer_sizes,
            numeric_features=numeric_features,
            linear_term=linear_term,
            loss=loss,
            solver=solver,
            learning_rate_init=learning_rate_init,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            n_iter_no_change=n_iter_no_change,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            scoring=scoring,
            refit=refit,
            shuffle=shuffle,
            warm_start=warm_start,
            min_count=min_count,
            padding_features=padding_features,
            frozen_features=frozen_features,
            init=init,
            unseen=unseen,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight
