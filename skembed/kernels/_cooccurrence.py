"""Array code that leaves features out of rows, and scores them."""

import numpy as np

from skembed.core import GOLDEN, CSRBatch, LeftOut, mix


class CooccurrenceOperations:
    """The operations of a backend on features that are predicted from the others of their row."""

    def leave_out(self, batch, weight, noise, seed, pooling, n_targets, n_negatives):
        """Leave features out of the rows of a batch, and draw others to tell them from.

        Frequent features are dropped at random first, unless fewer than two would stay. Then as
        many features as are wanted, half of them at most, become targets; the rest is the bag. A
        drawn feature that the row has does not count.

        Parameters
        ----------
        batch : CSRBatch
            Rows of two features or more.
        weight : ndarray of shape (b,) or None
            Weights of the rows.
        noise : FeatureNoise
            What to draw by.
        seed : int
            Seed of the batch; equal rows of a batch draw alike.
        pooling : {"sqrtn", "mean", "sum", "max"}
            What the factors of the bags are for.
        n_targets : int
            Features to leave out of a row, at most.
        n_negatives : int
            Features to draw for each.

        Returns
        -------
        LeftOut
            The bags, and the lists of what to predict. A prediction weighs as much as its row
            times the magnitude of the value that was left out.
        """
        sizes = batch.indptr[batch.rows + 1] - batch.indptr[batch.rows]
        b, n, places = len(batch.rows), int(sizes.sum()), n_targets * (1 + n_negatives)
        dtype, places = batch.data.dtype, len(batch.rows) * places
        keys = mix(noise.keys[batch.rows] ^ mix(np.array([seed], np.uint64)))
        weight = np.ones(b, dtype) if weight is None else weight
        bags = np.empty(2 * b, np.int64), np.empty(n, np.int32), np.empty(n, dtype)
        sums, borders, ids = np.empty((2, b)), np.empty(2 * b, np.int64), np.zeros(places, np.int32)
        lists = borders, ids, np.zeros(places, dtype), np.zeros(places, dtype)
        wanted = np.cumsum(sizes) - sizes, n_targets, n_negatives
        self._fill_lists(batch, keys, weight, noise, wanted, (*bags, sums, *lists))
        norm = {"mean": sums[0], "sqrtn": np.sqrt(sums[1])}.get(pooling, 1)
        scale = (batch.scale / norm).astype(dtype)
        return LeftOut(CSRBatch(*bags, np.arange(0, 2 * b, 2), scale), *lists, noise.offset)

    def _fill_lists(self, batch, keys, weight, noise, wanted, out):
        """Fill the bags, their sums of abs(x) and x^2 in units of the rows' factors, and the lists.

        `wanted` says where bags begin, how many features to leave out, and to draw for each.
        """
        bag_borders, bag_ids, bag_data, sums, head_borders, ids, labels, weights = out
        starts, n_targets, n_negatives = wanted
        for i, r in enumerate(batch.rows):
            state = keys[i : i + 1]

            def draw():
                nonlocal state
                state = state + GOLDEN
                return float(mix(state)[0] >> np.uint64(11)) * 2.0**-53

            p, e = batch.indptr[r], batch.indptr[r + 1]
            row, x = batch.indices[p:e], batch.data[p:e]
            stay = np.array([draw() < noise.keep[j] for j in row])
            if stay.sum() < 2:
                stay[:] = True
            row, x = row[stay], x[stay]
            n, m = len(row), min(n_targets, len(row) // 2)
            for last in range(n - 1, n - 1 - m, -1):
                pick = int(draw() * (last + 1))
                row[[pick, last]], x[[pick, last]] = row[[last, pick]], x[[last, pick]]
            at, h = starts[i], i * n_targets * (1 + n_negatives)
            bag_borders[2 * i : 2 * i + 2] = at, at + n - m
            bag_ids[at : at + n], bag_data[at : at + n] = row, x
            size = x[: n - m].astype(np.float64) * np.float64(batch.scale[i])
            sums[:, i] = np.abs(size).sum(), (size**2).sum()
            head_borders[2 * i] = h
            for j, size in zip(row[n - m :], np.abs(x[n - m :]) * weight[i], strict=True):
                ids[h], labels[h], weights[h] = j, 1, size
                h += 1
                for _ in range(n_negatives):
                    drawn = noise.order[np.searchsorted(noise.borders, draw(), side="right")]
                    if drawn not in batch.indices[p:e]:
                        ids[h], weights[h] = drawn, size
                        h += 1
            head_borders[2 * i + 1] = h

    def score_listed(self, left_out, pooled, table):
        """Return the score of every listed prediction, 0 between the lists.

        Parameters
        ----------
        left_out : LeftOut
            The lists.
        pooled : ndarray of shape (b, width)
            Pooled bags.
        table : ndarray of shape (n_rows, width)
            Vectors of the features to predict.

        Returns
        -------
        ndarray of shape (n,)
            Scores.
        """
        raw = np.zeros(len(left_out.ids), table.dtype)
        for i, (s, e) in enumerate(left_out.borders.reshape(-1, 2)):
            ids = left_out.ids[s:e]
            raw[s:e] = table[ids] @ pooled[i] + left_out.offset[ids]
        return raw
