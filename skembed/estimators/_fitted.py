"""What a fitted estimator does and shows; nothing here changes it."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skembed.core import CSRBatch
from skembed.kernels import get_backend
from skembed.models import BagLinear

from ._validation import check_csr

PREDICT_VALUES = 1_000_000  # stored values that are predicted at a time


class FittedBag(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Prediction and fitted attributes, read from the state of a fit.

    Attributes
    ----------
    _state : FitState
        What the fit has reached.
    _target : ClassTarget or NumberTarget
        What it was fitted for.
    """

    def _by_batch(self, X, operation, shape):
        """Return operation(model, params, batch, backend) of blocks of rows, joined."""
        check_is_fitted(self)
        state = self._state
        params, model = state.params, BagLinear()
        dtype = params["table"].dtype
        X = check_csr(self, X, reset=False, dtype=dtype)
        out, n = np.empty((X.shape[0], *shape), dtype), X.shape[0]
        with get_backend(effective_n_jobs(self.n_jobs)) as backend, np.errstate(all="ignore"):
            lo = 0
            while lo < n:
                goal = X.indptr[lo] + PREDICT_VALUES
                hi = min(max(int(np.searchsorted(X.indptr, goal, side="right")) - 1, lo + 1), n)
                hi = min(hi, lo + PREDICT_VALUES // 16)
                s, e = X.indptr[lo], X.indptr[hi]
                part = X.indptr[lo : hi + 1] - s, X.indices[s:e], X.data[s:e]
                mapped = backend.map_columns(*part, state.index)
                scale = backend.scale(mapped[0], mapped[2], self.pooling)
                batch = CSRBatch(*mapped, np.arange(hi - lo), scale)
                out[lo:hi] = operation(model, params, batch, backend)
                lo = hi
        return out

    def _raw(self, X):
        """Return raw predictions, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        return self._by_batch(
            X,
            lambda model, params, batch, backend: model.predict(params, batch, backend).T,
            (self._target.n_outputs,),
        )

    def transform(self, X):
        """Pool the embeddings of the features of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        pooled : ndarray of shape (n_samples, n_components_)
            One dense vector a row; zeros for a row without a known feature.
        """
        check_is_fitted(self)
        return self._by_batch(
            X,
            lambda model, params, batch, backend: model.pool(params, batch, backend),
            (self.n_components_,),
        )

    # ---------------------------------------------------------------- fitted attributes
    @property
    def n_components_(self):
        """Number of components of each vector."""
        return self._state.params["table"].d

    @property
    def active_features_(self):
        """Columns that have a row, ascending; shape (n_active,)."""
        index = self._state.index
        return index.columns[index.rows >= 0]

    @property
    def active_embedding_(self):
        """Vectors of `active_features_`, shape (n_active, n_components_)."""
        index, table = self._state.index, self._state.params["table"]
        return table.values[index.rows[index.rows >= 0], : table.d]

    def _by_feature(self, values):
        out = np.zeros((self._state.index.n_features, *values.shape[1:]), values.dtype)
        out[self.active_features_] = values
        return out

    @property
    def embedding_(self):
        """Vectors of all features, zeros where one has none; shape (n_features, n_components_)."""
        return self._by_feature(self.active_embedding_)

    @property
    def coef_(self):
        """Weights of the head, shape (n_outputs, n_components_)."""
        return self._state.params["coef"]

    @property
    def intercept_(self):
        """Intercepts of the head, shape (n_outputs,)."""
        return self._state.params["intercept"].ravel()

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
        index = self._state.index
        rows = index.rows[index.rows >= 0]
        return self._by_feature(self._state.n_updates.values[rows, 0].astype(np.int64))

    @property
    def loss_curve_(self):
        """Weighted mean loss of each epoch."""
        return self._state.loss_curve

    @property
    def n_iter_(self):
        """Number of epochs run."""
        return len(self._state.loss_curve)

    @property
    def learning_rate_init_(self):
        """Learning rate that was used."""
        return self._state.learning_rate

    def __sklearn_is_fitted__(self):
        """Tell whether there is something to predict with."""
        return hasattr(self, "_state")
