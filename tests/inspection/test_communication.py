"""Pictures of fitted estimators."""

import numpy as np
import pytest

from engines import data, partitioned
from skembed.inspection import CommunicationDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_rounds_lie_at_what_was_sent(pyplot):
    model = partitioned().fit(*data())
    display = CommunicationDisplay.from_estimator(model, name="ours")
    sent = np.cumsum(model.history_["bytes_up"]) + np.cumsum(model.history_["bytes_down"])
    assert np.allclose(display.line_.get_xdata(), sent / 1e6)
    assert np.allclose(display.line_.get_ydata(), model.history_["loss"])
    assert display.ax_.get_ylabel() == "Loss"
    scores = np.linspace(0, 1, 6)
    other = CommunicationDisplay.from_estimator(model, scores=scores, ax=display.ax_)
    assert other.figure_ is display.figure_
    assert other.plot().ax_.get_ylabel() == "Score"
    with pytest.raises(ValueError, match="one value a round, 6, got 2"):
        CommunicationDisplay.from_estimator(model, scores=[1, 2])
