"""HashingVectorizer: the bits of scikit-learn's for whatever documents and parameters."""

import io
import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer as Theirs
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import InvalidParameterError

from skembed import HashingVectorizer
from skembed.estimators import _vectorizer

WORDS = (
    "the a of and The don't cat CAT dog's 10,000 x_y naïve Straße ﬁnancial ΣΑΣ 你好 🙂 ™ e\u0301té"
)
SPACES = (" ", " ", " ", "  ", "\n", "\t ", "\r\n", "\x1c", "\u2003", ", ", ". ")


def some_documents(n, *, ascii_share=0.7, seed=0):
    """Texts of 0 to 20 words, some of them not ASCII."""
    rng = np.random.default_rng(seed)
    words = WORDS.split(" ") + ["".join(rng.choice(list("abcdef"), 4)) for _ in range(200)]
    documents = []
    for _ in range(n):
        size, only_ascii = rng.integers(0, 20), rng.random() < ascii_share
        parts = rng.choice(words, size), rng.choice(SPACES, size)
        text = "".join(a + b for a, b in zip(*parts, strict=True))
        documents.append(text.encode("ascii", "ignore").decode() if only_ascii else text)
    return documents


DOCUMENTS = some_documents(300)


def assert_same(got, want):
    """Same type and bits, once the zeros that scikit-learn stores are gone."""
    want.eliminate_zeros()
    assert type(got) is type(want) and got.shape == want.shape
    for name in ("indptr", "indices", "data"):
        a, b = getattr(got, name), getattr(want, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name
    assert got.has_canonical_format


def assert_equal_to_theirs(documents=DOCUMENTS, **params):
    """Both classes turn documents into the same matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parameters without use; theirs are tested there
        want = Theirs(**params).fit_transform(documents)
        got = HashingVectorizer(**params).fit_transform(documents)
    assert_same(got, want)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(_vectorizer, "CHUNK", 400)


@pytest.fixture
def no_analyzer(monkeypatch):
    """scikit-learn's analyzers must not see a document."""

    def refuse(self, *args):
        raise AssertionError("scikit-learn cuts this document")

    for name in ("_word_ngrams", "_char_ngrams", "_char_wb_ngrams"):
        monkeypatch.setattr(Theirs, name, refuse)
        monkeypatch.setitem(_vectorizer.ANALYSIS, name, refuse)


ANALYSES = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 4)},
    {"stop_words": "english"},
    {"stop_words": ["the", "cat", "naïve", "你好"], "ngram_range": (1, 3)},
    {"stop_words": []},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"\w+"},
    {"token_pattern": r"\S+"},
    {"analyzer": "char"},
    {"analyzer": "char", "ngram_range": (2, 5)},
    {"analyzer": "char_wb", "ngram_range": (3, 5)},
    {"analyzer": "char_wb", "ngram_range": (1, 1)},
    {"analyzer": "char_wb", "ngram_range": (9, 12)},
    {"analyzer": "char_wb", "ngram_range": (3, 10**30)},
    {"ngram_range": (np.int64(2), np.int16(3))},
    {"ngram_range": (10**29, 10**30), "analyzer": "char"},
]
PREPARATIONS = [
    {},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode", "lowercase": False},
]


def without_a(text):
    return text.replace("a", "")


def cut_at_a(text):
    return text.split("a")


def words_in_bytes(text):
    return iter(text.encode().split())


BY_SCIKIT_LEARN = [
    {"token_pattern": r"\b[a-z]+\b"},
    {"token_pattern": r"(\w)\w*"},
    {"token_pattern": None, "tokenizer": str.split},
    {"tokenizer": str.split, "stop_words": ["the"], "ngram_range": (1, 2)},
    {"preprocessor": str.swapcase},
    {"preprocessor": str.swapcase, "analyzer": "char", "ngram_range": (2, 3)},
    {"strip_accents": without_a},
    {"analyzer": cut_at_a},
    {"analyzer": words_in_bytes},
    {"ngram_range": (0, 1)},
    {"ngram_range": (0, 2)},
    {"ngram_range": (-1, 2), "analyzer": "char"},
]


@pytest.mark.parametrize("preparation", PREPARATIONS, ids=str)
@pytest.mark.parametrize("analysis", ANALYSES, ids=str)
def test_kernels_cut_as_scikit_learn(analysis, preparation, small_chunks):
    assert_equal_to_theirs(**analysis, **preparation)


@pytest.mark.parametrize("analysis", ANALYSES, ids=str)
def test_these_are_cut_by_kernels(analysis, no_analyzer):
    for documents in (DOCUMENTS, ["ab cd"]):
        HashingVectorizer(**analysis).transform(documents)


