"""Text that the docstrings of several estimators share."""

BAG_MODEL = """
n_components : int or {"auto", "half", "fourth_root"}, default=64
    Width of the vectors, or the rule of :func:`skembed.suggest_n_components` that gives it.

pooling : {"sqrtn", "mean", "sum", "max"}, default="sqrtn"
    How the vectors of a row's features become one: their sum, weighted by the stored values x,
    divided by the root of the sum of x^2, by the sum of abs(x), or by 1; or the largest x times
    vector in each component, of equal ones the first. ``"sqrtn"`` and ``"mean"`` cancel the size
    of the values: magnitudes are not members of a bag, see `numeric_features`.

hidden_layer_sizes : array-like of int, default=()
    Units of each hidden layer (ReLU) between the pooled vector and the outputs. With one hidden
    layer or more the model sees interactions of features.

numeric_features : array-like of int, bool or str, or None, default=None
    Columns that are magnitudes: indices, a mask, or names. They have no vector; their values join
    the pooled vector on its way into the head. Scale them to about 1.

linear_term : bool, default=False
    Whether each feature also has a direct weight on each output, pooled as the vectors are. Takes
    as many numbers a feature as there are outputs.
""".strip()

BAG_RATE = """
learning_rate_init : float or None, default=None
    Learning rate to begin with; None is the solver's own (Adagrad .05, LazyAdam and AdamW .003,
    FTRL .1, SGD 2 for classes and .5 for numbers).
""".strip()

BAG_INIT = """
init : {"uniform", "normal"}, array-like or transformer, default="uniform"
    Starting vectors: uniform in ±1 / n_components; normal with the same variance; the rows of an
    array of shape (n_features, n_components); those of another `EmbeddingBag`, zeros where it has
    none; or the components of a `TruncatedSVD`, scaled to the size of drawn vectors. An unfitted
    transformer is cloned and fitted on the training rows, in `partial_fit` on those of the first
    call; a fitted one comes in a :class:`sklearn.frozen.FrozenEstimator`. A drawn vector depends on
    `random_state` and the column alone.
""".strip()

FM_MODEL = """
n_components : int or {"auto", "half", "fourth_root"}, default=16
    Components of a vector, or the rule of :func:`skembed.suggest_n_components` that gives them.

interaction : {"fm", "ffm"}, default="fm"
    ``"fm"``: two features meet by the product of their vectors. ``"ffm"``: each feature has one
    vector for every field, and two features meet by the vectors that each has for the field of the
    other; needs `fields`.

fields : array-like of shape (n_features,), "names" or None, default=None
    Field of each column, numbers or names, for ``interaction="ffm"``; ``"fm"`` does not look at it.
    ``"names"`` takes the prefix of the feature names: what stands before ``"="``, else before the
    last ``"_"``. None puts all columns into one field, and ``"ffm"`` is then ``"fm"``.

normalize_rows : bool, default=True
    Whether the values of a row are divided by their Euclidean norm, over the features that have a
    vector. False takes them as they are: scale them to about 1.

linear_term : bool, default=True
    Whether each feature also has a direct weight on each output.
""".strip()

FM_RATE = """
learning_rate_init : float or None, default=None
    Learning rate to begin with; None is .1 for Adagrad and RowwiseAdagrad and else the solver's own
    (LazyAdam and AdamW .003, FTRL .1, SGD 2 for classes and .5 for numbers).
""".strip()

FM_INIT = """
init : {"normal", "uniform"}, array-like or transformer, default="normal"
    Starting vectors: normal with a standard deviation of .05; uniform with the same; an array of
    the shape of `embedding_`; those of an `EmbeddingBag`, zeros where it has none; or the
    components of a `TruncatedSVD`, scaled to the size of drawn vectors. One vector a feature serves
    all its outputs and fields. An unfitted transformer is cloned and fitted on the training rows,
    in `partial_fit` on those of the first call; a fitted one comes in a
    :class:`sklearn.frozen.FrozenEstimator`. A drawn vector depends on `random_state` and the column
    alone.
""".strip()

