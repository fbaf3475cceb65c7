"""A bag that predicts features of its row, each of which has an output vector."""

from skembed.core import Groups, ParamTable, PendingRowGradient

from ._bag import BagModel


class CooccurrenceModel(BagModel):
    """`BagModel` whose last layer has a row for each row of the table, and constant intercepts.

    `named` is the `LeftOut` of a batch, whose bag is the batch that is pooled. Raw predictions are
    those that it lists. Output vectors start at zero.
    """

    follows_table = ("coef_0",)

    def _start_outputs(self, n_in, intercept):
        return {self.coef: ParamTable(n_in, intercept.dtype)}

    def sample(self, loss, data, batch, y, weight, rng, backend):
        """Return the bags of a batch, the labels of what they predict, and the `LeftOut`."""
        seed = int(rng.integers(1 << 63))
        wanted = self.pooling, loss.n_targets, loss.n_negatives
        left_out = backend.leave_out(batch, weight, data.noise, seed, *wanted)
        return left_out.bag, left_out.labels, left_out

    @staticmethod
    def listed(named):
        """Return the rows of the last layer that a batch reads."""
        return named.listed

    def value(self, loss, params, named, backend):
        """Return the loss of predictions that a `LeftOut` lists, and their weight."""
        pooled, _ = self._pool(params["table"], named.bag, backend)
        raw = backend.score_listed(named, pooled, params[self.coef].values)
        value, _ = loss.evaluate(named.labels, raw, named.weights, backend)
        return value, float(named.labels @ named.weights)

    def loss_and_gradient(self, loss, params, batch, y, weight, backend, groups=None, named=None):
        """Return the mean loss of a batch and the gradient of both tables.

        Parameters
        ----------
        loss : Cooccurrence
            The loss.
        params : dict
            Name to `ParamTable`.
        batch : CSRBatch
            The bags.
        y : ndarray of shape (n,)
            Labels of the listed predictions.
        weight : ndarray of shape (b,) or None
            Weights of the rows, which are in those of the list already.
        backend : Backend
            Runs the operations.
        groups : Groups or None
            Those of the batch, where they are known already.
        named : LeftOut
            What is predicted.

        Returns
        -------
        value : float
            The weighted mean loss of the features that were left out.
        grads : dict
            A `PendingRowGradient` of each table.
        """
        table, coef = params["table"], params[self.coef]
        pooled, winners = self._pool(table, batch, backend)
        pooled = pooled.copy()  # work space of the backend, as are groups
        raw = backend.score_listed(named, pooled, coef.values)
        value, slopes = loss.evaluate(y, raw, named.weights, backend)
        listed = named.weigh(slopes)
        d_pooled = backend.forward(listed, coef.values)
        own = backend.group(listed, coef.values, coef.n_trainable)
        own = Groups(own.ids.copy(), own.starts.copy(), own.keys.copy(), own.coef.copy())
        groups = backend.group(batch, table.values, table.n_trainable)
        return value, {
            "table": PendingRowGradient(groups, d_pooled, table.values.shape, winners),
            self.coef: PendingRowGradient(own, pooled, coef.values.shape),
        }
