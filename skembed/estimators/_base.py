"""Fit, partial fit and prediction: the wiring that all estimators share."""

import warnings
from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.models import ArrayStart, BagLinear, NormalStart, UniformStart
from skembed.solvers import SOLVERS, Solver
from skembed.training import (
    EpochHooks,
    FitProblem,
    FitState,
    Plateau,
    Schedule,
    TrainingDiverged,
    TrainingRows,
    fit_epochs,
    run_epoch,
    transforms_of,
)

from ._fitted import FittedBag
from ._targets import ClassTarget
from ._validation import WORK_DTYPES, check_columns, check_csr, check_start, check_weights

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


class BaseEmbedding(CallbackSupportMixin, FittedBag):
    """Base of the estimators that train a table of embeddings."""

    _doc_link_module = "skembed"
    _doc_link_template = "https://skembed.readthedocs.io/en/latest/api.html#{estimator_name}"

    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", "half", "fourth_root"}),
        ],
        "pooling": [StrOptions({"sqrtn", "mean", "sum"})],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither"), None],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "padding_features": ["array-like", None],
        "frozen_features": ["array-like", StrOptions({"all"}), None],
        "init": [StrOptions({"uniform", "normal"}), "array-like"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    class_weight = None  # classifiers have it as a parameter

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
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.pooling = pooling
        self.loss = loss
        self.solver = solver
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.min_count = min_count
        self.padding_features = padding_features
        self.frozen_features = frozen_features
        self.init = init
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---------------------------------------------------------------- what subclasses settle
    def _target_class(self, y):
        """Return `ClassTarget` or `NumberTarget`."""
        raise NotImplementedError

    def _y_options(self):
        """Return the options of scikit-learn's check of y."""
        return {}

    def _fitted_attributes(self, state, target):
        """Return the attributes that make this estimator a fitted one."""
        return {"_state": state, "_target": target, "_n_features_out": state.params["table"].d}

    # ---------------------------------------------------------------- settings of a fit
    def _seed(self):
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _solver(self):
        solver = SOLVERS.resolve(self.solver)
        solver._validate_params()
        return solver

    def _rate(self, solver):
        if self.learning_rate_init is None:
            return solver.default_learning_rate
        return float(self.learning_rate_init)

    def _width(self, n_active, n_outputs):
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        if self.n_components == "half":
            return max(1, min(50, (n_active + 1) // 2))
        if self.n_components == "fourth_root":
            return max(1, round(n_active**0.25))
        return 8 if n_outputs == 1 else min(2 * n_outputs, 64)

    def _start(self, seed, n_features, d):
        if not isinstance(self.init, str):
            return ArrayStart(check_start(self.init, n_features, d))
        return {"uniform": UniformStart, "normal": NormalStart}[self.init](seed)

    def _problem(self, target, n_rows, *, partial):
        solver, size = self._solver(), self.batch_size
        if size == "auto":
            size = 256 if partial else min(max(n_rows // 128, 64), 1024)
        return FitProblem(
            model=BagLinear(),
            loss=target.loss,
            solver=solver,
            transforms=transforms_of(solver),
            schedule=Schedule(self._rate(solver)),
            weight_decay=float(self.weight_decay),
            batch_size=int(size),
            shuffle=self.shuffle and not partial,
        )

    # ---------------------------------------------------------------- fit
    def _fit(self, X, y, sample_weight):
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
            target = self._target_class(y).of(y, rows)
            codes = target.encode(y, rows, X.data.dtype)
            weights, rows = self._class_weighted(target, codes, weights, rows)
            problem = self._problem(target, len(rows), partial=False)
            with get_backend(effective_n_jobs(self.n_jobs)) as backend:
                state = self._begin(X, codes, weights, rows, target, problem, backend, old)
                state.learning_rate = problem.schedule.initial
                data = self._rows_of(X, codes, weights, rows, state, backend)
                hooks = EpochHooks(
                    self,
                    context,
                    arguments,
                    lambda state: self._fitted_attributes(state, target),
                    self.max_iter,
                )
                self._train(problem, state, data, backend, hooks)
            vars(self).update(self._fitted_attributes(state, target))
        return self

    def _train(self, problem, state, data, backend, hooks):
        hooks.begin()
        stopping = Plateau(self.tol, self.n_iter_no_change)
        converged = fit_epochs(
            problem,
            state,
            data,
            backend,
            max_iter=self.max_iter,
            stopping=stopping,
            hooks=hooks,
        )
        if not state.all_finite():
            raise TrainingDiverged(len(state.loss_curve), "last", "a parameter")
        hooks.end(state)
        if not converged:
            warnings.warn(
                f"Training stopped at max_iter={self.max_iter} epochs while the loss was still "
                f"improving by more than tol={self.tol}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _partial_fit(self, X, y, classes, sample_weight, known_target):
        """One pass over the rows in the given order; `known_target` serves the first call."""
        first = not hasattr(self, "_state")
        with unchanged_on(Exception, self):
            dtype = WORK_DTYPES if first else self._state.params["table"].dtype
            X, y = check_csr(self, X, y, reset=first, dtype=dtype, **self._y_options())
            weights, rows = self._weights(sample_weight, X)
            target = known_target(y, rows) if first else self._target
            if not first and classes is not None and not target.same_as(ClassTarget.known(classes)):
                raise ValueError(
                    f"classes={list(classes)} differs from the classes of the first call, "
                    f"{self._target.classes.tolist()}."
                )
            codes = target.encode(y, rows, X.data.dtype)
            weights, rows = self._class_weighted(target, codes, weights, rows)
            if len(rows) == 0:
                if first:
                    raise ValueError(NO_WEIGHT)
                return self  # nothing to learn from: no step, no counter
            problem = self._problem(target, len(rows), partial=True)
            with get_backend(effective_n_jobs(self.n_jobs)) as backend:
                if first:
                    state = self._begin(X, codes, weights, rows, target, problem, backend, None)
                else:
                    state = self._state
                    self._check_same_solver(state, problem)
                    self._observe(state, X, rows, problem, backend)
                state.learning_rate = problem.schedule.initial
                data = self._rows_of(X, codes, weights, rows, state, backend)
                backend.prepare(data.indices, state.params["table"].n_trainable)
                vars(self).update(self._fitted_attributes(state, target))
                run_epoch(problem, state, data, data.rows, backend)
            vars(self).update(self._fitted_attributes(state, target))
        return self

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

    def _begin(self, X, codes, weights, rows, target, problem, backend, old):
        """Return the state in which training starts: a new one, or a copy of `old`."""
        if old is not None:
            self._check_same_solver(old, problem)
            if not target.same_as(self._target):
                raise ValueError(
                    "The targets differ from those of the earlier fit; warm_start=True needs the "
                    "same classes or the same number of outputs. Set warm_start=False."
                )
            state = old.copy()
            state.restart()
            self._observe(state, X, rows, problem, backend)
            return state
        index = self._index(FeatureIndex(X.shape[1]), X, rows, backend)
        w = None if weights is None else weights[rows]
        intercept = target.loss.start(codes[rows], w, target.n_outputs)
        d = self._width(index.n_rows, target.n_outputs)
        params = problem.model.init_params(d, intercept, X.data.dtype)
        state = FitState(
            self._seed(),
            FeatureIndex(X.shape[1]),
            params,
            problem.solver,
            problem.schedule.initial,
        )
        self._grow(state, index, problem, backend)
        return state

    def _check_same_solver(self, state, problem):
        if set(state.solver_state["table"]) != set(problem.solver.slots):
            raise ValueError(
                f"The solver was changed to {problem.solver.name!r}, whose state is not that of "
                "the earlier fit. Fit anew with warm_start=False."
            )

    def _index(self, index, X, rows, backend):
        names = getattr(self, "feature_names_in_", None)
        n_features = X.shape[1]
        seen = backend.count(X.indptr, X.indices, X.data, rows, n_features)
        return index.observe(
            *seen,
            min_count=self.min_count,
            padding=check_columns(self.padding_features, "padding_features", n_features, names),
            frozen=check_columns(self.frozen_features, "frozen_features", n_features, names),
        )

    def _observe(self, state, X, rows, problem, backend):
        width = state.params["table"].d
        if not isinstance(self.n_components, str) and self.n_components != width:
            raise ValueError(
                f"n_components={self.n_components}, but the earlier fit has {width} components."
            )
        self._grow(state, self._index(state.index, X, rows, backend), problem, backend)

    def _grow(self, state, index, problem, backend):
        start = self._start(state.seed, index.n_features, state.params["table"].d)
        state.grow(index, start, problem.solver, backend)

    def _rows_of(self, X, codes, weights, rows, state, backend):
        """Return the data in table rows, in the work dtype."""
        indptr, indices, data = backend.map_columns(X.indptr, X.indices, X.data, state.index)
        if weights is not None:
            weights = None if np.ptp(weights[rows]) == 0 else weights.astype(data.dtype)
        scale = backend.scale(indptr, data, self.pooling)
        return TrainingRows(indptr, indices, data, scale, codes, weights, rows)
