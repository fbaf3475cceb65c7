"""How far the vectors of a fit are from where they started, and how fast they move."""

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from skembed.core import ParamTable
from skembed.kernels import get_backend

BLOCK = 16_384  # rows that are looked at at a time


def norms_and_drift(estimator, state):
    """Return the norm of each row, and how far it is from its start in units of that one's norm.

    Both are by table row. The start is drawn anew; where it is not known the drift is NaN.
    """
    table, columns = state.params["table"], state.index.row_columns()
    start, n, d = _start(estimator, state), len(columns), table.d_embedding
    norm, moved, unit = np.empty(n), np.full(n, np.nan), np.full(n, np.nan)
    scratch = ParamTable(d, table.dtype)
    scratch.insert(0, min(BLOCK, n))
    with get_backend() as backend:
        for at in _blocks(n):
            norm[at] = _lengths(table.values[at, :d])
            if start is not None:
                start.write(columns[at], scratch, 0, backend)
                begun = scratch.values[: at.stop - at.start, :d]
                unit[at] = _lengths(begun)
                moved[at] = _lengths(table.values[at, :d] - begun)
    if start is not None and n:
        unit[unit == 0] = np.sqrt(np.mean(unit**2)) or 1.0
    return norm, moved / unit


def effective_rates(solver, state):
    """Return the effective learning rate of each table row, NaN where it is not known."""
    table, slots = state.params["table"], state.solver_state.get("table", {})
    rates, d = np.full(table.n_rows, np.nan), table.d_embedding
    if not slots and solver.slots:
        return rates  # dropped
    for at in _blocks(table.n_trainable):
        part = {name: array.values[at, : min(d, array.d)] for name, array in slots.items()}
        found = solver.row_rates(part, lr=state.learning_rate, step=state.step)
        if found is not None:
            rates[at] = found
    return rates


def _start(estimator, state):
    """Return what wrote the starting vectors, or None where only the data of the fit tell."""
    init = estimator.init
    if hasattr(init, "transform") and not isinstance(init, FrozenEstimator):
        return None
    width_of = sp.csr_array((1, state.index.n_features))
    try:
        vectors = state.model.vectors(state.params)
        return estimator._first_start(state.seed, width_of, None, None, vectors)
    except ValueError:  # columns were added since
        return None


def _blocks(n):
    return [slice(lo, min(lo + BLOCK, n)) for lo in range(0, n, BLOCK)]


def _lengths(rows):
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
