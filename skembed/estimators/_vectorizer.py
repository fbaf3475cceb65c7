"""Bags of hashed words and characters."""

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.feature_extraction.text import HashingVectorizer as SklearnHashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval
from sklearn.utils._sparse import _align_api_if_sparse

from skembed.core import TOKEN_PATTERNS, TextRule
from skembed.hashing import Assembly, documents_of, encode_documents, in_chunks
from skembed.kernels import get_backend

from ._hashing import FeatureHasher

CHUNK = 1 << 18  # characters of text and of its n-grams that are worked on at a time
FEW = 2048  # characters that scikit-learn's analyzer gets through before kernels are loaded
DTYPES = "fdilq"  # of the sums of kernels
ANALYSIS = [  # a subclass that changes one of these is analysed by its own methods
    (name, getattr(SklearnHashingVectorizer, name))
    for name in (
        "build_analyzer",
        "build_preprocessor",
        "build_tokenizer",
        "decode",
        "get_stop_words",
        "_char_ngrams",
        "_char_wb_ngrams",
        "_word_ngrams",
    )
]


class HashingVectorizer(SklearnHashingVectorizer, auto_wrap_output_keys=None):
    _parameter_constraints: dict = {
        **SklearnHashingVectorizer._parameter_constraints,
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="both")],
        "seed": [Interval(Integral, 0, np.iinfo(np.uint32).max, closed="both")],
        "n_jobs": [Integral, None],
    }
    _doc_link_module = "skembed"
    _doc_link_template = "https://skembed.readthedocs.io/en/latest/api.html#{estimator_name}"

    def __init__(
        self,
        *,
        input="content",
        encoding="utf-8",
        decode_error="strict",
        strip_accents=None,
        lowercase=True,
        preprocessor=None,
        tokenizer=None,
        stop_words=None,
        token_pattern=r"(?u)\b\w\w+\b",
        ngram_range=(1, 1),
        analyzer="word",
        n_features=2**20,
        binary=False,
        norm="l2",
        alternate_sign=True,
        dtype=np.float64,
        seed=0,
        n_jobs=None,
    ):
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.seed = seed
        self.n_jobs = n_jobs

    def transform(self, X):
        """Turn documents into a matrix of hashed n-grams.

        Parameters
        ----------
        X : iterable of str, bytes, file name or file
            The documents, as `input` says: a list, a generator, a column of a pandas or polars
            frame, an Arrow or a NumPy array.

        Returns
        -------
        X : sparse matrix of shape (n_documents, n_features)
            CSR with sorted columns and without stored zeros.
        """
        self._validate_params()
        documents, rule = documents_of(X), self._text_rule()
        n_documents = len(X) if hasattr(X, "__len__") else 0
        if rule is None:
            return super().transform(self._checked(documents))
        self._validate_ngram_range()
        self.build_analyzer()  # which checks the stop words
        jobs = effective_n_jobs(self.n_jobs)
        if self.input != "content":
            documents = map(self.decode, documents)
        chunks = in_chunks(documents, self._read, CHUNK * jobs // rule.grams_a_character)
        first = next(chunks, [])
        if self.input == "content" and sum(map(len, first)) <= FEW:
            return super().transform(first)
        X = self._hash(first, chunks, rule, jobs, n_documents)
        if self.binary:
            X.data.fill(1)
        if self.norm is not None:
            X = normalize(X, norm=self.norm, copy=False)
        return _align_api_if_sparse(X)

    def _hash(self, first, chunks, rule, jobs, n_documents):
        """Return the counts of n-grams in lists of documents."""
        preprocess = self.build_preprocessor()
        errors = "surrogatepass" if rule.drops_surrogates else "strict"

        def encode(chunk):
            return encode_documents(chunk, self.lowercase, preprocess, errors)

        with get_backend(jobs) as backend:
            hash_text = backend.text_hasher(rule, self.seed)
            hashed = hash_text(*encode(first))
            expected = len(hashed[1]) * n_documents // len(first)  # tokens, if all are like these
            x = self.n_features, self.dtype, self._signed, expected
            assembly = Assembly(backend, *x)
            assembly.add(*hashed)
            for chunk in chunks:
                assembly.add(*hash_text(*encode(chunk)))
            return assembly.finish()

    @property
    def _signed(self):
        return self.alternate_sign and not self.binary  # in one column signs could cancel

    def _get_hasher(self):
        return FeatureHasher(
            n_features=self.n_features,
            input_type="string",
            dtype=self.dtype,
            alternate_sign=self._signed,
            seed=self.seed,
            n_jobs=self.n_jobs,
        )

    def _text_rule(self):
        """Return how kernels cut these documents, None where they cannot."""
        if any(getattr(getattr(self, name), "__func__", None) is not own for name, own in ANALYSIS):
            return None
        if self.preprocessor is not None or callable(self.strip_accents) or callable(self.analyzer):
            return None
        low, high = self.ngram_range
        if not (isinstance(low, Integral) and isinstance(high, Integral) and 1 <= low <= high):
            return None
        if np.dtype(self.dtype).char not in DTYPES:
            return None
        if self.analyzer != "word":
            return TextRule(self.analyzer, low, high)
        if self.tokenizer is not None or self.token_pattern is None:
            return None
        pattern = self.token_pattern.removeprefix("(?u)")
        if pattern not in TOKEN_PATTERNS:
            return None
        stop_words = frozenset(w for w in self.get_stop_words() or () if isinstance(w, str))
        return TextRule("word", low, high, pattern, stop_words)

    def _checked(self, documents):
        """Iterate over documents that scikit-learn's analyzer will read."""
        if self.input != "content" or self.preprocessor is not None or callable(self.analyzer):
            return documents
        return (d if isinstance(d, str) else self._read(d, i) for i, d in enumerate(documents))

    def _read(self, document, position):
        """Return a document that is not a `str` as one."""
        if self.input == "content":
            document = self.decode(document)
        if not isinstance(document, str):
            raise ValueError(
                f"Document {position} is {document!r}, expected byte or unicode string. Drop missing "
                "documents, or put an empty string in their place."
            )
        return document