@pytest.mark.parametrize(
    "analysis",
    BY_SCIKIT_LEARN,
    ids=lambda given: ", ".join(f"{k}={getattr(v, '__name__', v)}" for k, v in given.items()),
)
def test_what_scikit_learn_cuts_is_hashed_alike(analysis):
    assert_equal_to_theirs(**analysis)


@pytest.mark.parametrize(
    "params",
    [
        {"norm": None},
        {"norm": "l1"},
        {"binary": True},
        {"binary": True, "norm": None},
        {"alternate_sign": False},
        {"alternate_sign": False, "binary": True, "norm": "l1"},
        {"dtype": np.float32},
        {"dtype": "float32", "norm": None},
        {"dtype": np.int64},
        {"dtype": np.int64, "norm": None},
        {"dtype": np.int8, "norm": None, "alternate_sign": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_features", [1, 7, 2**20])
@pytest.mark.parametrize("tokenizer", [None, re.compile(r"(?u)\b\w\w+\b").findall])
def test_counts_are_those_of_scikit_learn(params, n_features, tokenizer):
    assert_equal_to_theirs(n_features=n_features, tokenizer=tokenizer, **params)


def test_ten_thousand_documents():
    documents = some_documents(10_000, seed=5)
    assert_equal_to_theirs(documents, ngram_range=(1, 2))
    assert_equal_to_theirs(documents, analyzer="char_wb", ngram_range=(2, 3), n_features=2**12)


@settings(max_examples=60)
@given(
    documents=st.lists(st.text(max_size=30), min_size=1, max_size=5),
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "ascii", "unicode"]),
)
def test_any_text(documents, analyzer, lowercase, strip_accents):
    params = dict(lowercase=lowercase, strip_accents=strip_accents, ngram_range=(1, 3))
    assert_equal_to_theirs(documents, analyzer=analyzer, **params)


def test_every_character_on_its_own():
    every = map(chr, range(0x110000))
    documents = [c + "b" + c for c in every if not "\ud800" <= c <= "\udfff"]
    assert_equal_to_theirs(documents[:0x3000] + documents[0x3000::97], ngram_range=(1, 2))
    assert_equal_to_theirs(documents[:0x3000] + documents[0x3000::97], analyzer="char_wb")


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_threads_change_nothing(n_jobs, analyzer):
    documents, params = some_documents(4000), dict(analyzer=analyzer, ngram_range=(2, 3))
    want = HashingVectorizer(**params).transform(documents)
    assert_same(HashingVectorizer(n_jobs=n_jobs, **params).transform(documents), want)


@pytest.mark.parametrize("tokenizer", [None, re.compile(r"(?u)\b\w\w+\b").findall])
def test_seed(tokenizer):
    params = dict(norm=None, alternate_sign=False, tokenizer=tokenizer, token_pattern=None)
    if tokenizer is None:
        params.pop("token_pattern")
    X = HashingVectorizer(seed=3, **params).transform(["word"])
    assert X.indices.tolist() == [abs(murmurhash3_32("word", seed=3)) % 2**20]
    X = HashingVectorizer(seed=2**32 - 1, **params).transform(["word"])
    assert X.indices.tolist() == [abs(murmurhash3_32("word", seed=2**32 - 1)) % 2**20]


def test_signs_that_cancel_store_nothing_but_count_as_present():
    words = {}
    for i in range(50):
        h = murmurhash3_32(f"w{i}")
        words.setdefault(abs(h) % 4, {})[h < 0] = f"w{i}"
    plus, minus = next(both.values() for both in words.values() if len(both) == 2)
    vectorizer = HashingVectorizer(n_features=4, norm=None)
    assert vectorizer.transform([f"{plus} {minus}", plus]).nnz == 1
    X = vectorizer.set_params(binary=True).transform([f"{plus} {minus}"])
    assert X.data.tolist() == [1.0]


def test_more_columns_than_scikit_learn_takes():
    X = HashingVectorizer(n_features=2**31 - 1).fit_transform(["a few words"])
    assert X.shape == (1, 2**31 - 1) and X.nnz == 2


# -------------------------------------------------------------------- what documents come in
@pytest.mark.parametrize(
    "container",
    [
        tuple,
        iter,
        lambda d: (document for document in d),
        np.array,
        lambda d: np.array(d, object),
        pd.Series,
        lambda d: pd.Series(d, dtype=object),
        lambda d: pd.Series(d, index=np.arange(len(d), 0, -1.0)),
        lambda d: pd.DataFrame({"text": d})["text"],
        lambda d: pd.Index(d),
        pl.Series,
        lambda d: dict.fromkeys(dict(enumerate(d)).values()),
    ],
)
def test_containers(container, monkeypatch):
    monkeypatch.setattr("skembed.hashing._documents.SLICE", 7)
    documents = list(dict.fromkeys(some_documents(50)))
    want = HashingVectorizer().transform(documents)
    assert_same(HashingVectorizer().transform(container(documents)), want)


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    want = HashingVectorizer().transform(DOCUMENTS)
    assert_same(HashingVectorizer().transform(pa.array(DOCUMENTS)), want)
    assert_same(HashingVectorizer().transform(pa.chunked_array([DOCUMENTS])), want)


def test_first_document_tells_too_much_about_the_rest(small_chunks):
    class Long(list):
        def __len__(self):
            return 10**12

    documents = [" ".join(f"w{i}" for i in range(1000)), *DOCUMENTS]
    want = HashingVectorizer().transform(documents)
    assert_same(HashingVectorizer().transform(iter(Long(documents))), want)
    assert_same(HashingVectorizer().transform(Long(documents)), want)


def test_bytes_files_and_names(tmp_path):
    want = Theirs().transform(DOCUMENTS[:30])
    want.eliminate_zeros()
    contents = [document.encode() for document in DOCUMENTS[:30]]
    assert_same(HashingVectorizer().transform(contents), want)
    files = [
        io.BytesIO(c) if i % 2 else io.StringIO(c.decode(), newline="")
        for i, c in enumerate(contents)
    ]
    assert_same(HashingVectorizer(input="file").transform(files), want)
    for i, content in enumerate(contents):
        (tmp_path / str(i)).write_bytes(content)
    names = [str(tmp_path / str(i)) for i in range(30)]
    assert_same(HashingVectorizer(input="filename").transform(names), want)
    with pytest.raises(FileNotFoundError):
        HashingVectorizer(input="filename").transform([str(tmp_path / "gone")])


@pytest.mark.parametrize("tokenizer", [None, str.split])
def test_encodings(tokenizer):
    contents = ["naïve café", "plain words"]
    latin = [content.encode("latin-1") for content in contents]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for params in (
            {"decode_error": "ignore"},
            {"decode_error": "replace"},
            {"encoding": "latin-1"},
        ):
            assert_equal_to_theirs(latin, tokenizer=tokenizer, **params)
    with pytest.raises(UnicodeDecodeError):
        HashingVectorizer().transform(latin)


def test_half_a_surrogate_pair_is_in_no_word():
    documents = ["good\ud800words here", "plain", "\udc00"]
    assert_equal_to_theirs(documents, ngram_range=(1, 2))
    for params in ({"analyzer": "char"}, {"analyzer": "char_wb"}, {"token_pattern": r"\S+"}):
        for cls in (Theirs, HashingVectorizer):
            with pytest.raises(UnicodeEncodeError):
                cls(**params).transform(documents)


class KeepsStr(str):
    __slots__ = ()


def test_subclasses_of_str():
    want = HashingVectorizer().transform(DOCUMENTS)
    assert_same(HashingVectorizer().transform(map(KeepsStr, DOCUMENTS)), want)
    assert_same(HashingVectorizer().transform(map(np.str_, DOCUMENTS)), want)


# -------------------------------------------------------------------- subclasses
class WithOwnTokenizer(HashingVectorizer):
    def build_tokenizer(self):
        return lambda text: text.split("a")


class TheirsWithOwnTokenizer(Theirs):
    build_tokenizer = WithOwnTokenizer.build_tokenizer


class WithOwnAnalyzer(HashingVectorizer):
    def build_analyzer(self):
        analyze = super().build_analyzer()
        return lambda document: [gram[::-1] for gram in analyze(document)]


class TheirsWithOwnAnalyzer(Theirs):
    def build_analyzer(self):
        analyze = super().build_analyzer()
        return lambda document: [gram[::-1] for gram in analyze(document)]


class WithOwnDecode(HashingVectorizer):
    def decode(self, document):
        return document[1:]


class TheirsWithOwnDecode(Theirs):
    decode = WithOwnDecode.decode


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (WithOwnTokenizer, TheirsWithOwnTokenizer),
        (WithOwnAnalyzer, TheirsWithOwnAnalyzer),
        (WithOwnDecode, TheirsWithOwnDecode),
    ],
)
def test_methods_of_a_subclass_are_used(ours, theirs):
    assert_same(ours().transform(DOCUMENTS), theirs().transform(DOCUMENTS))


