"""What the memory of this machine allows: streams, and rows of a table in random order.

Run as ``python tests/bench/limits.py [--bytes 64 128 256 512] [--threads 1 2] [--json FILE]``. A
copy and a triad of long arrays, in GB/s; then rows of a 1 GiB table of float32, summed ("gather")
or read, changed and written ("change"), in millions of rows a second. Each is the best of four
runs, without and with asking for a row 16 rows ahead. The kernels use the instructions of the
package, a cache line at a time, and its tables, so that a figure is what a kernel could reach.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from skembed.core import RowArray
from skembed.kernels.cpu._lines import add4, prefetch, prefetch_write, set1

OPTIONS = dict(nogil=True, error_model="numpy")
TABLE, STREAM, N_IDS = 1 << 30, 512 << 20, 4 << 20  # bytes, bytes, rows
SMALL = 64  # the part of it that --small measures
AHEAD, LINE, REPEATS = 16, 16, 4
ROW_BYTES, THREADS = (64, 128, 256, 512), (1, 2)
U = np.uint64
ONE, SHRINK = np.float32(1), np.float32(0.999)


@njit(**OPTIONS)
def copy(a, b):
    """Write a = b."""
    for i in range(a.shape[0]):
        a[i] = b[i]


@njit(**OPTIONS)
def triad(a, b, c):
    """Write a = b + 3 c."""
    for i in range(a.shape[0]):
        a[i] = b[i] + np.float32(3) * c[i]


@njit(**OPTIONS)
def gather(table, ids, out):
    """Write out[0] = the sum of table[ids], for a multiple of four ids."""
    width, at = table.shape[1], U(0)
    for i in range(0, ids.shape[0], 4):
        j0, j1, j2, j3 = U(ids[i]), U(ids[i + 1]), U(ids[i + 2]), U(ids[i + 3])
        for k in range(0, width, LINE):
            add4(out, at, table, j0, j1, j2, j3, ONE, ONE, ONE, ONE, k)


@njit(**OPTIONS)
def gather_ahead(table, ids, out):
    """Do the same, and ask for rows before they are due."""
    width, at, last = table.shape[1], U(0), ids.shape[0] - 4
    for i in range(0, ids.shape[0], 4):
        ahead = min(i + AHEAD, last)
        for q in range(ahead, ahead + 4):
            for k in range(0, width, LINE):
                prefetch(table, U(ids[q]), k)
        j0, j1, j2, j3 = U(ids[i]), U(ids[i + 1]), U(ids[i + 2]), U(ids[i + 3])
        for k in range(0, width, LINE):
            add4(out, at, table, j0, j1, j2, j3, ONE, ONE, ONE, ONE, k)


@njit(**OPTIONS)
def change(table, ids, out):
    """Write table[j] = 0.999 table[j] for j in ids; `out` is not used."""
    width = table.shape[1]
    for i in range(ids.shape[0]):
        j = U(ids[i])
        for k in range(0, width, LINE):
            set1(table, j, table, j, SHRINK, k)


@njit(**OPTIONS)
def change_ahead(table, ids, out):
    """Do the same, and ask for rows before they are due."""
    width, last = table.shape[1], ids.shape[0] - 1
    for i in range(ids.shape[0]):
        ahead = U(ids[min(i + AHEAD, last)])
        for k in range(0, width, LINE):
            prefetch_write(table, ahead, k)
        j = U(ids[i])
        for k in range(0, width, LINE):
            set1(table, j, table, j, SHRINK, k)


KERNELS = {
    "gather": gather,
    "gather, asked ahead": gather_ahead,
    "change": change,
    "change, asked ahead": change_ahead,
}


def _best(kernel, shares):
    """Return the seconds of the fastest of a few runs of kernel(*share), one thread a share."""
    best = np.inf
    with ThreadPoolExecutor(len(shares)) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            list(pool.map(lambda share: kernel(*share), shares))
            best = min(best, time.perf_counter() - start)
    return best


def _cut(array, parts):
    """Cut an array into parts of whole lines, and so of a multiple of four ids."""
    borders = np.arange(1, parts) * (len(array) // LINE) // parts * LINE
    return np.split(array, borders)


def stream_limit(kernel, n_arrays, threads, small=False):
    """Return the GB/s of a kernel over long arrays, as read and written by the program."""
    n = STREAM // (SMALL if small else 1) // 4
    arrays = [np.ones(n, np.float32) for _ in range(n_arrays)]
    kernel(*(a[:16] for a in arrays))  # compile
    shares = list(zip(*(_cut(a, threads) for a in arrays), strict=True))
    return n_arrays * 4 * n / _best(kernel, shares) / 1e9


def row_limits(row_bytes, threads, small=False, kernels=KERNELS):
    """Return rows a second by name of the kernel, for rows in random order."""
    part = SMALL if small else 1
    width, n_ids = row_bytes // 4, N_IDS // part
    table = RowArray(TABLE // part // row_bytes, width, np.float32).values
    table[:] = 1  # pages that nobody has written are all the same one
    ids = np.random.default_rng(0).integers(0, len(table), n_ids, dtype=np.int32)
    outs = [RowArray(1, width, np.float32).values for _ in range(threads)]
    shares = [(table, own, out) for own, out in zip(_cut(ids, threads), outs, strict=True)]
    found = {}
    for name in kernels:
        KERNELS[name](table, ids[:LINE], outs[0])  # compile
        found[name] = n_ids / _best(KERNELS[name], shares)
    return found


def gather_limit(row_bytes, threads, small=False):
    """Return the rows a second that can be summed, of a table that no cache holds."""
    found = row_limits(row_bytes, threads, small, ("gather", "gather, asked ahead"))
    return max(found.values())


def measure(sizes=ROW_BYTES, threads=THREADS, small=False):
    """Yield a record of each limit."""
    for name, kernel, n_arrays in (("copy", copy, 2), ("triad", triad, 3)):
        for t in threads:
            gb = stream_limit(kernel, n_arrays, t, small)
            yield dict(group="limits", what=name, threads=t, gb_per_s=gb)
    for size in sizes:
        for t in threads:
            for name, rate in row_limits(size, t, small).items():
                yield dict(
                    group="limits", what=name, row_bytes=size, threads=t,
                    mrows_per_s=rate / 1e6, gb_per_s=rate * size / 1e9,
                )  # fmt: skip


def show(record):
    """Print a record."""
    rate = f"{record['mrows_per_s']:10.1f} Mrows/s" if "row_bytes" in record else " " * 18
    size = record.get("row_bytes", "")
    threads, gb = record["threads"], record["gb_per_s"]
    print(f"{record['what']:20} {size:>4} {threads:2} {rate} {gb:8.2f} GB/s", flush=True)


def main():
    """Print the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, nargs="+", default=ROW_BYTES)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--small", action="store_true", help="1/64 of the memory, to try it")
    parser.add_argument("--json", help="a file to append the records to")
    options = parser.parse_args()
    for record in measure(options.bytes, options.threads, options.small):
        show(record)
        if options.json:
            with open(options.json, "a") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
