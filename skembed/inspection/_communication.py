"""Pictures of fitted estimators."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted


class CommunicationDisplay:
    """Scores, or losses, of the rounds of a partitioned fit against the bytes that were sent.

    Use `from_estimator`.

    Parameters
    ----------
    megabytes : ndarray of shape (n_rounds,)
        What all messages up to the end of each round had, both ways, in 10^6 bytes.
    values : ndarray of shape (n_rounds,)
        Score or loss of each round.
    value_name : str
        What they are.
    name : str, default=None
        Name of the curve.

    Attributes
    ----------
    line_ : matplotlib Artist
        The curve.
    ax_ : matplotlib Axes
        Where it is.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skembed.PartitionedFit : What is shown.

    Examples
    --------
    >>> import numpy as np
    >>> from skembed.inspection import CommunicationDisplay
    >>> display = CommunicationDisplay(
    ...     megabytes=np.array([0.5, 1.0]), values=np.array([0.6, 0.7]), value_name="Accuracy"
    ... )
    >>> display.values.max()
    np.float64(0.7)
    """

    def __init__(self, *, megabytes, values, value_name, name=None):
        self.megabytes = megabytes
        self.values = values
        self.value_name = value_name
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, scores=None, name=None, ax=None):
        """Plot a fitted `PartitionedFit`.

        Parameters
        ----------
        estimator : PartitionedFit
            Fitted.
        scores : array-like of shape (n_rounds,), default=None
            Scores of the rounds. By default those of the rows held out, where there are any, else
            the losses of training.
        name : str, default=None
            Name of the curve.
        ax : matplotlib Axes, default=None
            Where to plot; by default a new figure.

        Returns
        -------
        display : CommunicationDisplay
            What was plotted.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        history, value_name = estimator.history_, "Score"
        values = estimator.estimator_.validation_scores_ if scores is None else scores
        if len(values) == 0:
            values, value_name = history["loss"], "Loss"
        if len(values) != len(history["loss"]):
            raise ValueError(
                f"scores must have one value a round, {len(history['loss'])}, got {len(values)}."
            )
        sent = np.cumsum(history["bytes_up"]) + np.cumsum(history["bytes_down"])
        display = cls(
            megabytes=sent / 1e6, values=np.asarray(values), value_name=value_name, name=name
        )
        return display.plot(ax=ax)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot; by default a new figure.
        name : str, default=None
            Name of the curve.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : CommunicationDisplay
            Itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        ax = plt.subplots()[1] if ax is None else ax
        name = self.name if name is None else name
        options = {"marker": "o", "label": name} | kwargs
        (self.line_,) = ax.plot(self.megabytes, self.values, **options)
        ax.set(xlabel="Megabytes sent, both ways", ylabel=self.value_name)
        if options["label"] is not None:
            ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self
