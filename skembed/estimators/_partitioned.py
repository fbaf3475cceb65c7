"""PartitionedFit: one fit over many partitions."""

from numbers import Integral, Real
from os import PathLike

from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, _fit_context, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import get_tags
from sklearn.utils._metadata_requests import UNUSED
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skembed.compress import COMPRESSORS, Compressor, Everything
from skembed.partition import ENGINES, Engine, PartitionTrainer

from ._base import BaseEmbedding
from ._elsewhere import ElsewhereTrainer, parts_of
from ._parts import labels_of, stacked


def estimator_has(name):
    """Return a check of whether the wrapped estimator, fitted if it is, has an attribute."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


def compressor_of(given):
    """Return the compressor that a parameter means."""
    compressor = Everything() if given is None else COMPRESSORS.resolve(given)
    compressor._validate_params()
    return compressor


class PartitionedFit(CallbackSupportMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    _doc_link_module = "skembed"
    _doc_link_template = "https://skembed.readthedocs.io/en/latest/api.html#{estimator_name}"
    __metadata_request__fit = {"plan": UNUSED}
    _parameter_constraints = {
        "estimator": [BaseEmbedding],
        "n_partitions": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions(set(ENGINES)), Engine],
        "local_steps": [Interval(Integral, 1, None, closed="left"), StrOptions({"epoch"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "compressor": [StrOptions(set(COMPRESSORS)), Compressor, None],
        "broadcast_compressor": [StrOptions(set(COMPRESSORS)), Compressor, None],
        "aggregate": [StrOptions({"mean", "touch", "sqrt"})],
        "solver_state": [StrOptions({"local", "reset"})],
        "on_lost": [StrOptions({"replay", "reset", "raise"})],
        "round_timeout": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "checkpoint_dir": [str, PathLike, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator,
        *,
        n_partitions=4,
        engine="joblib",
        local_steps="epoch",
        max_iter=20,
        compressor="topk",
        broadcast_compressor="topk",
        aggregate="mean",
        solver_state="local",
        on_lost="replay",
        round_timeout="auto",
        checkpoint_dir=None,
        random_state=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.n_partitions = n_partitions
        self.engine = engine
        self.local_steps = local_steps
        self.max_iter = max_iter
        self.compressor = compressor
        self.broadcast_compressor = broadcast_compressor
        self.aggregate = aggregate
        self.solver_state = solver_state
        self.on_lost = on_lost
        self.round_timeout = round_timeout
        self.checkpoint_dir = checkpoint_dir
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn: those of the wrapped estimator."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags",
                     "transformer_tags", "input_tags"):  # fmt: skip
            setattr(tags, name, getattr(inner, name))
        return tags

    def get_metadata_routing(self):
        """Tell which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
            To the wrapped estimator go the parameters of its fit.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None, *, partition=None, plan=None, **fit_params):
        """Fit the wrapped estimator over partitions."""
        context = self._init_callback_context(max_subtasks=1)
        told = dict(X=X, y=y)
        if sample_weight is not None:
            told["metadata"] = {"sample_weight": sample_weight}
        context.call_on_fit_task_begin(estimator=self, **told)
        if _routing_enabled():
            given = {"sample_weight": sample_weight} if sample_weight is not None else {}
            routed = process_routing(self, "fit", **given, **fit_params)["estimator"]["fit"]
            sample_weight, fit_params = routed.pop("sample_weight", None), routed
        estimator = clone(self.estimator)
        if self.random_state is not None:
            estimator.set_params(random_state=self.random_state)
        if estimator.refit:
            raise ValueError("PartitionedFit does not refit; set refit=False on the estimator.")
        parts = parts_of(X, y, sample_weight)
        if parts is None:
            X, y, sample_weight, partition = stacked(X, y, sample_weight, partition)
        elif partition is not None:
            raise ValueError("X is a list of parts, each a partition; partition must be None.")
        engine = ENGINES.resolve(self.engine)
        trainer = self._trainer(engine, estimator, parts, labels_of(partition, X))
        task = context.subcontext(task_name="rounds")
        with task.propagate_callback_context(estimator):
            task.call_on_fit_task_begin(estimator=self, **told)
            engine.start(trainer.n_partitions, self.n_jobs)
            try:
                estimator._fit_over(trainer, X, y, sample_weight, **fit_params)
                trainer.clear()
            finally:
                trainer.close()
        fitted = self._fitted_attributes(estimator, trainer)
        for ended in (task, context):
            ended.call_on_fit_task_end(
                estimator=self, reconstruction_attributes=lambda: fitted, **told
            )
        for name in [name for name in vars(self) if name.endswith("_in_")]:
            delattr(self, name)
        vars(self).update(fitted)
        return self

    def _trainer(self, engine, estimator, parts, labels):
        """Return what runs the rounds, over parts to load or rows that are here."""
        params = estimator.get_params() | self.get_params(deep=False)
        leave_out = ("estimator", "engine", "n_jobs", "verbose", "checkpoint_dir", "round_timeout",
                     "on_lost", "random_state")  # fmt: skip
        settings = {name: repr(params[name]) for name in sorted(params) if name not in leave_out}
        options = dict(
            up=compressor_of(self.compressor),
            broadcast=compressor_of(self.broadcast_compressor),
            local_steps=self.local_steps,
            max_iter=self.max_iter,
            aggregate=self.aggregate,
            on_lost=self.on_lost,
            timeout=self.round_timeout,
            resets_solver=self.solver_state == "reset",
            folder=self.checkpoint_dir,
            settings=settings,
        )
        if parts is not None:
            return ElsewhereTrainer(engine, parts, **options)
        labels, n_partitions = (None, self.n_partitions) if labels is None else labels
        return PartitionTrainer(engine, n_partitions, labels, **options)

    @staticmethod
    def _fitted_attributes(estimator, trainer):
        """Return the fitted attributes."""
        found = {
            "estimator_": estimator,
            "history_": trainer.history.rounds,
            "n_partitions_": trainer.n_partitions,
            "n_iter_": estimator.n_iter_,
            "n_features_in_": estimator.n_features_in_,
        }
        if hasattr(estimator, "feature_names_in_"):
            found["feature_names_in_"] = estimator.feature_names_in_
        return found

    # ---------------------------------------------------------------- what the estimator does
    @property
    def classes_(self):
        """Class labels, sorted; of a classifier."""
        return self.estimator_.classes_

    @available_if(estimator_has("predict"))
    def predict(self, X):
        """Predict by the fitted estimator."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Compute class probabilities by the fitted estimator."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X):
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @available_if(estimator_has("predict_top_k"))
    def predict_top_k(self, X, k):
        check_is_fitted(self)
        return self.estimator_.predict_top_k(X, k)

    @available_if(estimator_has("score"))
    def score(self, X, y, sample_weight=None):
        check_is_fitted(self)
        return self.estimator_.score(X, y, sample_weight)

    def transform(self, X):
        check_is_fitted(self)
        return self.estimator_.transform(X)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)
