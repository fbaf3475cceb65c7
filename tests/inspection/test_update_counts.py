"""The display of counts shows those of a fit, most frequent first."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fitted import ESTIMATORS, small_data
from skembed.inspection import UpdateCountDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_counts_are_those_of_the_fit(cls):
    X, y = small_data()
    fit = cls(3, max_iter=2, random_state=0, padding_features=[4]).fit(X, y)
    display = UpdateCountDisplay.from_estimator(fit)
    order = np.argsort(-fit.feature_counts_[fit.active_features_], kind="stable")
    for line, counts in zip(display.lines_, (fit.feature_counts_, fit.n_updates_), strict=True):
        assert line.get_ydata().tolist() == counts[fit.active_features_][order].tolist()
        assert line.get_xdata().tolist() == list(range(1, 12))
    display.figure_.draw_without_rendering()


def test_rare_features_are_marked():
    counts = np.array([100, 3, 50, 1])
    _, ax = plt.subplots()
    display = UpdateCountDisplay.from_counts(counts, rare_below=4, ax=ax)
    assert display.ax_ is ax and len(display.lines_) == 1
    (text,) = (t.get_text() for t in ax.get_legend().get_texts() if "fewer" in t.get_text())
    assert (
        "fewer than 4 rows: 50.0 % of the features" in text and "2.6 % of the occurrences" in text
    )
    (patch,) = ax.patches
    assert (patch.get_x(), patch.get_width()) == (2.5, 2.0)
    assert not UpdateCountDisplay.from_counts([9, 9]).ax_.patches


def test_many_features_are_thinned_and_zero_has_a_place():
    counts = np.arange(100_000)[::-1]
    display = UpdateCountDisplay.from_counts(counts, counts)
    ranks = display.lines_[0].get_xdata()
    assert len(ranks) <= 500 and ranks[0] == 1 and ranks[-1] == 100_000
    assert display.lines_[0].get_ydata()[-1] == 0
    assert display.ax_.get_ylim()[0] < 0 < 99_999 < display.ax_.get_ylim()[1]
    assert len(UpdateCountDisplay.from_counts([]).lines_) == 1


def test_what_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="2 and 1 features"):
        UpdateCountDisplay.from_counts([1, 2], [1])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        UpdateCountDisplay.from_counts([1])
