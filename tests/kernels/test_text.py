"""Words and n-grams of the kernels against plain Python, and against scikit-learn's analyzers."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import murmurhash3_32

from skembed.core import TOKEN_PATTERNS, TextRule
from skembed.kernels import get_backend
from skembed.kernels.cpu import _matrix
from skembed.kernels.cpu._grams import ASCII, CUTTERS, UNICODE, characters

ASCII_LETTERS = "abB_7 \t\n\x1c\x00'."
LETTERS = ASCII_LETTERS + "éßΣ你\u0301\u2003\u00a0\u2028\U0001d400\U0001f600"
texts = st.one_of(
    st.lists(st.text(ASCII_LETTERS, max_size=25), max_size=6),
    st.lists(st.text(LETTERS, max_size=25), max_size=6),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=4),
)
ranges = st.tuples(st.integers(1, 5), st.integers(0, 4)).map(lambda r: (r[0], r[0] + r[1]))


def plain_words(text, rule):
    words = re.findall(f"{rule.token_pattern}", text)
    words = [word for word in words if word not in rule.stop_words]
    return [
        " ".join(words[i : i + n])
        for n in range(rule.low, rule.high + 1)
        for i in range(len(words) - n + 1)
    ]


def plain_chars(text, rule):
    text = re.sub(r"\s\s+", " ", text)
    return [
        text[i : i + n] for n in range(rule.low, rule.high + 1) for i in range(len(text) - n + 1)
    ]


def plain_word_chars(text, rule):
    grams = []
    for word in text.split():
        word = f" {word} "
        least = min(rule.low, len(word))
        for n in range(least, max(least, min(rule.high, len(word))) + 1):
            grams += [word[i : i + n] for i in range(len(word) - n + 1)]
    return grams


PLAIN = {"word": plain_words, "char": plain_chars, "char_wb": plain_word_chars}


def joined(documents):
    """Return documents one behind the other, and their offsets."""
    parts = [document.encode() for document in documents]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def cut(rule, documents, n_characters=None):
    """Return the sorted n-grams of each document that the kernels find."""
    text, offsets = joined(documents)
    wide = text.max(initial=0) >= ASCII
    table = n_characters or (UNICODE if wide else ASCII)
    spans, indptr = CUTTERS[rule.analyzer](rule)(text, offsets, table)
    assert len(spans) == indptr[-1]
    grams = [spans.token(i).decode() for i in range(len(spans))]
    return [sorted(grams[s:e]) for s, e in pairwise(indptr.tolist())]


@pytest.mark.parametrize("analyzer", CUTTERS)
@settings(max_examples=150)
@given(documents=texts, low_high=ranges)
def test_grams_are_those_of_plain_python(analyzer, documents, low_high):
    rule = TextRule(analyzer, *low_high)
    want = [sorted(PLAIN[analyzer](document, rule)) for document in documents]
    assert cut(rule, documents) == want
    assert cut(rule, documents, UNICODE) == want


@pytest.mark.parametrize("analyzer", CUTTERS)
@settings(max_examples=50)
@given(documents=texts, low_high=ranges)
def test_plain_python_is_what_scikit_learn_does(analyzer, documents, low_high):
    rule = TextRule(analyzer, *low_high)
    vectorizer = CountVectorizer(analyzer=analyzer, ngram_range=low_high, lowercase=False)
    analyze = vectorizer.build_analyzer()
    for document in documents:
        assert sorted(PLAIN[analyzer](document, rule)) == sorted(analyze(document))


@pytest.mark.parametrize("pattern", TOKEN_PATTERNS)
@settings(max_examples=50)
@given(documents=texts, low_high=ranges)
def test_token_patterns(pattern, documents, low_high):
    rule = TextRule("word", *low_high, pattern)
    assert cut(rule, documents) == [sorted(plain_words(text, rule)) for text in documents]


@settings(max_examples=100)
@given(
    documents=texts,
    low_high=ranges,
    stop_words=st.frozensets(st.text("ab_7é你", max_size=4), max_size=40),
)
def test_stop_words_leave_before_words_are_joined(documents, low_high, stop_words):
    rule = TextRule("word", *low_high, stop_words=stop_words)
    want = [sorted(plain_words(text, rule)) for text in documents]
    assert cut(rule, documents) == want
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the stop words are no words
        analyze = CountVectorizer(
            stop_words=list(stop_words), ngram_range=low_high, lowercase=False
        ).build_analyzer()
    assert [sorted(analyze(document)) for document in documents] == want


def test_many_stop_words_and_every_word_among_them():
    words = [f"w{i}" for i in range(3000)]
    rule = TextRule("word", 1, 2, stop_words=frozenset(words[::2]))
    assert cut(rule, [" ".join(words)]) == [
        sorted(words[1::2] + [f"{a} {b}" for a, b in pairwise(words[1::2])])
    ]
    rule = TextRule("word", 1, 2, stop_words=frozenset(words))
    assert cut(rule, [" ".join(words), "", "other w1 word"]) == [
        [],
        [],
        ["other", "other word", "word"],
    ]


@pytest.mark.parametrize("pattern", [r"\w", r"\S", r"\s"])
def test_characters_are_those_of_regular_expressions(pattern):
    table = characters(pattern, UNICODE)
    for code in [*range(0x3000), *range(0xD7F0, 0xE010), 0x1D400, 0x1F600, UNICODE - 1]:
        assert table[code] == bool(re.fullmatch(pattern, chr(code)))
    assert characters(pattern, ASCII).tolist() == table[:ASCII].tolist()


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("analyzer", CUTTERS)
@pytest.mark.parametrize("wide", [False, True])
def test_hashes_do_not_depend_on_threads(monkeypatch, n_jobs, analyzer, wide):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    rng = np.random.default_rng(3)
    letters = list("ab  c" + "é你 " * wide)
    documents = ["".join(rng.choice(letters, rng.integers(0, 40))) for _ in range(50)]
    documents[7:20] = [""] * 13
    rule = TextRule(analyzer, 2, 3)
    with get_backend(n_jobs) as backend:
        indptr, hashes = backend.text_hasher(rule, 11)(*joined(documents))
        again = backend.text_hasher(rule, 11)(*joined(documents[:1]))
    assert indptr.dtype == np.int64 and hashes.dtype == np.int32
    for (s, e), document in zip(pairwise(indptr.tolist()), documents, strict=True):
        want = [murmurhash3_32(gram, seed=11) for gram in PLAIN[analyzer](document, rule)]
        assert sorted(hashes[s:e].tolist()) == sorted(want)
    assert again[1].tolist() == hashes[: indptr[1]].tolist()


@pytest.mark.parametrize("documents", [[], [""], ["", "", ""], [" ", "\n\n", "\t"]])
@pytest.mark.parametrize("analyzer", CUTTERS)
def test_documents_without_words(documents, analyzer):
    rule = TextRule(analyzer, 2, 4)
    assert cut(rule, documents) == [[] for _ in documents]


def test_one_long_document_and_long_runs():
    text = "word " * 20_000 + "x" * 50_000
    rule = TextRule("char", 3, 3)
    (grams,) = cut(rule, [text])
    assert len(grams) == len(text) - 2
    (grams,) = cut(TextRule("word", 1, 100_000), ["ab " * 300])
    assert len(grams) == 300 * 301 // 2
