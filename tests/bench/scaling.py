"""How the cost of an epoch depends on the table, the classes, the rows and the batches.

Run as ``python tests/bench/scaling.py [--part table classes row batch] [--jobs 1 2]``. Rows of X
hold 60 ones among a million columns, drawn by Zipf's law, width 32, batches of 1024, two classes,
the default solver, float32; each part changes one of these. Printed are nanoseconds a stored value
(medians of epochs, one and two threads in turns), the gain from the second thread, and the ratio to
the first line of its kind. The part "batch" passes over the rows of `tasks.text`.
"""

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

import numpy as np
import stages
import tasks

from skembed.core import FeatureIndex
from skembed.kernels import get_backend
from skembed.losses import LOSSES
from skembed.models import BagModel, SampledBagModel, UniformStart
from skembed.solvers import SOLVERS
from skembed.training import FitProblem, FitState, Schedule, TrainingRows

SOLVER, STEPS = "adagrad", 30


@dataclass(frozen=True)
class Shape:
    """What an epoch passes over."""

    table_rows: int = 1_000_000
    ids: str = "zipf"
    ids_a_row: int = 60
    classes: int = 2
    loss: str = "softmax"
    width: int = 32
    batch: int = 1024


def draw_ids(shape, n, rng):
    """Return CSR indptr and ids of n rows, no id twice in a row, `ids_a_row` on average."""
    m, power = shape.table_rows, 1.05 if shape.ids == "zipf" else 0.0
    chance = np.arange(1.0, m + 1) ** -power
    chance /= chance.sum()
    few, many = shape.ids_a_row, min(20 * shape.ids_a_row, m)
    while many - few > 1:  # how many draws leave so many different ones
        middle = (few + many) // 2
        different = -np.expm1(middle * np.log1p(-chance)).sum()
        few, many = (middle, many) if different < shape.ids_a_row else (few, middle)
    draws = np.searchsorted(np.cumsum(chance), rng.random(n * many))
    row = np.repeat(np.arange(n), many)
    pair = np.unique(row * m + rng.permutation(m)[np.minimum(draws, m - 1)])
    row, column = np.divmod(pair, m)
    return np.append(0, np.cumsum(np.bincount(row, minlength=n))), column.astype(np.int32)


def line_of(shape, steps, seed=0):
    """Return problem, state and data of a line on drawn rows."""
    rng = np.random.default_rng(seed)
    n = shape.batch * steps
    indptr, ids = draw_ids(shape, n, rng)
    y = rng.integers(0, shape.classes, n)
    n_outputs = 1 if shape.classes == 2 and shape.loss == "softmax" else shape.classes
    loss = LOSSES["log_loss" if n_outputs == 1 else shape.loss]()
    model = (SampledBagModel if loss.sampled else BagModel)("mean")
    solver = SOLVERS[SOLVER]()
    problem = FitProblem(model, loss, solver, (), Schedule(0.01), 0.0, shape.batch, True)
    empty = FeatureIndex(shape.table_rows)
    every = np.arange(shape.table_rows)
    params = model.init_params(shape.width, loss.start(y, None, n_outputs), np.float32)
    state = FitState(0, empty, problem, params)
    x = np.ones(len(ids), np.float32)
    with get_backend() as backend:
        state.grow(empty.observe(every, np.ones_like(every)), UniformStart(0), solver, backend)
        scale = backend.scale(indptr, x, "mean")
    noise = np.cumsum(loss.noise(np.bincount(y, minlength=shape.classes))) if loss.sampled else None
    rows = np.arange(n)
    return problem, state, TrainingRows(indptr, ids, x, scale, y, None, rows, noise=noise)


