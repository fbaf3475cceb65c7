"""PartitionedFit: one fit over many partitions."""

from numbers import Integral, Real
from os import PathLike

from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
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

from skembed.compress import COMPRESSORS, Compressor, Everything
from skembed.partition import ENGINES, Engine, PartitionTrainer

from ._base import BaseEmbedding
from ._delegates import Delegates
from ._elsewhere import ElsewhereTrainer, parts_of
from ._parts import labels_of, stacked


def compressor_of(given):
    """Return the compressor that a parameter means."""
    compressor = Everything() if given is None else COMPRESSORS.resolve(given)
    compressor._validate_params()
    return compressor


class PartitionedFit(Delegates, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit an estimator over partitions, which send each other little.

    The rows are divided into partitions, each of which trains on its own rows: an epoch, or some
    batches. It then sends what its table changed by: the entries that moved most, in eight bits
    each, while the rest is remembered and sent later. The coordinator takes the mean, and sends the
    same kind of message back to all. That makes a round. Partitions live in this process, in
    processes of joblib, or on the workers of a Dask cluster; the result has the same bits
    everywhere, also where a worker was lost on the way.

    Parameters
    ----------
    estimator : estimator
        An embedding bag or a factorization machine. Its `max_iter` and `n_jobs` are not used,
        `refit` must be off; early stopping watches the score after each round.
    n_partitions : int, default=4
        Into how many parts the rows of one matrix are dealt, at random where the estimator
        shuffles, else in order. A part has at least 64 rows, so there may be fewer.
    engine : {"joblib", "dask"} or Engine, default="joblib"
        Where partitions live: see :class:`skembed.partition.JoblibEngine` and
        :class:`skembed.partition.DaskEngine`.
    local_steps : int or "epoch", default="epoch"
        Batches of each partition in a round.
    max_iter : int, default=20
        Rounds at most.
    compressor, broadcast_compressor : {"topk"}, Compressor or None, default="topk"
        For what partitions send, and for what the coordinator sends. ``"topk"`` is
        ``TopK(ratio=0.1)``; None sends every row that changed, as it is. Of the
        head everything is sent, in the same type of values.
    aggregate : {"mean", "touch", "sqrt"}, default="mean"
        A row that a partition did not send counts as unchanged there (``"mean"``), or is left out
        of the mean (``"touch"``); ``"sqrt"`` lies between. The head is a mean.
    solver_state : {"local", "reset"}, default="local"
        Whether the state of the solver stays in its partition from round to round, or begins anew.
        It does not travel.
    on_lost : {"replay", "reset", "raise"}, default="replay"
        What happens to a partition whose worker is gone: its rounds since the last checkpoint are
        computed again, with the same result; or it goes on without its memory and its solver's
        state; or the fit ends with an error.
    round_timeout : float or "auto", default="auto"
        Seconds to wait for the answers of a round before a `TimeoutError`. ``"auto"`` is ten times
        the median round, at least 60 s, and an hour for the first.
    checkpoint_dir : path-like, default=None
        Folder that all places can write to. A tenth of the rounds end with a checkpoint there, from
        which lost partitions go on, and so does a fit of the same data and parameters that was
        interrupted. It is emptied when the fit has ended. Without it, all broadcasts are kept, and
        lost partitions go on from the first round.
    random_state : int, RandomState or None, default=None
        Takes the place of that of the estimator, unless it is None.
    n_jobs : int, default=None
        Partitions that run at a time: processes or threads of joblib, or workers of a cluster that
        is started here.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator. It has no solver state, so it cannot go on by `partial_fit`. Its
        `n_updates_` counts rounds.
    history_ : dict of str to list
        One entry a round: "bytes_up" and "bytes_down" (of all messages, as sent), "loss", "n_rows"
        (table rows that somebody sent), "memory_norms" (of what each partition has yet to send),
        "broadcast_memory_norm", "seconds", "events" (what went wrong and was mended); with a plan
        also "predicted_bytes_up", "predicted_bytes_down", "predicted_seconds" and
        "predicted_joules".
    n_partitions_ : int
        Number of partitions.
    n_iter_ : int
        Rounds made.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, where X has them.
    classes_ : ndarray of shape (n_classes,)
        Class labels, of a classifier.

    See Also
    --------
    skembed.compress.TopK : Chooses what is sent.
    skembed.inspection.CommunicationDisplay : Bytes against loss, as a picture.

    Notes
    -----
    With one partition and no compression, and as many rounds as epochs, the fitted model has the
    bits of the estimator fitted alone.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed import EmbeddingBagClassifier, PartitionedFit
    >>> texts = ["good film", "bad film", "good play", "bad play"] * 50
    >>> labels = ["yes", "no", "yes", "no"] * 50
    >>> X = CountVectorizer().fit_transform(texts)
    >>> bag = EmbeddingBagClassifier(n_components=4, tol=0.1, random_state=0)
    >>> model = PartitionedFit(bag, n_partitions=2).fit(X, labels)
    >>> model.predict(X[:2])
    array(['yes', 'no'], dtype='<U3')
    >>> model.n_partitions_, sum(model.history_["bytes_up"]) > 0
    (2, True)
    """

    _doc_link_module = "skembed"
    _doc_link_template = (
        "https://skembed.readthedocs.io/en/latest/generated/skembed.{estimator_name}.html"
    )
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
        """Fit the wrapped estimator over partitions.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features), or parts
            One matrix, which is divided here; a list of CSR matrices, each a partition; or
            partitions that are loaded where they are trained on: a list of callables that return
            X, (X, y) or (X, y, sample_weight), a list of paths to files of
            :func:`scipy.sparse.save_npz`, a list of delayed objects of Dask, or an array or bag of
            Dask whose blocks are CSR.
        y : array-like, sparse matrix, or parts
            Targets, as the estimator takes them; for parts of X a list of arrays, of paths to files
            of :func:`numpy.save`, or of delayed objects, or an array of Dask. None where loaders
            return them.
        sample_weight : array-like of shape (n_samples,), or parts, default=None
            Weights of the rows.
        partition : array-like of shape (n_samples,), default=None
            Partition of each row of one matrix: numbers or names. There are then as many partitions
            as different values, in sorted order, of any size.
        plan : CompressionPlan, default=None
            What was predicted; it is kept beside what is measured in `history_`, with a warning
            where they differ by more than a quarter. Its `params` are parameters of this class.
        **fit_params : dict
            Other parameters of the `fit` of the estimator: `X_val`, `y_val` and
            `sample_weight_val`. With metadata routing, those that it has requested.

        Returns
        -------
        self : PartitionedFit
            The fitted model.

        Raises
        ------
        RuntimeError
            If the state of a partition cannot be computed again, or the engine is gone.
        TimeoutError
            If a round takes longer than `round_timeout`.
        """
        context = self._init_callback_context(max_subtasks=1)
        told = dict(X=X, y=y)
        if sample_weight is not None:
            told["metadata"] = {"sample_weight": sample_weight}
        context.call_on_fit_task_begin(estimator=self, **told)
        if _routing_enabled():
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **given, **fit_params)["estimator"]["fit"]
            fit_params = dict(routed)
            sample_weight = fit_params.pop("sample_weight", None)
        estimator = self._unfitted()
        trainer, data = self._prepare(estimator, X, y, sample_weight, partition)
        task = context.subcontext(task_name="rounds")
        with task.propagate_callback_context(estimator):
            task.call_on_fit_task_begin(estimator=self, **told)
            self._run(trainer, estimator, data, plan, fit_params)
        fitted = self._fitted_attributes(estimator, trainer)
        for ended in (task, context):
            ended.call_on_fit_task_end(
                estimator=self, reconstruction_attributes=lambda: fitted, **told
            )
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        vars(self).update(fitted)
        return self

    def _unfitted(self):
        """Return the estimator to fit."""
        estimator = clone(self.estimator)
        if estimator.refit:
            raise ValueError("PartitionedFit does not refit; set refit=False on the estimator.")
        if self.random_state is not None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _prepare(self, estimator, X, y, sample_weight, partition):
        """Return what runs the rounds, and the data as it takes them."""
        engine, parts = ENGINES.resolve(self.engine), parts_of(X, y, sample_weight)
        if parts is not None and partition is not None:
            raise ValueError("X is a list of parts, each a partition; partition must be None.")
        if parts is None:
            X, y, sample_weight, partition = stacked(X, y, sample_weight, partition)
        trainer = self._trainer(engine, estimator, parts, labels_of(partition, X))
        return trainer, (X, y, sample_weight)

    @staticmethod
    def _run(trainer, estimator, data, plan, fit_params):
        """Fit the estimator; the engine ends with it."""
        trainer.start()
        try:
            estimator._fit_over(trainer, *data, **fit_params)
            trainer.clear()
        finally:
            trainer.close()
        if plan is not None:
            trainer.history.compare(plan)

    def _trainer(self, engine, estimator, parts, labels):
        """Return what runs the rounds, over parts to load or rows that are here."""
        params = estimator.get_params(deep=False) | self.get_params(deep=False)
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
            n_jobs=self.n_jobs,
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
