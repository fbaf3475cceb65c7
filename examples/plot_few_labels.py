"""
==========================================
Few labels: vectors from unlabelled rows
==========================================

Most sparse data come without labels. ``EmbeddingBag(loss="cooccurrence")`` learns a vector for each
feature from the rows alone: what occurs together comes to lie together. The script makes texts
about twelve subjects out of a generated vocabulary, shows that the neighbours of a word share its
subject, and then trains a classifier on a few labelled texts, with and without these vectors to
begin with. It takes less than a minute on two cores.
"""

# %%
# Texts about twelve subjects
# ---------------------------
# A subject has 150 words of its own, few of them frequent, as in any language; three quarters of a
# text are words that every subject uses.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from skembed import EmbeddingBag, EmbeddingBagClassifier, TruncatedSVD

SUBJECTS, OWN, COMMON, LENGTH = 12, 150, 400, 16
rng = np.random.default_rng(0)


def texts(n):
    """Return rows of words, and the subject of each."""
    subject = rng.integers(0, SUBJECTS, n)
    own = np.minimum(rng.zipf(1.15, (n, LENGTH // 4)), OWN) - 1
    common = np.minimum(rng.zipf(1.15, (n, 3 * LENGTH // 4)), COMMON) - 1
    words = np.hstack([subject[:, None] * OWN + own, SUBJECTS * OWN + common])
    once = np.ones(words.size, np.float32), words.ravel(), np.arange(n + 1) * LENGTH
    X = sp.csr_matrix(once, shape=(n, SUBJECTS * OWN + COMMON))
    X.sum_duplicates()
    return X, subject


X, subject = texts(6000)
X_test, subject_test = texts(3000)
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} different ones a text")

# %%
# Vectors without labels
# ----------------------
# Targets would be ignored. The neighbours of a word, by the cosine of their vectors, should be of
# the same subject; truncated SVD of the same width stands beside.

bag = EmbeddingBag(32, loss="cooccurrence", tol=0.02, random_state=0, n_jobs=2).fit(X)
print(f"{bag.n_iter_} epochs, loss {bag.loss_curve_[0]:.2f} to {bag.loss_curve_[-1]:.2f}")
svd = TruncatedSVD(32, random_state=0).fit(X)


def same_subject(vectors, k=10):
    """Return the share of the nearest words of a subject's words that are of that subject."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosine = unit[: SUBJECTS * OWN] @ unit.T
    cosine[np.arange(SUBJECTS * OWN), np.arange(SUBJECTS * OWN)] = -2
    near = np.argsort(-cosine, axis=1)[:, :k]
    return np.mean(near // OWN == np.arange(SUBJECTS * OWN)[:, None] // OWN)


print(f"neighbours of the same subject: {same_subject(bag.embedding_):.3f}")
print(f"by truncated SVD: {same_subject(svd.components_.T):.3f}")

# %%
# A classifier with few labels
# ----------------------------
# ``init`` takes the fitted vectors, which then go on learning, slowly: a low rate keeps what they
# know. So few rows are not split once more to stop early; all fits take their 60 epochs.

warnings.simplefilter("ignore", ConvergenceWarning)
labels = [1, 2, 4, 8, 16]
scores = {"labels alone": [], "from the vectors": []}
for n in labels:
    found = {name: [] for name in scores}
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(subject))
        few = np.concatenate([order[subject[order] == s][:n] for s in range(SUBJECTS)])
        settings = dict(n_components=32, early_stopping=False, max_iter=60, random_state=seed)
        starts = {
            "labels alone": {},
            "from the vectors": dict(init=FrozenEstimator(bag), learning_rate_init=0.01),
        }
        for name, start in starts.items():
            clf = EmbeddingBagClassifier(**start, **settings).fit(X[few], subject[few])
            found[name].append(clf.score(X_test, subject_test))
    for name, values in found.items():
        scores[name].append(np.mean(values))
    print(f"{n:2} labels a subject:", {name: f"{s[-1]:.3f}" for name, s in scores.items()})

fig, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for name, values in scores.items():
    ax.plot(labels, values, marker="o", label=name)
ax.set(xlabel="labelled texts a subject", ylabel="accuracy", xscale="log", xticks=labels)
ax.set_xticks(labels, [str(n) for n in labels])
ax.legend()
fig.savefig("few_labels.png", dpi=150)
