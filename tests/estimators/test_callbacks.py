"""scikit-learn's callbacks, and verbose."""

import re

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.model_selection import GridSearchCV

from fitted import ESTIMATORS, learned, small_data
from skembed import EmbeddingBagClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


class Recorder:
    """Notes every call; asks to stop after some epochs."""

    def __init__(self, stop_after=None):
        self.calls, self.stop_after, self.epochs, self.seen = [], stop_after, 0, []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        self.seen.append((X, y, fitted_estimator))
        if context.task_name == "epoch":
            self.epochs += 1
            return self.epochs == self.stop_after
        return False


@every_estimator
def test_hooks_are_called_once_an_epoch(cls):
    X, y = small_data()
    recorder = Recorder()
    fit = cls(**QUICK).set_callbacks(recorder).fit(X, y)
    epoch = ["begin epoch", "end epoch"]
    assert recorder.calls == ["setup", "begin fit", *epoch * 3, "end fit", "teardown"]
    assert learned(fit) == learned(cls(**QUICK).fit(X, y)), "callbacks change nothing"
    for given, targets, fitted in recorder.seen:
        assert given is X
        assert targets is y
        assert fitted is not fit
    last_epoch, whole = recorder.seen[-2][2], recorder.seen[-1][2]
    assert np.array_equal(whole.transform(X), fit.transform(X))
    assert np.array_equal(last_epoch.transform(X), fit.transform(X))
    assert not np.array_equal(recorder.seen[0][2].transform(X), fit.transform(X))


@every_estimator
def test_callback_can_stop_the_fit(cls):
    X, y = small_data()
    recorder = Recorder(stop_after=2)
    fit = cls(**QUICK | dict(max_iter=50)).set_callbacks(recorder).fit(X, y)
    assert fit.n_iter_ == recorder.epochs == 2
    two = cls(**QUICK | dict(max_iter=2)).fit(X, y)
    assert learned(fit) == learned(two)


@pytest.mark.filterwarnings("error")
def test_stop_by_a_callback_is_no_lack_of_convergence():
    X, y = small_data()
    clf = EmbeddingBagClassifier(**QUICK | dict(max_iter=50))
    assert clf.set_callbacks(Recorder(stop_after=1)).fit(X, y).n_iter_ == 1


def test_error_in_a_callback_leaves_the_earlier_fit():
    class Fails(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise OSError("the callback failed")

    X, y = small_data()
    clf = EmbeddingBagClassifier(**QUICK).fit(X, y)
    before = learned(clf)
    with pytest.raises(OSError, match="the callback failed"):
        clf.set_callbacks(Fails()).fit(X, y)
    assert learned(clf) == before


@every_estimator
def test_progress_bar(cls, capsys):
    X, y = small_data()
    cls(**QUICK).set_callbacks(ProgressBar()).fit(X, y)
    out = capsys.readouterr().out
    assert cls.__name__ in out
    assert "100%" in out


def test_scoring_monitor_scores_every_epoch():
    X, y = small_data()
    monitor = ScoringMonitor(scoring="neg_log_loss")
    clf = EmbeddingBagClassifier(**QUICK).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    scores = [row["neg_log_loss"] for row in rows if row["task_name"] == "epoch"]
    assert len(scores) == 3
    assert len(set(scores)) == 3
    for n, score in enumerate(scores, start=1):
        fewer = EmbeddingBagClassifier(**QUICK | dict(max_iter=n)).fit(X, y)
        p = fewer.predict_proba(X)[np.arange(60), y]
        np.testing.assert_allclose(score, np.log(p).mean(), rtol=1e-9)
    assert clf.n_iter_ == 3


def test_callbacks_within_a_search_in_two_processes(capsys):
    X, y = small_data()
    monitor = ScoringMonitor(scoring="accuracy")
    clf = EmbeddingBagClassifier(**QUICK).set_callbacks(monitor)
    search = GridSearchCV(clf, {"n_components": [2, 4]}, cv=2, n_jobs=2, error_score="raise")
    search.set_callbacks(ProgressBar(max_propagation_depth=2)).fit(X, y)
    assert "GridSearchCV" in capsys.readouterr().out
    logs = monitor.get_logs(select="all")
    epochs = [row for log in logs for row in log.data if row["task_name"] == "epoch"]
    assert len(epochs) == (2 * 2 + 1) * 3
    assert all(0 <= row["accuracy"] <= 1 for row in epochs)


@every_estimator
def test_verbose_prints_one_line_an_epoch(cls, capsys):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    assert capsys.readouterr().out == ""
    cls(verbose=1, **QUICK).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for n, (line, loss) in enumerate(zip(lines, fit.loss_curve_, strict=True), start=1):
        assert re.fullmatch(rf"Epoch {n}/3, loss = {loss:.6f}", line)
