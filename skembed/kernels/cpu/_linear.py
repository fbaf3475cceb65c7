"""A linear head and its loss: kernels for few outputs, BLAS on blocks of rows for many."""

import numpy as np

from skembed.core import RowArray

from .._backend import FEW_OUTPUTS
from . import _head
from ._matrix import MatrixKernels

MANY = 100_000  # raw predictions of a batch that are worth blocks and threads
ROWS, OUTPUTS = 64, 512  # of a block: bits must not depend on who computes it


class HeadKernels(MatrixKernels):
    """Operations on the raw predictions of a batch, and the work space of a fit.

    Parameters
    ----------
    n_jobs : int
        Number of threads; results do not depend on it.
    """

    losses = {"log_loss": _head.log_loss, "softmax": _head.softmax}

    def __init__(self, n_jobs=1):
        super().__init__(n_jobs)
        self.space, self.late = {}, None  # groups that other threads may still be sorting

    def _free_team(self):
        """Let the other threads end the sort of the batch: there is work for all of them."""
        if self.late is not None:
            self.late.settle()
            self.late = None

    def _rows_of(self, name, n, width, dtype):
        """Work space of n rows that start on cache lines."""
        key = name, width
        if key not in self.space or self.space[key].n_rows < n:
            self.space[key] = RowArray(n * 5 // 4, width, dtype)
        return self.space[key].values[:n]

    def _line(self, name, n, make, dtype):
        """The first n numbers of a constant line, which make(size, dtype=dtype) makes."""
        if name not in self.space or len(self.space[name]) < n or self.space[name].dtype != dtype:
            self.space[name] = make(n * 5 // 4 + 1, dtype=dtype)
        return self.space[name][:n]

    def d_pooled(self, b, width, dtype):
        """Return work space for the gradient of the pooled rows; columns of padding are zero."""
        return self._rows_of("d_pooled", b, width, dtype)

    def _weights(self, weight, b, dtype):
        """Weights of the rows of a batch and their sum."""
        if weight is None:
            return self._line("ones", b, np.ones, dtype), float(b)
        return weight, float(weight.sum(dtype=np.float64))

    def loss(self, name, target, raw, weight):
        """Return the weighted mean loss and its gradient for aligned targets; weights or None."""
        slope, space = np.empty_like(raw), np.empty((3, raw.shape[1]))
        weights = self._weights(weight, raw.shape[1], raw.dtype)
        return self.losses[name](target, raw, *weights, space, slope), slope

    def linear(self, pooled, coef, intercept):
        """Return raw predictions coef @ pooled.T + intercept, shape (n_outputs, b)."""
        if len(coef) > FEW_OUTPUTS:
            return super().linear(pooled, coef, intercept)
        rows = self._rows_of("head", len(coef), pooled.shape[1], coef.dtype)
        raw = np.empty((len(coef), len(pooled)), coef.dtype)
        _head.linear(pooled, coef, intercept, rows, raw)
        return raw

    def linear_backward(self, pooled, coef, d_raw, scale):
        """Go back through raw = coef @ pooled.T + intercept, of pooled rows that were scaled."""
        if len(coef) > FEW_OUTPUTS:
            return super().linear_backward(pooled, coef, d_raw, scale)
        rows = self._rows_of("head", len(coef), pooled.shape[1], coef.dtype)
        g_coef, g_intercept = np.empty_like(coef), np.empty((len(coef), 1), coef.dtype)
        grads = g_coef, g_intercept, self.d_pooled(*pooled.shape, pooled.dtype)
        _head.linear_backward(pooled, coef, d_raw, scale, rows, *grads)
        return grads

    def linear_loss(self, name, pooled, coef, intercept, target, weight, scale):
        """Run `linear`, `loss` and `linear_backward`; return the value and the gradients."""
        few = len(coef) <= FEW_OUTPUTS or len(coef) * len(pooled) < MANY
        run = super().linear_loss if few else self._blocks_loss
        return run(name, pooled, coef, intercept, target, weight, scale)

    def _blocks_loss(self, name, pooled, coef, intercept, target, weight, scale):
        """Do what `linear_loss` does for many predictions: each thread takes blocks of rows."""
        self._free_team()
        (n_outputs, d), b, dtype = coef.shape, len(pooled), coef.dtype
        d_raw = self._rows_of("d_raw", n_outputs, b, dtype)[:, :b]
        d_pooled, x = self.d_pooled(*pooled.shape, dtype), pooled[:, :d]
        args = x, coef, intercept, target, *self._weights(weight, b, dtype), scale
        jobs = self.n_jobs
        shares = [(name, range(t * ROWS, b, jobs * ROWS)) for t in range(jobs)]
        parts = self.team.run(self._rows_loss, [(*s, *args, d_raw, d_pooled) for s in shares])
        grads = np.empty_like(coef), np.empty_like(intercept)
        shares = [range(t * OUTPUTS, n_outputs, jobs * OUTPUTS) for t in range(jobs)]
        self.team.run(self._outputs_gradient, [(s, x, d_raw, *grads) for s in shares])
        values = dict(pair for part in parts for pair in part)
        return sum(values[lo] for lo in range(0, b, ROWS)), *grads, d_pooled

    def _rows_loss(
        self, name, starts, x, coef, intercept, target, weight, total, scale, d_raw, d_pooled
    ):
        """Write the gradients of blocks of rows; return their first rows and shares of the loss."""
        values = []
        for lo in starts:
            at = slice(lo, lo + ROWS)
            raw = coef @ x[at].T
            raw += intercept
            wanted, slope = np.ascontiguousarray(target[..., at]), np.empty_like(raw)
            space = np.empty((3, raw.shape[1]))
            value = self.losses[name](wanted, raw, weight[at], total, space, slope)
            values.append((lo, value))
            np.multiply(slope.T @ coef, scale[at, None], out=d_pooled[at, : coef.shape[1]])
            d_raw[:, at] = slope
        return values

    @staticmethod
    def _outputs_gradient(starts, x, d_raw, g_coef, g_intercept):
        """Write the gradients of blocks of outputs."""
        for lo in starts:
            at = slice(lo, lo + OUTPUTS)
            np.matmul(d_raw[at], x, out=g_coef[at])
            np.sum(d_raw[at], axis=1, keepdims=True, out=g_intercept[at])
