"""Single steps of the training line on plain arrays, built from the package's own parts.

The arrays name rows of a user's matrix W. As in a fit, each row of W belongs to a column of a CSR
matrix; what the kernels see went through the input check and the map from columns to table rows.
"""

import numpy as np
import scipy.sparse as sp

from skembed import EmbeddingBag
from skembed.core import (
    CSRBatch,
    FeatureIndex,
    ParamTable,
    PendingRowGradient,
    RowArray,
    SparseRowGradient,
)
from skembed.estimators._validation import check_csr
from skembed.kernels import get_backend


def as_csr(indices, indptr, values, shape):
    """Return the arrays as a CSR array that nothing has checked or changed."""
    X = sp.csr_array(shape, dtype=values.dtype)
    X.indices, X.indptr, X.data = np.asarray(indices), np.asarray(indptr), values
    return X


class Lookup:
    """A table over the rows of W, padding rows left out.

    Parameters
    ----------
    W : ndarray of shape (n, d)
        Starting rows.
    padding : tuple of int
        Rows of W that are padding.
    """

    def __init__(self, W, padding=()):
        n, d = W.shape
        ones = np.ones(n, np.int64)
        self.index = FeatureIndex(n).observe(np.arange(n), ones, padding=padding)
        self.columns = self.index.row_columns()
        self.table = ParamTable(d, W.dtype)
        self.table.insert(0, self.index.n_rows)
        self.table.values[:, :d] = W[self.columns]
        self.table.n_trainable = self.index.n_trainable
        self.W = W.copy()

    def batch(self, backend, indices, indptr, weights=None, pooling="sum"):
        """Return a batch of all bags and the id range cut among the threads."""
        n = len(self.W)
        values = np.ones(len(indices)) if weights is None else np.asarray(weights, float)
        X = as_csr(indices, indptr, values.astype(self.W.dtype), (len(indptr) - 1, n))
        X = check_csr(EmbeddingBag(), X, reset=True)
        mapped = backend.map_columns(X.indptr, X.indices, X.data, self.index)
        scale = backend.scale(mapped[0], mapped[2], pooling)
        backend.prepare(mapped[1], self.index.n_trainable)
        return CSRBatch(*mapped, np.arange(X.shape[0]), scale)

    def gradient(self, backend, batch, G):
        """Return the pooled rows and the gradient that is not summed yet."""
        table = self.table
        pooled, groups = backend.forward_and_group(batch, table.values, table.n_trainable)
        d_pooled = backend.d_pooled(len(batch.rows), table.width, table.dtype)
        d_pooled[:, : table.d] = G * batch.scale[:, None]
        pending = PendingRowGradient(groups, d_pooled, table.values.shape)
        return pooled[:, : table.d].copy(), pending

    def rows(self):
        """Return the present rows of W."""
        self.W[self.columns] = self.table.values[:, : self.table.d]
        return self.W


def bag_forward(W, indices, indptr, weights=None, pooling="sum", padding=(), n_jobs=1):
    """Return the pooled rows of every bag."""
    with get_backend(n_jobs) as backend:
        look = Lookup(np.asarray(W), padding)
        batch = look.batch(backend, indices, indptr, weights, pooling)
        pooled = backend.forward(batch, look.table.values)[:, : look.table.d].copy()
        both, _ = look.gradient(backend, batch, 0.0)
    assert np.array_equal(pooled, both), "the pass of training pools as the pass of prediction"
    return pooled


def bag_backward(G, W, indices, indptr, weights=None, pooling="sum", padding=(), n_jobs=1):
    """Return the touched rows of W, ascending, and their summed gradients."""
    with get_backend(n_jobs) as backend:
        look = Lookup(np.asarray(W), padding)
        batch = look.batch(backend, indices, indptr, weights, pooling)
        grad = look.gradient(backend, batch, G)[1].sum(backend)
        return look.columns[grad.indices], grad.values[:, : look.table.d].copy()


class Stepper:
    """A table that a solver steps; `way` chooses between the two forms of its kernel.

    Parameters
    ----------
    W : ndarray of shape (n, d)
        Starting rows.
    solver : Solver
        Moves them.
    lr : float
        Learning rate.
    weight_decay : float
        Decoupled decay.
    padding : tuple of int
        Rows of W that are padding.
    way : {"bag", "list"}
        Sum and step in one kernel, or step the rows of a `SparseRowGradient`.
    """

    def __init__(self, W, solver, lr, weight_decay=0.0, padding=(), way="bag"):
        self.look, self.solver, self.way = Lookup(np.asarray(W), padding), solver, way
        self.rates, self.weight_decay = dict(lr=lr, keep=1 - lr * weight_decay), weight_decay
        table = self.look.table
        self.state = solver.init_table_state(table)
        for slot in self.state.values():
            slot.insert(0, table.n_rows)
        solver.start_rows(table, self.state, 0, table.n_rows, lr, 64)
        self.n_steps, self.backend = 0, get_backend()

    def step(self, rows, grads):
        """Make one step, an epoch of its own, on gradients of rows of W, which may repeat."""
        look, rows, grads = self.look, np.asarray(rows, np.int64), np.asarray(grads)
        indptr = np.arange(len(rows) + 1)
        if len(rows) == 0:  # one empty bag
            indptr, grads = np.zeros(2, np.int64), np.zeros((1, grads.shape[1]))
        batch = look.batch(self.backend, rows, indptr)
        grad = look.gradient(self.backend, batch, grads)[1]
        if self.way == "list":
            has_row = np.diff(batch.indptr) > 0
            wide = RowArray(int(has_row.sum()), look.table.d, look.table.dtype)
            wide.values[:, : look.table.d] = grads[has_row]
            shape = look.table.values.shape
            grad = SparseRowGradient.from_occurrences(batch.indices, wide.values, shape)
        missed = self.solver.catch_up(look.table, self.state, self.weight_decay, self.n_steps)
        self.n_steps += 1
        rates = dict(**self.rates, step=self.n_steps, backend=self.backend)
        if missed is not None:
            missed.bring(grad.indices, self.backend)
        self.solver.step(look.table, self.state, grad, **rates)
        if missed is not None:
            missed.advance(grad.indices, **rates)
            missed.finish(self.backend)

    def rows(self):
        """Return the present rows of W."""
        return self.look.rows()

    def slot(self, name):
        """Return the solver's state of every row that is not padding."""
        slot = self.state[name]
        return slot.values[:, : slot.d]
