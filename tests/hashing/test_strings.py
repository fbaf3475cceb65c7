"""Joined strings are cut where they were joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skembed.hashing._strings import spans_of, spans_of_pairs, spans_of_text

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.just("a\0")


@given(st.lists(text | st.binary(max_size=5)), st.binary(max_size=3))
def test_spans_of(strings, prefix):
    spans = spans_of(strings, prefix)
    want = [prefix + (s if isinstance(s, bytes) else s.encode()) for s in strings]
    assert [spans.token(i) for i in range(len(spans))] == want


@given(st.lists(st.tuples(text, text)))
def test_spans_of_pairs(pairs):
    spans = spans_of_pairs([part for pair in pairs for part in pair])
    want = [f"{name}={value}".encode() for name, value in pairs]
    assert [spans.token(i) for i in range(len(spans))] == want


@pytest.mark.parametrize("other", [1, None, np.int8(1), np.str_, bytearray(b"a"), np.ones(2)])
def test_anything_else_is_refused(other):
    for call in (spans_of, spans_of_text):
        with pytest.raises(TypeError):
            call(["a", other])
    with pytest.raises(TypeError):
        spans_of_text(["a", b"a"])
