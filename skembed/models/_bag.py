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

    follows_table = ()  # tables of the head that have a row for each row of the table

    def __init__(self, pooling, hidden_layer_sizes=()):
        self.pooling, self.hidden_layer_sizes = pooling, tuple(hidden_layer_sizes)
        self.layers = range(len(self.hidden_layer_sizes) + 1)
        self.coef, self.intercept = f"coef_{self.layers[-1]}", f"intercept_{self.layers[-1]}"

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
        rng = stream(seed, HEAD)
        params = {"table": ParamTable(d, dtype, len(intercept) if linear_term else 0)}
        sizes = [d + n_numeric, *self.hidden_layer_sizes]
        for i in self.layers[:-1]:
            n_in, n_out = sizes[i], sizes[i + 1]
            bound = np.sqrt(6 / (n_in + n_out))
            params[f"coef_{i}"] = rng.uniform(-bound, bound, (n_out, n_in)).astype(dtype)
            params[f"intercept_{i}"] = np.zeros((n_out, 1), dtype)
        params.update(self._start_outputs(sizes[-1], np.asarray(intercept, dtype)))
        return params

    def _start_outputs(self, n_in, intercept):
        """Return the parameters of the last layer."""
        coef = np.zeros((len(intercept), n_in), intercept.dtype)
        return {self.coef: coef, self.intercept: intercept.reshape(-1, 1).copy()}

    def same_as(self, other):
        """Tell whether parameters of this model are also parameters of another one."""
        return vars(self) == vars(other)

    @staticmethod
    def width(params):
        """Return the components of a vector."""
        return params["table"].d_embedding

    @staticmethod
    def vectors(params):
        """Return how many vectors a row of the table holds, and the components of each."""
        return 1, params["table"].d_embedding

    def fields_of_rows(self, index):
        """Return None: features have no fields."""

    @staticmethod
    def decays(name):
        """Tell whether weight decay applies to a parameter: it spares intercepts."""
        return not name.startswith("intercept")

    def _inputs(self, params, pooled, batch):
        """Return the inputs of every layer, features first."""
        x = pooled[:, : params["table"].d_embedding].T
        if batch.numeric is not None:
            x = np.concatenate([x, batch.numeric.T])
        inputs = [x]
        for i in self.layers[:-1]:
            x = params[f"coef_{i}"] @ x
            x += params[f"intercept_{i}"]
            inputs.append(np.maximum(x, 0, out=x))
        return inputs

    def _is_linear(self, batch):
        """Tell whether the only layer reads the pooled rows and nothing else."""
        return len(self.layers) == 1 and batch.numeric is None

    def _outputs(self, params, batch, x, pooled, backend):
        """Return raw predictions from the inputs of the last layer."""
        coef, intercept, table = params[self.coef], params[self.intercept], params["table"]
        if self._is_linear(batch):
            raw = backend.linear(pooled, coef, intercept)
        else:
            raw = coef @ x
            raw += intercept
        if table.n_linear:
            raw += pooled[:, table.d_embedding : table.d].T
        return raw

    def _outputs_backward(self, params, x, d_raw, named):
        """Return the gradients of the last layer, and that of its inputs, rows first."""
        grads = {self.coef: d_raw @ x.T, self.intercept: d_raw.sum(axis=1, keepdims=True)}
        return grads, d_raw.T @ params[self.coef]

    def _pool(self, table, batch, backend):
        if self.pooling == "max":
            return backend.forward_max(batch, table.values)
        return backend.forward(batch, table.values), None

    def pool(self, params, batch, backend):
        """Return the pooled embeddings, shape (b, d)."""
        table = params["table"]
        return self._pool(table, batch, backend)[0][:, : table.d_embedding]

    def layer_inputs(self, params, batch, backend):
        """Return the inputs of every layer of the head, each of shape (n_in, b)."""
        pooled, _ = self._pool(params["table"], batch, backend)
        return self._inputs(params, pooled, batch)

    def predict(self, params, batch, backend):
        """Return raw predictions, shape (n_outputs, b)."""
        pooled, _ = self._pool(params["table"], batch, backend)
        x = self._inputs(params, pooled, batch)[-1]
        return self._outputs(params, batch, x, pooled, backend)

    def loss_and_gradient(self, loss, params, batch, y, weight, backend, groups=None, named=None):
        """Return the mean loss of a batch and the gradient of every parameter.

        Parameters
        ----------
        loss : Loss
            The loss.
        params : dict
            Name to `ParamTable` or ndarray.
        batch : CSRBatch
            The rows.
        y : ndarray of shape (b,) or (b, n_outputs)
            Their encoded targets.
        weight : ndarray of shape (b,) or None
            Their weights.
        backend : Backend
            Runs the operations; all stages of a linear head at once where it has a kernel for the
            loss, with the bits of stage by stage (to rounding where there are many outputs).
        groups : Groups or None
            Those of the batch, where they are known already.
        named : tuple of ndarray or None
            The classes that a sampled loss scores.

        Returns
        -------
        value : float
            The weighted mean loss.
        grads : dict
            That of the table is a `PendingRowGradient`, those of the head are arrays, or row lists
            where classes are sampled.
        """
        table = params["table"]
        if loss.name not in backend.losses or table.n_linear or not self._is_linear(batch):
            raw, tape = self.forward(params, batch, backend, groups, named)
            value, d_raw = loss.evaluate(y, raw, weight, backend)
            return value, self.backward(params, batch, tape, d_raw, backend)
        pooled, winners, groups = self._pool_and_group(table, batch, backend, groups)
        coef, intercept = params[self.coef], params[self.intercept]
        target = loss.align(y, len(coef), coef.dtype, backend.xp)
        value, g_coef, g_intercept, d_pooled = backend.linear_loss(
            loss.name, pooled, coef, intercept, target, weight, batch.scale
        )
        g_table = PendingRowGradient(groups, d_pooled, table.values.shape, winners)
        return value, {"table": g_table, self.coef: g_coef, self.intercept: g_intercept}

    def _pool_and_group(self, table, batch, backend, groups):
        if groups is None and self.pooling != "max":
            pooled, groups = backend.forward_and_group(batch, table.values, table.n_trainable)
            return pooled, None, groups
        groups = groups or backend.group(batch, table.values, table.n_trainable)
        return *self._pool(table, batch, backend), groups

    def forward(self, params, batch, backend, groups=None, named=None):
        """Return raw predictions and the tape that `backward` needs."""
        pooled, winners, groups = self._pool_and_group(params["table"], batch, backend, groups)
        inputs = self._inputs(params, pooled, batch)
        if named is None:
            raw = self._outputs(params, batch, inputs[-1], pooled, backend)
        else:
            raw = self._named_outputs(params, inputs[-1], named)
        return raw, (pooled, inputs, groups, winners, named)

    def backward(self, params, batch, tape, d_raw, backend):
        """Return the gradient of every parameter."""
        (pooled, inputs, groups, winners, named), table = tape, params["table"]
        d, scale, grads = table.d_embedding, batch.scale, {}
        if named is None and self._is_linear(batch):
            coef = params[self.coef]
            *head, d_pooled = backend.linear_backward(pooled, coef, d_raw, scale)
            grads[self.coef], grads[self.intercept] = head
        else:
            grads, slope = self._outputs_backward(params, inputs[-1], d_raw, named)
            for i in reversed(self.layers[:-1]):
                slope = slope.T
                slope *= inputs[i + 1] > 0
                grads[f"coef_{i}"] = slope @ inputs[i].T
                grads[f"intercept_{i}"] = slope.sum(axis=1, keepdims=True)
                slope = slope.T @ params[f"coef_{i}"]
            d_pooled = backend.d_pooled(*pooled.shape, pooled.dtype)
            np.multiply(slope[:, :d], scale[:, None], out=d_pooled[:, :d])
        if table.n_linear:
            np.multiply(d_raw.T, scale[:, None], out=d_pooled[:, d : table.d])
        grads["table"] = PendingRowGradient(groups, d_pooled, table.values.shape, winners)
        return grads
