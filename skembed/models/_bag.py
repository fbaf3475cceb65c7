"""A linear head over a pooled bag of rows."""

import numpy as np

from skembed.core import ParamTable, PendingRowGradient


class BagLinear:
    """Raw predictions ``coef @ pooled + intercept``, class-major.

    Parameters are a dict: "table" (`ParamTable`), "coef" of shape (n_outputs, d) and "intercept" of
    shape (n_outputs, 1). The head starts at zero.
    """

    decayed = ("table", "coef")  # weight decay spares intercepts

    def init_params(self, d, intercept, dtype):
        """Return parameters with an empty table."""
        coef = np.zeros((len(intercept), d), dtype)
        intercept = np.asarray(intercept, dtype).reshape(-1, 1)
        return {"table": ParamTable(d, dtype), "coef": coef, "intercept": intercept}

    def _head(self, params, pooled):
        raw = params["coef"] @ pooled[:, : params["table"].d].T
        raw += params["intercept"]
        return raw

    def pool(self, params, batch, backend):
        """Return the pooled rows, shape (b, d)."""
        table = params["table"]
        return backend.forward(batch, table.values)[:, : table.d]

    def predict(self, params, batch, backend):
        """Return raw predictions, shape (n_outputs, b)."""
        return self._head(params, backend.forward(batch, params["table"].values))

    def forward(self, params, batch, backend, groups=None):
        """Return raw predictions and the tape that `backward` needs.

        `groups` are those of the batch, where they are known already.
        """
        table = params["table"]
        if groups is None:
            pooled, groups = backend.forward_and_group(batch, table.values, table.n_trainable)
        else:
            pooled = backend.forward(batch, table.values)
        return self._head(params, pooled), (pooled, groups)

    def backward(self, params, batch, tape, d_raw, backend):
        """Return the gradient of every parameter; that of the table is a `PendingRowGradient`."""
        (pooled, groups), table = tape, params["table"]
        d_pooled = backend.d_pooled(len(batch.rows), table.width, table.dtype)
        np.matmul((d_raw * batch.scale).T, params["coef"], out=d_pooled[:, : table.d])
        return {
            "table": PendingRowGradient(groups, d_pooled, table.values.shape),
            "coef": d_raw @ pooled[:, : table.d],
            "intercept": d_raw.sum(axis=1, keepdims=True),
        }
