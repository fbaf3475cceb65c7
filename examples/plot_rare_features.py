"""
=========================
Rare features and solvers
=========================

In sparse data most features are seen a few times only. How far does a feature get on so few steps?
The script plants the true effect of each of twenty thousand features, fits the same model with five
solvers, and compares what they learned with what is true, by how often a feature was seen. SGD and
LazyAdam leave rare features almost where they started; Adagrad, FTRL and AdamW learn more from them
and predict better. It takes about fifteen seconds on two cores.
"""

# %%
# Data with a long tail
# ---------------------
# A row has six features, drawn with a frequency of about 1 / rank, as visitors, search terms and
# products come. Each has an effect on the log odds of a click.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.ticker import MaxNLocator
from scipy.special import expit
from sklearn.metrics import log_loss

from skembed import EmbeddingBagClassifier
from skembed.solvers import FTRL, SGD, Adagrad, AdamW, LazyAdam

rng = np.random.default_rng(0)
n, n_features, length = 40_000, 20_000, 6
frequency = 1 / (np.arange(n_features) + 10)
effects = rng.normal(size=n_features)
ids = rng.choice(n_features, (n, length), p=frequency / frequency.sum())
indptr = np.arange(0, ids.size + 1, length)
X = sp.csr_array((np.ones(ids.size, np.float32), ids.ravel(), indptr), (n, n_features))
X.sum_duplicates()
X.data[:] = 1
log_odds = 2 * (X @ effects) / np.sqrt(X.sum(axis=1))
y = (rng.random(n) < expit(log_odds)).astype(int)
X_train, X_test, y_train, y_test = X[: n // 2], X[n // 2 :], y[: n // 2], y[n // 2 :]
counts = X_train.sum(axis=0)
seen = counts > 0
print(f"{seen.sum():,} features in {n // 2:,} training rows, ", end="")
print(f"{np.mean(counts[seen] < 5):.0%} of them in fewer than 5 rows")

# %%
# Five solvers
# ------------
# Each solver takes the best of three learning rates by the score on rows held out, and stops at the
# best epoch by the same score. The row pooled by ``"sqrtn"`` and a linear head make a linear model
# whose weights are the products of vectors and head, so that they can be compared with the truth.

solvers = {
    "SGD": (SGD(), (0.1, 0.3, 1)),
    "FTRL": (FTRL(), (0.01, 0.02, 0.05)),
    "LazyAdam": (LazyAdam(), (0.0005, 0.001, 0.003)),
    "Adagrad": (Adagrad(), (0.01, 0.02, 0.05)),
    "AdamW": (AdamW(), (0.0005, 0.001, 0.002)),
}
edges = [1, 2, 5, 10, 30, 100, 300, np.inf]
place = np.digitize(counts, edges) - 1
slopes, correlations, losses = {}, {}, {}
for name, (solver, rates) in solvers.items():
    fits = [
        EmbeddingBagClassifier(
            8, solver=solver, learning_rate_init=rate, tol=1e-3, random_state=0, n_jobs=2
        ).fit(X_train, y_train)
        for rate in rates
    ]
    clf = max(fits, key=lambda clf: clf.best_validation_score_)
    learned = clf.embedding_ @ clf.coef_[0]
    groups = [(2 * effects[place == b], learned[place == b]) for b in range(len(edges) - 1)]
    slopes[name] = [np.polyfit(true, found, 1)[0] for true, found in groups]
    correlations[name] = [np.corrcoef(true, found)[0, 1] for true, found in groups]
    losses[name] = log_loss(y_test, clf.predict_proba(X_test)[:, 1])
    print(
        f"{name:9} rate {clf.learning_rate_init_:<6} {clf.best_n_iter_:2d} epochs, test log loss "
        f"{losses[name]:.4f}, share of the true effect learned by features seen once "
        f"{slopes[name][0]:.3f}"
    )
print(f"with the true effects: test log loss {log_loss(y_test, expit(log_odds[n // 2 :])):.4f}")

# %%
# What was learned
# ----------------
# On the left the slope of learned over true effects: 1 where the effect is learned in full. No
# solver should come near 1 for a feature seen once, which tells little; but nothing is not right
# either. In the middle their correlation: whether the order of the features is right, whatever the
# size of the effects.

fig, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained", width_ratios=[1, 1, 0.8])
names = ["1", "2-4", "5-9", "10-29", "30-99", "100-299", "300+"]
for ax, values in zip(axes, (slopes, correlations), strict=False):
    for (name, line), marker in zip(values.items(), "osD^v", strict=True):
        ax.plot(names, line, marker=marker, ms=5, label=name)
    ax.set(xlabel="training rows with the feature", ylim=(0, 1.1))
axes[0].set(title="Share of the true effect that is learned", ylabel="slope of learned over true")
axes[1].set(title="Learned and true effects", ylabel="correlation")
axes[0].legend()
colors = [line.get_color() for line in axes[0].lines]
for (name, loss), color, marker in zip(losses.items(), colors, "osD^v", strict=True):
    axes[2].plot(loss, name, marker, color=color, ms=9)
    axes[2].annotate(f"{loss:.4f}", (loss, name), (0, 9), textcoords="offset points", ha="center")
axes[2].invert_yaxis()
axes[2].xaxis.set_major_locator(MaxNLocator(4))
axes[2].margins(0.25)
axes[2].set(title="Test rows", xlabel="log loss")
axes[2].grid(axis="x", alpha=0.4)
picture = Path("rare_features.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# What a single row does to a feature explains the curves:
#
# - SGD: the rate times the gradient. A rate that frequent features can bear is small for the rest.
# - LazyAdam: about the rate, whatever the gradient, and at every row again. So the frequent
#   features ask for a small rate.
# - Adagrad: about the rate at the first row, and less at each further one, so that the rate can be
#   several times as large. FTRL shrinks its steps in the same way.
# - AdamW: its momentum goes on after the row, for thirty times the rate in all with its usual
#   settings; LazyAdam lets the feature rest instead.
#
# To take away: where most features are rare, use a solver whose steps shrink with the rows that a
# feature was seen in; Adagrad is the default. And ask how often a feature was seen before trusting
# its vector.