def nanoseconds(line, jobs, rounds):
    """Return ns a stored value for each number of threads; they take turns."""
    problem, state, data = line
    found = {j: [] for j in jobs}
    with ExitStack() as stack:
        backends = {j: stack.enter_context(get_backend(j)) for j in jobs}
        for backend in backends.values():
            backend.prepare(data.indices, state.params["table"].n_trainable)
            stages.epoch(problem, state, data, backend)  # compile, touch
        for _ in range(rounds):
            for j, backend in backends.items():
                found[j].append(stages.epoch(problem, state, data, backend))
    return {j: float(np.median(s)) / len(data.indices) * 1e9 for j, s in found.items()}


def shapes(part, small):
    """Return the shapes of a part, those of a kind one after another."""
    if part == "table":
        sizes = (10_000, 100_000) if small else (100_000, 1_000_000, 10_000_000)
        return [Shape(table_rows=m, ids=ids) for ids in ("uniform", "zipf") for m in sizes]
    base = Shape(table_rows=20_000) if small else Shape()
    if part == "classes":
        counts = (2, 10, 200) if small else (2, 10, 100, 1000, 10_000)
        losses = ("softmax", "negative_sampling")
        return [replace(base, loss=loss, classes=k) for loss in losses for k in counts]
    lengths = (5, 50) if small else (5, 16, 50, 160, 500)
    return [replace(base, ids_a_row=length) for length in lengths]


KINDS = {"table": "ids", "classes": "loss", "row": None, "batch": "width"}


def measure(part, jobs=(1, 2), rounds=3, small=False):
    """Yield a record of each line of a part."""
    first = {}
    for shape, line in _batch_lines(small) if part == "batch" else _drawn_lines(part, small):
        found = nanoseconds(line, jobs, rounds)
        record = {"group": "scaling", "part": part, **asdict(shape)}
        record |= {f"ns_{j}": ns for j, ns in found.items()}
        kind = KINDS[part] and record[KINDS[part]]
        lead = min(found)
        record["to_first"] = found[lead] / first.setdefault(kind, found[lead])
        if len(found) > 1:
            record["gain"] = found[lead] / found[max(found)]
        yield record


def _drawn_lines(part, small):
    for shape in shapes(part, small):
        yield shape, line_of(shape, 3 if small else STEPS)


def _batch_lines(small):
    options = dict(n_train=4000, n_test=400, n_columns=20_000, n_words=400) if small else {}
    task = tasks.load(tasks.stored(tasks.text, **options))
    base = Shape(
        table_rows=len(np.unique(task["indices"])), ids="text", classes=int(task["y"].max()) + 1,
        ids_a_row=len(task["indices"]) // len(task["y"]),
    )  # fmt: skip
    for width in (10, 50):
        for batch in (64, 1024) if small else (16, 64, 256, 1024, 4096):
            shape = replace(base, width=width, batch=batch)
            yield shape, stages.line_of(task, "softmax", SOLVER, width, batch)


CHANGING = {
    "table": ("ids", "table_rows"),
    "classes": ("loss", "classes"),
    "row": ("ids_a_row",),
    "batch": ("width", "batch"),
}


def in_columns(record):
    """Return the figures of a record as text by name of the column."""
    shown = {name: record[name] for name in CHANGING[record["part"]]}
    shown = {k.replace("_", " "): f"{v:,}" if isinstance(v, int) else v for k, v in shown.items()}
    for name, ns in record.items():
        if name.startswith("ns_"):
            shown[f"ns, {name[3:]} thread" + "s" * (name != "ns_1")] = f"{ns:.1f}"
    if "gain" in record:
        shown["gain"] = f"{record['gain']:.2f}"
    return {**shown, "to the first": f"{record['to_first']:.2f}"}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="little data, to try it")
    parser.add_argument("--json", help="a file to append the records to")
    options = parser.parse_args()
    for part in options.part:
        print(f"\n{part}")
        for i, record in enumerate(measure(part, options.jobs, options.rounds, options.small)):
            shown = in_columns(record)
            if i == 0:
                print("".join(f"{name:>18}" for name in shown))
            print("".join(f"{cell:>18}" for cell in shown.values()), flush=True)
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
