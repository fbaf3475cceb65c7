"""How the loss went from epoch to epoch."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skembed.training import minus_loss

from ._features import state_of


class LossCurveDisplay:
    """Loss of each epoch, and the score on the rows held out.

    Make one by `from_estimator` or `from_curves`.

    Parameters
    ----------
    loss_curve : array-like of shape (n_epochs,)
        Mean loss over the rows of each epoch, as they were trained on.
    validation_curve : array-like of shape (n_epochs,), default=None
        Score of each epoch on the rows held out, or their loss.
    best_n_iter : int, default=None
        The epoch that is kept, from 1.
    validation_is_loss : bool, default=False
        Whether `validation_curve` is a loss; it then shares the axis of the other.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The plot of the loss.
    validation_ax_ : matplotlib Axes or None
        The axes of the scores, on the right.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skembed.inspection import LossCurveDisplay
    >>> display = LossCurveDisplay.from_curves([0.7, 0.5, 0.4], [0.6, 0.8, 0.7], best_n_iter=2)
    >>> len(display.lines_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, loss_curve, validation_curve=None, *, best_n_iter=None, validation_is_loss=False
    ):
        self.loss_curve = loss_curve
        self.validation_curve = validation_curve
        self.best_n_iter = best_n_iter
        self.validation_is_loss = validation_is_loss

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LossCurveDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_, self.validation_ax_ = ax, ax.figure, None
        epochs = np.arange(1, len(self.loss_curve) + 1)
        self.lines_ = ax.plot(epochs, self.loss_curve, "C0.-", label="rows trained on")
        ax.set(xlabel="epoch", ylabel="loss")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if self.validation_curve is not None:
            other = ax
            if not self.validation_is_loss:
                other = self.validation_ax_ = ax.twinx()
                other.set_ylabel("score on rows held out", color="C1")
                other.tick_params(axis="y", colors="C1")
            self.lines_ += other.plot(epochs, self.validation_curve, "C1.-", label="rows held out")
        handles = list(self.lines_)
        if self.best_n_iter is not None:
            label = f"kept: epoch {self.best_n_iter}"
            handles.append(ax.axvline(self.best_n_iter, color="0.6", ls="--", lw=1, label=label))
        (self.validation_ax_ or ax).legend(handles=handles, loc="best")
        return self

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the curves of a fitted estimator.

        Where the rows held out are scored by minus their loss (two classes, numbers), their loss is
        drawn.

        Parameters
        ----------
        estimator : estimator
            A fitted embedding bag or factorization machine.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LossCurveDisplay
            The display.
        """
        state_of(estimator, f"{cls.__name__}.from_estimator")
        scores = np.asarray(estimator.validation_scores_) if estimator.validation_scores_ else None
        is_loss = estimator.scoring is None and estimator._target.metric is minus_loss
        if is_loss and scores is not None:
            scores = -scores
        kept = None if scores is None else estimator.best_n_iter_
        return cls.from_curves(
            estimator.loss_curve_, scores, best_n_iter=kept, validation_is_loss=is_loss, ax=ax
        )

    @classmethod
    def from_curves(
        cls, loss_curve, validation_curve=None, *, best_n_iter=None, validation_is_loss=False,
        ax=None,
    ):  # fmt: skip
        """Draw given curves.

        Parameters
        ----------
        loss_curve : array-like of shape (n_epochs,)
            Mean loss of each epoch.
        validation_curve : array-like of shape (n_epochs,), default=None
            Score of each epoch on the rows held out, or their loss.
        best_n_iter : int, default=None
            The epoch that is kept, from 1.
        validation_is_loss : bool, default=False
            Whether `validation_curve` is a loss.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LossCurveDisplay
            The display.
        """
        if validation_curve is not None and len(validation_curve) != len(loss_curve):
            raise ValueError(
                f"The curves have {len(loss_curve)} and {len(validation_curve)} epochs; they must "
                "have as many."
            )
        options = dict(best_n_iter=best_n_iter, validation_is_loss=validation_is_loss)
        return cls(loss_curve, validation_curve, **options).plot(ax)