def test_what_a_subclass_decodes_is_not_checked():
    class Keyed(HashingVectorizer):
        def decode(self, document):
            return document["text"]

    documents = [{"text": text} for text in DOCUMENTS]
    assert_same(Keyed().transform(documents), Theirs().transform(DOCUMENTS))


def test_method_of_an_instance_is_used():
    vectorizer = HashingVectorizer()
    vectorizer.build_tokenizer = lambda: str.split
    assert_same(
        vectorizer.transform(DOCUMENTS),
        Theirs(tokenizer=str.split, token_pattern=None).transform(DOCUMENTS),
    )


# -------------------------------------------------------------------- what is refused
@pytest.mark.parametrize("params", [{}, {"token_pattern": r"[a-z]+"}, {"analyzer": "char"}])
@pytest.mark.parametrize("missing", [None, pd.NA, float("nan"), 3, ["a"], pd.NaT])
def test_documents_that_are_none(params, missing):
    with pytest.raises(ValueError, match=r"Document 2 is .*, expected byte or unicode string"):
        HashingVectorizer(**params).transform(["a", b"b", missing, "c"])


def test_missing_documents_of_a_frame():
    for column in (pd.Series(["a", None]), pd.Series(["a", None], dtype=object)):
        with pytest.raises(ValueError, match=r"invalid document|Document 1 is"):
            HashingVectorizer().transform(column)
    with pytest.raises(ValueError, match="Document 1 is None"):
        HashingVectorizer().transform(pl.Series(["a", None]))


