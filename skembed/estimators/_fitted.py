"""What a fitted estimator does and shows; nothing here changes it."""

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._sparse import _align_api_if_sparse
from sklearn.utils.validation import check_is_fitted

from skembed.core import CSRBatch, ParamTable
from skembed.kernels import get_backend

from ._portable import Portable
from ._stamp import Stamped
from ._unseen import RareMean
from ._validation import CSR, check_csr

BLOCK_VALUES, BLOCK_ROWS = 1_000_000, 50_000  # stored values and rows predicted at a time


class FittedEmbedding(
    Portable, Stamped, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Prediction and fitted attributes, read from the state of a fit.

    Attributes
    ----------
    _state : FitState
        What the fit has reached.
    _target : ClassTarget or NumberTarget
        What it was fitted for.
    """

    def _by_block(self, X, operation):
        """Return the results of operation(model, params, batch, backend) on blocks of rows."""
        check_is_fitted(self)
        X = check_csr(self, X, reset=False, dtype=self._state.params["table"].dtype)
        return self._over_blocks(X, operation)

    def _over_blocks(self, X, operation):
        """Do the same for a checked `CSR`."""
        state = self._state
        results, n, lo, unseen = [], X.shape[0], 0, self._unseen_features(X.shape[1])
        jobs = 1 if n == 1 else effective_n_jobs(self.n_jobs)
        backend = get_backend(jobs, work=len(X.indices))
        with backend, np.errstate(all="ignore"):
            while lo < n:
                goal = X.indptr[lo] + state.read_at_a_time(BLOCK_VALUES)
                hi = max(int(np.searchsorted(X.indptr, goal, side="right")) - 1, lo + 1)
                hi = min(hi, lo + BLOCK_ROWS, n)
                part = self._part(X, lo, hi)
                params, batch = state.params, self._batch_of(part, backend)
                if unseen is not None:
                    params, batch = unseen.fold(part, batch, backend)
                params, batch = state.to_read(params, batch)
                results.append(operation(state.model, params, batch, backend).copy())
                lo = hi
        return results

    def _unseen_features(self, n_features):
        """Return what folds features without a vector into a prediction, or None."""
        if self.unseen == "zero":
            return None
        padding = self._resolve_columns("padding_features", n_features)
        return RareMean(self._state, np.union1d(padding, self._state.numeric))

    @staticmethod
    def _part(X, lo, hi):
        """Return rows lo..hi of a `CSR`."""
        s, e = X.indptr[[lo, hi]]
        shape = hi - lo, X.shape[1]
        return CSR(X.indptr[lo : hi + 1] - s, X.indices[s:e], X.data[s:e], shape)

    def _batch_of(self, X, backend):
        """Return a `CSR` as a batch of all its rows."""
        state, rows = self._state, np.arange(X.shape[0])
        mapped, scale, numeric = X.mapped(state, backend)
        numeric = None if numeric is None else numeric[rows]
        return CSRBatch(*mapped, rows, scale, numeric, state.fields)

    def _row(self, x):
        """Return the parameters, the batch and the columns of the prediction of one row."""
        X = check_csr(self, x, reset=False, dtype=self._state.params["table"].dtype)
        if X.shape[0] != 1:
            raise ValueError(f"Expected one row, got {X.shape[0]}. Take it as X[[i]].")
        backend, unseen = get_backend(), self._unseen_features(X.shape[1])
        batch = self._batch_of(X, backend)
        columns = self._state.index.row_columns()[batch.indices]
        params = self._state.params
        if unseen is not None:
            params, batch = unseen.fold(X, batch, backend)
            columns = unseen.columns_of(X)
        return *self._state.to_read(params, batch), columns

    def _raw(self, X):
        """Return raw predictions, shape (n_samples, n_outputs)."""
        blocks = self._by_block(
            X, lambda model, params, batch, backend: model.predict(params, batch, backend).T
        )
        return np.concatenate(blocks)

    def _decide(self, X):
        """Return predictions; where y was sparse, labels are dense for one block at most."""
        blocks = self._by_block(
            X,
            lambda model, params, batch, backend: self._target.decide(
                model.predict(params, batch, backend).T
            ),
        )
        if not sp.issparse(blocks[0]):
            return np.concatenate(blocks)
        return _align_api_if_sparse(sp.vstack(blocks, format="csr"))

    def transform(self, X):
        """Pool the embeddings of the features of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        pooled : ndarray of shape (n_samples, n_components_)
            One dense vector a row; zeros for a row without a known feature. A factorization
            machine with several outputs or fields has the vectors of all of them side by side.
        """
        check_is_fitted(self)
        return self._pool(check_csr(self, X, reset=False, dtype=self._state.params["table"].dtype))

    def _pool(self, X):
        """Return the pooled vectors of the rows of a checked `CSR`."""
        blocks = self._over_blocks(
            X, lambda model, params, batch, backend: model.pool(params, batch, backend)
        )
        return np.concatenate(blocks)

    # ---------------------------------------------------------------- fitted attributes
    @property
    def n_components_(self):
        """Number of components of each vector."""
        return self._state.model.width(self._state.params)

    @property
    def active_features_(self):
        """Columns that have a row, ascending; shape (n_active,)."""
        index = self._state.index
        return index.columns[index.rows >= 0]

    @property
    def active_embedding_(self):
        """Vectors of `active_features_`, shape (n_active, n_components_)."""
        table = self._state.params["table"]
        return table.values[self._active_rows, : table.d_embedding]

    @property
    def _active_rows(self):
        rows = self._state.index.rows
        return rows[rows >= 0]

    def _by_feature(self, values):
        out = np.zeros((self._state.index.n_features, *values.shape[1:]), values.dtype)
        out[self.active_features_] = values
        return out

    @property
    def embedding_(self):
        """Vectors of all features, zeros where one has none; shape (n_features, n_components_)."""
        return self._by_feature(self.active_embedding_)

    @property
    def linear_(self):
        """Direct weights of all features, shape (n_outputs, n_features)."""
        table = self._state.params["table"]
        if not table.n_linear:
            raise AttributeError("linear_ exists after a fit with linear_term=True.")
        return self._by_feature(table.values[self._active_rows, table.d_embedding : table.d]).T

    @property
    def feature_counts_(self):
        """Training rows in which each feature was seen, shape (n_features,)."""
        index = self._state.index
        out = np.zeros(index.n_features, np.int64)
        out[index.columns] = index.counts
        return out

    @property
    def n_updates_(self):
        """Steps in which the row of each feature was listed, shape (n_features,)."""
        counts = self._state.n_updates.values[self._active_rows, 0]
        return self._by_feature(counts.astype(np.int64))

    @property
    def loss_curve_(self):
        """Weighted mean loss of each epoch."""
        return self._state.loss_curve

    @property
    def n_iter_(self):
        """Number of epochs run."""
        return len(self._state.loss_curve)

    @property
    def best_n_iter_(self):
        """Number of the epoch that is kept."""
        return self._state.best_epoch

    @property
    def validation_scores_(self):
        """Score of each epoch on the rows held out; empty without early stopping."""
        return self._state.validation_scores

    @property
    def best_validation_score_(self):
        """Best of `validation_scores_`."""
        if not self._state.validation_scores:
            raise AttributeError("best_validation_score_ exists after a fit with early stopping.")
        return max(self._state.validation_scores)

    def drop_solver_state(self):
        """Forget what only further training needs, and so halve the memory and the pickle.

        Returns
        -------
        self : object
            The estimator; it predicts as before and cannot go on by `partial_fit` or
            ``warm_start=True``.
        """
        check_is_fitted(self)
        self._state.solver_state = {}
        return self

    @property
    def learning_rate_init_(self):
        """Learning rate that was used."""
        return self._state.learning_rate

    def __sklearn_is_fitted__(self):
        """Tell whether there is something to predict with."""
        return hasattr(self, "_state")


class FittedHead:
    """Fitted attributes of a head on pooled vectors."""

    def _layers(self, name):
        params, model = self._state.params, self._state.model
        names = [f"{name}_{i}" for i in model.layers]
        if names[-1] in model.follows_table:  # outputs are features
            vectors = params[names[-1]].values[self._active_rows, : params[names[-1]].d]
            return [self._by_feature(vectors)]
        if names[-1] not in params:
            raise AttributeError(f"{name}_ does not exist: the outputs of this loss have none.")
        layers = [params[name] for name in names]
        return [p.values[:, : p.d] if isinstance(p, ParamTable) else p for p in layers]

    def _only_layer(self, name):
        layers = self._layers(name)
        if len(layers) > 1:
            raise AttributeError(f"{name}_ is that of a linear head; see {name}s_.")
        return layers[0]

    @property
    def coef_(self):
        """Weights of a linear head, shape (n_outputs, n_components_ + numeric features)."""
        return self._only_layer("coef")

    @property
    def intercept_(self):
        """Intercepts of a linear head, shape (n_outputs,)."""
        return self._only_layer("intercept").ravel()

    @property
    def coefs_(self):
        """Weights of each layer of the head, of shape (units, inputs)."""
        return self._layers("coef")

    @property
    def intercepts_(self):
        """Intercepts of each layer of the head, of shape (units,)."""
        return [b.ravel() for b in self._layers("intercept")]
