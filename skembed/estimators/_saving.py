"""Model files: fitted estimators as arrays and JSON, never code."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skembed.core import __version__
from skembed.losses import LOSSES, Loss
from skembed.models import CooccurrenceModel, FactorizationModel, Moments, Triplets
from skembed.persistence import (
    Decoder,
    Encoder,
    Malformed,
    TensorFile,
    atomic_write,
    reading,
    write_tensors,
)
from skembed.solvers import SOLVERS, Solver
from skembed.training import FitState

from ._bag import EmbeddingBag
from ._base import BaseEmbedding
from ._classifier import BaseClassifier, EmbeddingBagClassifier
from ._cooccurrence import FeatureTarget
from ._factorization import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    FactorizationSettings,
)
from ._hashing import FeatureHasher
from ._partitioned import PartitionedFit
from ._regressor import BaseRegressor, EmbeddingBagRegressor
from ._saved_state import FLOATS, KINDS, check_array, check_count, expect
from ._svd import TruncatedSVD
from ._targets import ClassTarget, LabelTarget, NumberTarget
from ._vectorizer import HashingVectorizer

FORMAT, FORMAT_VERSION = "skembed-model", 1
ESTIMATORS = {
    cls.__name__: cls
    for cls in (
        EmbeddingBag,
        EmbeddingBagClassifier,
        EmbeddingBagRegressor,
        FactorizationMachineClassifier,
        FactorizationMachineRegressor,
        FeatureHasher,
        HashingVectorizer,
        TruncatedSVD,
    )
}
AROUND = {cls.__name__: cls for cls in (FrozenEstimator, Pipeline)}  # of scikit-learn
OF_SVD = ("singular_values_", "explained_variance_", "explained_variance_ratio_")
FITTED = {
    "_state", "_target", "_ledger", "_sklearn_output_config", "n_features_in_",
    "feature_names_in_", "n_samples_seen_", "n_iter_", *OF_SVD,
}  # fmt: skip
REMADE = {"_n_features_out", "_looked", "classes_", "_stop_words_id"}  # follow from the others


# -------------------------------------------------------------------- to a file
def save_model(estimator, path, include_state=False):
    """Write a fitted estimator to a file that holds arrays and parameters, and no code.

    The file is in the safetensors format. It takes the place of an old one when it is complete: on
    an error, such as a full disk, the old file is as it was.

    Parameters
    ----------
    estimator : object
        A fitted estimator of skembed, or a :class:`~sklearn.pipeline.Pipeline` of them.
    path : str or path-like
        The file.
    include_state : bool, default=False
        Whether the state of the solver is kept, for `partial_fit` and ``warm_start=True`` to go on
        with the same bits; without it the file is about half as large.

    Raises
    ------
    TypeError
        For estimators of other packages, and for parameters that are functions or objects of other
        classes; the message names them.
    NotFittedError
        If the estimator is not fitted.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_model : Reads it.

    Examples
    --------
    >>> import tempfile, os
    >>> import scipy.sparse as sp
    >>> from skembed import EmbeddingBagClassifier, load_model, save_model
    >>> X, y = sp.csr_array([[1.0, 0, 1], [0, 1, 1]] * 10), ["a", "b"] * 10
    >>> bag = EmbeddingBagClassifier(2, tol=0.1, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(bag, os.path.join(folder, "bag.safetensors"))
    ...     load_model(os.path.join(folder, "bag.safetensors")).predict(X[:2])
    array(['a', 'b'], dtype='<U1')
    """
    check_is_fitted(estimator)
    if isinstance(estimator, PartitionedFit):
        raise TypeError("A PartitionedFit is not saved; save its estimator_, the fitted model.")
    encoder = Encoder(lambda obj: fields_of(obj, include_state))
    tree = encoder.json(estimator, type(estimator).__name__)
    texts = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "skembed_version": __version__,
        "model": tree,
    }
    with atomic_write(path) as file:
        write_tensors(file, encoder.arrays, texts)


def fields_of(obj, include_state):
    """Return the name of a class and what a file holds of its object, or None for other classes."""
    cls = type(obj)
    if cls in KINDS:
        if cls is FitState and not include_state:
            obj = obj.without_solver_state()
        return cls.__name__, KINDS[cls][0](obj)
    for kind, registry in ((Loss, LOSSES), (Solver, SOLVERS)):
        if isinstance(obj, kind):
            name = next((name for name, known in registry.items() if known is cls), None)
            if name is None:
                return None
            return registry.kind, {"name": name, "params": obj.get_params(deep=False)}
    if isinstance(obj, np.random.RandomState):
        return "RandomState", {"state": obj.get_state()}
    if cls in AROUND.values():
        return cls.__name__, {"params": obj.get_params(deep=False)}
    return _estimator_fields(obj) if cls in ESTIMATORS.values() else None


def _estimator_fields(estimator):
    estimator._validate_params()
    name, params = type(estimator).__name__, estimator.get_params(deep=False)
    rest = {key: value for key, value in vars(estimator).items() if key not in params}
    unknown = sorted(set(rest) - FITTED - REMADE)
    if unknown:
        raise TypeError(
            f"This {name} has {unknown[0]}, which a model file does not hold. Pickle the "
            "estimator, or delete it."
        )
    fitted = {key: value for key, value in rest.items() if key in FITTED}
    return name, {"params": params, "fitted": fitted}


# -------------------------------------------------------------------- from a file
def load_model(path):
    """Read an estimator that `save_model` has written.

    Nothing that the file holds is run. Its length, its checksum and its header are checked before
    memory is taken for arrays, and all numbers before they are used, so that a file which is
    damaged, or was made to do harm, raises an error; that its model is a good one is for you to
    trust.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : object
        The estimator. It predicts with the bits of the one that was saved.

    Raises
    ------
    ValueError
        "... is not a valid skembed file: ...", with the reason; also for files that a newer version
        has written.
    OSError
        If the file cannot be read.

    See Also
    --------
    save_model : Writes it.

    Examples
    --------
    >>> import skembed
    >>> skembed.load_model(skembed.__file__)
    Traceback (most recent call last):
        ...
    ValueError: '...__init__.py' is not a valid skembed file: it ends before its header does
    """
    with open(path, "rb") as file, reading(path, "skembed file"):
        tensors = TensorFile(file, signed=True)
        texts, unread = tensors.texts, set(tensors.places)
        expect(texts.get("format") == FORMAT, "it was not written by save_model")
        _check_version(texts)

        def array(name):
            expect(name in unread, f"it has no array {name!r}, or uses it twice")
            unread.remove(name)
            return tensors.array(name)

        estimator = Decoder(array, make_object).value(texts["model"])
        expect(isinstance(estimator, BaseEstimator), "it holds no estimator")
        expect(not unread, "it has arrays that belong to nothing")
        return estimator


def _check_version(texts):
    version = int(texts["format_version"])
    if version > FORMAT_VERSION:
        raise Malformed(
            f"it has format {version}, of skembed {texts.get('skembed_version')}; this is skembed "
            f"{__version__}, which reads formats up to {FORMAT_VERSION}. Upgrade skembed"
        )


def make_object(name, fields):
    """Return the checked object of a class from what a file holds of it."""
    for cls, (_, make) in KINDS.items():
        if cls.__name__ == name:
            return make(fields)
    if name in (LOSSES.kind, SOLVERS.kind):
        registry = LOSSES if name == LOSSES.kind else SOLVERS
        expect(fields["name"] in registry, f"there is no {name} {fields['name']!r}")
        return registry[fields["name"]](**fields["params"])
    if name == "RandomState":
        random_state = check_random_state(0)
        random_state.set_state(fields["state"])
        return random_state
    if name in AROUND:
        return _make_around(AROUND[name], fields["params"])
    expect(name in ESTIMATORS, f"it holds the unknown class {name!r}")
    return _make_estimator(ESTIMATORS[name], fields["params"], fields["fitted"])


def _make_around(cls, params):
    inner = [step for _, step in params["steps"]] if cls is Pipeline else [params["estimator"]]
    for part in inner:
        plain = part is None or part == "passthrough" if isinstance(part, (str, type(None))) else 0
        expect(plain or isinstance(part, BaseEstimator), "a part of it is no estimator")
    return cls(**params)


def _make_estimator(cls, params, fitted):
    estimator = cls(**params)
    estimator._validate_params()
    expect(set(fitted) <= FITTED, "it has unknown fitted attributes")
    _check_features(fitted)
    if issubclass(cls, BaseEmbedding) and "_state" in fitted:
        fitted |= _checked_fit(estimator, fitted)
    if cls is TruncatedSVD and "_state" in fitted:
        _check_svd(fitted)
    if "_ledger" in fitted:
        fitted["_looked"] = None
    vars(estimator).update(fitted)
    return estimator


def _check_features(fitted):
    """Check what scikit-learn keeps of the features and the output of every estimator."""
    if "n_features_in_" in fitted:
        check_count(fitted["n_features_in_"], "n_features_in_", 1)
    if "feature_names_in_" in fitted:
        names = fitted["feature_names_in_"]
        fits = isinstance(names, np.ndarray) and names.shape == (fitted["n_features_in_"],)
        expect(fits, "the feature names are not one for each feature")
    config = fitted.get("_sklearn_output_config", {})
    known = isinstance(config, dict) and set(config) <= {"transform"}
    expect(known and set(config.values()) <= {"default", "pandas", "polars", None},
           "the output is of an unknown kind")  # fmt: skip


def _checked_fit(estimator, fitted):
    """Return the fitted attributes that follow from a state and a target that belong together."""
    state, target = fitted["_state"], fitted["_target"]
    kinds = (ClassTarget, LabelTarget, NumberTarget, FeatureTarget)
    if isinstance(estimator, BaseClassifier):
        kinds = kinds[:2]
    elif isinstance(estimator, BaseRegressor):
        kinds = kinds[2:3]
    expect(isinstance(state, FitState) and isinstance(target, kinds), "it has no fit of its class")
    expect(state.index.n_features == fitted["n_features_in_"], "the features are other ones")
    is_machine = isinstance(estimator, FactorizationSettings)
    of_machine = isinstance(state.model, FactorizationModel)
    expect(is_machine == of_machine, "the model is that of another estimator")
    of_features = isinstance(target, FeatureTarget)
    fits = of_features == isinstance(state.model, CooccurrenceModel)
    expect(fits, "the model is that of other targets")
    if not of_features:
        last = "intercept" if of_machine else state.model.intercept
        expect(state.params[last].shape[0] == target.n_outputs, "the head has other outputs")
    return estimator._fitted_attributes(state, target)


def _check_svd(fitted):
    triplets, moments = fitted["_state"]
    fits = isinstance(triplets, Triplets) and isinstance(moments, Moments)
    expect(fits, "it has no singular vectors")
    n, dtype = fitted["n_features_in_"], triplets.vectors.dtype
    k = len(fitted["singular_values_"])
    expect(0 < k <= triplets.vectors.d, "there are other singular values than vectors")
    expect(triplets.vectors.n_rows == n == len(moments.sums), "the features are other ones")
    expect(dtype in FLOATS, "the vectors are no floats")
    for name in OF_SVD:
        check_array(fitted[name], name, (k,), [dtype])
    check_count(fitted["n_samples_seen_"], "n_samples_seen_", 1)
    if fitted["n_iter_"] is not None:
        check_count(fitted["n_iter_"], "n_iter_")
