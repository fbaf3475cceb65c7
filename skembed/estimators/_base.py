"""Fit and partial fit: the wiring that all estimators share."""

import copy
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.training import (
    Beginning,
    EpochHooks,
    HeldOut,
    LocalEpochs,
    Plateau,
    SilentHooks,
    TrainingDiverged,
    TrainingRows,
    fit_epochs,
    run_epoch,
)

from ._local import LocalTrainer
from ._settings import Settings
from ._split import split_rows
from ._targets import ClassTarget, matrix_of
from ._validation import CSR, WORK_DTYPES, check_csr, check_weights, widen


@dataclass(frozen=True, slots=True)
class Sample:
    """Checked data of a call.

    Attributes
    ----------
    X : CSR
        The rows.
    y : ndarray or sparse matrix
        Their targets.
    codes : ndarray or SparseRows
        The encoded targets.
    given : ndarray of shape (n,) or None
        Weights of the rows as the user gave them.
    weights : ndarray of shape (n,) or None
        The same times those of classes; None weighs all rows alike.
    rows : ndarray of int
        The rows to use; all have a positive weight.
    """

    X: CSR
    y: object
    codes: object
    given: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray


class Scored:
    """Rows held out, scored by a scorer of scikit-learn on a fitted copy of the estimator."""

    def __init__(self, scorer, estimator, fitted, X, y, sample_weight):
        self.scorer, self.estimator, self.fitted = scorer, estimator, fitted
        self.X, self.y = X, y
        self.weights = {} if sample_weight is None else {"sample_weight": sample_weight}

    def score(self, problem, state, backend):
        """Return the score."""
        model = copy.copy(self.estimator)
        vars(model).update(self.fitted(state))
        return float(self.scorer(model, self.X, self.y, **self.weights))


class NothingToLearn(Exception):
    """All rows of a `partial_fit` have weight zero: it changes nothing."""


@contextmanager
def unchanged_on(errors, estimator):
    """Give an estimator its fitted attributes back where one of `errors` leaves the block.

    Yields a function that makes the present attributes the ones to keep.
    """
    private = ("_state", "_target", "_n_features_out")

    def fitted():
        return {k: v for k, v in vars(estimator).items() if k.endswith("_") or k in private}

    before = fitted()

    def keep():
        before.update(fitted())

    try:
        yield keep
    except errors:
        for name in fitted():
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


def does_not_stop_early(estimator):
    """Tell whether an estimator offers `partial_fit`."""
    if estimator._must_stop_early():
        raise AttributeError(
            "partial_fit makes one pass over the rows it is given and does not stop early. Use "
            "early_stopping='auto' or False."
        )
    return True


