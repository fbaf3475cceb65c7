"""Cost of a step by solver and number of table rows.

Run as ``python tests/bench/solvers.py [--width 32] [--jobs 1]``. Batches of 1024 rows with 60
uniform ids each; a step is grouping, catching up, forward, loss, backward and solver. Printed are
microseconds a step (median of three epochs of 30 steps), the ratio to LazyAdam on a table of that
size, the ratio to the same solver on the smallest table, and apart from that the flush that AdamW
and decay of all rows need once an epoch.
"""

import argparse
import time

import numpy as np

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.losses import LOSSES
from skembed.models import BagModel, UniformStart
from skembed.solvers import SOLVERS, Adagrad, AdamW, LazyAdam
from skembed.training import FitProblem, FitState, Schedule, TrainingRows
from skembed.training._loop import _missed_steps, _step

BATCH, NNZ, STEPS, ROUNDS = 1024, 60, 30, 3


def make(solver, n_rows, width, backend, rng):
    """Return problem, state and data of a line on a table of n_rows."""
    problem = FitProblem(
        BagModel("mean"), LOSSES["log_loss"](), solver, (), Schedule(0.003), 0.01, BATCH, False
    )
    if solver.name == "ftrl":
        return None
    index = FeatureIndex(n_rows).observe(np.arange(n_rows), np.ones(n_rows, int))
    params = problem.model.init_params(width, np.zeros(1), np.float32)
    state = FitState(0, FeatureIndex(n_rows), problem, params)
    state.grow(index, UniformStart(0), solver, backend)
    n = BATCH * STEPS
    ids = rng.integers(0, n_rows, n * NNZ).astype(np.int32)
    indptr = np.arange(0, n * NNZ + 1, NNZ)
    x = np.ones(n * NNZ, np.float32)
    scale = np.full(n, 1 / NNZ, np.float32)
    y = rng.integers(0, 2, n)
    data = TrainingRows(indptr, ids, x, scale, y, None, np.arange(n))
    backend.prepare(ids, n_rows)
    return problem, state, data


def run(line, backend):
    """Return seconds of the steps and of the flush of one epoch."""
    problem, state, data = line
    missed = _missed_steps(problem, state)
    start = time.perf_counter()
    for s in range(0, len(data.rows), BATCH):
        _step(problem, state, data, data.rows[s : s + BATCH], backend, missed)
    middle = time.perf_counter()
    for table in missed.values():
        table.finish(backend)
    return middle - start, time.perf_counter() - middle


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    options = parser.parse_args()
    solvers = {
        "LazyAdam": LazyAdam(),
        "AdamW": AdamW(),
        "Adagrad": Adagrad(),
        "Adagrad, all decay": Adagrad(decay_scope="all"),
        "SGD": SOLVERS["sgd"](),
    }
    first = {}
    print(
        f"{'rows':>10} {'solver':20} {'us a step':>10} {'to LazyAdam':>12} {'to first':>9} flush ms"
    )
    for n_rows in options.rows:
        found = {name: [] for name in solvers}
        for name, solver in solvers.items():
            with get_backend(options.jobs) as backend:
                line = make(solver, n_rows, options.width, backend, np.random.default_rng(0))
                run(line, backend)  # compile, touch
                found[name] = [run(line, backend) for _ in range(ROUNDS)]
        for name, times in found.items():
            step = np.median([t[0] for t in times]) / STEPS * 1e6
            lazy = np.median([t[0] for t in found["LazyAdam"]]) / STEPS * 1e6
            flush = np.median([t[1] for t in times]) * 1e3
            to_first = step / first.setdefault(name, step)
            print(
                f"{n_rows:10,} {name:20} {step:10.0f} {step / lazy:12.2f} {to_first:9.2f} "
                f"{flush:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