PARAMETERS = """
{model}

{loss}

solver : str or Solver, default="{solver}"
    ``"adagrad"``, ``"adamw"``, ``"ftrl"``, ``"lazy_adam"``, ``"rowwise_adagrad"``, ``"sgd"``, or
    an instance from :mod:`skembed.solvers`, whose parameters then can be searched as
    ``solver__beta_1``.

{rate}

learning_rate : {"constant", "linear", "invscaling"}, default="constant"
    How the rate goes on: ``"linear"`` falls to zero over `max_iter` epochs of `fit`, as in
    fastText; ``"invscaling"`` falls as the root of the step.

weight_decay : float, default=0.0
    Decoupled decay: before its step a row of the batch is multiplied by 1 - learning rate *
    weight_decay, once however often it occurs, and so is the head; rows that are not in the batch
    too if the solver's `decay_scope` is ``"all"``; toward the vectors of `init`, not to zero, if
    its `decay_toward` is ``"start"``. Intercepts and frozen rows do not decay. A feature that is
    often listed is often decayed: start with 0.01 or less.

batch_size : int or "auto", default="auto"
    Rows in a batch. ``"auto"`` is n // 128 within 64 and 256 for n rows to train on, and 256 in
    `partial_fit`. Larger batches take less time a row where rows are many.

max_iter : int, default=100
    Largest number of epochs.

tol : float, default=1e-4
    Smallest improvement that counts, of the score on the rows held out, or of the epoch's loss
    where none are held out.

n_iter_no_change : int, default=5
    Training stops after so many epochs without one.

early_stopping : bool or "auto", default="auto"
    Whether to hold rows out, score them after each epoch and keep the epoch that scores best: its
    vectors, head, solver's state and step counter. ``"auto"`` does so from 200 rows of positive
    weight. Few epochs are best where rows are many and features rare. `partial_fit` does not stop
    early.

validation_fraction : float, default=0.1
    Share of the rows to hold out, in equal shares of the classes; a few equal rows stay together.
    With ``"auto"`` a class of one row stays in training.

scoring : str, callable or None, default=None
    Score of the rows held out: a scorer of scikit-learn, or None for accuracy (more than two
    classes), precision at 1 (several labels a row) and minus the loss (else).

refit : bool, default=False
    Whether to train once more on all rows, for the number of epochs that was best.

shuffle : bool, default=True
    Whether each epoch draws a new order of rows. Nothing is drawn where one batch holds all rows.

warm_start : bool, default=False
    Whether `fit` goes on from the parameters, the solver's state and the step counter of the
    earlier fit. Counts of features are taken anew.

min_count : int, default=1
    Features that are seen in fewer training rows have no vector.

padding_features : array-like of int, bool or str, or None, default=None
    Columns without a vector: indices, a mask, or names. They are outside the sum and the divisor.

frozen_features : array-like of int, bool or str, "all" or None, default=None
    Columns whose vectors contribute but neither move nor decay.

{init}

unseen : {"zero", "rare_mean"}, default="zero"
    What features add that have no vector when rows are predicted or transformed: those that did not
    occur in training, and those below `min_count`. ``"zero"``: nothing, and they are outside the
    divisor. ``"rare_mean"``: each has the mean, weighted by `feature_counts_`, of the vectors (and
    direct weights) of rare features: those that were seen at most twice as often as the rarest one.
    Padding stays outside. It can be changed after `fit`.

{class_weight}random_state : int, RandomState instance or None, default=None
    Draws the starting vectors and the order of rows. With an int, results are the same bits on
    every run and for every `n_jobs`.

verbose : int, default=0
    Prints one line an epoch if not 0.

n_jobs : int or None, default=None
    Number of threads. It never changes a result. None is 1, -1 all cores. Threads pay where a
    batch holds much: from about 10,000 stored values.
""".strip()

