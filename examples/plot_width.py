"""
===============================
How wide should the vectors be?
===============================

A search over ``n_components``, drawn by scikit-learn's
:class:`~sklearn.model_selection.ValidationCurveDisplay`. The script makes baskets of products whose
buyers' groups follow from six hidden traits of the products. With thirty groups the score rises
until the vectors can hold the six traits; with two groups and a linear head it hardly depends on
the width, from two on. It takes about fifteen seconds on two cores.
"""

# %%
# Baskets
# -------
# A basket holds eight of 1,500 products, popular ones more often. Each product has six hidden
# traits; the sums of the traits in a basket, and some noise, decide which of thirty groups its
# buyer is in. The second target has two groups, made by the first trait.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, ValidationCurveDisplay, train_test_split

from skembed import EmbeddingBagClassifier, suggest_n_components

rng = np.random.default_rng(0)
n, n_products, n_traits, n_groups = 5000, 1500, 6, 30
popularity = 1 / (np.arange(n_products) + 20)
products = rng.choice(n_products, (n, 8), p=popularity / popularity.sum())
X = sp.csr_array(
    (np.ones(products.size, np.float32), products.ravel(), np.arange(0, products.size + 1, 8)),
    shape=(n, n_products),
)
traits = rng.normal(size=(n_products, n_traits))
pooled = traits[products].sum(axis=1) / np.sqrt(8)
centres = rng.normal(size=(n_groups, n_traits))
centres /= np.linalg.norm(centres, axis=1, keepdims=True)
groups = np.argmax(4 * pooled @ centres.T + rng.gumbel(size=(n, n_groups)), axis=1)
halves = (3 * pooled[:, 0] + rng.logistic(size=n) > 0).astype(int)
targets = {"thirty groups": groups, "two groups": halves}

# %%
# Score by width
# --------------
# The display fits the estimator for every width and fold, and shows mean and standard deviation
# over the folds. Each fit stops early on rows of its own training folds.

widths = [1, 2, 4, 8, 16, 32]
limits = {"thirty groups": (0, 0.3), "two groups": (0.5, 0.8)}  # from chance on
estimator = EmbeddingBagClassifier(random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, (name, y) in zip(axes, targets.items(), strict=True):
    display = ValidationCurveDisplay.from_estimator(
        estimator,
        X,
        y,
        param_name="n_components",
        param_range=widths,
        cv=3,
        scoring="accuracy",
        score_type="test",
        n_jobs=2,
        ax=ax,
        std_display_style="errorbar",
        errorbar_kw={"marker": "o", "ms": 4, "capsize": 4},
    )
    print(name)
    for width, scores in zip(widths, display.test_scores, strict=True):
        print(f"  width {width:2d}: accuracy {scores.mean():.3f} +- {scores.std():.3f}")
    ax.set_xscale("log", base=2)
    ax.set_xticks(widths, labels=map(str, widths))
    ax.set(title=name.capitalize(), xlabel="n_components", ylabel="accuracy")
    ax.get_legend().remove()
    ax.set_ylim(limits[name])
axes[0].axvline(n_traits, color="grey", ls=":", lw=1)
axes[0].annotate(
    " six hidden traits", (n_traits, 0.02), xycoords=("data", "axes fraction"), color="grey"
)
picture = Path("width.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# With two groups there is one output, linear in the pooled vector: whatever the width, the model is
# one weight for each product. With thirty groups a width of one puts them all on a line.
#
# The narrowest that is good enough
# ---------------------------------
# The best mean score is often that of the widest vectors, by less than it varies over the folds.
# ``refit`` of a grid search may be a function that chooses: here the narrowest width within one
# standard error of the best.


def narrowest(results):
    """Return the place of the narrowest width within a standard error of the best one."""
    mean, std = results["mean_test_score"], results["std_test_score"]
    best = mean.argmax()
    return int(np.argmax(mean >= mean[best] - std[best] / np.sqrt(3)))


X_train, X_test, y_train, y_test = train_test_split(X, groups, random_state=0, stratify=groups)
search = GridSearchCV(estimator, {"n_components": [4, 8, 16]}, cv=3, n_jobs=2, refit=narrowest)
search.fit(X_train, y_train)
print(f"chosen width {search.best_params_['n_components']}, ", end="")
print(f"accuracy on test rows {search.score(X_test, y_test):.3f}")
print(f"the rule for {n_groups} outputs: {suggest_n_components(n_products, n_outputs=n_groups)}")

# %%
# To take away: width pays with many classes or labels, not with one output and a linear head; too
# wide costs time and seldom accuracy, so that a rule is a good start and a short search decides.
