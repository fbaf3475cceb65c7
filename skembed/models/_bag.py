"""A pooled bag of rows, and a linear or MLP head on it."""

import numpy as np

from skembed.core import HEAD, ParamTable, PendingRowGradient, stream


class BagModel:
    """Raw predictions of a head on pooled rows, class-major.

    Parameters of the model are a dict: "table" (`ParamTable`), and for each layer i of the head
    "coef_i" of shape (n_out, n_in) and "intercept_i" of shape (n_out, 1). Hidden layers are ReLU
    and start at Glorot's uniform, the last layer starts at zero. Direct weights, if any, lie in the
    table behind the embedding and are pooled with it.

    Parameters
    ----------
    pooling : {"sqrtn", "mean", "sum", "max"}
        How rows are pooled.
    hidden_layer_sizes : tuple of int
        Units of the hidden layers.
    """

    def __init__(self, pooling, hidden_layer_sizes=()):
        self.pooling, self.hidden_layer_sizes = pooling, tuple(hidden_layer_sizes)
        self.layers = range(len(self.hidden_layer_sizes) + 1)

    def init_params(self, d, intercept, dtype, *, n_numeric=0, linear_term=False, seed=0):
        """Return parameters with an empty table.

        Parameters
        ----------
        d : int
            Components of an embedding.
        intercept : ndarray of shape (n_outputs,)
            Intercepts of the last layer.
        dtype : dtype
            Work dtype.
        n_numeric : int
            Columns that join the pooled row.
        linear_term : bool
            Whether features have direct weights.
        seed : int
            Draws the hidden layers.
        """
        n_outputs, rng = len(intercept), stream(seed, HEAD)
        params = {"table": ParamTable(d, dtype, n_outputs if linear_term else 0)}
        sizes = [d + n_numeric, *self.hidden_layer_sizes, n_outputs]
        for i in self.layers:
            n_in, n_out = sizes[i], sizes[i + 1]
            bound = np.sqrt(6 / (n_in + n_out)) if i < self.layers[-1] else 0.0
            params[f"coef_{i}"] = rng.uniform(-bound, bound, (n_out, n_in)).astype(dtype)
            params[f"intercept_{i}"] = np.zeros((n_out, 1), dtype)
        params[f"intercept_{self.layers[-1]}"][:, 0] = intercept
        return params

    @staticmethod
    def decays(name):
        """Tell whether weight decay applies to a parameter: it spares intercepts."""
        return not name.startswith("intercept")

    def _head(self, params, pooled, batch):
        """Return raw predictions and the inputs of every layer, features first."""
        table = params["table"]
        d = table.d_embedding
        x = pooled[:, :d].T
        if batch.numeric is not None:
            x = np.concatenate([x, batch.numeric.T])
        inputs = []
        for i in self.layers:
            inputs.append(x)
            x = params[f"coef_{i}"] @ x
            x += params[f"intercept_{i}"]
            if i < self.layers[-1]:
                np.maximum(x, 0, out=x)
        if table.n_linear:
            x += pooled[:, d : table.d].T
        return x, inputs

    def _pool(self, table, batch, backend):
        if self.pooling == "max":
            return backend.forward_max(batch, table.values)
        return backend.forward(batch, table.values), None

    def pool(self, params, batch, backend):
        """Return the pooled embeddings, shape (b, d)."""
        table = params["table"]
        return self._pool(table, batch, backend)[0][:, : table.d_embedding]

    def predict(self, params, batch, backend):
        """Return raw predictions, shape (n_outputs, b)."""
        pooled, _ = self._pool(params["table"], batch, backend)
        return self._head(params, pooled, batch)[0]

    def forward(self, params, batch, backend, groups=None):
        """Return raw predictions and the tape that `backward` needs.

        `groups` are those of the batch, where they are known already.
        """
        table, winners = params["table"], None
        if groups is None and self.pooling != "max":
            pooled, groups = backend.forward_and_group(batch, table.values, table.n_trainable)
        else:
            groups = groups or backend.group(batch, table.n_trainable)
            pooled, winners = self._pool(table, batch, backend)
        raw, inputs = self._head(params, pooled, batch)
        return raw, (inputs, groups, winners)

    def backward(self, params, batch, tape, d_raw, backend):
        """Return the gradient of every parameter; that of the table is a `PendingRowGradient`."""
        (inputs, groups, winners), table = tape, params["table"]
        d, grads, slope = table.d_embedding, {}, d_raw
        for i in reversed(self.layers):
            grads[f"coef_{i}"] = slope @ inputs[i].T
            grads[f"intercept_{i}"] = slope.sum(axis=1, keepdims=True)
            if i:
                slope = params[f"coef_{i}"].T @ slope
                slope *= inputs[i] > 0
        d_pooled = backend.d_pooled(len(batch.rows), table.width, table.dtype)
        scaled = (slope * batch.scale).T
        np.matmul(scaled, params["coef_0"][:, :d], out=d_pooled[:, :d])
        if table.n_linear:
            d_pooled[:, d : table.d] = (d_raw * batch.scale).T
        grads["table"] = PendingRowGradient(groups, d_pooled, table.values.shape, winners)
        return grads
