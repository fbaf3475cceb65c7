"""Bags of hashed words and characters."""

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.feature_extraction.text import HashingVectorizer as SklearnHashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval
from sklearn.utils._sparse import _align_api_if_sparse

from skembed.core import TOKEN_PATTERNS, TextRule
from skembed.hashing import (
    Assembly,
    documents_of,
    encode_documents,
    hash_rows,
    in_chunks,
    read_records,
)
from skembed.kernels import get_backend

from ._hashing_input import check_dtype
from ._stamp import Stamped

CHUNK = 1 << 18  # characters of text and of its n-grams that are worked on at a time
ANALYSIS = {  # a subclass that changes one of these is analysed by its own methods
    name: getattr(SklearnHashingVectorizer, name)
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
}


class HashingVectorizer(Stamped, SklearnHashingVectorizer, auto_wrap_output_keys=None):
    r"""Turn texts into a CSR matrix of hashed words, or of hashed runs of characters.

    A drop-in for :class:`sklearn.feature_extraction.text.HashingVectorizer`: the same parameters
    and the same matrix, without stored zeros. Texts of any language are cut and hashed by compiled
    code, on `n_jobs` threads, as long as only parameters are set. Where a function of yours has a
    say (`preprocessor`, `tokenizer`, a callable `analyzer` or `strip_accents`, a method of a
    subclass) or `token_pattern` is an uncommon one, scikit-learn's code cuts, and only hashing is
    compiled.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What a document is given as: text (str or bytes), the name of a file, or an object with a
        method ``read``.
    encoding : str, default="utf-8"
        Of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that are not of that encoding.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Whether accents are removed: ``"ascii"`` drops what then is not ASCII, too.
    lowercase : bool, default=True
        Whether letters become small ones.
    preprocessor : callable, default=None
        Does the work of `strip_accents` and `lowercase` instead.
    tokenizer : callable, default=None
        Turns a text into a list of words, instead of `token_pattern`.
    stop_words : {"english"}, list of str or None, default=None
        Words that are left out; for ``analyzer="word"``.
    token_pattern : str or None, default=r"(?u)\b\w\w+\b"
        Regular expression of a word; for ``analyzer="word"``. Compiled code knows the default,
        ``\b\w+\b``, ``\w+`` and ``\S+``, with or without ``(?u)``.
    ngram_range : tuple of (int, int), default=(1, 1)
        Least and largest number of neighbouring words, or of characters, that make an n-gram.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        What n-grams are made of: words, characters of the text, or characters of a word between
        two spaces. A callable turns a document into a list of str or bytes.
    n_features : int, default=2**20
        Number of columns, at most 2**31 - 1. Memory of the output does not depend on it.
    binary : bool, default=False
        Whether counts are set to 1. Then `alternate_sign` has no effect.
    norm : {"l1", "l2"} or None, default="l2"
        Norm to which each row is scaled.
    alternate_sign : bool, default=True
        Whether half of the n-grams enter with a minus sign, so that collisions cancel out on
        average.
    dtype : dtype, default=np.float64
        Of the output: float64, float32 or signed integers; integers are scaled in float64.
    seed : int, default=0
        Seed of the hash; scikit-learn's is 0.
    n_jobs : int or None, default=None
        Number of threads. It never changes a result. None is 1, -1 all cores.

    See Also
    --------
    FeatureHasher : Hashes records, tables and lists of strings.
    sklearn.feature_extraction.text.TfidfTransformer : Weighs the columns by how rare they are.

    Notes
    -----
    Nothing is learned, and `transform` needs no `fit`. The hash is MurmurHash3 (32 bits) of the
    UTF-8 of an n-gram: it depends on these bytes and on `seed` alone, never on the process or the
    machine.

    References
    ----------
    .. [1] Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale
       multitask learning", ICML 2009.

    Examples
    --------
    >>> from skembed import HashingVectorizer
    >>> texts = ["This is the first text.", "And this is the second one."]
    >>> X = HashingVectorizer(n_features=2**10).transform(texts)
    >>> X.shape, X.nnz
    ((2, 1024), 11)

    Runs of three to five characters, as counts:

    >>> chars = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), norm=None)
    >>> chars.transform(["word"]).nnz
    9
    """

    _parameter_constraints: dict = {
        **SklearnHashingVectorizer._parameter_constraints,
        "n_features": [Interval(Integral, 1, np.iinfo(np.int32).max, closed="both")],
        "seed": [Interval(Integral, 0, np.iinfo(np.uint32).max, closed="both")],
        "n_jobs": [Integral, None],
    }
    _doc_link_module = "skembed"
    _doc_link_template = (
        "https://skembed.readthedocs.io/en/latest/generated/skembed.{estimator_name}.html"
    )

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the parameters.

        Parameters
        ----------
        X : iterable
            Documents; not read.
        y : Ignored
            Not used, present here for API consistency by convention.

        Returns
        -------
        self : HashingVectorizer
            The vectorizer.
        """
        check_dtype(self.dtype)
        documents_of(X)  # or it says what else X is
        return super().fit(X, y)

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
        check_dtype(self.dtype)
        self._validate_ngram_range()
        X = self._hash(documents_of(X), len(X) if hasattr(X, "__len__") else 0)
        if X.shape[0] == 0:
            raise ValueError("Cannot vectorize empty sequence.")
        if self.binary:
            X.data.fill(1)
        if self.norm is not None:
            X = normalize(X, norm=self.norm, copy=False)
        return _align_api_if_sparse(X)

    def _hash(self, documents, n_documents):
        """Return the counts of n-grams, a `csr_array`."""
        analyze, rule = self.build_analyzer(), self._text_rule()
        jobs = effective_n_jobs(self.n_jobs)
        signed = self.alternate_sign and not self.binary  # in one column signs could cancel
        with get_backend(jobs) as backend:
            x = self.n_features, self.dtype, signed
            assembly = Assembly(backend, *x, n_rows=n_documents)
            if rule is None:
                rows = map(analyze, self._checked(documents))
                parts = read_records(rows, "string", backend, self.seed)
                return hash_rows(parts, assembly, backend, self.seed, 1)
            hash_text = backend.text_hasher(rule, self.seed)
            for text in self._encoded(documents, rule, jobs):
                assembly.add(*hash_text(*text))
            return assembly.finish()

    def _encoded(self, documents, rule, jobs):
        """Yield the UTF-8 of some documents, preprocessed, and their offsets."""
        if self.input != "content":
            documents = map(self.decode, documents)
        preprocess = self.build_preprocessor()
        errors = "surrogatepass" if rule.drops_surrogates else "strict"
        for chunk in in_chunks(documents, self._read, CHUNK * jobs // rule.grams_a_character):
            yield encode_documents(chunk, self.lowercase, preprocess, errors)

    @property
    def _reads_text(self):
        """Whether documents reach scikit-learn's analyzers as they are."""
        methods = {name: getattr(getattr(self, name), "__func__", None) for name in ANALYSIS}
        return methods == ANALYSIS and self.preprocessor is None and not callable(self.analyzer)

    def _text_rule(self):
        """Return how kernels cut these documents, None where they cannot."""
        if not self._reads_text or callable(self.strip_accents):
            return None
        low, high = self.ngram_range
        if not (isinstance(low, Integral) and isinstance(high, Integral) and 1 <= low <= high):
            return None
        low, high = (min(int(n), np.iinfo(np.int32).max) for n in (low, high))
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
        if self.input != "content" or not self._reads_text:
            return documents
        return (d if isinstance(d, str) else self._read(d, i) for i, d in enumerate(documents))

    def _read(self, document, position):
        """Return a document that is not a `str` as one."""
        if self.input == "content":
            document = self.decode(document)
        if not isinstance(document, str):
            raise ValueError(
                f"Document {position} is {document!r:.60}, expected byte or unicode string. Drop "
                "missing documents, or put an empty string in their place."
            )
        return document
