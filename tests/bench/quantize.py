"""What `quantize` costs in score and time, and what it saves in bytes, on real sets.

Run as::

    python tests/bench/quantize.py --data FOLDER [--only SETS] [--rounds 7]

FOLDER holds a folder of files for each set (see `quality_data.py`, which reads them). The default
`EmbeddingBagClassifier` is fitted to float32 rows, once a seed, and rounded. Loss is the test score
of the floats less that of the rounded one, in points (hundredths); the worst of the seeds is what
must stay below half a point with 8 bits. Bytes are those of the table alone, of table and head, and
of the model file, as shares of those of the floats. Time is the
processor's, of predicting all test rows and one row, as a ratio to the floats: medians of
interleaved rounds. Set OMP_NUM_THREADS=1.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from quality import predictions
from quality_data import LOADERS, test_score

from skembed import EmbeddingBagClassifier, save_model

BITS = (8, 16)


def score(model, split):
    """Return the test score, in points."""
    return 100 * test_score(split, predictions(model, split.X_test, split.metric))


def file_bytes(model):
    """Return the length of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        save_model(model, path)
        return os.path.getsize(path)


def table_bytes(model):
    """Return the bytes of the numbers of the table."""
    table = model._state.params["table"]
    return (
        table.nbytes if hasattr(table, "codes") else table.n_rows * table.d * table.dtype.itemsize
    )


def seconds(models, X, rounds, method):
    """Return the median seconds of the processor for a prediction by each model."""
    taken = [[] for _ in models]
    for _ in range(rounds + 1):
        for model, times in zip(models, taken, strict=True):
            begin = time.process_time()
            getattr(model, method)(X)
            times.append(time.process_time() - begin)
    return [np.median(times[1:]) for times in taken]


def measure(name, split, seeds, rounds):
    """Print the lines of a set."""
    losses, models = {bits: [] for bits in BITS}, []
    for seed in seeds:
        model = EmbeddingBagClassifier(random_state=seed).fit(split.X_train, split.y_train)
        models = [model, *(model.quantize(bits) for bits in BITS)]
        scores = [score(m, split) for m in models]
        for bits, found in zip(BITS, scores[1:], strict=True):
            losses[bits].append(scores[0] - found)
    all_rows = seconds(models, split.X_test, rounds, "decision_function")
    one_row = seconds(models, split.X_test[[0]], 100 * rounds, "decision_function")
    shares = [[of(m) for m in models] for of in (table_bytes, file_bytes)]
    for i, bits in enumerate(BITS, start=1):
        report = models[i].quantization_
        print(
            f"{name:20} bits {bits:2}  loss mean {np.mean(losses[bits]):+.3f} worst "
            f"{max(losses[bits]):+.3f} points  bytes table {shares[0][i] / shares[0][0]:.3f} "
            f"table+head {report.nbytes / report.nbytes_before:.3f} "
            f"file {shares[1][i] / shares[1][0]:.3f} ({shares[1][i] / 1e6:.2f} MB)  "
            f"time {split.X_test.shape[0]} rows "
            f"{all_rows[i] / all_rows[0]:.2f} one row {one_row[i] / one_row[0]:.2f}",
            flush=True,
        )


def main():
    """Print the lines of all sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of real sets")
    parser.add_argument("--only", nargs="+", choices=LOADERS, default=["banking77", "cooking"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.only:
        measure(name, LOADERS[name](args.data), args.seeds, args.rounds)


if __name__ == "__main__":
    main()
