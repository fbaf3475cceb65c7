"""Fit and partial fit: the wiring that all estimators share."""

import copy
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.losses import Loss
from skembed.training import (
    EpochHooks,
    FitState,
    HeldOut,
    Plateau,
    SilentHooks,
    TrainingDiverged,
    TrainingRows,
    fit_epochs,
    run_epoch,
)

from ._settings import BagSettings
from ._split import split_rows
from ._targets import ClassTarget, matrix_of
from ._validation import WORK_DTYPES, check_csr, check_weights, numeric_rows, widen

NO_WEIGHT = "Sample weights must contain at least one non-zero number."


@contextmanager
def unchanged_on(errors, estimator):
    """Give an estimator its fitted attributes back where one of `errors` leaves the block."""
    private = ("_state", "_target", "_n_features_out")

    def fitted():
        return {k: v for k, v in vars(estimator).items() if k.endswith("_") or k in private}

    before = fitted()
    try:
        yield
    except errors:
        for name in fitted():
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


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


class BaseEmbedding(CallbackSupportMixin, BagSettings):
    """Base of the estimators that train a table of embeddings."""

    _doc_link_module = "skembed"
    _doc_link_template = "https://skembed.readthedocs.io/en/latest/api.html#{estimator_name}"

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
    def _fit(self, X, y, sample_weight, X_val, y_val, sample_weight_val):
        given, user_X = (X_val, y_val, sample_weight_val), X
        arguments = dict(X=X, y=y)
        if sample_weight is not None:
            arguments["metadata"] = {"sample_weight": sample_weight}
        context = self._init_callback_context(max_subtasks=self.max_iter)
        with unchanged_on(BaseException, self):
            old = getattr(self, "_state", None) if self.warm_start else None
            dtype = WORK_DTYPES if old is None else old.params["table"].dtype
            X, y = check_csr(self, X, y, reset=old is None, dtype=dtype, **self._y_options())
            weights, rows = self._weights(sample_weight, X)
            if len(rows) == 0:
                raise ValueError(NO_WEIGHT)
            target = self._target_of(y, rows)
            codes = target.encode(y, rows, X.data.dtype)
            weights, rows = self._class_weighted(target, codes, weights, rows)
            seed = self._draw_seed() if old is None else old.seed
            train, out = self._held_out_rows(target, codes, rows, seed, X_val is not None)
            problem = self._resolve_problem(target, len(train), 0 if old is None else old.step)
            with get_backend(effective_n_jobs(self.n_jobs)) as backend:

                def begin(rows, old):
                    state = self._begin(X, y, codes, weights, rows, target, problem, backend, old,
                                        seed)  # fmt: skip
                    return state, self._rows_of(
                        X, codes, weights, rows, state, backend, target.loss
                    )

                state, data = begin(train, old)
                hooks = EpochHooks(
                    self, context, arguments,
                    lambda state: self._fitted_attributes(state, target), self.max_iter,
                )  # fmt: skip
                held_out = self._held_out(
                    user_X, X, y, sample_weight, data, out, given, target, state, backend
                )
                hooks.begin()
                self._train(problem, state, data, backend, hooks, held_out)
                if self.refit and held_out is not None:
                    state = self._refit(problem, state, begin(rows, old), backend)
                self._check_finite(state)
                hooks.end(state)
            vars(self).update(self._fitted_attributes(state, target))
        return self

    def _held_out_rows(self, target, codes, rows, seed, given):
        """Return the rows to train on and those to score, or None for the latter."""
        if not self._holds_out(len(rows), given) or given:
            return rows, None
        classes, strict = target.strata(codes, rows), self.early_stopping is True
        return split_rows(rows, self.validation_fraction, seed, classes, strict=strict)

    def _held_out(self, user_X, X, y, user_weight, data, out, given, target, state, backend):
        """Return what scores an epoch, or None."""
        if given[0] is None and out is None:
            return None
        if self.scoring is not None:
            if given[0] is None:
                weight = None if user_weight is None else _safe_indexing(user_weight, out)
                given = _safe_indexing(user_X, out), y[out], weight
            scorer = check_scoring(self, self.scoring)
            return Scored(
                scorer, self, lambda state: self._fitted_attributes(state, target), *given
            )
        if given[0] is None:
            data = replace(data, rows=out)
        else:
            X, y = check_csr(self, *given[:2], reset=False, dtype=X.data.dtype, **self._y_options())
            weights, rows = self._weights(given[2], X)
            codes = target.encode(y, rows, X.data.dtype)
            data = self._rows_of(X, codes, weights, rows, state, backend, Loss())
        return HeldOut(data, target.metric)

    def _train(self, problem, state, data, backend, hooks, held_out):
        converged = fit_epochs(
            problem, state, data, backend, max_iter=self.max_iter,
            stopping=Plateau(self.tol, self.n_iter_no_change), hooks=hooks, held_out=held_out,
        )  # fmt: skip
        if not converged:
            what = "loss was still falling" if held_out is None else "score was still rising"
            warnings.warn(
                f"Training stopped at max_iter={self.max_iter} epochs while the {what} by more "
                f"than tol={self.tol}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _refit(self, problem, found, begun, backend):
        """Train on all rows for as many epochs as were best; keep the record of the search."""
        state, data = begun
        never = Plateau(0.0, np.inf)
        fit_epochs(
            problem, state, data, backend, max_iter=found.best_epoch, stopping=never,
            hooks=SilentHooks(),
        )  # fmt: skip
        for name in ("loss_curve", "validation_scores", "best_epoch"):
            setattr(state, name, getattr(found, name))
        return state

    def _check_finite(self, state):
        if not state.all_finite():
            raise TrainingDiverged(len(state.loss_curve), "last", "a parameter")

    # ---------------------------------------------------------------- partial fit
    def _partial_fit(self, X, y, classes, sample_weight, first_target, grow):
        """One pass over the rows in the given order; `first_target` serves the first call."""
        first = not hasattr(self, "_state")
        if self.early_stopping is True:
            raise ValueError(
                "partial_fit makes one pass over the rows it is given and does not stop early. "
                "Use early_stopping='auto' or False."
            )
        with unchanged_on(Exception, self):
            if grow and not first:
                widen(self, X)
            dtype = WORK_DTYPES if first else self._state.params["table"].dtype
            X, y = check_csr(self, X, y, reset=first, dtype=dtype, **self._y_options())
            weights, rows = self._weights(sample_weight, X)
            if first and len(rows) == 0:
                raise ValueError(NO_WEIGHT)
            target = first_target(y, rows) if first else self._target
            if not first and classes is not None:
                known = ClassTarget.known(classes, target.loss)
                if not np.array_equal(known.classes, target.classes):
                    raise ValueError(
                        f"classes={list(classes)} differs from the classes of the first call, "
                        f"{target.classes.tolist()}."
                    )
            codes = target.encode(y, rows, X.data.dtype)
            weights, rows = self._class_weighted(target, codes, weights, rows)
            if len(rows) == 0:
                return self  # nothing to learn from: no step, no counter
            step = 0 if first else self._state.step
            problem = self._resolve_problem(target, None, step)
            with get_backend(effective_n_jobs(self.n_jobs)) as backend:
                if first:
                    state = self._begin(X, y, codes, weights, rows, target, problem, backend, None,
                                        self._draw_seed())  # fmt: skip
                    before = state.index
                else:
                    state, before = self._state, self._state.index
                    self._check_continuation(state, problem)
                    self._observe(state, X, y, rows, problem, backend)
                data = self._rows_of(X, codes, weights, rows, state, backend, target.loss)
                backend.prepare(data.indices, state.params["table"].n_trainable)
                vars(self).update(self._fitted_attributes(state, target))
                try:
                    run_epoch(problem, state, data, data.rows, backend)
                except BaseException:
                    if state.step == step:  # no batch was done: as if the call had not been
                        state.shrink(before)
                    raise
                state.best_epoch = len(state.loss_curve)
        return self

    # ---------------------------------------------------------------- data and state
    def _weights(self, sample_weight, X):
        """Return weights (None: all alike) and the rows of positive weight."""
        weights = check_weights(sample_weight, X)
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        return weights, rows

    def _class_weighted(self, target, codes, weights, rows):
        by_class = target.class_weights(self.class_weight, codes, rows, weights)
        if by_class is None:
            return weights, rows
        weights = by_class[codes] if weights is None else weights * by_class[codes]
        return weights, rows[weights[rows] > 0]

    def _begin(self, X, y, codes, weights, rows, target, problem, backend, old, seed):
        """Return the state in which training starts: a new one, or a copy of `old`."""
        if old is not None:
            self._check_continuation(old, problem)
            if not target.same_as(self._target):
                raise ValueError(
                    "The targets differ from those of the earlier fit; warm_start=True needs the "
                    "same classes or the same number of outputs. Set warm_start=False."
                )
            state = old.copy()
            state.restart(problem.schedule.initial)
            self._observe(state, X, y, rows, problem, backend)
            return state
        numeric = self._resolve_columns("numeric_features", X.shape[1])
        empty = FeatureIndex(X.shape[1])
        index = self._index(empty, X, rows, numeric, backend)
        w = None if weights is None else weights[rows]
        intercept = target.loss.start(matrix_of(codes, rows), w, target.n_outputs)
        params = problem.model.init_params(
            self._resolve_width(index.n_rows, target), intercept, X.data.dtype,
            n_numeric=len(numeric), linear_term=self.linear_term, seed=seed,
        )  # fmt: skip
        state = FitState(seed, empty, problem, params, numeric)
        start = self._first_start(seed, X, y, rows, params["table"].d_embedding)
        state.grow(index, start, problem.solver, backend)
        return state

    def _check_continuation(self, state, problem):
        """Refuse to go on with settings that do not fit the state."""
        if not state.solver_state:
            raise ValueError(
                "The solver's state was dropped by drop_solver_state(). Fit anew with "
                "warm_start=False."
            )
        if set(state.solver_state["table"]) != set(problem.solver.slots):
            raise ValueError(
                f"The solver was changed to {problem.solver.name!r}, whose state is not that of "
                "the earlier fit. Fit anew with warm_start=False."
            )
        width, table = self.n_components, state.params["table"]
        if not isinstance(width, str) and width != table.d_embedding:
            raise ValueError(
                f"n_components={width}, but the earlier fit has {table.d_embedding} components."
            )
        if vars(state.model) != vars(problem.model) or bool(table.n_linear) != self.linear_term:
            raise ValueError(
                "pooling, hidden_layer_sizes or linear_term was changed since the earlier fit. Fit "
                "anew with warm_start=False."
            )

    def _index(self, index, X, rows, numeric, backend):
        seen = backend.count(X.indptr, X.indices, X.data, rows, X.shape[1])
        padding = self._resolve_columns("padding_features", X.shape[1])
        return index.observe(
            *seen,
            n_features=X.shape[1],
            min_count=self.min_count,
            padding=np.union1d(padding, numeric),
            frozen=self._resolve_columns("frozen_features", X.shape[1]),
        )

    def _observe(self, state, X, y, rows, problem, backend):
        index = self._index(state.index, X, rows, state.numeric, backend)
        start = self._later_start(state.seed, X, state.params["table"].d_embedding)
        state.grow(index, start, problem.solver, backend)

    def _rows_of(self, X, codes, weights, rows, state, backend, loss):
        """Return the data in table rows, in the work dtype."""
        indptr, indices, data = backend.map_columns(X.indptr, X.indices, X.data, state.index)
        if weights is not None:
            weights = None if np.ptp(weights[rows]) == 0 else weights.astype(data.dtype)
        scale = backend.scale(indptr, data, state.model.pooling)
        numeric, noise = numeric_rows(X, state.numeric), None
        if loss.sampled:
            w = None if weights is None else weights[rows]
            counts = np.bincount(codes[rows], w, state.params[state.model.coef].n_rows)
            state.class_counts = state.class_counts + counts
            noise = loss.noise(state.class_counts)
        return TrainingRows(indptr, indices, data, scale, codes, weights, rows, numeric, noise)
