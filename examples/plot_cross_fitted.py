"""
===============================================
Vectors for another model, with and without y
===============================================

:class:`skembed.EmbeddingBag` learns vectors from y. On the rows that they were trained on they know
y better than on any other, and a model that is fitted on them is misled. ``cv=5`` gives each
training row the vector of a table that has not seen it. The script shows both on generated data, in
some seconds.
"""

# %%
# Shops, customers and a number
# -----------------------------
# A customer of 3,000 buys or does not: that depends on the shop and on the discount, and not on the
# customer. Most customers come once or twice.

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBag

rng = np.random.default_rng(0)
n = 8000
visits = pd.DataFrame(
    {
        "customer": rng.integers(0, 3000, n),
        "shop": rng.integers(0, 20, n),
        "discount": rng.normal(size=n),
    }
)
by_shop = 0.7 * rng.normal(size=20)
log_odds = by_shop[visits["shop"]] + 1.5 * visits["discount"]
bought = rng.random(n) < 1 / (1 + np.exp(-log_odds))

train, test, y, y_test = train_test_split(visits, bought, test_size=0.5, random_state=0)
encoder = OneHotEncoder(handle_unknown="ignore")
X, X_test = (
    encoder.fit_transform(train[["customer", "shop"]]),
    encoder.transform(test[["customer", "shop"]]),
)
x, x_test = train[["discount"]].to_numpy(), test[["discount"]].to_numpy()

# %%
# Three models
# ------------
# Logistic regression on the discount, beside the one-hot columns, beside vectors that have seen
# their own y, and beside cross-fitted vectors. The table that gives the vectors of the test rows is
# the same for the last two.

warnings.simplefilter("ignore", ConvergenceWarning)  # eight epochs, however far they get
options = dict(n_components=8, max_iter=8, early_stopping=False, random_state=0)
bag = EmbeddingBag(cv=5, **options)
cross_fitted = bag.fit_transform(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # it warns of what is shown here
    seen = EmbeddingBag(**options).fit_transform(X, y)
new = bag.transform(X_test)


def auc(features, test_features):
    """Score logistic regression on some features and the discount."""
    stack = sp.hstack if sp.issparse(features) else np.hstack
    model = LogisticRegression(max_iter=1000).fit(stack([features, x]), y)
    return roc_auc_score(y_test, model.decision_function(stack([test_features, x_test])))


print(f"one-hot columns                 AUC {auc(X, X_test):.3f}")
print(f"vectors that have seen their y  AUC {auc(seen, new):.3f}")
print(f"cross-fitted vectors            AUC {auc(cross_fitted, new):.3f}")

# %%
# What the next model sees
# ------------------------
# The score that the head of the bag gives to the vectors, for rows that bought and rows that did
# not. On the training rows it parts them as it never does on new rows. Cross-fitted, they look like
# new rows.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), sharex=True, sharey=True, layout="constrained")
parts = {
    "training rows, seen": (seen, y),
    "training rows, cross-fitted": (cross_fitted, y),
    "new rows": (new, y_test),
}
for ax, (title, (vectors, target)) in zip(axes, parts.items(), strict=True):
    score = vectors @ bag.coef_[0] + bag.intercept_[0]
    for label, rows in (("bought", target), ("did not", ~target)):
        ax.hist(score[rows], bins=np.linspace(-8, 8, 49), alpha=0.6, label=label)
    ax.set_title(f"{title}\nAUC of the score {roc_auc_score(target, score):.2f}")
    ax.set_xlabel("score of the vector (log odds)")
axes[0].legend()
picture = Path("cross_fitted.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")
