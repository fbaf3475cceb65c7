"""What is active in a bag, and how much work its sparsity saves."""

from dataclasses import dataclass

import numpy as np

from skembed.models import BagModel

from ._features import state_of
from ._report import Report, Table, count, data_frame, percent


@dataclass(frozen=True, repr=False)
class ActivationReport(Report):
    """What `activation_report` finds; arrays have one entry a stage.

    The stages are the pooling of the vectors, each hidden layer and the outputs.

    Parameters
    ----------
    n_samples : int
        Rows that were looked at.
    stages : tuple of str
        Names of the stages.
    inputs : ndarray of shape (n_stages,)
        Numbers that the stage could read for a row: features with a vector, then what the stage
        before gives.
    active : ndarray of shape (n_stages,)
        Share of them that is not zero, mean over the rows.
    never : ndarray of shape (n_stages,)
        Those that are zero in every row: features that do not occur, dead hidden units.
    always : ndarray of shape (n_stages,)
        Those that are zero in no row. A hidden unit that is always active is linear.
    done : ndarray of shape (n_stages,)
        Multiply-adds that a row takes, mean over the rows.
    dense : ndarray of shape (n_stages,)
        Those that it would take if the stage read every input.
    needed : ndarray of shape (n_stages,)
        Those with an input that is not zero. The layers of the head are products of dense matrices
        and do not leave out zeros.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed import EmbeddingBagRegressor
    >>> from skembed.inspection import activation_report
    >>> X = sp.csr_array([[1.0, 0, 1], [0, 1, 1], [1, 0, 0]] * 20)
    >>> bag = EmbeddingBagRegressor(2, early_stopping=False, tol=10, n_iter_no_change=1)
    >>> report = activation_report(bag.fit(X, [1.0, 2.0, 3.0] * 20), X[[0]])
    >>> report.stages, report.done.tolist(), report.dense.tolist()
    (('pooling', 'outputs'), [4.0, 2.0], [6, 2])
    """

    n_samples: int
    stages: tuple
    inputs: np.ndarray
    active: np.ndarray
    never: np.ndarray
    always: np.ndarray
    done: np.ndarray
    dense: np.ndarray
    needed: np.ndarray

    _title = "Activation"

    @property
    def skipped(self):
        """Share of the work of a dense model that is not done."""
        return float(1 - self.done.sum() / self.dense.sum())

    def to_frame(self):
        """Return one row a stage as a data frame.

        Returns
        -------
        pandas.DataFrame
            Indexed by stage.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        names = ("inputs", "active", "never", "always", "done", "dense", "needed")
        data = {name: getattr(self, name) for name in names}
        return data_frame(data, list(self.stages), "ActivationReport.to_frame")

    def _tables(self):
        columns = zip(
            self.stages, self.inputs, self.active, self.never, self.always, self.done, self.dense,
            self.needed, strict=True,
        )  # fmt: skip
        rows = [
            (stage, count(n), percent(share), *map(count, numbers))
            for stage, n, share, *numbers in columns
        ]
        header = (
            "stage", "inputs", "active", "never active", "always active", "multiply-adds a row",
            "of a dense model", "with an input",
        )  # fmt: skip
        title = f"Mean over {count(self.n_samples)} rows"
        return [Table(title, header, rows)]

    def _notes(self):
        notes = [f"{percent(self.skipped)} of the work of a dense model is skipped."]
        hidden = slice(2, None)  # what the layers behind hidden units read
        dead, units = self.never[hidden].sum(), self.inputs[hidden].sum()
        if dead:
            notes.append(
                f"{count(dead)} of {count(units)} hidden units are active in no row. They neither "
                "act nor learn: lower learning_rate_init, or use fewer."
            )
        return notes


def activation_report(estimator, X):
    """Tell what is active when a bag predicts, and how much work its sparsity saves.

    Parameters
    ----------
    estimator : EmbeddingBag, EmbeddingBagClassifier or EmbeddingBagRegressor
        A fitted bag, with or without hidden layers.
    X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
        Rows to predict.

    Returns
    -------
    ActivationReport
        The numbers; printed, or shown by a notebook, as a table.

    Raises
    ------
    TypeError
        If the estimator is no embedding bag.

    See Also
    --------
    embedding_report : Whether the vectors have learned.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.inspection import activation_report
    >>> rows = np.random.default_rng(0).integers(0, 20, (400, 3))
    >>> X = OneHotEncoder().fit_transform(rows)
    >>> bag = EmbeddingBagClassifier(8, hidden_layer_sizes=(16,), random_state=0)
    >>> report = activation_report(bag.fit(X, rows[:, 0] > rows[:, 1]), X)
    >>> report.stages, report.done.tolist()
    (('pooling', 'hidden layer 1', 'outputs'), [24.0, 128.0, 16.0])
    """
    state = state_of(estimator, "activation_report")
    if not isinstance(state.model, BagModel):
        raise TypeError(
            f"activation_report needs an embedding bag, got {type(estimator).__name__}."
        )
    n_features, coefs = state.index.n_rows, estimator.coefs_
    counts = sum(estimator._by_block(X, _rows_with))[0]
    n, counts = int(counts[0]), counts[1:]
    inputs = np.array([n_features, *(coef.shape[1] for coef in coefs)])
    rows_with = np.split(counts, np.cumsum(inputs)[:-1])
    mean = np.array([c.sum() / n for c in rows_with])
    per_input = np.array([state.params["table"].d, *map(len, coefs)])
    return ActivationReport(
        n_samples=n,
        stages=("pooling", *(f"hidden layer {i}" for i in range(1, len(coefs))), "outputs"),
        inputs=inputs,
        active=mean / np.maximum(inputs, 1),
        never=np.array([(c == 0).sum() for c in rows_with]),
        always=np.array([(c == n).sum() for c in rows_with]),
        done=np.append(mean[:1], inputs[1:]) * per_input,
        dense=inputs * per_input,
        needed=mean * per_input,
    )


def _rows_with(model, params, batch, backend):
    """Return the number of rows, and of those in which each feature or number is not zero."""
    features = np.bincount(batch.indices, minlength=params["table"].n_rows)
    layers = [(x != 0).sum(axis=1) for x in model.layer_inputs(params, batch, backend)]
    return np.concatenate([[len(batch.rows)], features, *layers])[None]
