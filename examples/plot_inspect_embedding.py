"""
============================
Has the embedding learned?
============================

"Check that your embedding is learning" is good advice. This script follows it on generated data:
dishes of six cuisines, each a list of ingredients, most of which are rare. It looks at the data
before a fit, at the curves, the vectors, the neighbours and the parts of a score after it, and
repeats that for a fit that went wrong. It takes some ten seconds on two cores.
"""

# %%
# Dishes
# ------
# A dish has 3 to 9 ingredients, two thirds of them typical of its cuisine. The k-th ingredient of a
# cuisine is as frequent as 1 / k: a few are in every second dish, many in a handful.

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import ValidationCurveDisplay

from skembed import EmbeddingBagClassifier
from skembed.inspection import (
    EmbeddingMapDisplay,
    LossCurveDisplay,
    UpdateCountDisplay,
    activation_report,
    embedding_report,
    explain,
    nearest_features,
    sparsity_report,
)

rng = np.random.default_rng(0)
cuisines = np.array(["french", "greek", "indian", "mexican", "thai", "tuscan"])
n_dishes, n_ingredients = 3000, 200
chance = 1 / np.arange(1, n_ingredients + 1)
chance /= chance.sum()


def make_dish(cuisine):
    """Return a list of ingredients, as a text."""
    n = rng.integers(3, 10)
    origin = np.where(rng.random(n) < 2 / 3, cuisine, rng.integers(0, len(cuisines), n))
    ranks = rng.choice(n_ingredients, n, p=chance) + 1
    return " ".join({f"{cuisines[c]}_{k}" for c, k in zip(origin, ranks, strict=True)})


y = rng.integers(0, len(cuisines), n_dishes)
words = CountVectorizer(dtype=np.float32)
X = words.fit_transform([make_dish(cuisine) for cuisine in y])
names = words.get_feature_names_out()

# %%
# Before a fit: what is there to learn from?
# ------------------------------------------
# A tenth of the ingredients gets more than half of the updates, and four of five pairs of dishes
# have nothing in common.

print(sparsity_report(X, feature_names=names), "\n")

# %%
# After a fit: have the vectors learned?
# --------------------------------------
# The ingredients of one cuisine are near each other, though many of them never met in a dish.
# ``drift`` tells how far a vector is from where it started, in units of its starting length. Rare
# ingredients have moved less: they were in few steps, though each of these was a large one (the
# effective rate of Adagrad falls with what a row has seen).

bag = EmbeddingBagClassifier(16, random_state=0).fit(X, cuisines[y])
report = embedding_report(bag, feature_names=names)
print(report, "\n")
for cuisine in ("thai", "greek"):
    print(nearest_features(bag, f"{cuisine}_1", 4, min_count=20, feature_names=names), "\n")

# %%
# Pictures
# --------
# The loss of the rows that are trained on goes on falling when the score on other rows no longer
# rises: the epoch with the best score is kept. On the map, ingredients of one cuisine lie together.

fig, axes = plt.subplots(2, 2, figsize=(14, 11), layout="constrained")
LossCurveDisplay.from_estimator(bag, ax=axes[0, 0])
axes[0, 0].set_title("Loss and score by epoch")
UpdateCountDisplay.from_estimator(bag, ax=axes[0, 1])
axes[0, 1].set_title("Which ingredients get the updates")
widths = [1, 2, 4, 8, 16, 32]
ValidationCurveDisplay.from_estimator(
    bag, X, cuisines[y], param_name="n_components", param_range=widths, cv=3,
    ax=axes[1, 0], score_name="accuracy",
)  # fmt: skip
axes[1, 0].set_title("Accuracy by width of the vectors")
axes[1, 0].set_xticks(widths, widths, minor=False)
EmbeddingMapDisplay.from_estimator(
    bag, n_features=60, feature_names=names, groups=[n.partition("_")[0] for n in names],
    ax=axes[1, 1],
)  # fmt: skip
axes[1, 1].set_title("The 60 most frequent ingredients")
picture = Path("inspect_embedding.png").resolve()
fig.savefig(picture, dpi=90)
print(f"The pictures are in {picture}\n")

# %%
# One dish, taken apart
# ---------------------
# The scores of a dish are sums over its ingredients.

print(explain(bag, X[:1], feature_names=names), "\n")

# %%
# A head with hidden layers
# -------------------------
# The pooling reads the few ingredients that a dish has, not all of them: most of the work of a
# dense model is never done.

deep = EmbeddingBagClassifier(16, hidden_layer_sizes=(32,), random_state=0).fit(X, cuisines[y])
print(activation_report(deep, X), "\n")

# %%
# When it went wrong
# ------------------
# A learning rate that is far too small for SGD: the loss barely moves, and the report says why. It
# warns too, so that a script that nobody watches tells.

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    slow = EmbeddingBagClassifier(
        16, solver="sgd", learning_rate_init=1e-4, max_iter=5, random_state=0
    )
    report = embedding_report(slow.fit(X, cuisines[y]), feature_names=names)
print(f"Loss by epoch: {np.round(slow.loss_curve_, 4).tolist()}")
print(f"{len(report.dead)} of {len(report.columns)} vectors are where they began.")
print(f"The warning: {told[-1].message}")
