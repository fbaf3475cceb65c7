"""Parameters of the estimators, and what a fit makes of them."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skembed.core import QuantizedTable
from skembed.models import (
    ArrayStart,
    BagModel,
    ComponentsStart,
    CooccurrenceModel,
    KnownStart,
    NormalStart,
    SampledBagModel,
    UniformStart,
)
from skembed.solvers import SOLVERS, Solver
from skembed.training import FitProblem, Schedule, transforms_of

from ._fitted import FittedEmbedding, FittedHead
from ._targets import LabelTarget
from ._validation import check_columns, check_start
from ._width import suggest_n_components

AUTO_EARLY_STOPPING = 200  # rows of positive weight from which "auto" holds rows out


class Settings(FittedEmbedding):
    """The parameters that all trained estimators have, with what they mean for a fit."""

    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", "half", "fourth_root"}),
        ],
        "linear_term": ["boolean"],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither"), None],
        "learning_rate": [StrOptions({"constant", "linear", "invscaling"})],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "padding_features": ["array-like", None],
        "frozen_features": ["array-like", StrOptions({"all"}), None],
        "init": [
            StrOptions({"uniform", "normal"}),
            HasMethods(["fit", "transform"]),
            "array-like",
        ],
        "unseen": [StrOptions({"zero", "rare_mean"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    # Parameters of some estimators only.
    class_weight = numeric_features = None
    _of_model = None  # names of the parameters that decide what a model is
    _start_limit = None  # drawn vectors lie in ± this, or have its variance; None is 1 / width

    def __init__(
        self,
        n_components,
        *,
        linear_term,
        loss,
        solver,
        learning_rate_init,
        learning_rate,
        weight_decay,
        batch_size,
        max_iter,
        tol,
        n_iter_no_change,
        early_stopping,
        validation_fraction,
        scoring,
        refit,
        shuffle,
        warm_start,
        min_count,
        padding_features,
        frozen_features,
        init,
        unseen,
        random_state,
        verbose,
        n_jobs,
    ):
        self.n_components = n_components
        self.linear_term = linear_term
        self.loss = loss
        self.solver = solver
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.refit = refit
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.min_count = min_count
        self.padding_features = padding_features
        self.frozen_features = frozen_features
        self.init = init
        self.unseen = unseen
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

    def _draw_seed(self):
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _resolve_solver(self):
        solver = SOLVERS.resolve(self.solver)
        solver._validate_params()
        return solver

    def _resolve_width(self, n_active, target):
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        return suggest_n_components(
            n_active,
            n_outputs=n_active if target.n_outputs is None else target.n_outputs,
            multi_label=isinstance(target, LabelTarget),
            rule=self.n_components,
        )

    def _resolve_columns(self, parameter, n_features):
        names = getattr(self, "feature_names_in_", None)
        return check_columns(getattr(self, parameter), parameter, n_features, names)

    def _check_start(self, init, n_features, copies, d, n_known=None):
        """Return given vectors as rows of a table that hold `copies` vectors of d components."""
        return check_start(init, n_features, copies * d, n_known)

    def _later_start(self, seed, X, vectors):
        """Return what writes rows that come after the first call; `vectors` as in the model."""
        if isinstance(self.init, FrozenEstimator):
            other = self.init.estimator
            return self._start_of(other, other.n_features_in_, vectors)
        if isinstance(self.init, str) or hasattr(self.init, "transform"):
            start = NormalStart if self.init == "normal" else UniformStart
            return start(seed, self._start_limit)
        return ArrayStart(self._check_start(self.init, X.shape[1], *vectors))

    def _first_start(self, seed, X, y, rows, vectors):
        """Return what writes the first rows: drawn values, an array, or what another has learned.

        An unfitted `init` is fitted on the rows to train on.
        """
        if not hasattr(self.init, "transform"):
            return self._later_start(seed, X, vectors)
        if isinstance(self.init, FrozenEstimator):
            other = self.init.estimator
            check_is_fitted(other)
        else:
            other = clone(self.init)
            if other.get_params().get("random_state", seed) is None:
                other.set_params(random_state=seed)  # the seed of a fit decides all of it
            other.fit(X.matrix()[rows], y[rows])
        return self._start_of(other, X.shape[1], vectors)

    def _start_of(self, other, n_features, vectors):
        """Return what writes rows that a fitted transformer has learned."""
        if hasattr(other, "active_embedding_"):  # embedding_ has a row for every column
            n_known = other.n_features_in_
            rows = self._check_start(other.active_embedding_, n_features, *vectors, n_known)
            return KnownStart(other.active_features_, rows)
        if not hasattr(other, "components_"):
            raise ValueError(
                f"init={self.init!r} has neither embedding_ nor components_ when fitted. Use an "
                "EmbeddingBag, a TruncatedSVD, or an array."
            )
        rows = self._check_start(np.transpose(other.components_), n_features, *vectors)
        return ComponentsStart(rows, self._start_limit)

    def _resolve_model(self, loss):
        """Return the model of a fit."""
        raise NotImplementedError

    def _rate_for(self, solver, loss):
        """Return the learning rate where none is given."""
        return solver.rate_for(loss)

    def _resolve_problem(self, target, n_rows, step):
        """Return the problem of a fit, or that of a `partial_fit` where n_rows is None."""
        solver, size, partial = self._resolve_solver(), self.batch_size, n_rows is None
        if size == "auto":
            size = 256 if partial else min(max(n_rows // 128, 64), 256)
        rate = self.learning_rate_init
        rate = self._rate_for(solver, target.loss) if rate is None else float(rate)
        if partial and self.learning_rate == "linear":
            raise ValueError(
                "learning_rate='linear' falls to zero over max_iter epochs of fit; partial_fit "
                "does not know how many calls will come. Use 'constant' or 'invscaling'."
            )
        n_steps = 1 if partial else self.max_iter * -(-n_rows // int(size))
        return FitProblem(
            model=self._resolve_model(target.loss),
            loss=target.loss,
            solver=solver,
            transforms=transforms_of(solver),
            schedule=Schedule(rate, self.learning_rate, step, n_steps),
            weight_decay=float(self.weight_decay),
            batch_size=int(size),
            shuffle=self.shuffle and not partial,
        )

    def _must_stop_early(self):
        """Tell whether early stopping is asked for, not left to the number of rows."""
        return not isinstance(self.early_stopping, str) and bool(self.early_stopping)

    def _holds_out(self, n_rows, given):
        """Tell whether a fit scores rows that it does not train on."""
        auto = isinstance(self.early_stopping, str)
        if given[0] is None:
            if given[1] is not None or given[2] is not None:
                raise ValueError("y_val and sample_weight_val are for the rows of X_val; pass it.")
            return n_rows >= AUTO_EARLY_STOPPING if auto else bool(self.early_stopping)
        if given[1] is None:
            raise ValueError("X_val needs its targets; pass y_val.")
        if not (auto or self.early_stopping) or self.refit:
            name = "refit=True" if self.refit else "early_stopping=False"
            raise ValueError(f"X_val is for early stopping and does not go with {name}.")
        return True

    def _check_continuation(self, state, problem):
        """Refuse to go on with settings that do not fit the state of an earlier fit."""
        if isinstance(state.params["table"], QuantizedTable):
            raise ValueError(
                "The vectors were rounded by quantize() and cannot be trained further. Go on with "
                "the estimator that was quantized, or fit anew with warm_start=False."
            )
        if not state.solver_state:
            raise ValueError(
                "The solver's state was dropped by drop_solver_state(), or by save_model without "
                "include_state=True. Fit anew with warm_start=False."
            )
        if state.slots != problem.solver.table_slots:
            raise ValueError(
                f"The solver was changed to {problem.solver.name!r} ({problem.solver!r}), whose "
                "state is not that of the earlier fit. Fit anew with warm_start=False."
            )
        width, table = self.n_components, state.params["table"]
        before = state.model.width(state.params)
        if not isinstance(width, str) and width != before:
            raise ValueError(f"n_components={width}, but the earlier fit has {before} components.")
        numeric = self._resolve_columns("numeric_features", state.index.n_features)
        if not np.array_equal(numeric, state.numeric):
            raise ValueError(
                "numeric_features was changed since the earlier fit. Fit anew with "
                "warm_start=False."
            )
        if not state.model.same_as(problem.model) or bool(table.n_linear) != self.linear_term:
            raise ValueError(
                f"{self._of_model} was changed since the earlier fit. Fit anew with "
                "warm_start=False."
            )


class BagSettings(FittedHead, Settings):
    """The parameters of the embedding bags."""

    _parameter_constraints = {
        **Settings._parameter_constraints,
        "pooling": [StrOptions({"sqrtn", "mean", "sum", "max"})],
        "hidden_layer_sizes": ["array-like"],
        "numeric_features": ["array-like", None],
    }
    _of_model = "pooling, hidden_layer_sizes or linear_term"

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
    ):
        super().__init__(
            n_components,
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
        self.pooling = pooling
        self.hidden_layer_sizes = hidden_layer_sizes
        self.numeric_features = numeric_features

    def _resolve_model(self, loss):
        sizes = np.asarray(self.hidden_layer_sizes)
        if sizes.ndim > 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
            raise ValueError(
                "hidden_layer_sizes must hold positive integers, one a hidden layer, got "
                f"{self.hidden_layer_sizes!r}."
            )
        if self.linear_term and self.pooling == "max":
            raise ValueError("linear_term=True needs pooling='sqrtn', 'mean' or 'sum'.")
        if self.linear_term and loss.sampled:
            raise ValueError("linear_term=True scores every class; a sampled loss does not.")
        if loss.targets == "features":
            if sizes.size:
                raise ValueError(
                    "loss='cooccurrence' has no hidden layers; hidden_layer_sizes must be ()."
                )
            return CooccurrenceModel(self.pooling)
        model = SampledBagModel if loss.sampled else BagModel
        return model(self.pooling, sizes.ravel().tolist())
