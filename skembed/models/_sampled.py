"""A bag whose last layer is a table of classes, of which a batch reads and steps some rows."""

import numpy as np

from skembed.core import Groups, ParamTable, PendingRowGradient

from ._bag import BagModel


class SampledBagModel(BagModel):
    """`BagModel` with one row a class for the last layer, and one for its intercept.

    `named` is a pair: the class of each row of a batch, shape (b,), and the classes drawn for the
    batch, shape (s,). Raw predictions are then those of the class of the row and of the classes
    drawn, shape (1 + s, b).
    """

    def _start_outputs(self, n_in, intercept):
        tables = {}
        for name, d in ((self.coef, n_in), (self.intercept, 1)):
            tables[name] = ParamTable(d, intercept.dtype)
            tables[name].insert(0, len(intercept))
            tables[name].n_trainable = len(intercept)
        tables[self.intercept].values[:, 0] = intercept
        return tables

    def sample(self, loss, data, batch, y, weight, rng, backend):
        """Return a batch, its targets and what it names, with the classes that are drawn for it."""
        named = y, loss.draw(data.noise, rng)
        return batch, named, named

    @staticmethod
    def listed(named):
        """Return the rows of the last layer that a batch reads."""
        return np.unique(np.concatenate(named))

    def _outputs(self, params, batch, x, pooled, backend):
        coef, intercept = params[self.coef], params[self.intercept]
        return coef.values[:, : coef.d] @ x + intercept.values[:, :1]

    def _rows(self, params, named):
        """Rows of the last layer and intercepts, of the classes of the batch and those drawn."""
        coef, intercept = params[self.coef], params[self.intercept]
        return [(coef.values[k, : coef.d], intercept.values[k, 0]) for k in named]

    def _named_outputs(self, params, x, named):
        (own, b_own), (drawn, b_drawn) = self._rows(params, named)
        raw = np.empty((1 + len(drawn), x.shape[1]), x.dtype)
        raw[0] = np.einsum("ij,ji->i", own, x) + b_own
        np.matmul(drawn, x, out=raw[1:])
        raw[1:] += b_drawn[:, None]
        return raw

    def _outputs_backward(self, params, x, d_raw, named):
        (own, _), (drawn, _) = self._rows(params, named)
        groups, grads = Groups.of(np.concatenate(named), x.dtype), {}
        parts = {
            self.coef: np.concatenate([d_raw[:1].T * x.T, d_raw[1:] @ x.T]),
            self.intercept: np.concatenate([d_raw[0], d_raw[1:].sum(axis=1)])[:, None],
        }
        for name, values in parts.items():
            padded = np.zeros((len(values), params[name].width), values.dtype)
            padded[:, : params[name].d] = values
            grads[name] = PendingRowGradient(groups, padded, params[name].values.shape)
        return grads, d_raw[1:].T @ drawn + own * d_raw[:1].T
