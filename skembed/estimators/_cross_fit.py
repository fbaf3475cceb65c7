"""Pooled vectors of the training rows, each from a table that has not seen the row."""

import copy
import warnings
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from skembed.core import FeatureIndex, ParamTable
from skembed.kernels import get_backend
from skembed.training import FitState, Plateau, SilentHooks, TrainingDiverged, fit_epochs

from ._base import BaseEmbedding, unchanged_on
from ._validation import CSR

SEEN = (
    "The vectors that fit_transform returns have seen the targets of their own rows, and nothing "
    "stopped the training early: a next step that is fitted on them takes them for better than "
    "they are. Use cv=5, or fit the next step on other rows."
)


def split_folds(cv, X, y, classifier, groups, random_state):
    """Return (train, test) rows of every fold; each row is tested once.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in scikit-learn; the folds of an int are shuffled, and stratified for classes.
    X, y : object
        The data.
    classifier : bool
        Whether y holds classes.
    groups : array-like of shape (n,) or None
        For the splitter.
    random_state : int, RandomState or None
        Shuffles; not advanced.

    Returns
    -------
    list of tuple of two ndarray of int
        The folds.

    Raises
    ------
    ValueError
        If a row is tested in no fold, or in several, or also trained on.
    """
    shuffle = dict(shuffle=True, random_state=copy.deepcopy(random_state))
    splitter, every = check_cv(cv, y, classifier=classifier, **shuffle), np.arange(X.shape[0])
    folds = [(every[train], every[test]) for train, test in splitter.split(X, y, groups)]
    tested = np.concatenate([test for _, test in folds])
    once = np.array_equal(np.sort(tested), every)
    if not once or any(np.isin(test, train).any() for train, test in folds):
        raise ValueError(
            f"cv={cv!r} must test each row in exactly one fold, and not train on it there. Use "
            "KFold, StratifiedKFold, GroupKFold or another splitter without overlaps."
        )
    return folds


class CrossFitEmbedding(BaseEmbedding):
    """Base of a transformer whose `fit_transform` can cross-fit."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(
        self, X, y=None, sample_weight=None, *, groups=None, X_val=None, y_val=None,
        sample_weight_val=None,
    ):  # fmt: skip
        """Learn the vectors, and pool those of each row of X.

        With `cv`, the pooled vectors of a row come from a table that was not trained on it, and
        are what the next step of a pipeline should be fitted on; see the notes of the class.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Training rows; CSR is used as it is.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Classes, numbers, or labels as 0 and 1, dense or sparse.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a row of weight 0 counts as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for a splitter in `cv` that keeps them together.
        X_val : {array-like, sparse matrix, sparse array} of shape (n_val, n_features), default=None
            Rows to score after each epoch; no training rows are held out then.
        y_val : array-like, default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        pooled : ndarray of shape (n_samples, n_components_)
            One dense vector a row.

        Raises
        ------
        ValueError
            If `cv` does not test each row once, leaves nothing to train on, or cannot keep the
            start of the vectors apart from y; if `groups` come without folds.

        Warns
        -----
        UserWarning
            If the vectors have seen the y of their own rows, without `cv` and without early
            stopping.
        """
        given = dict(X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val)
        learns_from_y = get_tags(self).target_tags.required
        if self.cv is None or not learns_from_y:
            if groups is not None:
                raise ValueError("groups are for a splitter in cv, and no folds are made.")
            self.fit(X, y, sample_weight, **given)
            trained = self._state.params["table"].n_trainable > 0
            if learns_from_y and trained and not self.validation_scores_:
                warnings.warn(SEEN, UserWarning, stacklevel=4)  # past two decorators
            return self.transform(X)
        with unchanged_on(BaseException, self):
            self._check_blind_start()
            sample, target = self._check(X, y, sample_weight, state=None)
            rows, classifier = sample.X.matrix(), target.classes is not None
            folds = split_folds(self.cv, rows, sample.y, classifier, groups, self.random_state)
            self.fit(X, y, sample_weight, **given)
            return self._cross_fit(sample, folds, tuple(given.values()))

    def _check_blind_start(self):
        """Refuse starting vectors that have seen the y of all rows."""
        if self.warm_start and hasattr(self, "_state"):
            raise ValueError(
                "With warm_start=True training goes on from vectors that have seen all rows, which "
                "no fold can forget. Use fit_transform with warm_start=False, or cv=None."
            )
        start = self.init
        fits = hasattr(start, "transform") and not isinstance(start, FrozenEstimator)
        if fits and get_tags(start).target_tags.required:
            raise ValueError(
                f"cv needs a start that does not learn from y, got init={start!r}. Fit it on other "
                "rows and pass it in a FrozenEstimator, or use one that needs no y."
            )

    def _cross_fit(self, sample, folds, given):
        """Return the pooled vectors of each row from the table of the fold that tests it."""
        whole, X = self._state, sample.X.matrix()
        d = self.n_components_
        with get_backend(effective_n_jobs(self.n_jobs)) as backend:
            trained = sample  # by the fit of all rows
            if not self.refit:
                trained, _ = self._split(sample, self._target, whole.seed, given, backend)
            vectors = whole.model.vectors(whole.params)
            start = self._first_start(whole.seed, sample.X, sample.y, trained.rows, vectors)
        out, fold = np.empty((X.shape[0], d), whole.params["table"].dtype), copy.copy(self)
        for train, test in folds:
            rows = np.intersect1d(train, sample.rows)
            if len(rows) == 0:
                raise ValueError("A fold of cv has no row of positive weight to train on.")
            fold._state = self._state_of_fold(replace(sample, rows=rows), start)
            part = X[test]
            indptr = part.indptr.astype(np.int64)
            out[test] = fold._pool(CSR(indptr, part.indices, part.data, part.shape))
        return out

    def _state_of_fold(self, sample, start):
        """Return a table trained on a fold, under the head of the fit of all rows.

        It has rows for the features that occur in the fold, and takes as many epochs as the fit of
        all rows has kept.
        """
        whole, X = self._state, sample.X
        problem = self._resolve_problem(self._target, len(sample.rows), 0)
        problem = replace(problem, trains_head=False)
        table, empty = whole.params["table"], FeatureIndex(X.shape[1])
        own = ParamTable(table.d_embedding, table.dtype, table.n_linear)
        state = FitState(whole.seed, empty, problem, {**whole.params, "table": own}, whole.numeric)
        with get_backend(effective_n_jobs(self.n_jobs)) as backend:
            index = self._index(empty, X, sample.rows, whole.numeric, backend)
            state.grow(index, start, problem.solver, backend)
            data = self._training_rows(sample, state, backend, problem.loss)
            fit_epochs(
                problem, state, data, backend, max_iter=whole.best_epoch,
                stopping=Plateau(0.0, np.inf), hooks=SilentHooks(),
            )  # fmt: skip
        if not state.all_finite():
            raise TrainingDiverged(len(state.loss_curve), "last", "a parameter")
        return state

    def get_metadata_routing(self):
        """Return who takes which metadata; with `cv`, its splitter may take `groups`.

        Returns
        -------
        routing : MetadataRequest or MetadataRouter
            For scikit-learn's metadata routing.
        """
        own = super().get_metadata_routing()
        if self.cv is None:
            return own
        to_split = MethodMapping().add(caller="fit_transform", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=to_split)
