"""skembed beside other libraries: seconds, scores, memory, and ratios.

Run as ``python tests/bench/peers.py [--group text classes clicks pairs predict] [--only NAME]``.
Every system runs in a process of its own, which stays for all rounds and trains from fresh
parameters in each; the systems take turns, and medians over the rounds are printed. "epoch" is the
training alone, "call" what a user calls, with all that it reads and looks up. "x epoch" and "x
call" are the seconds of a system by those of the system of skembed that it stands beside, at the
same width and number of threads; where a system has only one of the two times, that one counts in
both. Of several learning rates the one of the better score is shown. A library that is not
installed is skipped.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tasks
from peer_systems import read_task

SYSTEMS = Path(__file__).with_name("peer_systems.py")


@dataclass(frozen=True)
class Entry:
    """A system of a comparison."""

    name: str
    kind: str
    rates: tuple = (None,)
    beside: str | None = None
    options: dict = field(default_factory=dict)

    @property
    def reads_files(self):
        """Whether it reads text instead of arrays."""
        return self.kind in ("FastText", "VowpalWabbit")


@dataclass(frozen=True)
class Group:
    """A comparison: tasks by name, each with its options and those of a small one; and systems."""

    tasks: dict
    entries: tuple
    widths: tuple
    threads: tuple = (1, 2)
    batch: int | str = 1024
    score: str = "accuracy"


ADAGRAD, ADAM, SAMPLED = "skembed Adagrad", "skembed LazyAdam", "skembed negative sampling"
SOFTMAX, MACHINE = "skembed softmax", "skembed Adagrad"
ONE, TWO = {"solver": "adagrad"}, {"solver": "lazy_adam"}
SMALL_TEXT = dict(n_train=4000, n_test=400, n_columns=20_000, n_words=400)
SMALL_CLICKS = dict(n_train=10_000, n_test=1000, n_columns=40_000)
TEXT = {"4 classes": (tasks.text, {}, SMALL_TEXT)}

GROUPS = {
    "text": Group(
        TEXT,
        (
            Entry(ADAGRAD, "Skembed", (0.05, 0.1), ADAGRAD, ONE),
            Entry(ADAM, "Skembed", (0.01,), ADAGRAD, TWO),
            Entry("torch Adagrad", "Torch", (0.05, 0.1), ADAGRAD, ONE),
            Entry("torch SparseAdam", "Torch", (0.01,), ADAM, {"solver": "sparse_adam"}),
            Entry("fastText", "FastText", (0.5,), ADAGRAD, {"loss": "softmax"}),
            Entry("scikit-learn SGD, linear", "Linear", (None,), ADAGRAD),
            Entry("Vowpal Wabbit, linear", "VowpalWabbit", (None,), ADAGRAD),
        ),
        widths=(10, 50, 100),
    ),
    "classes": Group(
        {
            "1,000 classes": (
                tasks.text,
                dict(n_classes=1000, topic=0.25, n_words=500),
                dict(SMALL_TEXT, n_classes=20, topic=0.25, n_words=100),
            ),
            "10,000 classes": (
                tasks.text,
                dict(n_classes=10_000, topic=0.5, n_words=50),
                dict(SMALL_TEXT, n_classes=200, topic=0.5, n_words=50),
            ),
        },
        (
            Entry(SOFTMAX, "Skembed", (0.3,), SOFTMAX, ONE),
            Entry("fastText softmax", "FastText", (2.0,), SOFTMAX, {"loss": "softmax"}),
            Entry(SAMPLED, "Skembed", (0.3,), SAMPLED, {**ONE, "loss": "negative_sampling"}),
            Entry("fastText hierarchical", "FastText", (2.0,), SAMPLED, {"loss": "hs"}),
        ),
        widths=(50,),
        threads=(2,),
        batch="auto",
    ),
    "clicks": Group(
        {
            "39 fields": (tasks.clicks, {}, SMALL_CLICKS),
            "11 fields": (
                tasks.clicks,
                dict(n_fields=11, seed=3),
                dict(SMALL_CLICKS, n_fields=11, seed=3),
            ),
        },
        (
            Entry(ADAGRAD, "Skembed", (0.05, 0.1), ADAGRAD, ONE),
            Entry("torch Adagrad", "Torch", (0.05, 0.1), ADAGRAD, ONE),
        ),
        widths=(16,),
        batch=256,
        score="log-loss",
    ),
    "pairs": Group(
        {
            "planted pairs": (
                tasks.pairs,
                {},
                dict(n_train=10_000, n_test=1000, n_columns=40_000),
            ),
        },
        (
            Entry(MACHINE, "Factorization", (0.1, 0.15, 0.2), MACHINE, ONE),
            Entry("torch SparseAdam", "TorchFactorization", (0.003,), MACHINE),
            Entry("LightFM", "LightFM", (0.05,), MACHINE),
        ),
        widths=(8,),
        threads=(2,),
        score="log-loss",
    ),
    "predict": Group(
        TEXT,
        (Entry("skembed", "Predict", (0.05,), None, ONE), Entry("limit", "Limit")),
        widths=(32, 64),
        score="",
    ),
}


class Child:
    """A process that runs one system."""

    def __init__(self, spec, threads):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.told, self.rounds, self.problem = tempfile.TemporaryFile("w+"), [], None
        self.process = subprocess.Popen(
            [sys.executable, str(SYSTEMS), json.dumps(spec)], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.told,
            env={**os.environ, **dict.fromkeys(names, str(threads))},
        )  # fmt: skip

    def answer(self):
        """Wait for a line; remember what is wrong if none comes."""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.told.seek(0)
            lines = self.told.read().strip().splitlines()
            self.problem = f"failed: {lines[-1] if lines else self.process.returncode}"
            return {}
        found = json.loads(line)
        if "skipped" in found:
            self.problem = "skipped: " + found["skipped"]
        return found

    def round(self):
        """Let the system train once."""
        with suppress(BrokenPipeError):  # then no answer comes, either
            self.process.stdin.write("go\n")
        self.rounds.append(self.answer())

    def stop(self):
        """End the process."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()

    def medians(self):
        """Return medians over the rounds; memory is that of the first, before any is kept."""
        if self.problem:
            return {"problem": self.problem}
        found = {name: float(np.median([r[name] for r in self.rounds])) for name in self.rounds[0]}
        if "rss_mb" in found:
            found["rss_mb"] = self.rounds[0]["rss_mb"]
        clock = "train_s" if "train_s" in found else "call_s"
        if clock in found:
            found["rounds"] = [r[clock] for r in self.rounds]
        return found


