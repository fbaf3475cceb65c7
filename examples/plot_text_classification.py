"""
==========================================
Texts into classes, for users of fastText
==========================================

fastText's recipe for texts (a vector for each word and each pair of words, pooled, and a linear
classifier on top) is two steps of a pipeline here: :class:`skembed.HashingVectorizer` and
:class:`skembed.EmbeddingBagClassifier`. The script tells which part of SciPy a paragraph of its
documentation belongs to, shows what the arguments of fastText become, and asks ``predict_top_k``
for the best parts for some questions. It takes about ten seconds on two cores.

The texts are the docstrings of the SciPy that is installed, so that nothing is downloaded; another
version of SciPy gives slightly different numbers.
"""

# %%
# The texts
# ---------
# One text is a paragraph of a docstring. Test paragraphs come from functions that have no paragraph
# in training: two paragraphs about one function are too alike for an honest test. Code is left out,
# and so are deprecations.

import importlib
import inspect
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline

from skembed import EmbeddingBagClassifier, HashingVectorizer
from skembed.metrics import precision_at_k_score

PARTS = "fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats"

texts = {}  # a paragraph that occurs twice counts once
for part in PARTS.split():
    module = importlib.import_module(f"scipy.{part}")
    for name in module.__all__:
        for paragraph in (inspect.getdoc(getattr(module, name)) or "").split("\n\n"):
            if len(paragraph.split()) >= 8 and not re.search(">>>|deprecated", paragraph):
                texts.setdefault(paragraph, (part, name))
labels, functions = np.array(list(texts.values())).T
texts = np.array(list(texts), dtype=object)
split = GroupShuffleSplit(1, test_size=0.25, random_state=0)
train, test = next(split.split(texts, groups=functions))
print(f"{len(train):,} paragraphs to train on, {len(test):,} to test, {len(set(labels))} parts")

# %%
# The recipe
# ----------
# What ``fasttext supervised`` takes, and what it becomes:
#
# ======================  ======================================================================
# fastText                here
# ======================  ======================================================================
# ``-wordNgrams 2``       ``HashingVectorizer(ngram_range=(1, 2))``
# ``-bucket 2000000``     ``HashingVectorizer(n_features=2**21)``; words are hashed too
# ``-minn 3 -maxn 5``     a second vectorizer with ``analyzer="char_wb", ngram_range=(3, 5)`` in a
#                         ``FeatureUnion``
# ``-dim 100``            ``n_components=100``
# ``-lr 0.5``             ``learning_rate_init``; the default fits most data, as Adagrad adapts it
# ``-epoch 25``           nothing: training stops when rows held out are predicted no better
# ``-minCount 2``         ``min_count=2``; it counts texts that hold a word, not occurrences
# ``-loss softmax``       ``loss="log_loss"``, the default
# ``-loss ova``           ``loss="ova"``, or a sparse indicator of labels as y
# ``-loss ns -neg 5``     ``loss=NegativeSampling(5)``
# ``-pretrainedVectors``  ``init=``, an array
# ``-thread 4``           ``n_jobs=4``, which changes no bit of the result
# ``predict FILE 3``      ``predict_top_k(texts, 3)``
# ======================  ======================================================================
#
# The rows keep the counts of their words (``norm=None``), because the bag divides by a norm of its
# own; float32 halves the memory.


def make_model(ngram_range):
    """Return the pipeline of vectorizer and bag."""
    return make_pipeline(
        HashingVectorizer(n_features=2**20, ngram_range=ngram_range, norm=None, dtype=np.float32),
        EmbeddingBagClassifier(n_components=64, random_state=0, n_jobs=2),
    )


models = {"words": make_model((1, 1)), "words and pairs": make_model((1, 2))}
for name, model in models.items():
    bag = model.fit(texts[train], labels[train])[-1]
    print(
        f"{name:16} accuracy {model.score(texts[test], labels[test]):.3f} after "
        f"{bag.best_n_iter_} epochs, {len(bag.active_features_):,} vectors"
    )
constant = DummyClassifier().fit(texts[train], labels[train])
print(f"{'largest part':16} accuracy {constant.score(texts[test], labels[test]):.3f}")

# %%
# Pairs of words add little here, where single words give the subject away; they matter where the
# order of words does, as in "not good".
#
# The best three
# --------------
# ``predict_top_k`` gives the classes of the highest scores, best first. A pipeline has no such
# method, so its two steps are called in turn. The questions are not written like documentation, and
# the right part is among the first three all the same.

model = models["words and pairs"]
vectorizer, bag = model
questions = [
    "remove the noise from a recording with a band-pass filter",
    "is the mean of these two samples significantly different",
    "solve a system of differential equations with given initial values",
    "find the lowest point of a function of several variables under constraints",
    "rotate a picture by 30 degrees",
    "nearest neighbours of a point among many points",
]
best, _ = bag.predict_top_k(vectorizer.transform(questions), 3)
for question, parts in zip(questions, best, strict=True):
    print(f"{question}\n    {', '.join(parts)}")

# %%
# How often are the best k enough?
# --------------------------------
# On the left the share of test paragraphs whose part is among the k best; the largest parts, taken
# blindly, are what has to be beaten. On the right where the paragraphs of each part go: a part with
# few paragraphs, such as ``spatial``, loses many to the large ones.

classes = bag.classes_
ks = np.arange(1, 7)


def found_by_k(scores):
    """Return the share of test rows with the true class among the k best, for each k."""
    return [k * precision_at_k_score(labels[test], scores, k=k, labels=classes) for k in ks]


fig, (left, right) = plt.subplots(
    1, 2, figsize=(12, 5.5), layout="constrained", width_ratios=[1, 1.3]
)
for name, model in models.items():
    left.plot(ks, found_by_k(model.predict_proba(texts[test])), "o-", label=name)
blind = constant.set_params(strategy="prior").fit(texts[train], labels[train])
left.plot(
    ks, found_by_k(blind.predict_proba(texts[test])), "--", color="grey", label="largest parts"
)
left.set(
    title="True part among the k best",
    xlabel="k",
    ylabel="share of test paragraphs",
    ylim=(0, 1.02),
)
left.legend(loc="lower right")
ConfusionMatrixDisplay.from_predictions(
    labels[test],
    models["words and pairs"].predict(texts[test]),
    normalize="true",
    values_format=".2f",
    xticks_rotation=45,
    cmap="Blues",
    ax=right,
    text_kw={"fontsize": 8},
)
plt.setp(right.get_xticklabels(), ha="right", rotation_mode="anchor")
right.set_title("Words and pairs: where the paragraphs of a part go")
picture = Path("text_classification.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# To take away: hash words and pairs without a norm into many columns, leave the rest to the
# defaults, hold out whole groups for the test where texts come in groups, and look at the best k
# before judging a classifier by its first answer alone.
