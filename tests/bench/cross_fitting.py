"""Vectors as features: those that have seen their y, cross-fitted ones, and one-hot columns.

Prints the first table of docs/cross-fitting.md, in about a minute; with ``--early-stopping`` the
second.
"""

import argparse
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBag

N = 4000
STRENGTHS = [(0.7, 1.0), (0.7, 1.5), (1.0, 1.0), (1.0, 1.5), (2.0, 1.0)]
WIDTHS = (8, 64)


def planted(seed, group, number):
    """One-hot rows of a useless id and a group, a number, and two classes; 2 N of each."""
    rng = np.random.default_rng(seed)
    table = np.stack([rng.integers(0, 3000, 2 * N), rng.integers(0, 20, 2 * N)], axis=1)
    x, effect = rng.normal(size=(2 * N, 1)), rng.normal(size=20)
    effect *= group / effect.std()
    p = 1 / (1 + np.exp(-(effect[table[:, 1]] + number * x[:, 0])))
    encoder = OneHotEncoder(handle_unknown="ignore").fit(table[:N])
    return encoder.transform(table[:N]), encoder.transform(table[N:]), x, rng.random(2 * N) < p


def auc(train, test, x, y):
    """Test AUC of logistic regression on some features and the number."""
    stack = sp.hstack if sp.issparse(train) else np.hstack
    model = LogisticRegression(max_iter=1000).fit(stack([train, x[:N]]), y[:N])
    return roc_auc_score(y[N:], model.decision_function(stack([test, x[N:]])))


def main():
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--early-stopping", action="store_true")
    early = parser.parse_args().early_stopping
    options = {} if early else dict(max_iter=8, early_stopping=False)
    warnings.filterwarnings("ignore")
    for group, number in STRENGTHS:
        for width in WIDTHS:
            found = []
            for seed in range(4):
                X, X_test, x, y = planted(seed, group, number)
                bag = EmbeddingBag(width, cv=5, random_state=seed, **options)
                vectors = bag.fit_transform(X, y[:N])
                test = bag.transform(X_test)
                ways = (X, X_test), (bag.transform(X), test), (vectors, test)
                found.append([auc(*way, x, y) for way in ways])
            scores = " | ".join(f"{s:.3f}" for s in np.mean(found, axis=0))
            print(f"| {group} | {number} | {width} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
