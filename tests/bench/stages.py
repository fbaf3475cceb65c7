"""Where the time of an epoch goes, in nanoseconds a stored value and microseconds a batch.

Run as ``python tests/bench/stages.py [text | clicks | short] [--width 50] [--jobs 1 2] ...``. The
figures are medians of epochs; "all" is an epoch without the clock of the stages. A stage of two
threads counts the wall. At the end stands the cost of the compiler: the first default fit in a new
process, with an empty and with a filled cache of kernels, and a later fit.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

import numpy as np
import tasks

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.losses import LOSSES
from skembed.models import BagModel, UniformStart
from skembed.solvers import SOLVERS
from skembed.training import FitProblem, FitState, Schedule, TrainingRows, run_epoch

SHAPES = {
    "text": lambda: tasks.stored(tasks.text),
    "clicks": lambda: tasks.stored(tasks.clicks),
    "short": lambda: tasks.stored(tasks.clicks, n_fields=11, seed=3),
}
STAGES = {  # object of the line, method
    "forward + group": ("backend", "forward_and_group"),
    "head + loss": ("backend", "linear_loss"),
    "sum + step": ("backend", "update_rows"),
    "dense step": ("solver", "step_dense"),
    "counts": ("backend", "count_updates"),
}


class Clocked:
    """Stands for an object of the line; adds up the time spent in some of its methods."""

    def __init__(self, inner, names, spent):
        self.__dict__.update(_inner=inner, _names=names, _spent=spent)

    def __getattr__(self, name):
        method = getattr(self._inner, name)
        if name not in self._names:
            return method

        def clocked(*args, **kwargs):
            start = time.perf_counter()
            result = method(*args, **kwargs)
            self._spent[self._names[name]] += time.perf_counter() - start
            return result

        return clocked


def line_of(task, loss, solver, width, batch):
    """Return problem, state and data of a fit on the training rows of a task."""
    X, y = tasks.matrices(task)[0], task["y"]
    n_outputs = 1 if y.max() == 1 else int(y.max()) + 1
    problem = FitProblem(
        BagModel("mean"), LOSSES[loss](), SOLVERS[solver](), (), Schedule(0.05), 0.0, batch, True
    )
    x, rows = (X.indptr.astype(np.int64), X.indices, X.data), np.arange(X.shape[0])
    with get_backend() as backend:
        empty = FeatureIndex(X.shape[1])
        index = empty.observe(*backend.count(*x, rows, X.shape[1]))
        start = problem.loss.start(y, None, n_outputs)
        state = FitState(0, empty, problem, problem.model.init_params(width, start, np.float32))
        state.grow(index, UniformStart(0), problem.solver, backend)
        mapped = backend.map_columns(*x, index)
        scale = backend.scale(mapped[0], mapped[2], "mean")
    return problem, state, TrainingRows(*mapped, scale, y, None, rows)


def epoch(problem, state, data, backend):
    """Run an epoch in shuffled order; return its seconds."""
    order = np.random.default_rng(len(state.loss_curve)).permutation(data.rows)
    start = time.perf_counter()
    run_epoch(problem, state, data, order, backend)
    return time.perf_counter() - start


def profile(problem, state, data, jobs, rounds):
    """Return seconds of each stage, and of the epoch, as lists over rounds."""
    spent, found = defaultdict(float), defaultdict(list)
    methods = defaultdict(dict)
    for stage, (owner, method) in STAGES.items():
        methods[owner][method] = stage
    with get_backend(jobs) as backend:
        backend.prepare(data.indices, state.params["table"].n_trainable)
        epoch(problem, state, data, backend)  # compile, touch
        fields = {name: getattr(problem, name) for name in problem.__slots__}
        solver = Clocked(problem.solver, methods["solver"], spent)
        watched = FitProblem(**{**fields, "solver": solver})
        for _ in range(rounds):
            found["all"].append(epoch(problem, state, data, backend))
            spent.clear()
            whole = epoch(watched, state, data, Clocked(backend, methods["backend"], spent))
            spent["rest"] = whole - sum(spent.values())
            for stage, seconds in spent.items():
                found[stage].append(seconds)
    return {stage: np.median(seconds) for stage, seconds in found.items()}


FIRST_FIT = """
import time, warnings
import numpy as np, scipy.sparse as sp
import skembed
warnings.simplefilter("ignore")
X = sp.random_array((1000, 5000), density=0.004, format="csr", dtype=np.float32, rng=0)
y = np.arange(1000) % 2
start = time.perf_counter()
model = skembed.EmbeddingBagClassifier(random_state=0, max_iter=2).fit(X, y)
middle = time.perf_counter()
skembed.EmbeddingBagClassifier(random_state=0, max_iter=2).fit(X, y)
print(middle - start, time.perf_counter() - middle)
"""


def first_fits():
    """Print seconds of the first and a later default fit in new processes, cold and warm."""
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("empty", "filled", "filled"):
            found = subprocess.run(
                [sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )  # fmt: skip
            first, later = map(float, found.stdout.split())
            print(f"{cache} cache: first default fit {first:.2f} s, a later one {later:.3f} s")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", nargs="*", default=["text"], choices=[*SHAPES, []])
    parser.add_argument("--width", type=int, nargs="+", default=[50])
    parser.add_argument("--batch", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--solver", default="adagrad")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--first", action="store_true", help="the cost of the compiler, too")
    options = parser.parse_args()
    head = ["all", *STAGES, "rest"]
    for shape in options.shape:
        task = tasks.load(SHAPES[shape]())
        loss = "log_loss" if task["y"].max() == 1 else "softmax"
        print(f"\n{shape}: ns a stored value / us a batch")
        print(f"{'width batch jobs':18}" + "".join(f"{stage:>18}" for stage in head), flush=True)
        for width in options.width:
            for batch in options.batch:
                line = line_of(task, loss, options.solver, width, batch)
                nnz, n_batches = len(line[2].indices), -(-len(line[2].rows) // batch)
                for jobs in options.jobs:
                    found = profile(*line, jobs, options.rounds)
                    cells = (
                        f"{found[s] / nnz * 1e9:10.2f}/{found[s] / n_batches * 1e6:7.0f}"
                        for s in head
                    )
                    print(f"{width:5} {batch:6} {jobs:4}" + " " + "".join(cells), flush=True)
    if options.first:
        first_fits()


if __name__ == "__main__":
    main()
