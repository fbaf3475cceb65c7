"""Ledgers count every token while they can, and say by how much they may be wrong later."""

from collections import Counter

import numpy as np
import pytest

from skembed import FeatureHasher
from skembed.hashing import Ledger, Tokens
from skembed.hashing._ledger import MOST
from skembed.kernels import Backend


def tokens_of(numbers, values=None):
    hashes = Backend().hash_ids(np.asarray(numbers), 0)
    return Tokens(np.array([0, len(hashes)]), hashes, values, lambda i: str(numbers[i]))


def counted(ledger):
    _, counts, names = ledger.arrays()
    return dict(zip(names, counts.tolist(), strict=True))


def test_counts_are_exact_while_there_is_room():
    rng = np.random.default_rng(0)
    ledger, numbers = Ledger(), rng.zipf(1.5, 5000) % 1000
    for part in np.array_split(numbers, 7):
        ledger.add(tokens_of(part))
    assert counted(ledger) == {str(k): n for k, n in Counter(numbers.tolist()).items()}
    assert ledger.error == ledger.dropped == 0


def test_tokens_of_weight_zero_are_absent():
    ledger = Ledger()
    ledger.add(tokens_of([1, 2, 1], np.array([0.0, 0.0, 3.0])))
    assert counted(ledger) == {"1": 1}


@pytest.mark.parametrize("merge", [False, True])
def test_memory_is_bounded_and_so_is_the_error(merge):
    rng = np.random.default_rng(1)
    numbers, ledger = rng.zipf(1.3, 40_000) % 100_000, Ledger(most=500)
    for part in np.array_split(numbers, 40):
        target = Ledger(most=500) if merge else ledger
        target.add(tokens_of(part))
        if merge:
            ledger.merge(target)
        assert len(ledger.entries) <= 500
    truth, found = Counter(map(str, numbers.tolist())), counted(ledger)
    assert ledger.error > 0
    assert sum(found.values()) + ledger.dropped == len(numbers)
    for name, count in truth.items():
        assert found.get(name, 0) <= count <= found.get(name, 0) + ledger.error
    heavy = [name for name, count in truth.items() if count > ledger.error]
    assert heavy
    assert set(heavy) <= set(found)


def test_room_is_for_a_million():
    assert MOST == 2**20


def report_of(docs, n_features, **params):
    hasher = FeatureHasher(n_features, input_type="string", store_names=True, **params)
    return hasher.fit(docs), hasher.fit(docs).collision_report()


def test_report_agrees_with_counting_by_hand():
    rng = np.random.default_rng(2)
    docs = [[f"w{i}" for i in rng.zipf(1.4, 20) % 300] for _ in range(50)]
    hasher, report = report_of(docs, 64)
    truth, columns = Counter(w for doc in docs for w in doc), {}
    for word in truth:
        columns.setdefault(hasher.transform([[word]]).indices[0].item(), []).append(word)
    shared = [word for words in columns.values() if len(words) > 1 for word in words]
    assert report.n_names == len(truth)
    assert report.n_tokens == 1000
    assert report.n_columns == len(columns)
    want = sum(truth[word] for word in shared) / 1000
    assert report.colliding_share == pytest.approx(want)
    assert report.max_count_dropped == 0
    lesser = {c: sum(sorted(truth[w] for w in words)[:-1]) for c, words in columns.items()}
    assert [lesser[c] for c, _ in report.worst_columns] == sorted(lesser.values())[-10:][::-1]
    for column, names in report.worst_columns:
        assert names == hasher.inverse_lookup(column)
        assert {name for name, _, _ in names} == set(columns[column])


def test_advice_is_the_least_power_of_two_that_is_good():
    docs = [[f"w{i}" for i in range(400)]]
    _, report = report_of(docs, 50)
    advice = report.suggested_n_features
    assert advice & (advice - 1) == 0
    assert report_of(docs, advice)[1].colliding_share <= 0.01
    assert report_of(docs, advice // 2)[1].colliding_share > 0.01
    assert report_of(docs, advice)[1].suggested_n_features == advice
    assert report_of(docs, np.int64(50))[1].suggested_n_features == advice


def test_several_hashes_are_looked_up_each():
    docs = [["a", "b"], ["a"]]
    hasher, report = report_of(docs, 2**20, n_hashes=3)
    X = hasher.transform([["a"]])
    assert X.nnz == 3
    for column, sign in zip(X.indices, X.data, strict=True):
        assert hasher.inverse_lookup(column) == [("a", 2, sign)]
    assert report.n_names == 2
    assert report.n_columns == 6
    names = hasher.get_feature_names_out()
    assert sorted(names[X.indices]) == ["a #0", "a #1", "a #2"]
