"""Partitions that are loaded where they are trained on: loaders, files, blocks of Dask."""

import os
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import _get_feature_names

from skembed.core import SparseRows
from skembed.kernels import get_backend
from skembed.partition import Died, Failed, PartitionTrainer, first_timeout
from skembed.training import TrainingRows

from ._parts import joined
from ._validation import WORK_DTYPES, check_csr, check_weights

ATTEMPTS = 3
LOADED = {}  # (fit, partition) to its checked matrix, in the process where it lives


def is_path(part):
    """Tell whether a part is a path."""
    return isinstance(part, os.PathLike) or (isinstance(part, str) and part.endswith(".npz"))


def is_lazy(part):
    """Tell whether a part is something to load."""
    return callable(part) or is_path(part) or hasattr(part, "__dask_graph__")


def blocks_of(data):
    """Return the blocks of a Dask collection as a list; other data as they are."""
    return list(np.ravel(data.to_delayed())) if hasattr(data, "to_delayed") else data


def load(part):
    """Return what a part stands for: CSR, an array, or what a loader returns."""
    if hasattr(part, "__dask_graph__"):
        return part.compute(scheduler="synchronous")
    if isinstance(part, (str, os.PathLike)):
        name = os.fspath(part)
        return sp.load_npz(name) if name.endswith(".npz") else np.load(name, allow_pickle=False)
    return part() if callable(part) else part


@dataclass(frozen=True, slots=True)
class Part:
    """One partition, to be loaded.

    Attributes
    ----------
    X : callable, path or Delayed
        A loader may return X, (X, y) or (X, y, sample_weight).
    y, sample_weight : object
        Arrays, or as X; None where the loader brings them, or there are none.
    """

    X: object
    y: object
    sample_weight: object

    def load(self):
        """Return X, y and weights."""
        found = load(self.X)
        found = found if isinstance(found, tuple) else (found,)
        given = [load(part) for part in (self.y, self.sample_weight)]
        found = [*found, *given[len(found) - 1 :]]
        if isinstance(found[0], list):  # a partition of a bag
            found[0] = sp.vstack([sp.csr_array(block) for block in found[0]], format="csr")
        return found


def parts_of(X, y, sample_weight):
    """Return a list of `Part`, or None where X is not a list of things to load."""
    X = blocks_of(X)
    if not (isinstance(X, (list, tuple)) and len(X) and all(is_lazy(part) for part in X)):
        return None
    others = []
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        values = [None] * len(X) if values is None else blocks_of(values)
        if len(values) != len(X):
            raise ValueError(
                f"{name} must have one entry for each of {len(X)} parts of X, got {len(values)}."
            )
        others.append(values)
    return [Part(*part) for part in zip(X, *others, strict=True)]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the coordinator must know of a partition before the first round."""

    shape: tuple
    names: object
    dtype: object
    y: object
    sample_weight: np.ndarray | None


def survey(key, part, estimator):
    """Load a partition and tell what is in it."""
    X, y, sample_weight = part.load()
    probe, options = clone(estimator), estimator._y_options()
    names = _get_feature_names(X)
    X, y = check_csr(probe, X, y, reset=True, dtype=WORK_DTYPES, **options)
    LOADED[key] = X
    return Survey(X.shape, names, X.data.dtype, y, check_weights(sample_weight, X))


def loaded(key, part, estimator, dtype):
    """Return the checked matrix of a partition in the work dtype, loaded anew if it is gone."""
    X = LOADED.get(key)
    if X is None:
        X = LOADED[key] = check_csr(clone(estimator), part.load()[0], reset=True, dtype=WORK_DTYPES)
    return X if X.data.dtype == dtype else replace(X, data=X.data.astype(dtype))


def count(key, part, estimator, dtype, rows):
    """Return the columns that occur in some rows of a partition, and in how many."""
    with get_backend() as backend:
        return loaded(key, part, estimator, dtype).count(rows, backend)


def unload(fit):
    """Drop what a fit has loaded in this process and not used."""
    for key in [key for key in LOADED if key[0] == fit]:
        del LOADED[key]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Makes the rows of a partition where it lives.

    Attributes
    ----------
    key : tuple
        Fit and partition.
    part : Part
        The partition.
    estimator : estimator
        Checks it.
    common : TrainingRows
        Its targets, weights and rows to train on, which the coordinator has settled.
    """

    key: tuple
    part: Part
    estimator: object
    common: TrainingRows

    def __call__(self, state, backend):
        """Return the rows."""
        dtype = state.params["table"].dtype
        X = loaded(self.key, self.part, self.estimator, dtype)
        LOADED.pop(self.key, None)  # what is trained on is in table rows
        x, scale, numeric = X.mapped(state, backend)
        indptr, indices, data = x
        return replace(
            self.common, indptr=indptr, indices=indices, data=data, scale=scale, numeric=numeric,
            fields=state.fields,
        )  # fmt: skip


