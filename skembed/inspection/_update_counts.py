"""Which features get the updates."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from ._features import active, state_of
from ._report import percent

DRAWN = 500  # ranks that are drawn of many


class UpdateCountDisplay:
    """How often features occur and are updated, from the most frequent to the rarest.

    Make one by `from_estimator` or `from_counts`. Both axes are logarithmic, with a place for zero.

    Parameters
    ----------
    counts : array-like of shape (n,)
        Rows in which each feature occurs.
    n_updates : array-like of shape (n,), default=None
        Steps in which each was updated.
    rare_below : int, default=5
        Features that occur in fewer rows are called rare.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The curves.

    See Also
    --------
    sparsity_report : The same in numbers, of data.
    embedding_report : The same in numbers, of a fitted estimator.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skembed.inspection import UpdateCountDisplay
    >>> display = UpdateCountDisplay.from_counts([1, 90, 7, 1])
    >>> display.lines_[0].get_ydata().tolist()
    [90, 7, 1, 1]
    >>> plt.close(display.figure_)
    """

    def __init__(self, counts, n_updates=None, *, rare_below=5):
        self.counts = counts
        self.n_updates = n_updates
        self.rare_below = rare_below

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        UpdateCountDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        counts = np.asarray(self.counts)
        order, n = np.argsort(-counts, kind="stable"), len(counts)
        ranks = np.arange(1, n + 1)
        if n > DRAWN:
            ranks = np.unique(np.geomspace(1, n, DRAWN).round().astype(int))
        curves = {"rows with the feature": counts}
        if self.n_updates is not None:
            curves["steps that update it"] = np.asarray(self.n_updates)
        self.lines_ = []
        for i, (label, values) in enumerate(curves.items()):
            marker = "." if i else "-"
            self.lines_ += ax.plot(
                ranks, values[order[ranks - 1]], f"C{i}{marker}", ms=3, label=label
            )
        rare = int((counts < self.rare_below).sum())
        if rare:
            share = counts[order[n - rare :]].sum() / max(counts.sum(), 1)
            label = (
                f"in fewer than {self.rare_below} rows: {percent(rare / n)} of the features,\n"
                f"{percent(share)} of the occurrences"
            )
            ax.axvspan(n - rare + 0.5, n + 0.5, color="C3", alpha=0.12, lw=0, label=label)
        ax.set(xscale="log", xlabel="rank of the feature by frequency", ylabel="number")
        ax.set_yscale("symlog", linthresh=1)
        highest = max(values.max(initial=1) for values in curves.values())
        ax.set_ylim(-0.1, 3 * highest)
        ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator, *, rare_below=5, ax=None):
        """Draw the features of a fitted estimator that have a vector.

        Parameters
        ----------
        estimator : estimator
            A fitted embedding bag or factorization machine.
        rare_below : int, default=5
            Features that occur in fewer rows are called rare.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        UpdateCountDisplay
            The display.
        """
        state = state_of(estimator, f"{cls.__name__}.from_estimator")
        rows = state.index.rows[state.index.rows >= 0]
        n_updates = state.n_updates.values[rows, 0]
        return cls.from_counts(active(state.index)[1], n_updates, rare_below=rare_below, ax=ax)

    @classmethod
    def from_counts(cls, counts, n_updates=None, *, rare_below=5, ax=None):
        """Draw given counts, for instance those of `sparsity_report`.

        Parameters
        ----------
        counts : array-like of shape (n,)
            Rows in which each feature occurs.
        n_updates : array-like of shape (n,), default=None
            Steps in which each was updated.
        rare_below : int, default=5
            Features that occur in fewer rows are called rare.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        UpdateCountDisplay
            The display.
        """
        if n_updates is not None and len(n_updates) != len(counts):
            raise ValueError(
                f"counts and n_updates have {len(counts)} and {len(n_updates)} features; they must "
                "have as many."
            )
        return cls(counts, n_updates, rare_below=rare_below).plot(ax)
