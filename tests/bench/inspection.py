"""Time the reports on a million rows, columns and vectors.

python tests/bench/inspection.py
"""

import time
import warnings

import numpy as np
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier
from skembed.inspection import embedding_report, nearest_features, sparsity_report

N = 1_000_000


def median_seconds(call, repeats=5):
    """Return the median time of a call, after one to warm up."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def zipf_matrix(n, a_row):
    """Return n rows and columns whose frequencies fall as a power, without repeats in a row."""
    indices = np.random.default_rng(0).zipf(1.2, n * a_row) % n
    indptr = np.arange(0, n * a_row + 1, a_row)
    X = sp.csr_array((np.ones(n * a_row, np.float32), indices.astype(np.int32), indptr), (n, n))
    X.sum_duplicates()
    return X


def main():
    """Print one line for each report."""
    X = zipf_matrix(N, 20)
    seconds = median_seconds(lambda: sparsity_report(X))
    print(f"sparsity_report, {X.shape}, {X.nnz:,} values: {seconds:.2f} s")
    ids = sp.eye_array(N, dtype=np.float32, format="csr")
    bag = EmbeddingBagClassifier(64, max_iter=1, early_stopping=False, batch_size=4096)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bag.fit(ids, np.arange(N) % 2)
        print(f"embedding_report: {median_seconds(lambda: embedding_report(bag)):.2f} s")
    print(f"nearest_features: {median_seconds(lambda: nearest_features(bag, 7)):.2f} s")


if __name__ == "__main__":
    main()
