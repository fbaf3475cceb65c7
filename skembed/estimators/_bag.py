"""EmbeddingBag: a transformer that learns one vector for each feature."""

from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._metadata_requests import UNUSED
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from skembed.losses import LOSSES, Loss
from skembed.training import FeaturesHeldOut

from ._base import does_not_stop_early
from ._cooccurrence import FeatureTarget, is_cooccurrence, no_targets, to_predict
from ._cross_fit import CrossFitEmbedding
from ._docs import documented
from ._settings import BagSettings
from ._targets import ClassTarget, NumberTarget, class_target, is_indicator

LOSS = """
loss : str or Loss, default="auto"
    What the vectors are trained for: a loss of `EmbeddingBagClassifier` or
    `EmbeddingBagRegressor`. ``"auto"`` reads it from y: squared error for continuous targets, log
    loss for classes. ``"cooccurrence"`` needs no y and ignores it: features of a row predict others
    of it, see :class:`skembed.losses.Cooccurrence`.
"""


@documented(loss=LOSS)
class EmbeddingBag(BagSettings, CrossFitEmbedding):
    """Learn one vector for each feature, and turn rows into pooled vectors.

    The vectors are trained through a head on the targets, or, with ``loss="cooccurrence"``, without
    targets: features of a row predict others of it. `transform` returns the pooled
    vectors, dense and `n_components` wide, for the next step of a pipeline. Sparse input is never
    densified, and memory follows the features that occur, not the number of columns.

    Parameters
    ----------
    {parameters}

    cv : int, splitter of scikit-learn or iterable of folds, default=None
        How `fit_transform` divides the rows, see the notes. An int is a number of folds, shuffled
        by `random_state` and stratified for classes. None: no folds.

    Attributes
    ----------
    {attributes}

    See Also
    --------
    EmbeddingBagClassifier : Predicts classes from the pooled vectors.
    EmbeddingBagRegressor : Predicts numbers from the pooled vectors.

    Notes
    -----
    Vectors that have seen the targets of their own rows mislead a next step that is fitted on them:
    it takes them for better than they are on new rows. With `cv`, `fit_transform` fits on all rows
    as `fit` does and keeps the head; then it trains the table once more for each fold, from the
    same start, for as many epochs, with that head held fixed, and returns the pooled vectors of
    each row from the table that was not trained on it. `transform` uses the table of all rows. A
    pipeline fits its steps by `fit_transform`. Time is that of 1 + `cv` fits or less; one more
    table is held at a time. Without `cv` and without early stopping `fit_transform` warns.

    ``loss="cooccurrence"`` never sees y: `cv` has nothing to do, and no rows are held out unless
    ``early_stopping=True`` or `X_val` asks for it. `coef_` then has an output vector a feature.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed import EmbeddingBag
    >>> texts = ["good film", "bad film", "good play", "bad play"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> bag = EmbeddingBag(n_components=2, max_iter=10, tol=0.1, random_state=0)
    >>> bag.fit(X, [1, 0, 1, 0]).transform(X).shape
    (4, 2)
    """

    _parameter_constraints = {
        **BagSettings._parameter_constraints,
        "loss": [StrOptions({"auto", "cooccurrence", *LOSSES} - {"softmax"}), Loss],
        "cv": ["cv_object"],
    }
    __metadata_request__partial_fit = {"grow": UNUSED}

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
        random_state=None,
        verbose=0,
        n_jobs=None,
        cv=None,
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
        self.cv = cv

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not self._ignores_targets()
        return tags

    def _ignores_targets(self):
        return is_cooccurrence(self.loss)

    def _is_numeric(self, y):
        if self.loss == "auto":
            try:
                return type_of_target(y, input_name="y").startswith("continuous")
            except TypeError:  # labels that cannot be sorted: class_target says so
                return False
        return LOSSES.resolve(self.loss).targets == "numbers"

    def _target_of(self, y, rows):
        if self._ignores_targets():
            if self.scoring is not None:
                raise ValueError(
                    "loss='cooccurrence' has no targets to score; scoring must be None."
                )
            return FeatureTarget(self.loss)
        if self._is_numeric(y):
            return NumberTarget.of(y, self.loss)
        return class_target(y, rows, self.loss)

    def _holds_out(self, n_rows, given):
        return super()._holds_out(0 if self._ignores_targets() else n_rows, given)

    def _training_rows(self, sample, state, backend, loss):
        if not self._ignores_targets():
            return super()._training_rows(sample, state, backend, loss)
        return to_predict(self._rows(sample, state, backend), sample, state, loss, backend)

    def _held_out(self, user, given, out, data, target, state, backend, fitted):
        found = super()._held_out(user, given, out, data, target, state, backend, fitted)
        if found is None or not self._ignores_targets():
            return found
        return FeaturesHeldOut(found.data, data.noise)

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Learn the vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,), or indicator of (n_samples, n_labels), default=None
            Classes, numbers, or labels as 0 and 1, dense or sparse. Ignored by
            ``loss="cooccurrence"``.
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
        self : EmbeddingBag
            The fitted transformer.
        """
        if self._ignores_targets():
            y, y_val = no_targets(X), no_targets(X_val)
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)

    @available_if(does_not_stop_early)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None, *, grow=False):
        """Pass once over some rows, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), or indicator of (n_samples, n_labels), default=None
            Classes, numbers, or labels as 0 and 1, dense or sparse. Ignored by
            ``loss="cooccurrence"``.
        classes : array-like of shape (n_classes,), default=None
            All classes that will come, for targets that are classes. By default those of the first
            call's y; a later call may bring no others.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a call whose weights are all zero changes nothing.
        grow : bool, default=False
            Whether X may have more columns than in earlier calls. New columns come last; the
            vectors of old ones keep their bits.

        Returns
        -------
        self : EmbeddingBag
            The fitted transformer.
        """
        if self._ignores_targets():
            y, classes = no_targets(X), None

        def first_target(y, rows):
            if classes is None or is_indicator(y):
                return self._target_of(y, rows)
            return ClassTarget.known(classes, self.loss)

        return self._partial_fit(X, y, classes, sample_weight, first_target, grow)
