"""
====================================
Rows in time: hold out the last days
====================================

A fit holds out a tenth of its rows, drawn at random, to stop early by. Rows in time need another
judge: a row drawn at random has neighbours of its own day in training, and the rows to come have
not. The script predicts clicks on the articles of a news site, where every day brings new articles,
and compares what rows at random promise, what the last days promise as ``X_val``, and what happens
on later days. It takes a few seconds on two cores, on data that it makes.
"""

# %%
# A news site
# -----------
# Eighty days with ten new articles each, which are read for a few days. Whether a visitor clicks
# depends on the article, on the visitor, and on how the section goes with the place on the page.
# The first sixty days are trained on, ten more are held out, and the last ten are the test.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder

from skembed import EmbeddingBagClassifier

rng = np.random.default_rng(0)
n, n_days, n_visitors = 40_000, 80, 3_000
day = np.sort(rng.integers(n_days, size=n))
appeared = np.maximum(0, day - rng.geometric(0.5, n) + 1)
article = 10 * appeared + rng.integers(10, size=n)
section = rng.integers(20, size=10 * n_days)[article]
often = 1 / (np.arange(n_visitors) + 100)
visitor = rng.choice(n_visitors, n, p=often / often.sum())
place = rng.integers(8, size=n)
log_odds = -1 + 1.2 * rng.normal(size=10 * n_days)[article] + 0.8 * rng.normal(size=3_000)[visitor]
log_odds += 0.5 * rng.normal(size=20)[section] + 0.8 * rng.normal(size=(20, 8))[section, place]
y = (rng.random(n) < expit(log_odds)).astype(int)
views = pd.DataFrame({"article": article, "visitor": visitor, "section": section, "place": place})
train, held, test = day < 60, (day >= 60) & (day < 70), day >= 70
known = np.isin(article[test], article[train])
print(f"{train.sum():,} rows to train on; {known.mean():.0%} of the test rows have a known article")

# %%
# Does the article help?
# ----------------------
# Two models, with and without the column of the article, each judged by both kinds of rows held
# out. Those of ``X_val`` are encoded like the others and are not trained on; all of X is, then. The
# settings let every fit go on for nine epochs, to see what each one would have scored.

columns = {"with the article": list(views), "without the article": ["visitor", "section", "place"]}
settings = {"hidden_layer_sizes": (32,), "n_iter_no_change": 8, "tol": 0.1}
curves, promised, happened = {}, {}, {}
for name, used in columns.items():
    encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
    X = encoder.fit_transform(views.loc[train, used])
    X_held, X_test = (encoder.transform(views.loc[rows, used]) for rows in (held, test))
    judges = {
        "rows at random": {},
        "last days (X_val)": {"X_val": X_held, "y_val": y[held]},
        "test days": {"X_val": X_test, "y_val": y[test]},
    }
    for judge, rows in judges.items():
        clf = EmbeddingBagClassifier(16, **settings, random_state=0, n_jobs=2)
        clf.fit(X, y[train], **rows)
        curves[name, judge] = -np.array(clf.validation_scores_)
        promised[name, judge] = -clf.best_validation_score_
        happened[name, judge] = log_loss(y[test], clf.predict_proba(X_test))
    for judge in list(judges)[:2]:
        print(
            f"{name:19}, judged by {judge:17}: promised {promised[name, judge]:.3f}, "
            f"on the test days {happened[name, judge]:.3f}"
        )

# %%
# The curves
# ----------
# The test days are drawn for the picture; no fit should stop by them. Rows at random promise that
# the article takes a good part of the loss away, and ask for a second epoch. The last days say what
# the later ones say as well: the articles to come are new, so that the model is better without
# their column, and a second epoch makes it worse.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
styles = {"rows at random": "o--", "last days (X_val)": "s-", "test days": "k:"}
for ax, name in zip(axes, columns, strict=True):
    for judge, style in styles.items():
        curve = curves[name, judge]
        ax.plot(np.arange(1, len(curve) + 1), curve, style, label=judge)
    ax.set(title=name.capitalize(), xlabel="epoch")
axes[0].set_ylabel("log loss on rows held out")
axes[0].legend()
picture = Path("time_split.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# To take away: choose columns and epochs on rows that lie to the training rows as the future will
# lie to all of them. For rows in time that is the last days, passed as ``X_val``; for users or
# shops that are new at prediction time, whole users or shops.
