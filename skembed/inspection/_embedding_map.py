"""A map of the vectors of features."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils import check_array
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_consistent_length

from ._features import active, check_names, matching, named, names_of, place_of, state_of
from ._labels import place_labels


class EmbeddingMapDisplay:
    """A map of feature vectors in the two directions in which they differ most.

    Make one by `from_estimator` or `from_vectors`.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Places of the features.
    labels : array-like of shape (n,), default=None
        Their names, the most important first: where there is no room for all, the later ones are
        left out.
    groups : array-like of shape (n,), default=None
        What colours stand for.
    variance_ratio : array-like of shape (2,), default=None
        Share of the variance of the vectors that each axis shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Its figure.
    labels_ : list of matplotlib Annotation
        The labels that found room.

    See Also
    --------
    nearest_features : What is near in all directions.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skembed.inspection import EmbeddingMapDisplay
    >>> vectors = [[0.0, 1, 0], [0, 2, 0], [5, 1, 0], [5, 2, 0]]
    >>> display = EmbeddingMapDisplay.from_vectors(vectors, labels=["a", "b", "c", "d"])
    >>> [label.get_text() for label in display.labels_]
    ['a', 'b', 'c', 'd']
    >>> plt.close(display.figure_)
    """

    def __init__(self, points, *, labels=None, groups=None, variance_ratio=None):
        self.points = points
        self.labels = labels
        self.groups = groups
        self.variance_ratio = variance_ratio

    def plot(self, ax=None, *, label_size=8):
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure. Labels are placed for its present size.
        label_size : float, default=8
            Size of the labels' font.

        Returns
        -------
        EmbeddingMapDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(8, 6), layout="constrained")
        groups = np.zeros(len(self.points)) if self.groups is None else np.asarray(self.groups)
        for i, group in enumerate(np.unique(groups)):
            mine = self.points[groups == group]
            ax.scatter(*mine.T, s=10, color=f"C{i % 10}", label=str(group))
        ax.margins(0.1)
        for axis, name, i in ((ax.xaxis, "first", 0), (ax.yaxis, "second", 1)):
            ratio = self.variance_ratio
            share = "" if ratio is None else f" ({100 * ratio[i]:.0f} % of the variance)"
            axis.set_label_text(f"{name} principal component{share}")
        if self.groups is not None:
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        labels = [""] * len(self.points) if self.labels is None else [str(s) for s in self.labels]
        self.labels_ = place_labels(ax, self.points, labels, label_size)
        return self

    @classmethod
    def from_estimator(
        cls, estimator, *, n_features=50, features=None, match=None, groups=None,
        feature_names=None, ax=None,
    ):  # fmt: skip
        """Draw the vectors of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted embedding bag or factorization machine; of the latter with several outputs or
            fields, all vectors of a feature make one.
        n_features : int, default=50
            Number of features to show where `features` is None: the most frequent ones.
        features : array-like of int or str, default=None
            Features to show, by column or name.
        match : str, default=None
            A regular expression; features whose name it does not find are left out.
        groups : array-like of shape (n_features_in_,), default=None
            Group of each column, shown by colour.
        feature_names : array-like of shape (n_features_in_,), default=None
            Names of the columns; None takes those of the fit.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        EmbeddingMapDisplay
            The display.
        """
        index = state_of(estimator, f"{cls.__name__}.from_estimator").index
        names, (columns, counts) = names_of(estimator, feature_names), active(index)
        groups = check_names(groups, index.n_features, "groups")
        if features is None:
            chosen = np.argsort(-counts, kind="stable")
        else:
            places = [place_of(f, columns, names, index.n_features) for f in features]
            chosen, n_features = np.array(places, np.int64), len(places)
        chosen = chosen[matching(names, columns[chosen], match)][:n_features]
        shown = columns[chosen]
        groups = None if groups is None else groups[shown]
        vectors = estimator.active_embedding_[chosen].reshape(len(chosen), -1)
        return cls.from_vectors(vectors, labels=named(names, shown), groups=groups, ax=ax)

    @classmethod
    def from_vectors(cls, vectors, *, labels=None, groups=None, ax=None):
        """Draw vectors.

        Parameters
        ----------
        vectors : array-like of shape (n, width)
            The vectors.
        labels : array-like of shape (n,), default=None
            Their names, the most important first.
        groups : array-like of shape (n,), default=None
            What colours stand for.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        EmbeddingMapDisplay
            The display.
        """
        vectors = check_array(vectors, dtype=np.float64, ensure_min_samples=2)
        check_consistent_length(vectors, labels, groups)
        points, ratio = np.zeros((len(vectors), 2)), np.zeros(2)
        if np.ptp(vectors, axis=0).any():
            pca = PCA(min(2, *vectors.shape), svd_solver="full").fit(vectors)
            points[:, : pca.n_components_] = pca.transform(vectors)
            ratio[: pca.n_components_] = pca.explained_variance_ratio_
        return cls(points, labels=labels, groups=groups, variance_ratio=ratio).plot(ax)
