"""The matrices of scikit-learn's FeatureHasher, and its own tests."""

import os
import subprocess
import sys
from importlib import resources

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher as Peer

from house import ROOT
from skembed import FeatureHasher

WORDS = ["", "a", "b=c", "grün", "日本", "🙂", "x\0y", "0", "1.0", "nan", "None", "a" * 100]
# tests of scikit-learn that do not hold here, and why; docs/hashing.md lists them
DEVIATIONS = {
    "test_hash_collisions": "reads a sum that cancelled out to 0, which we do not store",
}
HASH_TO_THE_SMALLEST = ["t1626042018", "t1768316389"]  # -2**31


def random_records(rng, values):
    """Return 10,000 dicts of up to nine names; some meet in a row of few columns."""
    names = [*WORDS, *HASH_TO_THE_SMALLEST, *(f"name{i}" for i in range(3000))]
    sizes = rng.integers(0, 10, 10_000)
    picks = rng.integers(0, len(names), sizes.sum()).tolist()
    picks = [p if p % 3 else p % len(WORDS) for p in picks]
    drawn, records = iter(zip(picks, values(rng, len(picks)), strict=True)), []
    for size in sizes.tolist():
        records.append({names[p]: v for p, v in (next(drawn) for _ in range(size))})
    return records


def texts(rng, n):
    return [WORDS[i] for i in rng.integers(0, len(WORDS), n)]


def numbers(rng, n):
    return rng.integers(-3, 4, n).tolist()


def mixed(rng, n):
    kinds = rng.integers(0, 4, n).tolist()
    makers = (lambda i: f"v{i % 50}", lambda i: i % 5, lambda i: i % 4 / 4, lambda i: i % 2 == 0)
    return [makers[kind](i) for i, kind in enumerate(kinds)]


def as_pairs(records):
    return [list(record.items()) for record in records]


def as_strings(records):
    return [[*record, *list(record)[:2]] for record in records]


def assert_same(got, want):
    want.eliminate_zeros()
    assert type(got) is type(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    for part in ("indptr", "indices", "data"):
        assert getattr(got, part).dtype == getattr(want, part).dtype
        assert np.array_equal(getattr(got, part), getattr(want, part))


@pytest.mark.parametrize("values", [texts, numbers, mixed])
@pytest.mark.parametrize("input_type", ["dict", "pair", "string"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_features": 7},
        {"n_features": 1000, "alternate_sign": False},
        {"n_features": 2**31 - 1, "dtype": np.float32},
        {"n_features": 3, "dtype": np.int64},
    ],
    ids=repr,
)
def test_same_matrix(input_type, values, params):
    records = random_records(np.random.default_rng(0), values)
    rows = {"dict": list, "pair": as_pairs, "string": as_strings}[input_type](records)
    want = Peer(input_type=input_type, **params).transform(rows)
    assert_same(FeatureHasher(input_type=input_type, **params).transform(rows), want)
    walked = FeatureHasher(input_type=input_type, n_jobs=2, **params).transform(iter(rows))
    assert_same(walked, want)


@pytest.mark.parametrize("token", HASH_TO_THE_SMALLEST)
@pytest.mark.parametrize("n_features", [1, 3, 7, 2**20, 2**31 - 1])
def test_token_with_the_smallest_hash(token, n_features):
    hashers = (cls(n_features, input_type="string") for cls in (FeatureHasher, Peer))
    assert_same(*(hasher.transform([[token, "a"]]) for hasher in hashers))


def test_records_of_the_same_names_are_those_of_any():
    records = [{"a": "x", "b": f"y{i}", "grün": ""} for i in range(600)]
    assert_same(FeatureHasher().transform(records), Peer().transform(records))
    records[-1] = {"b": "y", "a": "x"}
    assert_same(FeatureHasher().transform(records), Peer().transform(records))
    records[5] = {"a": "x", "b": 2, "grün": "z"}
    assert_same(FeatureHasher().transform(records), Peer().transform(records))


def test_bytes_are_names_as_they_are():
    rows = [["grün".encode(), "a", b"\xff\xfe"], [b""]]
    want = Peer(input_type="string").transform(rows)
    assert_same(FeatureHasher(input_type="string").transform(rows), want)


def test_own_tests_of_scikit_learn(tmp_path):
    path = resources.files("sklearn.feature_extraction.tests") / "test_feature_hasher.py"
    source, line = path.read_text(encoding="utf-8"), "from sklearn.feature_extraction import"
    assert source.count(f"{line} FeatureHasher\n") == 1
    source = source.replace(f"{line} FeatureHasher\n", "from skembed import FeatureHasher\n")
    (tmp_path / "test_peer.py").write_text(source, encoding="utf-8")
    left_out = [f"--deselect=test_peer.py::{name}" for name in DEVIATIONS]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", *left_out, "test_peer.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    summary = run.stdout.strip().splitlines()[-1]
    assert run.returncode == 0, run.stdout
    n_tests = source.count("\ndef test_") + 1  # one has two cases
    assert summary.startswith(f"{n_tests - len(DEVIATIONS)} passed, {len(DEVIATIONS)} deselected")


def test_deviation_cancelled_sums():
    X = [list("Thequickbrownfoxjumped")]
    hashers = (cls(1, input_type="string") for cls in (FeatureHasher, Peer))
    got, want = (hasher.transform(X) for hasher in hashers)
    assert want.nnz == 1
    assert want.data[0] == 0
    assert got.nnz == 0
    assert FeatureHasher(1, input_type="string", alternate_sign=False).transform(X)[0, 0] == 22
