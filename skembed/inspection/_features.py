"""Features of a fitted estimator: where they are, what they are called, how frequent they are."""

import re

import numpy as np
from sklearn.utils.validation import check_is_fitted

N_GROUPS = 10


def state_of(estimator, function):
    """Return the state of a fit; `function` asks for it, for the message of what has none."""
    check_is_fitted(estimator)
    state = getattr(estimator, "_state", None)
    if state is None:
        hint = ". For a pipeline, pass its last step: model[-1]"
        raise TypeError(
            f"{function} needs an embedding bag or a factorization machine of skembed, got "
            f"{type(estimator).__name__}{hint if hasattr(estimator, 'steps') else ''}."
        )
    return state


def check_names(names, n_features):
    """Return names of all columns as an array, or None."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names must hold one name for each of {n_features} columns, got shape "
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
            f"match={pattern!r} looks at names, but the features have none. Pass feature_names, for "
            "instance encoder.get_feature_names_out()."
        )
    found = re.compile(pattern)
    return np.array([found.search(str(name)) is not None for name in names[columns]], bool)


def column_of(feature, names, n_features):
    """Return the column of a feature that is given by name or number."""
    if isinstance(feature, str):
        if names is None:
            raise ValueError(
                f"feature={feature!r} is a name, but the features have none. Pass feature_names, "
                "for instance encoder.get_feature_names_out(), or a column number."
            )
        found = np.flatnonzero(names == feature)
        if len(found) == 0:
            raise ValueError(f"There is no feature named {feature!r}.")
        return int(found[0])
    column = int(feature)
    if not 0 <= column < n_features:
        raise ValueError(f"feature must lie in [0, {n_features}), got {column}.")
    return column


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
