"""The display of losses shows the curves of a fit."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fitted import ESTIMATORS, small_data
from skembed import EmbeddingBagClassifier
from skembed.inspection import LossCurveDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, random_state=0)


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_curves_are_those_of_the_fit(cls):
    X, y = small_data(300)
    fit = cls(**QUICK).fit(X, y)
    display = LossCurveDisplay.from_estimator(fit)
    trained, held_out = display.lines_
    assert trained.get_ydata().tolist() == fit.loss_curve_
    assert trained.get_xdata().tolist() == [1, 2, 3]
    np.testing.assert_array_equal(held_out.get_ydata(), -np.array(fit.validation_scores_))
    assert display.validation_ax_ is None, "both are losses"
    assert f"kept: epoch {fit.best_n_iter_}" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("options", [dict(scoring="accuracy"), dict(n_classes=3)], ids=str)
def test_scores_have_an_axis_of_their_own(options):
    options = dict(options)
    X, _ = small_data(300)
    y = np.arange(300) % options.pop("n_classes", 2)
    fit = EmbeddingBagClassifier(**options, **QUICK).fit(X, y)
    display = LossCurveDisplay.from_estimator(fit)
    assert display.lines_[1].get_ydata().tolist() == fit.validation_scores_
    assert display.lines_[1].axes is display.validation_ax_ is not display.ax_
    assert display.validation_ax_.get_legend() is not None


def test_without_rows_held_out_there_is_one_curve():
    X, y = small_data()
    fit = EmbeddingBagClassifier(early_stopping=False, **QUICK).fit(X, y)
    _, ax = plt.subplots()
    display = LossCurveDisplay.from_estimator(fit, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure and len(display.lines_) == 1


def test_what_is_refused(monkeypatch):
    with pytest.raises(NotFittedError):
        LossCurveDisplay.from_estimator(EmbeddingBagClassifier())
    with pytest.raises(ValueError, match="3 and 2 epochs"):
        LossCurveDisplay.from_curves([3, 2, 1], [1, 2])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        LossCurveDisplay.from_curves([1.0])
