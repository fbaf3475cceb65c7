"""Text that the docstrings of several estimators share."""

PARAMETERS = """
n_components : int or {"auto", "half", "fourth_root"}, default=64
    Width of the vectors. ``"auto"`` is 8 for one output and min(2 K, 64) for K; ``"half"`` is
    min(50, (c + 1) // 2) and ``"fourth_root"`` is max(1, round(c ** 0.25)) for c active features.

pooling : {"sqrtn", "mean", "sum"}, default="sqrtn"
    How the vectors of a row's features become one: their sum, weighted by the stored values x,
    divided by the root of the sum of x^2, by the sum of abs(x), or by 1. The first two cancel the
    size of the values: magnitudes are not members of a bag.

{loss}

solver : str or Solver, default="adagrad"
    ``"adagrad"``, ``"rowwise_adagrad"``, ``"lazy_adam"``, ``"sgd"``, or an instance from
    :mod:`skembed.solvers`, whose parameters then can be searched as ``solver__beta_1``.

learning_rate_init : float or None, default=None
    Learning rate; None is the solver's own (Adagrad .05, LazyAdam .003, SGD 2).

weight_decay : float, default=0.0
    Decoupled decay: a row of the batch is multiplied by 1 - learning rate * weight_decay before
    its step, once however often it occurs, and so is the head. Intercepts, frozen rows and rows
    that are not in the batch do not decay.

batch_size : int or "auto", default="auto"
    Rows in a batch. ``"auto"`` is n // 128 within 64 and 1024 for n rows of positive weight, and
    256 in `partial_fit`.

max_iter : int, default=100
    Largest number of epochs.

tol : float, default=1e-4
    The loss of an epoch must be lower than the best one before by more than this ...

n_iter_no_change : int, default=5
    ... in one of as many epochs, or training stops.

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

init : {"uniform", "normal"} or array-like of shape (n_features, n_components), default="uniform"
    Starting vectors: uniform in ±1 / n_components, normal with the same variance, or the rows of
    an array. A drawn vector depends on `random_state` and the column alone.

{class_weight}random_state : int, RandomState instance or None, default=None
    Draws the starting vectors and the order of rows. With an int, results are the same bits on
    every run and for every `n_jobs`.

verbose : int, default=0
    Prints one line an epoch if not 0.

n_jobs : int or None, default=None
    Number of threads. It never changes a result. None is 1, -1 all cores.
""".strip()

CLASS_WEIGHT = """
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, a factor on `sample_weight`. ``"balanced"`` needs all data at once and
    is refused by `partial_fit`.

""".lstrip()

ATTRIBUTES = """
embedding_ : ndarray of shape (n_features, n_components_)
    Vectors of all features; zeros where a feature has none.

active_features_ : ndarray of shape (n_active,)
    Columns that have a vector, ascending.

active_embedding_ : ndarray of shape (n_active, n_components_)
    Their vectors: what is stored.

coef_ : ndarray of shape (n_outputs, n_components_)
    Weights of the head.

intercept_ : ndarray of shape (n_outputs,)
    Intercepts of the head.

n_components_ : int
    Width that was used.

learning_rate_init_ : float
    Learning rate that was used.

loss_curve_ : list of float
    Weighted mean loss of each epoch, each batch before its step.

n_iter_ : int
    Epochs run.

feature_counts_ : ndarray of shape (n_features,)
    Training rows in which each feature was seen.

n_updates_ : ndarray of shape (n_features,)
    Steps in which the vector of each feature was listed.

n_features_in_ : int
    Number of features seen in fit.

feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen in fit; only where all of them are strings.
""".strip()


def documented(*, loss, class_weight=False):
    """Return a class decorator that fills the shared text into a docstring.

    Parameters
    ----------
    loss : str
        The entry of the parameter `loss`.
    class_weight : bool
        Whether the class has the parameter `class_weight`.
    """
    parameters = PARAMETERS.replace("{loss}", loss.strip())
    parameters = parameters.replace("{class_weight}", CLASS_WEIGHT if class_weight else "")

    def fill(cls):
        if cls.__doc__ is not None:  # None under python -OO
            for name, text in (("parameters", parameters), ("attributes", ATTRIBUTES)):
                text = text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
                cls.__doc__ = cls.__doc__.replace(f"{{{name}}}", text)
        return cls

    return fill
