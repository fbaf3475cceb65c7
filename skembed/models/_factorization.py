"""Second-order factorization machines, plain and field-aware."""

from dataclasses import replace

import numpy as np

from skembed.core import PairShape, ParamTable, PendingPairGradient

PREDICTED_VALUES = 4_000_000  # numbers in the sums of the rows that are predicted at a time


class FactorizationModel:
    """Raw predictions from direct weights and from the pairs of features of a row, class-major.

    For each output ``b + sum_p x_p w_p + sum_{p < q} x_p x_q <v_p, v_q>`` over the values x of a
    row, times its pooling factor. With fields, v_p is that vector of feature p which is for the
    field of q, and v_q the one for the field of p. The time is linear in the values of a row: the
    pairs follow from its sums (by field) and squares.

    Parameters of the model are a dict: "table" (`ParamTable`; `PairShape` tells how its rows are
    divided, direct weights lie behind) and "intercept" of shape (n_outputs, 1).

    Parameters
    ----------
    pooling : {"sqrtn", "sum"}
        Whether the values of a row are divided by their Euclidean norm.
    fields : ndarray of shape (n_features,), int32, or None
        Number of the field of each column; None for a plain factorization machine.
    names : ndarray of shape (n_fields,) or None
        Names of the fields.

    References
    ----------
    S. Rendle, "Factorization machines", ICDM 2010.
    Y. Juan, Y. Zhuang, W.-S. Chin, C.-J. Lin, "Field-aware factorization machines for CTR
    prediction", RecSys 2016.
    """

    follows_table = ()

    def __init__(self, pooling, fields=None, names=None):
        self.pooling, self.fields, self.names = pooling, fields, names
        self.n_fields = 1 if fields is None else len(names)

    def same_as(self, other):
        """Tell whether parameters of this model are also parameters of another one.

        Columns may have been added, of known fields.
        """
        if self.pooling != other.pooling or not np.array_equal(self.names, other.names):
            return False
        if self.fields is None:
            return other.fields is None
        n = min(len(self.fields), len(other.fields))
        return np.array_equal(self.fields[:n], other.fields[:n])

    def init_params(self, d, intercept, dtype, *, n_numeric=0, linear_term=True, seed=0):
        """Return parameters with an empty table.

        Parameters
        ----------
        d : int
            Components of a vector.
        intercept : ndarray of shape (n_outputs,)
            Intercepts.
        dtype : dtype
            Work dtype.
        n_numeric : int
            There are no columns that go round the table: 0.
        linear_term : bool
            Whether features have direct weights.
        seed : int
            Nothing is drawn.
        """
        n_outputs = len(intercept)
        pairs = PairShape(self.n_fields, n_outputs, d)
        table = ParamTable(pairs.d_embedding, dtype, n_outputs if linear_term else 0)
        return {"table": table, "intercept": np.array(intercept, dtype).reshape(-1, 1)}

    def shape_of(self, params):
        """Return the `PairShape` of parameters."""
        n_outputs = len(params["intercept"])
        d = params["table"].d_embedding // (n_outputs * self.n_fields)
        return PairShape(self.n_fields, n_outputs, d)

    def width(self, params):
        """Return the components of a vector."""
        return self.shape_of(params).d

    def vectors(self, params):
        """Return how many vectors a row of the table holds, and the components of each."""
        pairs = self.shape_of(params)
        return pairs.n_fields * pairs.n_outputs, pairs.d

    def fields_of_rows(self, index):
        """Return the field of each table row, int32, or None where there is one field."""
        return None if self.fields is None else self.fields[index.row_columns()]

    @staticmethod
    def decays(name):
        """Tell whether weight decay applies to a parameter: it spares intercepts."""
        return name != "intercept"

    def pool(self, params, batch, backend):
        """Return the sums of the vectors of each row, shape (b, d_embedding)."""
        table = params["table"]
        return backend.forward(batch, table.values)[:, : table.d_embedding]

    def predict(self, params, batch, backend):
        """Return raw predictions, shape (n_outputs, b)."""
        table, pairs = params["table"], self.shape_of(params)
        step = max(1, PREDICTED_VALUES // (self.n_fields * table.width))
        raw = np.empty((pairs.n_outputs, len(batch.rows)), table.dtype)
        for s in range(0, len(batch.rows), step):
            at = slice(s, s + step)
            part = replace(batch, rows=batch.rows[at], scale=batch.scale[at])
            raw[:, at] = backend.fm_forward(part, table.values, pairs, table.n_linear)[1]
        raw += params["intercept"]
        return raw

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
            Runs the operations.
        groups : Groups or None
            Those of the batch, where they are known already.
        named : None
            No loss may sample outputs.

        Returns
        -------
        value : float
            The weighted mean loss.
        grads : dict
            A `PendingPairGradient` of the table and an array of the intercepts.
        """
        raw, tape = self.forward(params, batch, backend, groups)
        value, d_raw = loss.evaluate(y, raw, weight, backend)
        return value, self.backward(params, batch, tape, d_raw, backend)

    def forward(self, params, batch, backend, groups=None):
        """Return raw predictions and the tape that `backward` needs."""
        table, pairs = params["table"], self.shape_of(params)
        options = pairs, table.n_linear
        if groups is None:
            pooled, raw, groups = backend.fm_forward_and_group(
                batch, table.values, table.n_trainable, *options
            )
        else:
            pooled, raw = backend.fm_forward(batch, table.values, *options)
        raw += params["intercept"]
        return raw, (pooled, groups)

    def backward(self, params, batch, tape, d_raw, backend):
        """Return the gradient of every parameter."""
        (pooled, groups), table, pairs = tape, params["table"], self.shape_of(params)
        d_pooled, own = backend.fm_slopes(pooled, d_raw, batch.scale, pairs, table.n_linear)
        grad = PendingPairGradient(
            groups, d_pooled, table.values.shape, own=own, table=table.values,
            fields=batch.fields, pairs=pairs,
        )  # fmt: skip
        return {"table": grad, "intercept": d_raw.sum(axis=1, keepdims=True)}