CLASS_WEIGHT = """
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, a factor on `sample_weight`. ``"balanced"`` needs all data at once and
    is refused by `partial_fit`.

""".lstrip()

BAG_ATTRIBUTES = """
embedding_ : ndarray of shape (n_features, n_components_)
    Vectors of all features; zeros where a feature has none.

active_features_ : ndarray of shape (n_active,)
    Columns that have a vector, ascending.

active_embedding_ : ndarray of shape (n_active, n_components_)
    Their vectors: what is stored.

linear_ : ndarray of shape (n_outputs, n_features)
    Direct weights; only with ``linear_term=True``.

coef_ : ndarray of shape (n_outputs, n_components_)
    Weights of a linear head; the columns of `numeric_features` come last.

intercept_ : ndarray of shape (n_outputs,)
    Intercepts of a linear head.

coefs_, intercepts_ : list of ndarray
    Weights and intercepts of each layer of the head.
""".strip()

FM_ATTRIBUTES = """
embedding_ : ndarray of shape (n_features, n_components_)
    Vectors of all features; zeros where a feature has none. With three classes or more, several
    labels or several targets (n_features, n_outputs, n_components_); with fields there is an axis
    of n_fields before the last one.

active_features_ : ndarray of shape (n_active,)
    Columns that have vectors, ascending.

active_embedding_ : ndarray of shape (n_active, ..., n_components_)
    Their vectors: what is stored.

fields_ : ndarray of shape (n_fields,)
    Names of the fields, in the order of their axis; only with ``interaction="ffm"`` and `fields`.

linear_ : ndarray of shape (n_outputs, n_features)
    Direct weights; only with ``linear_term=True``.

intercept_ : ndarray of shape (n_outputs,)
    Intercepts.
""".strip()

ATTRIBUTES = """
{own}

n_components_ : int
    Width that was used.

learning_rate_init_ : float
    Learning rate that was used.

loss_curve_ : list of float
    Weighted mean loss of each epoch, each batch before its step.

n_iter_ : int
    Epochs run.

best_n_iter_ : int
    Epoch that is kept.

validation_scores_ : list of float
    Score of each epoch on the rows held out.

best_validation_score_ : float
    The best of them; only with early stopping.

quantization_ : :class:`~sklearn.utils.Bunch`
    What `quantize` has measured; only of what it returns.

feature_counts_ : ndarray of shape (n_features,)
    Training rows in which each feature was seen; rows held out do not count.

n_updates_ : ndarray of shape (n_features,)
    Steps in which the vector of each feature was listed.

n_features_in_ : int
    Number of features seen in fit.

feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen in fit; only where all of them are strings.
""".strip()


def documented(*, loss, class_weight=False, kind="bag"):
    """Return a class decorator that fills the shared text into a docstring.

    Parameters
    ----------
    loss : str
        The entry of the parameter `loss`.
    class_weight : bool
        Whether the class has the parameter `class_weight`.
    kind : {"bag", "fm"}
        Which model the class fits.
    """
    texts, solver = (BAG_MODEL, BAG_RATE, BAG_INIT, BAG_ATTRIBUTES), "adagrad"
    if kind == "fm":
        texts, solver = (FM_MODEL, FM_RATE, FM_INIT, FM_ATTRIBUTES), "rowwise_adagrad"
    model, rate, init, own = texts
    parts = dict(model=model, loss=loss.strip(), solver=solver, rate=rate, init=init)
    parts["class_weight"] = CLASS_WEIGHT if class_weight else ""
    parameters, attributes = PARAMETERS, ATTRIBUTES.replace("{own}", own)
    for name, text in parts.items():
        parameters = parameters.replace(f"{{{name}}}", text)

    def fill(cls):
        if cls.__doc__ is not None:  # None under python -OO
            for name, text in (("parameters", parameters), ("attributes", attributes)):
                text = text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
                cls.__doc__ = cls.__doc__.replace(f"{{{name}}}", text)
        return cls

    return fill
