"""skembed beside other libraries on the tasks of a peer harness.

Run as ``BENCH_PEERS=FOLDER python tests/bench/peers_skembed.py TASK [--only NAMES] [--list]``.
FOLDER holds ``peers.py`` (systems, clock and driver) and ``data.py`` (generators); this file adds
the systems whose names begin with "skembed" and hands over to its driver. One JSON line a system:
``s`` is the whole call of fit (input scan, look-up of features, starting values, one epoch),
``epoch_s`` the epoch alone, which is what the loops of other libraries are timed for.
"""

import os
import sys
import time
import warnings

sys.path.insert(0, os.environ["BENCH_PEERS"])
import peers
from sklearn.exceptions import ConvergenceWarning

from skembed import EmbeddingBagClassifier
from skembed.estimators import _base

peers.__file__ = os.path.abspath(__file__)  # children of the driver must know these systems too
EPOCHS = []


def timed_epochs(*args, **kwargs):
    """The loop, with the time it takes."""
    start = time.perf_counter()
    converged = fit_epochs(*args, **kwargs)
    EPOCHS.append(time.perf_counter() - start)
    return converged


fit_epochs, _base.fit_epochs = _base.fit_epochs, timed_epochs


def t1(data, dim, threads, solver, lr, batch=1024, n_jobs=None):
    """One epoch of a classifier with mean pooling on text-like rows."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    X = peers.csr(data["indptr"], data["indices"], data["V"])
    T = peers.csr(data["tindptr"], data["tindices"], data["V"])

    def model():
        return EmbeddingBagClassifier(
            dim, pooling="mean", solver=solver, learning_rate_init=lr, batch_size=batch,
            max_iter=1, early_stopping=False, random_state=0, n_jobs=threads,
        )  # fmt: skip

    model().fit(X[:4096], data["y"][:4096])  # compiled kernels, as other libraries have them
    EPOCHS.clear()
    r = {}
    with peers.clock(r):
        fitted = model().fit(X, data["y"])
    r["epoch_s"] = round(EPOCHS[-1], 3)
    return peers.t1_done(data, r, fitted.score(T, data["ty"]))


for dim in (10, 50, 100):
    for threads in (2, 1):
        for solver, rates in (("adagrad", (0.05, 0.1)), ("lazy_adam", (0.01,))):
            for lr in rates:
                name = f"skembed-{solver} lr={lr} d={dim} t={threads}"
                peers.system("T1", name, dim=dim, threads=threads, solver=solver, lr=lr)(t1)
        for lr in (0.05,):  # the harness has the rate .1
            name = f"torch-adagrad-mean lr={lr} d={dim} t={threads}"
            peers.system(
                "T1", name, dim=dim, threads=threads, opt="adagrad", mode="mean", lr=lr
            )(peers.t1_torch)  # fmt: skip

if __name__ == "__main__":
    peers.main()
