"""Rows that cannot be hashed are named; the rest is compared in test_scikit_learn.py."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skembed import FeatureHasher

GOOD_DICTS, GOOD_PAIRS = [{"a": 1}] * 300, [[("a", 1)]] * 300
BAD = {
    "row": ("dict", [*GOOD_DICTS, [1]], TypeError, r"row 300 is \[1\] \(list\)"),
    "pair row": ("pair", [[("a", 1)], 5], TypeError, r"row 1 is 5 \(int\)"),
    "no pair": ("pair", [*GOOD_PAIRS, [("a", 1, 2)]], ValueError, r"row 300 holds \('a', 1, 2\)"),
    "two letters": ("pair", [[("a", 1), "bc"]], ValueError, "row 0 holds 'bc'"),
    "name": ("dict", [*GOOD_DICTS, {1: 2}], TypeError, r"strings, but row 300 holds 1 \(int\)"),
    "pair name": ("pair", [[(None, 1)]], TypeError, "row 0 holds None"),
    "string": ("string", [["a"], ["b", 7]], TypeError, r"strings, but row 1 holds 7 \(int\)"),
    "number": ("string", [["a"], [np.int8(7)]], TypeError, "row 1 holds"),
    "flat numbers": ("string", [1, 2], TypeError, "row 0 is 1"),
    "nan": ("dict", [*GOOD_DICTS, {"b": np.nan}], ValueError, "row 300 holds nan .* for 'b'"),
    "infinite": ("pair", [[("a", 1.0), ("b", -np.inf)]], ValueError, "row 0 holds -inf"),
    "none": ("dict", [{"a": "x"}, {"b": None}], ValueError, "row 1 holds None"),
    "bytes": ("dict", [{"a": b"x"}], ValueError, "row 0 holds b'x'"),
    "complex": ("dict", [{"a": 1j}], ValueError, "row 0 holds 1j"),
    "list": ("dict", [{"a": "x", "b": ["y"]}], ValueError, r"row 0 holds \['y'\]"),
    "huge": ("dict", [{"a": 10**400}], ValueError, "row 0 holds 1000"),
    "half a pair": ("string", [["a"], ["\ud800"]], ValueError, "Row 1 holds .* no valid text"),
    "half in a value": ("dict", [{"a": "x"}, {"a": "\ud800"}], ValueError, "Row 1"),
    "nothing": ("dict", [], ValueError, "Cannot vectorize empty sequence"),
    "sparse": ("dict", sp.csr_array(np.eye(2)), TypeError, 'set input_type="csr"'),
}


@pytest.mark.parametrize(("input_type", "rows", "error", "message"), BAD.values(), ids=list(BAD))
def test_bad_rows(input_type, rows, error, message):
    with pytest.raises(error, match=message):
        FeatureHasher(input_type=input_type).fit_transform(rows)


def test_mappings_and_iterables_of_any_kind():
    class Named(dict):
        pass

    want = FeatureHasher().transform([{"a": 2, "b": "x"}, {}])
    pairs = FeatureHasher(input_type="pair")
    series = pd.Series({"a": 2, "b": "x"}, dtype=object)
    shapes = [
        FeatureHasher().transform(rows)
        for rows in ([Named(a=2, b="x"), {}], (d for d in [{"a": 2, "b": "x"}, {}]), [series, {}])
    ]
    shapes.append(pairs.transform([(("a", 2), ["b", "x"]), iter(())]))
    shapes.append(pairs.transform([np.array([["a", 2], ["b", "x"]], object), []]))
    for X in shapes:
        assert (X.indices.tolist(), X.data.tolist()) == (want.indices.tolist(), want.data.tolist())
        assert X.indptr.tolist() == want.indptr.tolist()