def run_cell(entries, shared, rounds):
    """Return a record of each entry and rate, measured in turns."""
    children = {
        (entry.name, rate): Child(
            {"kind": entry.kind, "rate": rate, **entry.options, **shared}, shared["threads"]
        )
        for entry in entries
        for rate in entry.rates
    }
    for child in children.values():
        child.answer()
    for _ in range(rounds):
        for child in children.values():
            if not child.problem:
                child.round()
    for child in children.values():
        child.stop()
    return [
        {"system": name, "rate": rate, **child.medians()}
        for (name, rate), child in children.items()
    ]


def add_ratios(records, entries, score):
    """Mark the better rate of each system, and add ratios to the system it stands beside."""
    sign, best = -1 if score == "log-loss" else 1, {}
    for record in records:
        other = best.get(record["system"])
        if "problem" not in record and (
            other is None or sign * record["score"] > sign * other["score"]
        ):
            best[record["system"]] = record
    beside = {entry.name: entry.beside for entry in entries}
    for record in records:
        record["best"] = best.get(record["system"]) is record
        own = best.get(beside[record["system"]])
        if own is None or "problem" in record:
            continue
        train, call = record.get("train_s"), record.get("call_s")
        record["x_train"] = (train or call) / own["train_s"]
        record["x_call"] = (call or train) / own["call_s"]


def write_files(task, folder):
    """Write a task as text, for the systems that read files."""
    for name, prefix in (("train", ""), ("test", "test_")):
        indptr, y = task[prefix + "indptr"], task[prefix + "y"]
        words = np.char.mod("%d", task[prefix + "indices"]).tolist()
        text, wabbit = (open(f"{folder}/{name}.{kind}", "w") for kind in ("txt", "vw"))
        with text, wabbit:
            for r, label in enumerate(y.tolist()):
                row = " ".join(words[indptr[r] : indptr[r + 1]])
                text.write(f"__label__{label} {row}\n")
                wabbit.write(f"{label + 1} |f {row}\n")


