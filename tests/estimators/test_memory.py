"""Memory follows the features that occur."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier

# Peak growth of a fresh process in MiB: the high-water mark is reset just before fit.
MEASURE = """
import re, sys, pickle
import numpy as np, scipy.sparse as sp
from skembed import EmbeddingBagClassifier

def status(key):
    text = open("/proc/self/status").read()
    return int(re.search(key + r":\\s+(\\d+) kB", text)[1]) * 1024

small = sp.random_array((300, 50), density=0.2, format="csr", dtype=np.float32, rng=0)
def model(**p):
    return EmbeddingBagClassifier(max_iter=1, tol=1e9, n_iter_no_change=1, random_state=0, **p)
model().fit(small, np.arange(300) % 2)          # compile
model().fit(small.astype(np.float64), np.arange(300) % 2)
exec(sys.argv[1])
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")   # reset the peak
est.fit(X, y)
grown = status("VmHWM") - before
rows = len(est.active_features_)
print(grown, rows, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, len(pickle.dumps(est)))
"""
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the high-water mark from /proc"
)


def measure(setup):
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, setup], capture_output=True, text=True, check=True
    )
    return map(int, run.stdout.split())


def test_fit_takes_table_state_and_a_copy_of_the_ids():
    grown, rows, size_of_X, _ = measure(
        """
rng = np.random.default_rng(0)
indptr = np.arange(0, 12_000_001, 60)
X = sp.csr_matrix((np.ones(12_000_000, np.float32),
                   np.sort(rng.integers(0, 1_000_000, (200_000, 60), np.int32), axis=1).ravel(),
                   indptr.astype(np.int32)), shape=(200_000, 1_000_000))
X.sum_duplicates()
y = rng.integers(0, 2, 200_000)
est = model(n_components=32, batch_size=1024)
del rng, indptr
"""
    )
    table_and_state = 2 * rows * 32 * 4
    kept = table_and_state  # the best epoch so far
    assert grown <= table_and_state + kept + 0.8 * size_of_X + 100e6


def test_a_factorization_machine_takes_table_state_and_a_copy_of_the_ids():
    grown, rows, size_of_X, _ = measure(
        """
from skembed import FactorizationMachineClassifier
rng = np.random.default_rng(0)
ids = np.sort(rng.integers(0, 800_000, (200_000, 39), np.int32), axis=1)
X = sp.csr_matrix((np.ones(ids.size, np.float32), ids.ravel(),
                   np.arange(0, ids.size + 1, 39, np.int32)), shape=(200_000, 800_000))
X.sum_duplicates()
y = rng.integers(0, 2, 200_000)
est = FactorizationMachineClassifier(
    15, solver="adagrad", batch_size=1024, max_iter=1, tol=1e9, n_iter_no_change=1, random_state=0
)
est.fit(small, np.arange(300) % 2)  # compile
del rng, ids
"""
    )
    table_and_state = 2 * rows * 16 * 4
    kept = table_and_state  # the best epoch so far
    assert grown <= table_and_state + kept + 0.8 * size_of_X + 100e6


def test_hashed_text_costs_what_was_seen():
    grown, rows, _, pickled = measure(
        """
from sklearn.feature_extraction.text import HashingVectorizer
rng = np.random.default_rng(0)
words = [f"word{i}" for i in range(30_000)]
texts = [" ".join(words[i] for i in rng.zipf(1.2, 12) % 30_000) for _ in range(10_000)]
X = HashingVectorizer().transform(texts)
y = rng.integers(0, 2, 10_000)
est = model(n_components=64)
del texts, words
"""
    )
    assert grown <= 150e6
    assert pickled <= 1.2 * 2 * rows * 64 * 8


@pytest.mark.parametrize("n_features", [2**31 - 1, 2**40])
def test_any_number_of_columns(n_features):
    columns = np.array([0, 5, n_features - 1, 5, 77])
    dtype = np.int64 if n_features > 2**31 else np.int32
    X = sp.csr_array(
        (np.ones(5), columns.astype(dtype), np.array([0, 1, 3, 5], dtype)), (3, n_features)
    )
    est = EmbeddingBagClassifier(random_state=0, tol=0.1).fit(X, [0, 1, 1])
    assert est.active_features_.tolist() == [0, 5, 77, n_features - 1]
    assert est.predict(X).tolist() == [0, 1, 1]
    assert len(pickle.dumps(est)) < 30_000