@pytest.mark.parametrize("params", [{}, {"tokenizer": str.split, "token_pattern": None}])
@pytest.mark.parametrize(
    "X, message",
    [
        ("text", "string object received"),
        (b"text", "bytes object received"),
        (pd.DataFrame({"text": ["a", "b"]}), r"DataFrame of shape \(2, 1\) received"),
        (pl.DataFrame({"text": ["a", "b"]}), r"DataFrame of shape \(2, 1\) received"),
        (np.array([["a"], ["b"]]), r"ndarray of shape \(2, 1\) received"),
        (np.array("a"), r"ndarray of shape \(\) received"),
        (sp.csr_array((2, 3)), r"csr_array of shape \(2, 3\) received"),
        ([], "Cannot vectorize empty sequence"),
        (iter(()), "Cannot vectorize empty sequence"),
        (pd.Series([], dtype=str), "Cannot vectorize empty sequence"),
    ],
)
def test_what_is_no_collection_of_documents(params, X, message):
    for method in ("transform", "fit_transform"):
        with pytest.raises(ValueError, match=message):
            getattr(HashingVectorizer(**params), method)(X)


@pytest.mark.parametrize(
    "params",
    [
        {"n_features": 0},
        {"n_features": 2**31},
        {"n_features": 10.5},
        {"seed": -1},
        {"seed": 2**32},
        {"seed": None},
        {"n_jobs": 1.5},
        {"analyzer": "words"},
        {"norm": "max"},
        {"input": "url"},
    ],
    ids=str,
)
def test_parameters_are_checked_without_a_fit(params):
    for method in ("fit", "transform", "fit_transform", "partial_fit"):
        with pytest.raises(InvalidParameterError):
            getattr(HashingVectorizer(**params), method)(["a text"])


def test_dtype_that_holds_no_sums():
    for dtype in (np.float16, np.uint8, object, complex):
        with pytest.raises(ValueError, match="dtype must be one of"):
            HashingVectorizer(dtype=dtype).transform(["a text"])


def test_invalid_range():
    with pytest.raises(ValueError, match="ngram_range"):
        HashingVectorizer(ngram_range=(2, 1)).transform(["a text"])


def test_stop_words_that_no_text_can_hold():
    with pytest.warns(UserWarning, match="stop_words may be inconsistent"):
        HashingVectorizer(stop_words=["don't"]).transform(["don't do it"])


# -------------------------------------------------------------------- as an estimator
def test_clone_pickle_and_names():
    vectorizer = HashingVectorizer(seed=5, n_jobs=2, ngram_range=(1, 2))
    for again in (clone(vectorizer), pickle.loads(pickle.dumps(vectorizer))):
        assert again.get_params() == vectorizer.get_params()
    assert set(vectorizer.get_params()) == {*Theirs().get_params(), "seed", "n_jobs"}
    assert isinstance(vectorizer, Theirs)


def test_documents_are_not_changed():
    documents = np.array(DOCUMENTS, object)
    before = documents.copy()
    HashingVectorizer(strip_accents="ascii").fit_transform(documents)
    assert (documents == before).all()


def test_pipeline():
    texts, y = ["good film", "fine play", "bad film", "awful play"] * 5, [1, 1, 0, 0] * 5
    model = make_pipeline(HashingVectorizer(n_jobs=2), SGDClassifier(random_state=0)).fit(texts, y)
    assert model.score(texts, y) == 1


@pytest.mark.parametrize("known", [True, False])
def test_memory_is_that_of_the_result(known):
    documents = some_documents(20_000, ascii_share=1) * 8
    vectorizer = HashingVectorizer(ngram_range=(1, 2))
    vectorizer.transform(documents[:5000])
    tracemalloc.start()
    X = vectorizer.transform(documents if known else iter(documents))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert peak < 1.3 * size
