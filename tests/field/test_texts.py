"""Bags of hashed words: processes, containers and missing texts."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from skembed import HashingVectorizer

TEXTS = ["red grün 7 17", "Blue", "", "red red"]
PROGRAM = """
from skembed import HashingVectorizer
for n_jobs in (1, 2):
    for params in ({}, {"stop_words": "english"}, {"analyzer": "char_wb", "ngram_range": (2, 3)}):
        X = HashingVectorizer(n_jobs=n_jobs, **params).fit_transform(%r)
        print(X.indptr.tolist(), X.indices.tolist(), X.data.tolist())
"""


def test_hash_does_not_depend_on_the_process():
    def run(hash_seed):
        command = [sys.executable, "-c", PROGRAM % TEXTS]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    first, *others = map(run, ("1", "2", "random"))
    assert first.count("[") == 18
    assert set(others) == {first}


@pytest.mark.parametrize("bad", ["red", b"red", [["red"], ["blue"]], [b"red", ["blue"]]])
def test_one_text_or_lists_of_words_where_texts_are_meant(bad):
    for method in ("transform", "fit_transform"):
        with pytest.raises(ValueError, match="expected"):
            getattr(HashingVectorizer(), method)(bad)


class NAType:  # stands in for pandas.NA: its truth value is ambiguous
    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __eq__(self, other):
        return self

    __hash__ = object.__hash__


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, NAType(), pd.NA, pd.NaT])
def test_missing_text_is_an_error_not_the_word_nan(missing):
    with pytest.raises(ValueError, match="expected byte or unicode string"):
        HashingVectorizer().fit_transform(np.array(["nan", missing, "None"], dtype=object))