class Elsewhere:
    """Stands for the stacked matrix of all partitions, which is nowhere.

    Attributes
    ----------
    shape : tuple of two int
        Its shape.
    data : ndarray of shape (0,)
        Has its dtype.
    """

    def __init__(self, trainer, shape, dtype):
        self.trainer, self.shape, self.data = trainer, shape, np.empty(0, dtype)

    def count(self, rows, backend):
        """Return the columns that occur in some rows, ascending, and in how many of them."""
        found = self.trainer.call(count, self.data.dtype, each=self.trainer.cut(rows))
        columns, place = np.unique(np.concatenate([c for c, _ in found]), return_inverse=True)
        counts = np.zeros(len(columns), np.int64)
        np.add.at(counts, place, np.concatenate([n for _, n in found]))
        return columns, counts

    def mapped(self, state, backend):
        """Return nothing of what `CSR.mapped` does: the places map what they have."""
        return (None, None, None), None, None

    def matrix(self):
        """Refuse to be used."""
        raise ValueError(
            "An unfitted estimator as init is fitted on all rows, but they are loaded where they "
            "are trained on. Fit it before, and pass it in a FrozenEstimator."
        )


class ElsewhereTrainer(PartitionTrainer):
    """Trains by rounds over partitions that the coordinator never sees.

    Labels, weights, and the columns that occur go to the coordinator before the first round; it
    settles classes, class weights, starting values and table rows for all.

    Parameters
    ----------
    engine : Engine
        Where partitions live.
    parts : list of Part
        The partitions.
    **options : dict
        Those of `PartitionTrainer`.
    """

    def __init__(self, engine, parts, **options):
        super().__init__(engine, len(parts), **options)
        self.parts, self.everyone = parts, range(len(parts))

    def n_rows(self, n):
        """Return how many of n rows the loop of a partition goes over, on average."""
        return -(-n // self.n_partitions)

    def close(self):
        """End all places."""
        self.engine.everywhere(unload, self.fit)
        super().close()

    def call(self, function, *args, each=None):
        """Return the answers of a function of (key, part, estimator, *args) from all partitions."""
        calls = {
            p: (function, (self.fit, p), self.parts[p], self.estimator, *args)
            + (() if each is None else (each[p],))
            for p in self.everyone
        }
        answers = {}
        for _ in range(ATTEMPTS):
            left = {p: call for p, call in calls.items() if p not in answers}
            for p, answer in self.engine.run(left, first_timeout(self.timeout)).items():
                if isinstance(answer, Failed):
                    raise answer.kind(f"Partition {p}: {answer.message}")
                if not isinstance(answer, Died):
                    answers[p] = answer
            if len(answers) == len(calls):
                return [answers[p] for p in self.everyone]
        raise RuntimeError(f"Partitions {sorted(set(calls) - set(answers))} cannot be loaded: "
                           "the processes that load them end.")  # fmt: skip

    def cut(self, rows):
        """Return the given rows of the stacked matrix as rows of each partition."""
        parts = np.split(rows, np.searchsorted(rows, self.borders[1:-1]))
        return [part - lo for part, lo in zip(parts, self.borders[:-1], strict=True)]

    def check(self, estimator, user, old):
        """Return a `Sample` of all partitions, without their features, and the target."""
        self.estimator = clone(estimator)
        found = self.call(survey)
        self._check_alike(found)
        sizes = [s.shape[0] for s in found]
        self.borders = np.concatenate([[0], np.cumsum(sizes)])
        estimator.n_features_in_ = found[0].shape[1]
        if found[0].names is not None:
            estimator.feature_names_in_ = found[0].names
        dtype = np.result_type(*(s.dtype for s in found))
        y = joined([s.y for s in found], sizes, "y")
        given = [s.sample_weight for s in found]
        if all(w is None for w in given):
            given = None
        else:
            given = np.concatenate(
                [np.ones(n) if w is None else w for w, n in zip(given, sizes, strict=True)]
            )
        X = Elsewhere(self, (int(self.borders[-1]), found[0].shape[1]), dtype)
        return estimator._sample(X, y, given)

    @staticmethod
    def _check_alike(found):
        widths = [s.shape[1] for s in found]
        if len(set(widths)) > 1:
            raise ValueError(f"Partitions must have the same features, but they have {widths}.")
        for p, s in enumerate(found):
            if not np.array_equal(s.names, found[0].names):
                raise ValueError(f"Partition {p} has other feature names than partition 0.")

    def epochs(self, problem, beginning, state, data, backend, stopping):
        """Return the coordinator of rounds over partitions that are elsewhere."""
        rows, weight = self.cut(data.rows), data.sample_weight

        def common(p):
            mine = np.arange(self.borders[p], self.borders[p + 1])
            y = data.y.take(mine) if isinstance(data.y, SparseRows) else data.y[mine]
            w = None if weight is None else weight[mine]
            return replace(data, y=y, sample_weight=w, rows=rows[p])

        def source(p):
            return Loaded((self.fit, p), self.parts[p], self.estimator, common(p))

        weights = {
            p: float(
                len(rows[p])
                if weight is None
                else weight[rows[p] + self.borders[p]].sum(dtype=np.float64)
            )
            for p in self.everyone
        }
        return self.rounds(problem, beginning, state, backend, stopping, source, weights)
