"""
=======================
Tags: many labels a row
=======================

A question on a forum has a few of hundreds of tags. :class:`skembed.EmbeddingBagClassifier` takes
them as a sparse indicator Y, learns an output for each tag, and suggests the k best by
``predict_top_k``. The script measures the suggestions by precision at k, beside the tags that are
most frequent anyway, and shows how well rare tags are found. It takes about ten seconds on two
cores, on data that it makes.
"""

# %%
# Questions and tags
# ------------------
# Four hundred tags, a few of them common and most of them rare. Each tag brings some of thirty
# words of its own into a text; the rest of the words are everybody's.

from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from skembed import EmbeddingBagClassifier
from skembed.metrics import precision_at_k_score

rng = np.random.default_rng(0)
n, n_tags, n_words, length = 12_000, 400, 5_000, 25
share = 1 / (np.arange(n_tags) + 5)
share /= share.sum()
frequency = 1 / (np.arange(n_words) + 50)
frequency /= frequency.sum()
own = rng.choice(n_words, (n_tags, 30))  # the words of a tag

n_of = rng.integers(1, 6, n)
tags = [rng.choice(n_tags, size, replace=False, p=share) for size in n_of]
words = rng.choice(n_words, (n, length), p=frequency)
for row, mine in zip(words, tags, strict=True):
    told = rng.random(length) < 0.4
    row[told] = own[rng.choice(mine, told.sum()), rng.integers(30, size=told.sum())]


def indicator(columns, lengths, n_columns):
    """Return a CSR matrix with a one for each column of each row."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    out = sp.csr_array((np.ones(indptr[-1], np.float32), columns, indptr), (n, n_columns))
    out.sum_duplicates()
    return out


X = indicator(words.ravel(), np.full(n, length), n_words)
Y = indicator(np.concatenate(tags), n_of, n_tags)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
stored = (Y.data.nbytes + Y.indices.nbytes + Y.indptr.nbytes) / 2**20
dense = np.prod(Y.shape) * Y.dtype.itemsize / 2**20
print(f"{n:,} questions, {Y.nnz / n:.1f} tags each")
print(f"Y is {stored:.1f} MiB as CSR and would be {dense:.1f} MiB dense")

# %%
# Fit and suggest
# ---------------
# The loss is an independent sigmoid for each tag. Rows held out are scored by precision at 1 after
# each epoch, unless ``scoring`` says otherwise; since Y is CSR, ``predict`` returns CSR.

clf = EmbeddingBagClassifier(n_components=64, random_state=0, n_jobs=2).fit(X_train, Y_train)
predicted = clf.predict(X_test)
print(f"{clf.best_n_iter_} epochs; predict returns {predicted.format} of shape {predicted.shape}")

suggested, scores = clf.predict_top_k(X_test, 5)
for i in range(3):
    true = Y_test[[i]].indices
    marked = " ".join(f"{tag}*" if tag in true else f"{tag}" for tag in suggested[i])
    print(f"question {i}: has {len(true)} tags, suggested (* is right): {marked}")

# %%
# Tags that get more than even odds are those of ``predict``. They are few, because a tag needs
# strong evidence against its rarity: right when it speaks, and often silent. For suggestions the k
# best are the better question.

overlap = predicted.multiply(Y_test).sum()
print(f"predict: {overlap / predicted.sum():.2f} of the tags given are right, ", end="")
print(f"{overlap / Y_test.sum():.2f} of the true tags are given")

# %%
# Precision at k, and who is found
# --------------------------------
# Questions with fewer than k tags keep precision at k below 1 for any model: the dotted line is
# what can be reached. On the right, by frequency of the tags, the share of their questions on which
# they are among the five best.

ks = np.arange(1, 8)
p = clf.predict_proba(X_test)
frequent = np.tile(Y_train.sum(axis=0), (X_test.shape[0], 1))
n_true = Y_test.sum(axis=1)
curves = {
    "embedding bag": [precision_at_k_score(Y_test, p, k=k) for k in ks],
    "most frequent tags": [precision_at_k_score(Y_test, frequent, k=k) for k in ks],
    "can be reached": [np.minimum(n_true, k).mean() / k for k in ks],
}
for name, curve in curves.items():
    print(f"{name:20}", *(f"P@{k} {curve[k - 1]:.3f} " for k in (1, 3, 5)))

counts = Y_train.sum(axis=0)
top = sp.csr_array(
    (np.ones(suggested.size), suggested.ravel(), np.arange(0, suggested.size + 1, 5)), Y_test.shape
)
found, occurs = top.multiply(Y_test).sum(axis=0), Y_test.sum(axis=0)
edges = [0, 20, 40, 80, 160, 320, np.inf]
place = np.digitize(counts, edges) - 1
recall = [found[place == b].sum() / occurs[place == b].sum() for b in range(len(edges) - 1)]

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for (name, curve), style in zip(curves.items(), ["o-", "s--", ":"], strict=True):
    left.plot(ks, curve, style, color="black" if style == ":" else None, label=name)
left.set(
    title="Precision at k", xlabel="k", ylabel="share of true tags among the k", ylim=(0, 1.03)
)
left.legend()
names = [f"{a} to {b - 1}" for a, b in pairwise(edges[:-1])]
bars = right.bar([*names, f"{edges[-2]} or more"], recall)
right.bar_label(bars, [f"{np.sum(place == b)} tags" for b in range(len(recall))], padding=2)
right.set(
    title="Rare tags are found less often",
    xlabel="training questions with the tag",
    ylabel="true tags among the 5 best",
    ylim=(0, 1),
)
right.tick_params("x", labelrotation=20)
picture = Path("multi_label.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# To take away: pass Y as CSR, judge suggestions by ``precision_at_k_score`` beside what can be
# reached, and look at rare labels on their own, for the mean over questions hides them.
