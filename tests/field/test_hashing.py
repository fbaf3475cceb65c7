"""Faults that people met in hashing."""

import os
import subprocess
import sys

import numpy as np
import pytest

from house import ROOT
from skembed import FeatureHasher

SCRIPT = """
import numpy as np
from skembed import FeatureHasher
rows = [["red", "grün", "7"], ["blue"]]
X = FeatureHasher(1 << 16, input_type="string").fit_transform(rows)
T = FeatureHasher(input_type="table", interactions=[(0, 1)], n_hashes=2).fit_transform(
    np.array([["red", 1], [None, 2.5]], dtype=object)
)
for part in (X.indices, X.data, T.indices, T.data):
    print(part.tolist())
"""


def test_d41_hash_does_not_depend_on_the_process():
    found = set()
    for seed in ("1", "2", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        run = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_d42_two_tokens_in_one_column_with_opposite_signs():
    hasher = FeatureHasher(8, input_type="string")
    cells = []
    for token in (f"t{i}" for i in range(200)):
        X = hasher.fit_transform([[token]])
        cells.append((X.indices[0], X.data[0], token))
    a = cells[0]
    b = next(cell for cell in cells if cell[0] == a[0] and cell[1] == -a[1])
    X = hasher.fit_transform([[a[2], b[2]], [a[2]]])
    assert X[[0]].nnz == 0
    assert X[[1]].nnz == 1
    plain = FeatureHasher(8, input_type="string", alternate_sign=False)
    Y = plain.fit_transform([[a[2], b[2]]])
    assert Y.nnz == 1
    assert Y.data[0] == 2.0


@pytest.mark.parametrize("bad", [["red", "blue"], "red", [b"red"], [["red"], "blue"]])
def test_d43_a_bare_string_where_a_list_of_strings_is_meant(bad):
    with pytest.raises(ValueError, match="iterable over iterables of strings"):
        FeatureHasher(64, input_type="string").fit_transform(bad)


class NAType:
    """Stands in for pandas.NA."""

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __eq__(self, other):
        return self

    __hash__ = object.__hash__


def test_d44_missing_categories():
    def column(value):
        X = FeatureHasher(input_type="table").fit_transform(np.array([[value]], dtype=object))
        return tuple(X.indices.tolist())

    missing = column(None)
    assert missing == column(float("nan")) == column(np.nan) == column(NAType())
    assert missing not in (column("nan"), column("None"), column(""), column("unseen-word"))


def test_d45_numeric_looking_tokens_are_spread_like_any_others():
    hasher = FeatureHasher(1 << 20, input_type="table")
    ids = [str(i) for i in range(1000)]
    X = hasher.fit_transform(np.array([[i, i] for i in ids], dtype=object))
    assert 2000 - len(np.unique(X.indices)) <= 12
    X = FeatureHasher(1 << 20, input_type="table").fit_transform(np.array(ids)[:, None])
    assert np.mean(np.diff(np.sort(X.indices)) == 1) < 0.02


def test_d46_which_words_are_in_this_column():
    docs = [["cat", "dog"], ["cat"], ["cat", "owl"]]
    hasher = FeatureHasher(4, input_type="string", store_names=True).fit(docs)
    names = {}
    for column in range(4):
        hits = hasher.inverse_lookup(column)
        assert [count for _, count, _ in hits] == sorted((h[1] for h in hits), reverse=True)
        for name, count, sign in hits:
            names[name] = count
            assert hasher.transform([[name]])[0, column] == sign
    assert names == {"cat": 3, "dog": 1, "owl": 1}


@pytest.mark.parametrize("n_features", [0, -5, 2**32, 2**40, 2**31, 10.5])
@pytest.mark.parametrize("method", ["fit_transform", "transform", "fit"])
def test_d47_too_many_columns(n_features, method):
    hasher = FeatureHasher(n_features, input_type="string")
    with pytest.raises(ValueError, match="n_features"):
        getattr(hasher, method)([["a", "b"]])


def test_d47_as_many_columns_as_there_can_be():
    hasher = FeatureHasher(2**31 - 1, input_type="string")
    X = hasher.fit_transform([["a", "b", "c", "d"]])
    assert X.shape[1] == 2**31 - 1
    assert len(set(X.indices.tolist())) == 4
    assert X.indices.min() >= 0
