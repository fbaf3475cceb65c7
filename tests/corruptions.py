"""CSR containers whose index arrays lie. As a program: every public method must refuse each."""

import numpy as np

from fitted import ESTIMATORS, PREDICTIONS, small_data


def _set(name, change):
    def corrupt(X):
        X = X.copy()
        setattr(X, name, change(getattr(X, name)))
        return X

    return corrupt


def _put(place, value, dtype=np.int32):
    def change(a):
        a = a.astype(dtype)
        a[place] = value
        return a

    return change


CORRUPTIONS = {
    "negative index": _set("indices", _put(7, -1)),
    "index beyond the columns": _set("indices", _put(-1, 12)),
    "huge index": _set("indices", _put(3, 2**40, np.int64)),
    "indptr decreases": _set("indptr", _put(5, 0)),
    "indptr begins below zero": _set("indptr", _put(0, -3)),
    "indptr too long": _set("indptr", lambda a: np.append(a, a[-1])),
    "indptr too short": _set("indptr", lambda a: a[:-1]),
    "indptr ends beyond the values": _set("indptr", _put(-1, 2**30)),
    "fewer values than indices": _set("data", lambda a: a[:-2]),
    "fewer indices than values": _set("indices", lambda a: a[:-2]),
}


def calls(estimator):
    """Return (name, function of X and y) for each public method that takes X."""
    training = ("fit", "partial_fit", "fit_transform", "score")
    return [
        (name, getattr(estimator, name) if name in training else _without_y(estimator, name))
        for name in (*training, *PREDICTIONS)
        if hasattr(estimator, name)
    ]


def _without_y(estimator, name):
    return lambda X, y: getattr(estimator, name)(X)


def main():
    """Try everything in this process; print each error."""
    X, y = small_data()
    for cls in ESTIMATORS:
        estimator = cls(2, max_iter=2, tol=10.0, n_iter_no_change=1, random_state=0).fit(X, y)
        for title, corrupt in CORRUPTIONS.items():
            for name, call in calls(estimator):
                try:
                    call(corrupt(X), y)
                except ValueError as error:
                    print(f"{cls.__name__}.{name}, {title}: {error}")


if __name__ == "__main__":
    main()
