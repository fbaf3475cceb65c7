"""All that a fit has learned, as bytes to compare; and a small data set to fit."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, is_regressor

from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
)
from skembed.estimators._split import split_rows
from skembed.kernels import Backend

BAGS = [EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor]
FACTORIZATIONS = [FactorizationMachineClassifier, FactorizationMachineRegressor]
ESTIMATORS = [*BAGS, *FACTORIZATIONS]
PREDICTIONS = ("predict", "predict_proba", "decision_function", "transform")


def known_classes(cls):
    """Return what a first `partial_fit` on two classes takes."""
    return {"classes": [0, 1]} if issubclass(cls, ClassifierMixin) else {}


def as_given(cls):
    """Return the parameters with which the values of X are not scaled."""
    return {"normalize_rows": False} if cls in FACTORIZATIONS else {"pooling": "sum"}


def small_data(n=60, n_features=12, dtype=np.float64, seed=0):
    """Return a canonical CSR array and targets of two classes."""
    r = np.random.default_rng(seed)
    D = (r.random((n, n_features)) < 0.35) * r.choice([-2.0, 0.5, 1.0, 3.0], (n, n_features))
    return sp.csr_array(D.astype(dtype)), np.arange(n) % 2


def split_of(fit, X, y, rows=None):
    """Return the rows that a fit without weights trains on, and those that it holds out."""
    rows = np.arange(len(y)) if rows is None else rows
    X = sp.csr_array(X)
    keys = Backend().hash_rows(X.indptr, X.indices, X.data, fit._state.seed)[rows]
    classes = None if is_regressor(fit) else y[rows]
    out = split_rows(keys, fit.validation_fraction, fit._state.seed, classes=classes)
    return rows[~out], rows[out]


def predictions(estimator, X):
    """Return (method, result) for every method that reads X."""
    return [(name, getattr(estimator, name)(X)) for name in PREDICTIONS if hasattr(estimator, name)]


def _flat(name, value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    elif hasattr(value, "values") and hasattr(value, "d"):  # a RowArray
        yield name, value.values[:, : value.d]
    else:
        yield name, np.asarray(value)


def learned(estimator):
    """Return name -> (dtype, shape, bytes) of all fitted attributes and of the hidden state."""
    state = estimator._state
    parts = {
        "params": state.params,
        "solver": state.solver_state,
        "updates": state.n_updates,
        "step": state.step,
        "curve": state.loss_curve,
        "seed": state.seed,
        "rate": state.learning_rate,
        "columns": state.index.columns.astype(np.int64),
        "counts": state.index.counts,
        "rows": state.index.rows,
        "n_trainable": state.index.n_trainable,
        "features": estimator.n_features_in_,
    }
    if hasattr(estimator, "classes_"):
        parts["classes"] = estimator.classes_
    if estimator.n_features_in_ < 1_000_000:
        names = ("embedding_", "coef_", "intercept_", "feature_counts_", "n_updates_")
        parts |= {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    out = {}
    for name, array in _flat("", parts):
        raw = array.tolist() if array.dtype.kind == "O" else np.ascontiguousarray(array).tobytes()
        out[name] = (str(array.dtype), array.shape, raw)
    return out


def buffers(X):
    """Return the bytes of everything a user handed in."""
    if sp.issparse(X):
        arrays = [
            getattr(X, name)
            for name in ("data", "indices", "indptr", "row", "col", "offsets", "rows")
            if isinstance(getattr(X, name, None), np.ndarray)
        ]
        if X.format == "dok":
            return sorted((key, float(value)) for key, value in X.items())
    else:
        arrays = [np.asarray(X)]
    return [
        (str(a.dtype), a.shape, [list(v) for v in a] if a.dtype == object else a.tobytes())
        for a in arrays
    ]
