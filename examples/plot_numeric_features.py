"""
=================================
Numeric columns beside categories
=================================

The floor space of a flat is a magnitude: a room more is so much more rent. Its district is a member
of a set. The bag is made for members, and its norm cancels how large a value is; columns named in
``numeric_features`` go past it, straight into the head. The script predicts rents from both kinds
of columns and shows what becomes of the floor space inside the bag, beside it, and beside it with a
hidden layer. It takes a few seconds on two cores, on data that it makes.
"""

# %%
# The flats
# ---------
# A district has a price per square metre, so that number and category multiply. The age works both
# ways: new flats are dear, and so are old ones with high ceilings. The advertisement has up to
# twenty words, each of which goes with a slightly higher or lower rent.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skembed import EmbeddingBagRegressor

rng = np.random.default_rng(0)
n, n_districts = 12_000, 50
price = rng.uniform(10, 20, n_districts)  # of a square metre
area = rng.lognormal(4.2, 0.5, n).clip(15, 300)
age = rng.uniform(0, 120, n)
district = rng.integers(n_districts, size=n)
value = rng.normal(0, 15, 300)  # of a word
words = [rng.choice(300, size, replace=False) for size in rng.integers(0, 21, n)]
rent = area * price[district] + np.array([value[has].sum() for has in words])
rent += 0.08 * (age - 60) ** 2 + rng.normal(0, 60, n)
flats = pd.DataFrame(
    {
        "area": area.astype(np.float32),
        "age": age.astype(np.float32),
        "district": [f"d{k}" for k in district],
        "words": [" ".join(f"word{k}" for k in has) for has in words],
    }
)
train, test, y_train, y_test = train_test_split(flats, rent, random_state=0)
print(train.head(4).to_string(index=False, max_colwidth=50))

# %%
# One CSR matrix
# --------------
# The numeric columns come first, so that they are columns 0 and 1 whatever the categories turn out
# to be. They are centred and scaled, because solvers move the weight of a column and the intercept
# one step at a time. The target is scaled too: the step of Adagrad does not know the unit of y.


def make_model(regressor):
    """Return a pipeline of the encoder and a regressor of the scaled target."""
    encoder = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["area", "age"]),
            ("district", OneHotEncoder(dtype=np.float32), ["district"]),
            ("words", CountVectorizer(dtype=np.float32), "words"),
        ],
        sparse_threshold=1.0,
    )
    scaled = TransformedTargetRegressor(regressor, transformer=StandardScaler())
    return make_pipeline(encoder, scaled)


bag = {"n_components": 16, "random_state": 0, "n_jobs": 2}
beside = {**bag, "numeric_features": [0, 1]}
models = {
    "ridge regression": Ridge(),
    "numbers in the bag": EmbeddingBagRegressor(**bag),
    "numbers beside the bag": EmbeddingBagRegressor(**beside),
    "in the bag, hidden layer": EmbeddingBagRegressor(**bag, hidden_layer_sizes=(64,)),
    "beside, hidden layer": EmbeddingBagRegressor(**beside, hidden_layer_sizes=(64,)),
}
large = (test["area"] > 150).to_numpy()
errors = {}
for name, regressor in models.items():
    models[name] = make_model(regressor).fit(train, y_train)
    error = np.abs(models[name].predict(test) - y_test)
    errors[name] = error.mean(), error[large].mean()
    print("{:25} mean absolute error {:5.1f}, of large flats {:5.1f}".format(name, *errors[name]))

# %%
# With a linear head the numbers do better beside the bag, where the words of an advertisement take
# nothing away from them. Ridge regression is better still, as it adds up words where the bag takes
# a kind of mean. The hidden layer sees that a square metre costs more in some districts than in
# others, and that age works both ways. It nearly makes up for numbers inside the bag, but not in
# large flats.
#
# What a square metre adds
# ------------------------
# A test flat with its floor space and its number of words changed, in the dearest district. Inside
# the bag the curves depend on the words, and bend: once the floor space is the largest value of its
# row, the norm grows as fast as it does. Beside the bag with a linear head all districts get one
# slope. Beside it with a hidden layer the slope is that of the district.

flat = test[(test["age"] - 60).abs() < 1].iloc[[0]].assign(district=f"d{price.argmax()}")
grid = np.linspace(20, 250, 47, dtype=np.float32)
fig, (left, *axes) = plt.subplots(1, 4, figsize=(15, 4.6), layout="constrained")
height = np.arange(len(errors))
for k, which in enumerate(["all flats", "over 150 m²"]):
    bars = left.barh(height + 0.4 * k - 0.2, [e[k] for e in errors.values()], 0.4, label=which)
    left.bar_label(bars, fmt="%.0f", padding=3)
left.set_yticks(height, list(errors))
left.invert_yaxis()
left.set(title="Mean absolute error", xlabel="rent", xlim=(0, 1.2 * max(max(errors.values()))))
left.legend(loc="lower right")
for ax, name in zip(axes, list(models)[2:], strict=True):
    for n_words, color in ((0, "tab:blue"), (20, "tab:red")):
        has = np.arange(n_words)
        rows = flat.loc[flat.index.repeat(len(grid))].assign(
            area=grid, words=" ".join(f"word{k}" for k in has)
        )
        ax.plot(grid, models[name].predict(rows), color=color, lw=2, label=f"{n_words} words")
        truth = grid * price.max() + value[has].sum()
        ax.plot(grid, truth, "--", color=color, lw=1.5, label="true")
    ax.set(title=name.capitalize(), xlabel="floor space (m²)", ylim=(0, 5500))
axes[0].set_ylabel("rent")
axes[0].legend(loc="upper left")
picture = Path("numeric_features.png").resolve()
fig.savefig(picture, dpi=120)
print(f"The picture is in {picture}")

# %%
# To take away: name magnitudes in ``numeric_features``, centre and scale them, and add a hidden
# layer where numbers and categories go together or a number works both ways.
