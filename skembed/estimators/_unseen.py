"""Features without a vector, folded into predictions as rare features are on average."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from skembed.core import ParamTable, padded_width

RARE = 2  # times as often as the rarest feature
BLOCK = 65_536  # vectors averaged at a time


class RareMean:
    """Gives features without a vector the mean of rare ones.

    Parameters
    ----------
    state : FitState
        The fit.
    outside : ndarray of int
        Columns that have no vector by intention.
    """

    def __init__(self, state, outside):
        self.state, self.outside = state, outside

    @cached_property
    def means(self):
        """Rows that stand for unseen features, one a field, and which fields have one.

        The row of a field is the mean of the rows of its rare features, weighted by counts.
        """
        state, table, index = self.state, self.state.params["table"], self.state.index
        active = index.rows >= 0
        rows, counts = index.rows[active], index.counts[active]
        rare = (counts > 0) & (counts <= RARE * counts[counts > 0].min(initial=1 << 62))
        rows, counts = rows[rare], counts[rare].astype(np.float64)
        n_fields = getattr(state.model, "n_fields", 1)
        fields = np.zeros(len(rows), int) if state.fields is None else state.fields[rows]
        sums, total = np.zeros((n_fields, padded_width(table.d, table.dtype))), np.zeros(n_fields)
        for s in range(0, len(rows), BLOCK):
            at = slice(s, s + BLOCK)
            weights = np.zeros((n_fields, len(rows[at])))
            weights[fields[at], np.arange(len(rows[at]))] = counts[at]
            sums += weights @ table.take(rows[at])
            total += weights.sum(axis=1)
        np.divide(sums, total[:, None], out=sums, where=total[:, None] > 0)
        return sums.astype(table.dtype), total > 0

    def _kinds(self, part):
        """Return rows, columns, values and fields of stored values, and which are known, unseen."""
        nnz, model_fields = part.indptr[-1], getattr(self.state.model, "fields", None)
        columns, data = part.indices[:nnz], part.data[:nnz]
        rows = self.state.index.look_up(columns)
        fields = np.zeros(nnz, int) if model_fields is None else model_fields[columns]
        known = (rows >= 0) & (data != 0)
        unseen = (rows < 0) & (data != 0) & ~np.isin(columns, self.outside)
        if unseen.any():
            unseen &= self.means[1][fields]
        return rows, columns, data, fields, known, unseen

    def columns_of(self, part):
        """Return the columns of the stored values that `fold` leaves in a batch, in its order."""
        _, columns, _, _, known, unseen = self._kinds(part)
        return columns[known | unseen]

    def fold(self, part, batch, backend):
        """Return the parameters and the batch of some rows with their unseen features.

        The table holds the rows of the batch, and those that stand for unseen features.

        Parameters
        ----------
        part : CSR
            The rows, in columns.
        batch : CSRBatch
            The same rows, in rows of the table of the fit.
        backend : Backend
            Finds pooling factors.

        Returns
        -------
        params : dict
            Parameters of the model.
        batch : CSRBatch
            The rows, in rows of their table.
        """
        rows, _, data, fields, known, unseen = self._kinds(part)
        state = self.state
        if not unseen.any():
            return state.params, batch
        means, _ = self.means
        used, place = np.unique(rows[known], return_inverse=True)
        rows[known], rows[unseen] = place, len(used) + fields[unseen]
        table = state.params["table"]
        own = ParamTable(table.d_embedding, table.dtype, table.n_linear)
        own.insert(0, len(used) + len(means))
        own.values[: len(used)], own.values[len(used) :] = table.take(used), means
        keep = known | unseen
        indptr = np.append(0, np.cumsum(keep))[part.indptr]
        if state.fields is not None:
            kinds = np.append(state.fields[used], np.arange(len(means)))
            batch = replace(batch, fields=kinds.astype(np.int32))
        scale = backend.scale(indptr, data[keep], state.model.pooling)
        batch = replace(batch, indptr=indptr, indices=rows[keep], data=data[keep], scale=scale)
        return {**state.params, "table": own}, batch
