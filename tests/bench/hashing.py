"""FeatureHasher beside scikit-learn's: rows a second and memory.

Run as ``python tests/bench/hashing.py [--rows 200000] [--columns 26] [--rounds 5] [--small]``. The
table has columns of 10 to a million different strings. scikit-learn hashes records, which are made
from the frame first ("records included"), or pairs, which are given. Each round runs all systems
once, in turns; printed are medians and ratios of medians, as rows of the table in docs/hashing.md.
Memory is the growth of the largest resident set while the Arrow table is hashed, in a process of
its own, beside the size of the matrix; it is read from Linux.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher as Peer

from skembed import FeatureHasher

SHARE = 10  # scikit-learn gets a tenth of the rows: its time grows evenly
LIST_WIDTH, CSR_WIDTH, CSR_COLUMNS = 20, 40, 1_000_000


def draw_table(n, m, seed=0):
    """Return an Arrow table of n rows and m columns of strings."""
    rng = np.random.default_rng(seed)
    columns = (rng.integers(0, 10 ** (1 + j % 6), n) for j in range(m))
    return pa.table({f"c{j}": pa.array(x).cast(pa.string()) for j, x in enumerate(columns)})


def draw_lists(n, seed=0):
    """Return n lists of strings."""
    ids = np.random.default_rng(seed).integers(0, 1_000_000, (n, LIST_WIDTH))
    return [[f"feat={i}" for i in row] for row in ids.tolist()]


def draw_csr(n, seed=0):
    """Return n rows of a CSR matrix."""
    ids = np.random.default_rng(seed).integers(0, CSR_COLUMNS, n * CSR_WIDTH, np.int32)
    indptr = np.arange(0, len(ids) + 1, CSR_WIDTH)
    X = sp.csr_array((np.ones(len(ids)), ids, indptr), shape=(n, CSR_COLUMNS))
    X.sum_duplicates()
    return X


def ours(input_type, X, n, jobs, **params):
    """Return (rows, a call that hashes them), compiled."""
    hasher = FeatureHasher(input_type=input_type, n_jobs=jobs, **params)
    hasher.transform(X[:1000])
    return n, lambda: hasher.transform(X)


def systems(n, m):
    """Return {(part, system, jobs): (rows, call)}."""
    table, few = draw_table(n, m), max(1, n // SHARE)
    frame = table.to_pandas()
    head = frame[:few]
    records = head.to_dict("records")
    pairs = [list(record.items()) for record in records]
    calls = {
        ("table", "scikit-learn, records included", 1): (
            few,
            lambda: Peer().transform(head.to_dict("records")),
        ),
        ("table", "scikit-learn, pairs", 1): (
            few,
            lambda: Peer(input_type="pair").transform(pairs),
        ),
    }
    shapes = {
        "pandas": frame,
        "pandas, object": frame.astype(object),
        "pandas, category": frame.astype("category"),
        "Arrow": table,
        "polars": pl.from_arrow(table),
        "NumPy str": frame.to_numpy().astype(str),
    }
    lists, X = draw_lists(n // 4), draw_csr(n // 2)
    calls["records", "scikit-learn", 1] = few, lambda: Peer().transform(records)
    calls["lists of str", "scikit-learn", 1] = (
        len(lists),
        lambda: Peer(input_type="string").transform(lists),
    )
    for jobs in (1, 2):
        for name, shape in shapes.items():
            calls["table", name, jobs] = ours("table", shape, n, jobs)
        calls["records", "dicts", jobs] = ours("dict", records, few, jobs)
        calls["lists of str", "lists", jobs] = ours("string", lists, len(lists), jobs)
        calls["CSR", "re-hash into 2**18", jobs] = ours("csr", X, X.nnz, jobs, n_features=2**18)
    return calls


def measure(calls, rounds):
    """Return {key: rows a second}, medians of rounds in which all systems take turns."""
    seconds = {key: [] for key in calls}
    for _ in range(rounds):
        for key, (_, call) in calls.items():
            before = time.perf_counter()
            call()
            seconds[key].append(time.perf_counter() - before)
    return {key: calls[key][0] / np.median(times) for key, times in seconds.items()}


def show(speeds):
    """Print the table of the page."""
    print("| Part | Input | n_jobs | rows/s | × scikit-learn | × its pairs |")
    print("|---|---|---|---|---|---|")
    bases = {
        "table": speeds["table", "scikit-learn, records included", 1],
        "records": speeds["records", "scikit-learn", 1],
        "lists of str": speeds["lists of str", "scikit-learn", 1],
    }
    pairs = speeds["table", "scikit-learn, pairs", 1]
    for (part, system, jobs), speed in speeds.items():
        unit = " values" if part == "CSR" else ""
        ratio = f"{speed / bases[part]:.1f}" if part in bases else ""
        beside = f"{speed / pairs:.1f}" if part == "table" else ""
        print(f"| {part} | {system} | {jobs} | {speed:,.0f}{unit} | {ratio} | {beside} |")


def peak():
    """Return the largest resident set since it was last forgotten, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def show_memory(n, m, jobs):
    """Print how much memory hashing takes; to be called in a fresh process."""
    table = draw_table(n, m)
    hasher = FeatureHasher(input_type="table", n_jobs=jobs)
    hasher.transform(table[:1000])
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = peak()
    X = hasher.transform(table)
    grown = peak() - before
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"n_jobs {jobs}: matrix {size / 2**20:.0f} MiB, memory grew {grown / 2**20:.0f} MiB "
          f"({grown / size:.2f} x)")  # fmt: skip


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=26)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="try it with little data")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    n = 5000 if args.small else args.rows
    if args.memory:
        show_memory(n, args.columns, args.memory)
        return
    show(measure(systems(n, args.columns), args.rounds))
    for jobs in (1, 2):
        size = ["--rows", str(n), "--columns", str(args.columns), "--memory", str(jobs)]
        subprocess.run([sys.executable, __file__, *size], check=True)


if __name__ == "__main__":
    main()
