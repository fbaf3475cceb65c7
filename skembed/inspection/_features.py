"""Features of a fitted estimator: where they are, what they are called, how frequent they are."""

import re

import numpy as np
from sklearn.utils.validation import check_is_fitted

N_GROUPS = 10
INSIDE = {  # attributes that tell of an estimator inside, and where it is
    "steps": "last step: model[-1]",
    "best_estimator_": "best_estimator_",
    "estimator_": "estimator_",
}


def state_of(estimator, function):
    """Return the state of a fit; `function` asks for it, for the message of what has none."""
    check_is_fitted(estimator)
    state = getattr(estimator, "_state", None)
    if state is None:
        hints = [f" Pass its {part}." for name, part in INSIDE.items() if hasattr(estimator, name)]
        raise TypeError(
            f"{function} needs an embedding bag or a factorization machine of skembed, got "
            f"{type(estimator).__name__}.{''.join(hints[:1])}"
        )
    return state


def check_names(names, n_features, parameter="feature_names"):
    """Return one name (or group) for every column as an array, or None."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(
            f"{parameter} must hold one entry for each of {n_features} columns, got shape "
            f"{names.shape}."
        )
    return names


def names_of(estimator, feature_names):
    """Return names of all columns: those given, those of the fit, or None."""
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    return check_names(feature_names, estimator.n_features_in_)


def named(names, columns):
    """Return the names of some columns, or their numbers where there are no names."""
    return columns if names is None else names[columns]


def matching(names, columns, pattern):
    """Tell in which names of some columns a regular expression is found; None is in all."""
    if pattern is None:
        return np.ones(len(columns), bool)
    if names is None:
        raise ValueError(
            f"match={pattern!r} looks at names, but the features have none. Pass feature_names, "
            "for instance encoder.get_feature_names_out()."
        )
    found = re.compile(pattern)
    return np.array([found.search(str(name)) is not None for name in names[columns]], bool)


def active(index):
    """Return the columns that have a vector, ascending, and in how many rows each was seen."""
    has = index.rows >= 0
    return index.columns[has], index.counts[has]


def place_of(feature, columns, names, n_features):
    """Return the place of a feature, given by name or column, in the columns with a vector."""
    column = feature
    if isinstance(feature, str):
        if names is None:
            raise ValueError(
                f"Feature {feature!r} is a name, but the features have none. Pass feature_names, "
                "for instance encoder.get_feature_names_out(), or a column."
            )
        found = np.flatnonzero(names == feature)
        if len(found) == 0:
            raise ValueError(f"There is no feature named {feature!r}.")
        column = found[0]
    if not 0 <= column < n_features:
        raise ValueError(f"Columns must lie in [0, {n_features}), got {feature!r}.")
    at = int(np.searchsorted(columns, column))
    if at == len(columns) or columns[at] != column:
        raise ValueError(
            f"Feature {feature!r} has no vector: it was not seen in enough of the rows to train "
            "on, or is padding or numeric."
        )
    return at


def groups_by_frequency(counts, n_groups=N_GROUPS):
    """Cut features into groups of equal size (the first may have one more), most frequent first.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        How often each feature was seen.
    n_groups : int
        Number of groups, at most one a feature.

    Returns
    -------
    list of ndarray
        Places in `counts`; of equal counts the first place comes first.
    """
    order = np.argsort(-counts, kind="stable")
    return np.array_split(order, min(n_groups, len(order))) if len(order) else []
