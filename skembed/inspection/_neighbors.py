"""Which features have learned to be alike."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, validate_params

from ._features import active, matching, named, names_of, place_of, state_of
from ._report import Report, Table, count, data_frame

BLOCK = 16_384  # vectors that are compared at a time


@dataclass(frozen=True, repr=False)
class NearestFeatures(Report):
    """What `nearest_features` finds, the most similar first.

    Parameters
    ----------
    feature : str or int
        What they are near to.
    columns : ndarray of shape (n,)
        Their columns.
    names : ndarray of shape (n,)
        Their names, or the column numbers.
    similarity : ndarray of shape (n,)
        Cosine similarity, from -1 to 1; 0 for a vector of zeros.
    counts : ndarray of shape (n,)
        Training rows in which each was seen.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.inspection import NearestFeatures
    >>> one, many = np.array([1]), np.array([250])
    >>> print(NearestFeatures("red", one, np.array(["blue"]), np.array([0.9]), many))
    Features near red
    =================
    <BLANKLINE>
    By cosine similarity
      feature  similarity  rows
      blue         +0.900   250
    """

    feature: object
    columns: np.ndarray
    names: np.ndarray
    similarity: np.ndarray
    counts: np.ndarray

    @property
    def _title(self):
        return f"Features near {self.feature}"

    def to_frame(self):
        """Return one row a feature as a data frame.

        Returns
        -------
        pandas.DataFrame
            Indexed by feature name or column.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        data = {"similarity": self.similarity, "counts": self.counts}
        return data_frame(data, self.names, "NearestFeatures.to_frame")

    def _tables(self):
        rows = [
            (str(name), f"{s:+.3f}", count(n))
            for name, s, n in zip(self.names, self.similarity, self.counts, strict=True)
        ]
        return [Table("By cosine similarity", ("feature", "similarity", "rows"), rows)]


@validate_params(
    {
        "n": [Interval(Integral, 1, None, closed="left")],
        "min_count": [Interval(Integral, 0, None, closed="left")],
        "match": [str, None],
        "feature_names": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
def nearest_features(estimator, feature, n=10, *, min_count=0, match=None, feature_names=None):
    """Find the features whose vectors point in the direction of that of a given one.

    Parameters
    ----------
    estimator : estimator
        A fitted embedding bag or factorization machine. Of the latter with several outputs or
        fields, all vectors of a feature are compared as one.
    feature : str, int or array-like of shape (width,)
        A feature by name or column; or a vector, for instance a difference of two.
    n : int, default=10
        How many to return at most.
    min_count : int, default=0
        Features that were seen in fewer training rows are left out: they have learned little, and
        lie where they started.
    match : str, default=None
        A regular expression; features whose name it does not find are left out, as in
        ``match="^dest="``. None takes all.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns; None takes those of the fit.

    Returns
    -------
    NearestFeatures
        The features, without the given one; of equal similarity the lowest column first.

    Raises
    ------
    ValueError
        If the feature is not known, or its vector is zero or not there.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.inspection import nearest_features
    >>> texts = ["good film", "great film", "bad film", "poor film"] * 25
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(texts)
    >>> bag = EmbeddingBagClassifier(4, early_stopping=False, tol=0.01, random_state=0)
    >>> bag = bag.fit(X, ["yes", "yes", "no", "no"] * 25)
    >>> found = nearest_features(bag, "good", 1, feature_names=words.get_feature_names_out())
    >>> found.names.tolist()
    ['great']
    """
    index = state_of(estimator, "nearest_features").index
    names, (columns, counts) = names_of(estimator, feature_names), active(index)
    vectors = estimator.active_embedding_.reshape(len(columns), -1)
    keep = (counts >= min_count) & matching(names, columns, match)
    if isinstance(feature, (str, Integral)):
        at = place_of(feature, columns, names, index.n_features)
        if not vectors[at].any():
            raise ValueError(f"The vector of feature {feature!r} is zero: it has no direction.")
        target, keep[at] = vectors[at], False
    else:
        target, feature = _check_vector(feature, vectors.shape[1]), "a vector"
    similarity = _cosine(vectors, target)
    places = np.flatnonzero(keep)
    best = places[np.argsort(-similarity[places], kind="stable")[:n]]
    return NearestFeatures(
        feature, columns[best], named(names, columns[best]), similarity[best], counts[best]
    )


def _check_vector(vector, width):
    vector = np.asarray(vector, np.float64)
    if vector.shape != (width,):
        raise ValueError(f"A vector to compare must have shape ({width},), got {vector.shape}.")
    if not np.isfinite(vector).all() or not vector.any():
        raise ValueError("A vector to compare must be finite and not zero.")
    return vector


def _cosine(vectors, target):
    """Return the cosine similarity of each vector with a target; equal vectors have equal bits."""
    out, target = np.zeros(len(vectors)), target.astype(np.float64)
    target = target / np.linalg.norm(target)
    for lo in range(0, len(vectors), BLOCK):
        part = vectors[lo : lo + BLOCK].astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", part, part))
        inner = np.einsum("ij,j->i", part, target)
        out[lo : lo + BLOCK] = np.divide(inner, norms, out=np.zeros_like(norms), where=norms > 0)
    return out.clip(-1, 1)
