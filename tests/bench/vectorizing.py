"""Texts a second of HashingVectorizer, ours and scikit-learn's in turns.

Run as ``python tests/bench/vectorizing.py [--documents 100000] [--rounds 5]``. Texts are 16 words
drawn by Zipf's law, 110 characters on average; a twentieth of those called "mixed" are not ASCII.
Printed are medians in thousands of texts a second and the gain over scikit-learn, which has one
thread; then how much memory a call takes on top of its result, beyond what the process had before.
"""

import argparse
import subprocess
import sys
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer as Theirs

from skembed import HashingVectorizer

ANALYSES = {
    "word (1, 1)": {},
    "word (1, 2)": {"ngram_range": (1, 2)},
    "word (1, 1), stop words": {"stop_words": "english"},
    "char_wb (3, 5)": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    "own tokenizer": {"tokenizer": str.split, "token_pattern": None},
}
WARM = 4000  # texts of a first call, which loads kernels


def texts(n, mixed=False, n_words=30_000, length=16, seed=0):
    """Return n texts; a twentieth of the mixed ones are not ASCII."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(ord("a"), ord("z") + 1, (n_words, 10), np.uint8)
    words = [
        w[:k].tobytes().decode() for w, k in zip(letters, rng.integers(2, 10, n_words), strict=True)
    ]
    chance = np.arange(1.0, n_words + 1) ** -1.05
    drawn = rng.choice(n_words, (n, length), p=chance / chance.sum())
    out = [" ".join([words[i] for i in row]).capitalize() + "." for row in drawn.tolist()]
    if mixed:
        out[::20] = [text.replace("e", "é") + " 你好" for text in out[::20]]
    return out


def seconds(vectorizer, documents):
    """Return the time of one call."""
    start = perf_counter()
    vectorizer.transform(documents)
    return perf_counter() - start


def measure_speed(documents, params, rounds):
    """Return median seconds of scikit-learn, and of ours on one and two threads."""
    systems = Theirs(**params), *(HashingVectorizer(n_jobs=j, **params) for j in (1, 2))
    for system in systems:
        system.transform(documents[:WARM])
    times = [[seconds(system, documents) for system in systems] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


def peak_memory(reset=False):
    """Return the largest resident memory since the last reset, in bytes (Linux)."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM"].split()[0]) * 1024


def measure_memory(n, name, n_jobs):
    """Print bytes of the result and bytes the call took, in a process of its own."""
    documents = texts(n)
    vectorizer = HashingVectorizer(n_jobs=n_jobs, **ANALYSES[name])
    vectorizer.transform(documents[:WARM])
    before = peak_memory(reset=True)
    X = vectorizer.transform(documents)
    print(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, peak_memory() - before)


def main():
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--analyses", nargs="+", choices=ANALYSES, default=list(ANALYSES))
    parser.add_argument("--memory", nargs=2, metavar=("NAME", "JOBS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory:
        measure_memory(args.documents, args.memory[0], int(args.memory[1]))
        return
    for mixed in (False, True):
        documents = texts(args.documents, mixed)
        for name in args.analyses:
            theirs, *ours = measure_speed(documents, ANALYSES[name], args.rounds)
            shown = (f"{args.documents / t / 1000:.0f} ({theirs / t:.1f}x)" for t in ours)
            print(
                f"{'mixed' if mixed else 'ascii'} {name}: scikit-learn "
                f"{args.documents / theirs / 1000:.0f}, one and two threads {', '.join(shown)}",
                flush=True,
            )
    for name in args.analyses:
        for n_jobs in "12":
            command = [sys.executable, __file__, "--documents", str(args.documents)]
            command += ["--memory", name, n_jobs]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            size, taken = map(int, out.split())
            print(
                f"{name}, n_jobs={n_jobs}: result {size / 2**20:.0f} MB, "
                f"peak {taken / size - 1:+.0%} on top",
                flush=True,
            )


if __name__ == "__main__":
    main()
