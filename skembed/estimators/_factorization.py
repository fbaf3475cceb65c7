"""Factorization machines: FactorizationMachineClassifier and FactorizationMachineRegressor."""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skembed.losses import Loss
from skembed.models import FactorizationModel
from skembed.solvers import Adagrad, RowwiseAdagrad

from ._classifier import NAMES as CLASS_LOSSES
from ._classifier import BaseClassifier
from ._docs import documented
from ._regressor import LOSS as NUMBER_LOSS
from ._regressor import NAMES as NUMBER_LOSSES
from ._regressor import BaseRegressor
from ._settings import Settings
from ._validation import check_start

START = 0.05  # standard deviation of drawn vectors
ADAGRAD_RATE = 0.1
CLASS_LOSS = """
loss : str or Loss, default="auto"
    ``"log_loss"`` (also ``"auto"``): a sigmoid for two classes, a softmax for more, independent
    sigmoids for several labels a row; ``"ova"``: independent sigmoids for classes as well;
    ``"hinge"`` and ``"squared_hinge"``: one class against the rest; or an instance from
    :mod:`skembed.losses`.
"""


def fields_of(fields, n_features, names):
    """Return the number of the field of each column, int32, and the names of the fields.

    Parameters
    ----------
    fields : array-like of shape (n_features,), or "names"
        The parameter of the estimators.
    n_features : int
        Number of columns.
    names : ndarray of str or None
        Feature names.
    """
    if isinstance(fields, str):
        if names is None:
            raise ValueError(
                "fields='names' reads fields from feature names, but X has none. Pass a data frame "
                "or one field for each column."
            )
        fields = [n.split("=")[0] if "=" in n else n.rpartition("_")[0] or n for n in names]
    fields = np.asarray(fields)
    if fields.shape != (n_features,):
        raise ValueError(
            f"fields must hold one field for each of {n_features} columns, got shape "
            f"{fields.shape}."
        )
    if fields.dtype.kind == "O" and all(isinstance(f, str) for f in fields):
        fields = fields.astype(str)
    if fields.dtype.kind not in "biuU":
        raise ValueError(f"fields must hold integers or strings, got dtype {fields.dtype}.")
    known, numbers = np.unique(fields, return_inverse=True)
    return numbers.astype(np.int32), known


