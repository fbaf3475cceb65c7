"""How documents are cut into n-grams, as far as kernels know it."""

from dataclasses import dataclass

TOKEN_PATTERNS = {  # to the characters of words, and how many make one
    r"\b\w\w+\b": (r"\w", 2),
    r"\b\w+\b": (r"\w", 1),
    r"\w+": (r"\w", 1),
    r"\S+": (r"\S", 1),
}


@dataclass(frozen=True, slots=True)
class TextRule:
    """The analyzers of scikit-learn's vectorizers, behind their preprocessing.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        What n-grams are made of.
    low, high : int
        Least and largest n, from 1 on.
    token_pattern : str, default=r"\\b\\w\\w+\\b"
        A key of `TOKEN_PATTERNS`, for words.
    stop_words : collection of str, default=()
        Words that are left out before n-grams are made.
    """

    analyzer: str
    low: int
    high: int
    token_pattern: str = r"\b\w\w+\b"
    stop_words: frozenset = frozenset()

    @property
    def grams_a_character(self):
        """How many n-grams begin at a character of a document, one at most for words."""
        return 1 if self.analyzer == "word" else self.high - self.low + 1

    @property
    def drops_surrogates(self):
        """Whether half a surrogate pair, which has no UTF-8, is in no n-gram."""
        return self.analyzer == "word" and TOKEN_PATTERNS[self.token_pattern][0] == r"\w"