def measure(name, *, rounds=3, small=False, only="", widths=None, threads=None, data=None):
    """Yield lists of records: one a task, width and number of threads.

    Parameters
    ----------
    name : str
        A key of `GROUPS`.
    rounds : int
        How often each system is measured.
    small : bool
        Whether to take tasks of a fiftieth of the size.
    only : str
        Part of the names of the systems to run.
    widths, threads : sequence of int or None
        In place of those of the group.
    data : str or None
        Folder with a task, in place of those of the group.
    """
    group = GROUPS[name]
    entries = [entry for entry in group.entries if only in entry.name]
    for task, (make, options, small_options) in group.tasks.items():
        task = "given data" if data else task
        folder = data or tasks.stored(make, **(small_options if small else options))
        with tempfile.TemporaryDirectory() as files:
            if any(entry.reads_files for entry in entries):
                write_files(read_task(folder), files)
            for width in widths or group.widths:
                for t in threads or group.threads:
                    shared = dict(
                        folder=str(folder), files=files, width=width, threads=t,
                        batch=group.batch, small=small,
                    )  # fmt: skip
                    records = run_cell(entries, shared, rounds)
                    if group.score:
                        add_ratios(records, entries, group.score)
                    place = dict(group=name, task=task, width=width, threads=t)
                    yield [{**place, "score_name": group.score, **r} for r in records]
        if data:
            return


COLUMNS = {  # of what is printed: field, format
    "epoch s": ("train_s", ".3f"),
    "call s": ("call_s", ".3f"),
    "x epoch": ("x_train", ".2f"),
    "x call": ("x_call", ".2f"),
    "score": ("score", ".4f"),
    "MB": ("rss_mb", ".0f"),
}


def in_columns(record):
    """Return the figures of a record of a training, as text by name of the column."""
    rate = "" if record["rate"] is None else f"{record['rate']:g}"
    shown = {"system": record["system"], "rate": rate}
    for column, (name, form) in COLUMNS.items():
        title = record["score_name"] if name == "score" else column
        shown[title] = format(record[name], form) if name in record else ""
    if "rounds" in record:
        shown["rounds"] = f"{min(record['rounds']):.3f}-{max(record['rounds']):.3f}"
    return shown


def prediction_columns(records):
    """Return the figures of a cell of predictions, one dict of text a method."""
    by_name = {record["system"]: record for record in records}
    own, limit = by_name.get("skembed", {}), by_name.get("limit", {}).get("limit")
    rows = []
    for method in ("transform", "predict_proba", "predict"):
        seconds, single = own.get(f"{method}_s"), own.get(f"one_{method}_us")
        if seconds is None and single is None:
            continue
        rate = own["n_values"] / seconds if seconds else None
        rows.append(
            {
                "method": method,
                "s": f"{seconds:.3f}" if seconds else "",
                "Mrows/s": f"{rate / 1e6:.1f}" if rate else "",
                "limit, Mrows/s": f"{limit / 1e6:.1f}" if rate and limit else "",
                "of the limit": f"{rate / limit:.2f}" if rate and limit else "",
                "one row, us": f"{single:.0f}" if single else "",
            }
        )
    return rows


def show(records):
    """Print a cell."""
    first = records[0]
    print(f"\n{first['group']}, {first['task']}, d={first['width']}, threads {first['threads']}")
    if first["group"] == "predict":
        rows = prediction_columns(records)
    else:
        rows = [in_columns(record) for record in records if record["best"]]
    if rows:
        print("  ".join(f"{name:>9}" if i else f"{name:26}" for i, name in enumerate(rows[0])))
    for row in rows:
        cells = [
            f"{c:>{max(9, len(n))}}" if i else f"{c:26}" for i, (n, c) in enumerate(row.items())
        ]
        print("  ".join(cells))
    for record in records:
        if "problem" in record:
            print(f"{record['system']} {record['rate'] or ''}: {record['problem']}")
    sys.stdout.flush()


def main():
    """Print the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--only", default="", help="a part of the names of the systems to run")
    parser.add_argument("--width", type=int, nargs="+")
    parser.add_argument("--threads", type=int, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="a fiftieth of the data, to try it")
    parser.add_argument("--data", help="a folder with a task, in place of the generated one")
    parser.add_argument("--json", help="a file to append the records to")
    options = parser.parse_args()
    for name in options.group:
        for records in measure(
            name, rounds=options.rounds, small=options.small, only=options.only,
            widths=options.width, threads=options.threads, data=options.data,
        ):  # fmt: skip
            show(records)
            if options.json:
                with open(options.json, "a") as file:
                    file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