class FactorizationSettings(Settings):
    """The parameters of the factorization machines, and their fitted vectors."""

    _parameter_constraints = {
        **Settings._parameter_constraints,
        "interaction": [StrOptions({"fm", "ffm"})],
        "fields": ["array-like", StrOptions({"names"}), None],
        "normalize_rows": ["boolean"],
    }
    _of_model = "interaction, fields, normalize_rows or linear_term"
    _start_limit = START * 3**0.5

    def __init__(
        self,
        n_components=16,
        *,
        interaction="fm",
        fields=None,
        normalize_rows=True,
        linear_term=True,
        loss="auto",
        solver="rowwise_adagrad",
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
        init="normal",
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
        self.interaction = interaction
        self.fields = fields
        self.normalize_rows = normalize_rows

    def _resolve_model(self, loss):
        if loss.sampled:
            raise ValueError(f"loss={loss!r} scores some outputs only; the pairs need all of them.")
        pooling, numbers, known = "sqrtn" if self.normalize_rows else "sum", None, None
        if self.interaction == "ffm" and self.fields is not None:
            names = getattr(self, "feature_names_in_", None)
            numbers, known = fields_of(self.fields, self.n_features_in_, names)
        return FactorizationModel(pooling, numbers, known)

    def _rate_for(self, solver, loss):
        if isinstance(solver, (Adagrad, RowwiseAdagrad)):
            return ADAGRAD_RATE
        return super()._rate_for(solver, loss)

    def _check_start(self, init, n_features, copies, d, n_known=None):
        array = np.asarray(init)
        if array.ndim == 4:  # outputs and fields, which the rows of the table hold the other way
            array = array.swapaxes(1, 2)
        if array.ndim > 2:
            array = array.reshape(len(array), -1)
        elif array.ndim < 2 or array.shape[1] != copies * d:  # one vector, for all outputs, fields
            array = np.tile(check_start(array, n_features, d, n_known), copies)
        return check_start(array, n_features, copies * d, n_known)

    @property
    def active_embedding_(self):
        """Vectors of `active_features_`; see `embedding_` for the axes behind the first."""
        state = self._state
        pairs = state.model.shape_of(state.params)
        blocks = pairs.blocks(state.params["table"].values[self._active_rows]).swapaxes(1, 2)
        outputs = pairs.n_outputs if pairs.n_outputs > 1 else 0
        fields = 0 if state.model.fields is None else pairs.n_fields
        shape = [n for n in (outputs, fields, pairs.d) if n]
        return blocks.reshape(len(blocks), *shape)

    @property
    def fields_(self):
        """Names of the fields, in the order of their axis."""
        if self._state.model.fields is None:
            raise AttributeError("fields_ exists after a fit with interaction='ffm' and fields.")
        return self._state.model.names

    @property
    def intercept_(self):
        """Intercepts, shape (n_outputs,)."""
        return self._state.params["intercept"].ravel()


@documented(loss=CLASS_LOSS, class_weight=True, kind="fm")
class FactorizationMachineClassifier(FactorizationSettings, BaseClassifier):
    """Classify rows of sparse features by direct weights and by which features meet in a row.

    A score is an intercept, plus the direct weights of the features of a row, plus the products of
    the vectors of all pairs of them: the interactions that a linear model cannot have, also of
    pairs that were never seen together. The time is linear in the values of a row. Two classes
    share one score and the logistic loss. Of more classes, or several labels a row, each has a
    score with vectors of its own: time and memory are those of two classes times their number.

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
    FactorizationMachineRegressor : The same for numbers.
    EmbeddingBagClassifier : A pooled vector and a head, for many classes.
    skembed.inspection.explain : What each feature and pair adds to a score.

    Notes
    -----
    With F fields a feature has F vectors, and a batch takes F^2 vectors a row while it is trained
    on: fields are for tens of fields, and fewer components.

    References
    ----------
    S. Rendle, "Factorization machines", ICDM 2010.

    Y. Juan, Y. Zhuang, W.-S. Chin, C.-J. Lin, "Field-aware factorization machines for CTR
    prediction", RecSys 2016.

    Examples
    --------
    Red circles and blue squares are wanted; neither a colour nor a shape tells anything alone.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skembed import FactorizationMachineClassifier
    >>> things = [["red", "circle"], ["red", "square"], ["blue", "circle"], ["blue", "square"]]
    >>> X = OneHotEncoder().fit_transform(things * 20)
    >>> y = ["yes", "no", "no", "yes"] * 20
    >>> fm = FactorizationMachineClassifier(
    ...     n_components=4, early_stopping=False, tol=1e-3, random_state=0
    ... )
    >>> fm.fit(X, y).predict(X[:4])
    array(['yes', 'no', 'no', 'yes'], dtype='<U3')
    """

    _parameter_constraints = {
        **FactorizationSettings._parameter_constraints,
        "loss": [StrOptions({"auto", *CLASS_LOSSES} - {"softmax", "negative_sampling"}), Loss],
        "class_weight": BaseClassifier._class_weight_constraint,
    }

    def __init__(
        self,
        n_components=16,
        *,
        interaction="fm",
        fields=None,
        normalize_rows=True,
        linear_term=True,
        loss="auto",
        solver="rowwise_adagrad",
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
        init="normal",
        unseen="zero",
        class_weight=None,
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        super().__init__(
            n_components,
            interaction=interaction,
            fields=fields,
            normalize_rows=normalize_rows,
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


@documented(loss=NUMBER_LOSS, kind="fm")
class FactorizationMachineRegressor(FactorizationSettings, BaseRegressor):
    """Predict numbers from rows of sparse features by which features meet in a row.

    A prediction is an intercept, plus the direct weights of the features of a row, plus the
    products of the vectors of all pairs of them. The time is linear in the values of a row. Each of
    several targets has vectors of its own.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    FactorizationMachineClassifier : The same for classes.
    EmbeddingBagRegressor : A pooled vector and a head.
    skembed.inspection.explain : What each feature and pair adds to a score.

    Notes
    -----
    A step of Adagrad or Adam moves a coordinate by about the learning rate, whatever the unit of y:
    targets with a spread far from 1 train slowly or roughly. Scale them, for instance with
    :class:`sklearn.compose.TransformedTargetRegressor`.

    References
    ----------
    S. Rendle, "Factorization machines", ICDM 2010.

    Examples
    --------
    A user likes what others of the same taste like, apart from how popular a film is.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skembed import FactorizationMachineRegressor
    >>> ratings = [["Ann", "Alien"], ["Ann", "Heat"], ["Bob", "Alien"], ["Bob", "Heat"]]
    >>> X = OneHotEncoder().fit_transform(ratings * 20)
    >>> fm = FactorizationMachineRegressor(
    ...     n_components=4, early_stopping=False, tol=1e-3, random_state=0
    ... )
    >>> fm.fit(X, [5.0, 1.0, 1.0, 5.0] * 20).predict(X[:4]).round()
    array([5., 1., 1., 5.])
    """

    _parameter_constraints = {
        **FactorizationSettings._parameter_constraints,
        "loss": [StrOptions({"auto", *NUMBER_LOSSES}), Loss],
    }
