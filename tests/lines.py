"""A small training line, built from the package's parts, for tests that look inside."""

import numpy as np
import scipy.sparse as sp

from skembed.core import SHUFFLE, FeatureIndex, SparseRows, stream
from skembed.losses import LOSSES
from skembed.models import ArrayStart, BagModel
from skembed.solvers import SOLVERS
from skembed.training import FitProblem, FitState, Schedule, TrainingRows, transforms_of

N_OUTPUTS = {"log_loss": 1, "softmax": 3, "squared_error": 2}


def rough_csr(rng, n, n_features, dtype, id_dtype=np.int32, *, rough=True):
    """A CSR array with duplicates in a row, unsorted ids, stored zeros and empty rows."""
    sizes = rng.integers(0, 9, n)
    sizes[[0, n // 2]] = 0
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = rng.zipf(1.3, indptr[-1]) % n_features
    data = rng.normal(size=len(indices))
    if rough:
        data[rng.random(len(data)) < 0.1] = 0
    return sp.csr_array(
        (data.astype(dtype), indices.astype(id_dtype), indptr.astype(id_dtype)), (n, n_features)
    )


def targets(rng, loss, n):
    """Random targets for a loss."""
    if loss == "squared_error":
        return rng.normal(size=(n, N_OUTPUTS[loss]))
    return rng.integers(0, max(2, N_OUTPUTS[loss]), n)


class Line:
    """Everything of a fit, with all parameters away from zero."""

    def __init__(
        self, X, y, backend, *, loss, pooling, d=5, solver="adagrad", lr=0.1, weight_decay=0.0,
        batch_size=16, weight=None, frozen=(), padding=(), seed=0, shuffle=False, hidden=(),
        numeric=None, linear_term=False,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        dtype, n, n_features = X.dtype, X.shape[0], X.shape[1]
        self.backend, self.X, self.y = backend, X, y
        solver = SOLVERS.resolve(solver)
        self.problem = FitProblem(
            BagModel(pooling, hidden), LOSSES[loss](), solver, transforms_of(solver), Schedule(lr),
            weight_decay, batch_size, shuffle,
        )  # fmt: skip
        weight = np.ones(n) if weight is None else weight
        rows = np.flatnonzero(weight > 0)
        csr = X.indptr.astype(np.int64), X.indices, X.data
        seen = backend.count(*csr, rows, n_features)
        index = FeatureIndex(n_features).observe(
            *seen, padding=np.array(padding, int), frozen=np.array(frozen, int)
        )
        self.start = rng.normal(size=(n_features, d))
        params = self.problem.model.init_params(
            d, rng.normal(size=N_OUTPUTS[loss]), dtype, linear_term=linear_term,
            n_numeric=0 if numeric is None else numeric.shape[1],
        )  # fmt: skip
        for i in self.problem.model.layers:
            params[f"coef_{i}"][:] = rng.normal(size=params[f"coef_{i}"].shape)
            if i < self.problem.model.layers[-1]:
                params[f"intercept_{i}"][:] = rng.normal(size=params[f"intercept_{i}"].shape)
        self.state = FitState(seed, FeatureIndex(n_features), self.problem, params)
        self.state.grow(index, ArrayStart(self.start), solver, backend)
        table = params["table"]
        table.values[:, d : table.d] = rng.normal(size=(table.n_rows, table.n_linear))
        mapped = backend.map_columns(*csr, index)
        scale = backend.scale(mapped[0], mapped[2], pooling)
        y = y.astype(dtype) if loss == "squared_error" else y
        if numeric is not None:
            parts = numeric.indptr, numeric.indices, numeric.data.astype(dtype)
            numeric = SparseRows(*parts, numeric.shape[1])
        self.data = TrainingRows(*mapped, scale, y, weight.astype(dtype), rows, numeric)
        self.active = np.zeros(n_features, bool)
        self.active[index.columns[index.rows >= 0]] = True
        self.frozen = np.zeros(n_features, bool)
        self.frozen[list(frozen)] = True

    def dense(self):
        """Copies of the parameters as the reference takes them, in float64."""
        params, index = self.state.params, self.state.index
        table = np.zeros((index.n_features, params["table"].d))
        has = index.rows >= 0
        table[index.columns[has]] = params["table"].values[index.rows[has], : params["table"].d]
        return (
            table,
            params["coef_0"].astype(np.float64),
            params["intercept_0"].ravel().astype(np.float64),
        )

    def orders(self, n_epochs):
        """The orders of rows that the loop draws."""
        rows = self.data.rows
        if not self.problem.shuffle or self.problem.batch_size >= len(rows):
            return [rows] * n_epochs
        return [stream(self.state.seed, SHUFFLE, e).permutation(rows) for e in range(n_epochs)]
