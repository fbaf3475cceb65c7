"""How much each partition should send."""

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier, PartitionedFit, plan_compression
from skembed.compress import TopK
from skembed.compress._budget import Costs
from skembed.estimators._planning import Progress, rounds_within

SLOW_AND_FAST = dict(upload=[2e4, 2e5], download=[1e6, 1e6], seconds_per_step=1e-3)


@pytest.fixture(scope="module")
def data():
    X = sp.random(500, 600, density=0.03, format="csr", random_state=0, dtype=np.float32)
    weights = np.repeat([1, -1], 300)
    return X, np.where(X @ weights > 0, "yes", "no")


def model(**params):
    bag = EmbeddingBagClassifier(
        n_components=8, learning_rate_init=0.3, early_stopping=False, random_state=0
    )
    return PartitionedFit(bag, n_partitions=2, random_state=0, **params)


@pytest.fixture(scope="module")
def plan(data):
    return plan_compression(model(), *data, **SLOW_AND_FAST, target=0.7)


def test_a_slow_link_carries_less(plan):
    assert plan.k[0] < plan.k[1]
    assert plan.local_steps == "epoch"
    assert plan.max_iter == np.ceil(plan.rounds)
    assert plan.seconds > 0 == plan.joules
    assert plan.target == 0.7


def test_the_fit_that_is_planned_does_not_change(data, plan):
    given = model(compressor=None)
    before = repr(given), given.get_params()
    again = plan_compression(given, *data, **SLOW_AND_FAST, target=0.7)
    assert (repr(given), given.get_params()) == before
    assert again == plan


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_plan_predicts_the_fit(data, plan):
    fitted = model().set_params(**plan.params).fit(*data)
    assert isinstance(fitted.compressor, TopK)
    n = fitted.n_iter_
    up = plan.bytes_up / plan.rounds
    assert np.mean(fitted.history_["bytes_up"]) == pytest.approx(up, rel=0.15)
    down = plan.bytes_down / (plan.rounds - 1)
    assert np.mean(fitted.history_["bytes_down"][1:]) == pytest.approx(down, rel=0.15)
    assert n == plan.max_iter


def test_a_budget_says_how_many_rounds(data):
    plan = plan_compression(
        model(), *data, **SLOW_AND_FAST, joules_per_step=1e-3, watts=[1, 2], minimize="joules",
        budget=1e6, local_steps=[1, "epoch"], partition=np.arange(500) % 5 // 4,
    )  # fmt: skip
    assert plan.max_iter == int(1e6 * plan.rounds / plan.joules)
    assert plan.local_steps in (1, "epoch")
    plan = plan_compression(
        model(), *data, X_val=data[0], y_val=data[1], **SLOW_AND_FAST, minimize="bytes"
    )
    assert plan.k[0] == plan.k[1], "bytes cost the same on any link"
    few = Costs(rounds=8.5, seconds=17.0, joules=0.0, bytes_up=10.0, bytes_down=7.0)
    assert rounds_within(None, few, "bytes") == 9
    assert rounds_within(40.0, few, "bytes") == 20
    with pytest.warns(UserWarning, match="allows 5 rounds, but .* predicted to take 8.5"):
        assert rounds_within(11.0, few, "seconds") == 5


def test_rounds_are_read_off_scores():
    progress = Progress(None, None, None, 0.5)
    progress.scores = [0.1, 0.3, 0.4, 0.6, 0.2]
    assert progress.rounds(0.5) == 3.5
    assert progress.rounds(0.05) == 1
    assert np.isnan(progress.rounds(0.7))


def test_what_cannot_be_planned(data):
    with pytest.raises(ValueError, match=r"comes to a score of 0\.\d+ in 2 rounds, not to 1\.5"):
        plan_compression(model(), *data, **SLOW_AND_FAST, target=1.5, max_rounds=2)
    with pytest.raises(ValueError, match="give joules_per_step or watts"):
        plan_compression(model(), *data, **SLOW_AND_FAST, minimize="joules")
    for wrong in (dict(upload=[1e5] * 3), dict(download=[1e5, 0]), dict(seconds_per_step=[1, -1])):
        with pytest.raises(ValueError, match=next(iter(wrong)).split("_")[0]):
            plan_compression(model(), *data, **SLOW_AND_FAST | wrong, target=0.5)
    with pytest.raises(ValueError, match="local_steps must hold at least one"):
        plan_compression(model(), *data, **SLOW_AND_FAST, local_steps=[])
    with pytest.raises(ValueError, match="both X_val and y_val"):
        plan_compression(model(), *data, **SLOW_AND_FAST, X_val=data[0])
    for wrong in (dict(upload=0), dict(minimize="hours"), dict(max_rounds=0)):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
            plan_compression(model(), *data, **SLOW_AND_FAST | wrong)
