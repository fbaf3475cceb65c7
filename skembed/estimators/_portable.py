"""Ways of fitted vectors out of an estimator: files of other tools, and fewer bits."""

import copy

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skembed.core import CODES, ParamTable, QuantizedTable
from skembed.persistence import write_vectors


def held_bytes(state):
    """Return the bytes of the parameters of a fit: its table and its head."""
    return sum(
        len(p.values) * p.d * p.dtype.itemsize if isinstance(p, ParamTable) else p.nbytes
        for p in state.params.values()
    )


class Portable:
    """What the estimators with a table of vectors offer to those who use them elsewhere."""

    def export_vectors(self, path, *, names=None, format=None):
        """Write the vectors of the features that have one to a file that other tools read.

        Parameters
        ----------
        path : str or path-like
            The file; an old one is replaced when the new one is complete.
        names : array-like of shape (n_features,), default=None
            Names of all features, such as the `get_feature_names_out()` of a vectorizer. By default
            `feature_names_in_`, or the column numbers where there are none.
        format : {"word2vec", "word2vec-binary", "npz", "safetensors"}, default=None
            None goes by the end of the name: ``.txt`` and ``.vec`` are the text format of word2vec
            and fastText, ``.bin`` is word2vec's binary one, whose numbers are float32, ``.npz`` and
            ``.safetensors`` hold arrays ``vectors`` and ``columns``, and the names.

        Raises
        ------
        ValueError
            For names that are not one for each feature and all different, or that the format cannot
            hold: those of word2vec have no spaces.
        OSError
            If the file cannot be written.

        See Also
        --------
        skembed.load_vectors : Reads such files, for `init`.
        """
        check_is_fitted(self)
        columns, n = self.active_features_, self.n_features_in_
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        elif len(names) != n:
            raise ValueError(f"names must hold one for each of {n} features, got {len(names)}.")
        named = columns if names is None else np.asarray(names)[columns]
        vectors = self.active_embedding_
        vectors = vectors.reshape(len(vectors), -1)
        write_vectors(path, [str(name) for name in named], columns, vectors, format)

    def quantize(self, bits=8, *, X_val=None, y_val=None, sample_weight_val=None):
        """Round the vectors to 8 or 16 bits, for a model of a quarter or half of the float32 size.

        The vectors are kept as whole numbers times a factor for each vector; a prediction makes
        those that it reads numbers again, so that memory stays small. The head keeps its type.

        Parameters
        ----------
        bits : {8, 16}, default=8
            Bits of a component.
        X_val : {array-like, sparse matrix, sparse array} of shape (n_val, n_features), default=None
            Rows to measure the loss of the score on.
        y_val : array-like, default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        quantized : object
            A fitted estimator of the same class, which predicts and transforms, and can be pickled
            and saved, but not trained further. Its `quantization_` tells what it costs and saves.
            This estimator is left as it is.

        Raises
        ------
        ValueError
            If `bits` is another number, one of `X_val` and `y_val` is missing, or the vectors were
            rounded before.
        """
        check_is_fitted(self)
        table = self._state.params["table"]
        if bits not in CODES:
            raise ValueError(f"bits must be 8 or 16, got {bits!r}.")
        if isinstance(table, QuantizedTable):
            raise ValueError(f"The vectors were rounded to {table.bits} bits before.")
        if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
            raise ValueError("X_val and y_val belong together; pass both of them or none.")
        other = copy.copy(self)
        other._state = self._state.quantized(bits)
        report = {
            "bits": bits,
            "nbytes": held_bytes(other._state),
            "nbytes_before": held_bytes(self._state),
            "relative_error": relative_error(table, other._state.params["table"]),
        }
        if X_val is not None:
            scorer = check_scoring(self, self.scoring)
            weights = {} if sample_weight_val is None else {"sample_weight": sample_weight_val}
            scores = [float(scorer(e, X_val, y_val, **weights)) for e in (self, other)]
            report |= {"score_before": scores[0], "score": scores[1]}
            report["score_loss"] = scores[0] - scores[1]
        other._state.params["table"].report = report
        return other

    @property
    def quantization_(self):
        """What `quantize` has measured.

        A :class:`~sklearn.utils.Bunch` of `bits`; `nbytes` of table and head, and `nbytes_before`;
        the `relative_error` of all vectors; and, where it was given rows to score, their `score`,
        `score_before` and `score_loss`, the latter less the former.
        """
        table = self._state.params["table"]
        if not isinstance(table, QuantizedTable):
            raise AttributeError("quantization_ is what an estimator has that quantize() returned.")
        return Bunch(**table.report)


def relative_error(table, rounded):
    """Return the norm of what rounding has changed in a table, as a share of the table's norm."""
    change = norm = 0.0
    for lo in range(0, table.n_rows, 1 << 14):
        rows = np.arange(lo, min(lo + (1 << 14), table.n_rows))
        values = table.values[rows, : table.d].astype(np.float64)
        change += np.square(rounded.table(rows).values[:, : table.d] - values).sum()
        norm += np.square(values).sum()
    return float(np.sqrt(change / norm)) if norm else 0.0