class BaseEmbedding(CallbackSupportMixin, Settings):
    """Base of the estimators that train a table of embeddings."""

    _doc_link_module = "skembed"
    _doc_link_template = (
        "https://skembed.readthedocs.io/en/latest/generated/skembed.{estimator_name}.html"
    )

    # ---------------------------------------------------------------- what subclasses settle
    def _target_of(self, y, rows):
        """Return `ClassTarget`, `LabelTarget` or `NumberTarget`."""
        raise NotImplementedError

    def _y_options(self):
        """Return the options of scikit-learn's check of y."""
        return {"multi_output": True}

    def _fitted_attributes(self, state, target):
        """Return the attributes that make this estimator a fitted one."""
        width = state.params["table"].d_embedding
        return {"_state": state, "_target": target, "_n_features_out": width}

    # ---------------------------------------------------------------- fit
    def _fit(self, X, y, sample_weight, X_val, y_val, sample_weight_val, trainer=None):
        """Fit; `trainer` says how an epoch is run, by default over all rows, here."""
        trainer = trainer or LocalTrainer(self.max_iter)
        user, given = (X, y, sample_weight), (X_val, y_val, sample_weight_val)
        context = self._init_callback_context(max_subtasks=trainer.max_iter)
        with unchanged_on(BaseException, self):
            old = getattr(self, "_state", None) if self.warm_start else None
            sample, target = trainer.check(self, user, old)
            seed = self._draw_seed() if old is None else old.seed
            step = 0 if old is None else old.step

            def fitted(state):
                return self._fitted_attributes(state, target)

            with get_backend(effective_n_jobs(self.n_jobs)) as backend:
                train, out = self._split(sample, target, seed, given, backend)
                n_rows = trainer.n_rows(len(train.rows))
                problem = self._resolve_problem(target, n_rows, step)
                state, beginning = self._begin(train, target, problem, backend, old, seed)
                data = self._training_rows(train, state, backend, problem.loss)
                held_out = self._held_out(user, given, out, data, target, state, backend, fitted)
                hooks = EpochHooks(self, context, *user, fitted, trainer.max_iter)
                hooks.begin()
                stopping = Plateau(self.tol, self.n_iter_no_change)
                epochs = trainer.epochs(problem, beginning, state, data, backend, stopping)
                self._train(problem, state, epochs, trainer, stopping, backend, hooks, held_out)
                if self.refit and held_out is not None:
                    problem = self._resolve_problem(target, len(sample.rows), step)
                    whole, _ = self._begin(sample, target, problem, backend, old, seed)
                    data = self._training_rows(sample, whole, backend, problem.loss)
                    state = self._refit(problem, state, whole, data, backend)
                if not state.all_finite():
                    raise TrainingDiverged(len(state.loss_curve), "last", "a parameter")
                hooks.end(state)
            vars(self).update(fitted(state))
        return self

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def _fit_over(self, trainer, X, y, sample_weight=None, *, X_val=None, y_val=None,
                  sample_weight_val=None):  # fmt: skip
        """Fit as `fit` does, but for the trainer."""
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val, trainer)

    def _check(self, X, y, sample_weight, *, state, target=None, first_target=None):
        """Return the data of a call as a `Sample`, and its target.

        With a `state` or a `target`, the data must fit it; `first_target(y, rows)` says what the
        target is where it is not read from y.
        """
        dtype = WORK_DTYPES if state is None else state.params["table"].dtype
        X, y = check_csr(self, X, y, reset=state is None, dtype=dtype, **self._y_options())
        return self._sample(X, y, sample_weight, target, first_target)

    def _sample(self, X, y, sample_weight, target=None, first_target=None):
        """Return checked rows with their encoded targets and weights; see `_check`."""
        weights = given = check_weights(sample_weight, X)
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        if target is None:
            if len(rows) == 0:
                raise ValueError("Sample weights must contain at least one non-zero number.")
            target = (first_target or self._target_of)(y, rows)
        codes = target.encode(y, rows, X.data.dtype)
        by_class = target.class_weights(self.class_weight, codes, rows, weights)
        if by_class is not None:
            weights = by_class[codes] if weights is None else weights * by_class[codes]
            rows = rows[weights[rows] > 0]
        return Sample(X, y, codes, given, weights, rows), target

    def _split(self, sample, target, seed, given, backend):
        """Return the sample to train on, and the one to score or None."""
        if not self._holds_out(len(sample.rows), given) or given[0] is not None:
            return sample, None
        if not isinstance(sample.X, CSR):
            if self._must_stop_early():
                raise ValueError(
                    "early_stopping=True holds out rows of X, but they are loaded where they are "
                    "trained on. Pass X_val and y_val, or use early_stopping='auto'."
                )
            return sample, None
        X, rows = sample.X, sample.rows
        out = split_rows(
            backend.hash_rows(X.indptr, X.indices, X.data, seed)[rows],
            self.validation_fraction, seed, ties=target.ties(sample.codes, rows),
            classes=target.strata(sample.codes, rows), names=target.classes,
            weights=None if sample.given is None else sample.given[rows],
            strict=self._must_stop_early(),
        )  # fmt: skip
        if not out.any():
            return sample, None
        return replace(sample, rows=rows[~out]), replace(sample, rows=rows[out])

    def _held_out(self, user, given, out, data, target, state, backend, fitted):
        """Return what scores an epoch, or None: the sample `out`, or the rows given."""
        if out is None:
            if given[0] is None:
                return None
            out, _ = self._check(*given, state=state, target=target)
            if len(out.rows) == 0:
                raise ValueError("sample_weight_val must contain at least one non-zero number.")
            data, user = self._rows(out, state, backend), given
        else:
            weights = self._weights_of(out, data.data.dtype)
            data = replace(data, rows=out.rows, sample_weight=weights)
        if self.scoring is None:
            return HeldOut(data, target.metric)
        X = out.X.matrix() if sp.issparse(user[0]) else user[0]
        rows = (a if a is None else _safe_indexing(a, out.rows) for a in (X, out.y, out.given))
        return Scored(check_scoring(self, self.scoring), self, fitted, *rows)

    def _train(self, problem, state, epochs, trainer, stopping, backend, hooks, held_out):
        converged = fit_epochs(
            problem, state, epochs, backend, max_iter=trainer.max_iter,
            stopping=stopping, hooks=hooks, held_out=held_out,
        )  # fmt: skip
        if not converged:
            what = "loss was still falling" if held_out is None else "score was still rising"
            warnings.warn(
                f"Training stopped at max_iter={trainer.max_iter} {trainer.unit} while the {what} "
                f"by more than tol={self.tol}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _refit(self, problem, found, state, data, backend):
        """Train on all rows for as many epochs as were best; keep the record of the search."""
        epochs = LocalEpochs(problem, state, data, backend)
        fit_epochs(
            problem, state, epochs, backend, max_iter=found.best_epoch,
            stopping=Plateau(0.0, np.inf), hooks=SilentHooks(),
        )  # fmt: skip
        for name in ("loss_curve", "validation_scores", "best_epoch"):
            setattr(state, name, getattr(found, name))
        return state

    # ---------------------------------------------------------------- partial fit
    def _partial_fit(self, X, y, classes, sample_weight, first_target, grow):
        """One pass over the rows in the given order; `first_target` serves the first call."""
        old = getattr(self, "_state", None)
        with suppress(NothingToLearn), unchanged_on(BaseException, self) as keep:
            if grow and old is not None:
                widen(self, X)
            target = None if old is None else self._target
            if target is not None and classes is not None:
                known = ClassTarget.known(classes, target.loss)
                if not np.array_equal(known.classes, target.classes):
                    raise ValueError(
                        f"classes={list(classes)} differs from the classes of the first call, "
                        f"{target.classes.tolist()}."
                    )
            sample, target = self._check(
                X, y, sample_weight, state=old, target=target, first_target=first_target
            )
            if len(sample.rows) == 0:
                raise NothingToLearn
            step = 0 if old is None else old.step
            problem = self._resolve_problem(target, None, step)
            with get_backend(effective_n_jobs(self.n_jobs)) as backend:
                state, before = old, getattr(old, "index", None)
                if old is None:
                    seed = self._draw_seed()
                    state, _ = self._begin(sample, target, problem, backend, None, seed)
                else:
                    self._check_continuation(state, problem)
                    self._observe(state, sample, problem, backend)
                vars(self).update(self._fitted_attributes(state, target))
                seen = state.class_counts, state.weight_seen, state.row_counts.copy()
                try:
                    data = self._training_rows(sample, state, backend, problem.loss)
                    backend.prepare(data.indices, state.params["table"].n_trainable)
                    run_epoch(problem, state, data, data.rows, backend)
                except BaseException:
                    if state.step > step:
                        keep()  # batches were done
                    elif old is not None:
                        state.class_counts, state.weight_seen, state.row_counts = seen
                        state.shrink(before)
                    raise
                state.best_epoch = len(state.loss_curve)
        return self

    # ---------------------------------------------------------------- data and state
    def _begin(self, sample, target, problem, backend, old, seed):
        """Return the state in which training starts, and its `Beginning`.

        With an `old` state it is a copy of that, and has no beginning.
        """
        if old is not None:
            self._check_continuation(old, problem)
            if not target.same_as(self._target):
                raise ValueError(
                    "The targets differ from those of the earlier fit; warm_start=True needs the "
                    "same classes or the same number of outputs. Set warm_start=False."
                )
            state = old.copy()
            state.restart(problem)
            self._observe(state, sample, problem, backend)
            return state, None
        X, rows, weights = sample.X, sample.rows, sample.weights
        numeric = self._resolve_columns("numeric_features", X.shape[1])
        empty = FeatureIndex(X.shape[1])
        index = self._index(empty, X, rows, numeric, backend)
        weights = None if weights is None else weights[rows]
        intercept = target.loss.start(matrix_of(sample.codes, rows), weights, target.n_outputs)
        params = problem.model.init_params(
            self._resolve_width(index.n_rows, target), intercept, X.data.dtype,
            n_numeric=len(numeric), linear_term=self.linear_term, seed=seed,
        )  # fmt: skip
        start = self._first_start(seed, X, sample.y, rows, problem.model.vectors(params))
        beginning = Beginning(seed, params, numeric, index, start)
        return beginning.state(problem, backend), beginning

    def _observe(self, state, sample, problem, backend):
        """Give rows to the features that have become active."""
        state.model = problem.model  # may know more columns
        index = self._index(state.index, sample.X, sample.rows, state.numeric, backend)
        start = self._later_start(state.seed, sample.X, state.model.vectors(state.params))
        state.grow(index, start, problem.solver, backend)

    def _index(self, index, X, rows, numeric, backend):
        padding = self._resolve_columns("padding_features", X.shape[1])
        return index.observe(
            *X.count(rows, backend),
            n_features=X.shape[1],
            min_count=self.min_count,
            padding=np.union1d(padding, numeric),
            frozen=self._resolve_columns("frozen_features", X.shape[1]),
        )

    def _rows(self, sample, state, backend):
        """Return a sample in table rows, in the work dtype."""
        x, scale, numeric = sample.X.mapped(state, backend)
        weights = self._weights_of(sample, state.params["table"].dtype)
        return TrainingRows(
            *x, scale, sample.codes, weights, sample.rows, numeric, fields=state.fields
        )

    @staticmethod
    def _weights_of(sample, dtype):
        """Return weights in the work dtype, or None where those of the rows are all alike."""
        if sample.weights is None or np.ptp(sample.weights[sample.rows]) == 0:
            return None
        return sample.weights.astype(dtype)

    def _training_rows(self, sample, state, backend, loss):
        """Return `_rows` to train on, with what a sampled loss draws from."""
        data = self._rows(sample, state, backend)
        if not loss.sampled:
            return data
        weights = None if sample.weights is None else sample.weights[sample.rows]
        n_classes = state.params[state.model.coef].n_rows
        counts = np.bincount(sample.codes[sample.rows], weights, n_classes)
        state.class_counts = state.class_counts + counts
        return replace(data, noise=np.cumsum(loss.noise(state.class_counts)))
