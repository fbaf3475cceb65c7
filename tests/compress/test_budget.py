"""Closed forms for rounds, bytes, time and energy."""

from dataclasses import replace

import numpy as np
import pytest

from skembed.compress import CompressionPlan, Forecast, MessageLaw, RoundLaw, TopK, Workers
from skembed.compress._budget import DOWN_TO_UP, LEAST_SHARE

SIZE = 800_000
LAW = RoundLaw(computing=1.8, up=0.18, down=0.23)
UP = MessageLaw(SIZE, 10_000.0, 9.0, 0.4)
DOWN = MessageLaw(SIZE, 10_000.0, 8.5, 0.4)
UNEQUAL = Workers(
    upload=np.array([2e6, 2e6, 8e6, 50e6]),
    download=np.array([8e6, 8e6, 8e6, 50e6]),
    seconds=np.array([2e-3, 2e-3, 2e-3, 1e-3]),
    joules=np.full(4, 6e-3),
    watts=np.ones(4),
    weights=np.array([0.2, 0.3, 0.3, 0.2]),
    filled=np.array([1.0, 1.0, 1.0, 0.35]),
)
FORECAST = Forecast(LAW, UP, DOWN, UNEQUAL, 78)


def test_two_fits_give_the_law():
    law = RoundLaw.fit((0.3, 0.03), (LAW.rounds(*same(0.3)), LAW.rounds(*same(0.03))))
    assert law.computing == pytest.approx(LAW.computing)
    assert law.rounds(*same(0.1)) == pytest.approx(LAW.rounds(*same(0.1)))
    assert law.down == pytest.approx(DOWN_TO_UP * law.up)
    flat = RoundLaw.fit((0.3, 0.03), (5.0, 4.0))  # noise: fewer rounds with less sent
    assert (flat.computing, flat.up, flat.down) == (5.0, 0, 0)


def same(share):
    return np.full(4, share), share, UNEQUAL.weights


def test_two_messages_give_the_law_of_bits():
    law = MessageLaw.fit(SIZE, 10_000.0, (0.3, 0.03), [UP.bits(0.3), UP.bits(0.03)])
    shares = np.array([1, 0.3, 0.1, 0.01])
    np.testing.assert_allclose(law.bits(shares), UP.bits(shares))
    np.testing.assert_allclose(law.share(UP.bits(shares)), shares, rtol=1e-3)
    assert (np.diff(law.bits(np.geomspace(LEAST_SHARE, 1, 100))) > 0).all()
    odd = MessageLaw.fit(SIZE, 0.0, (0.3, 0.03), [0.3 * SIZE * 9, 0.03 * SIZE * 90])
    assert (np.diff(odd.bits(np.geomspace(LEAST_SHARE, 1, 100))) > 0).all()


def slow_costs(shares, broadcast):
    sent = 0.18 * sum(w / s for w, s in zip(UNEQUAL.weights, shares, strict=True))
    rounds = 1.8 + (sent**1.5 + (0.23 / broadcast) ** 1.5) ** (2 / 3)
    shares = [*shares[:3], min(shares[3], 0.35)]
    down = DOWN.bits(min(broadcast, sum(shares)))
    alone = [78 * UNEQUAL.seconds[m] + UP.bits(s) / UNEQUAL.upload[m] for m, s in enumerate(shares)]
    hear = [down / speed for speed in UNEQUAL.download]
    seconds = max(alone) + (rounds - 1) * max(a + b for a, b in zip(alone, hear, strict=True))
    joules = rounds * sum(78 * 6e-3 + UP.bits(s) / UNEQUAL.upload[m] for m, s in enumerate(shares))
    joules += (rounds - 1) * sum(hear)
    up = rounds * sum(UP.bits(share) for share in shares) / 8
    return [rounds, seconds, joules, up, (rounds - 1) * 4 * down / 8]


def test_costs_are_added_up():
    shares = np.array([0.02, 0.03, 0.1, 0.4])
    for broadcast in (0.05, 0.9):
        got = FORECAST.costs(shares, np.float64(broadcast))
        numbers = [got.rounds, got.seconds, got.joules, got.bytes_up, got.bytes_down]
        np.testing.assert_allclose(numbers, slow_costs(shares, broadcast))
        assert got.bytes == got.bytes_up + got.bytes_down


@pytest.mark.parametrize("minimize", ["seconds", "joules", "bytes"])
def test_no_small_change_of_the_best_is_better(minimize):
    full = replace(FORECAST, workers=replace(UNEQUAL, filled=np.ones(4)))
    shares, broadcast, costs = full.best(minimize)
    least = getattr(costs, minimize)
    assert getattr(full.costs(shares, np.float64(broadcast)), minimize) == least
    rng = np.random.default_rng(0)
    for size in (1.0, 0.3, 0.1, 0.01):
        for _ in range(300):
            near = np.clip(shares * np.exp(size * rng.normal(size=4)), LEAST_SHARE, 1)
            told = np.clip(broadcast * np.exp(size * rng.normal()), LEAST_SHARE, 1)
            assert getattr(full.costs(near, told), minimize) >= least * (1 - 2e-3)


def test_slow_links_send_less_and_equal_shares_are_beaten():
    shares, _, costs = FORECAST.best("seconds")
    assert shares[1] <= shares[0] < shares[2] < shares[3]
    grid = np.geomspace(LEAST_SHARE, 1, 80)
    k, told = np.meshgrid(grid, grid)
    equal = FORECAST.costs(np.repeat(k[..., None], 4, axis=-1), told)
    assert costs.seconds < 0.85 * equal.seconds.min()
    assert FORECAST.best("joules")[2].joules < equal.joules.min()
    assert FORECAST.best("bytes")[2].bytes <= equal.bytes.min()


def test_where_sending_costs_no_energy_all_is_sent():
    free = replace(FORECAST, workers=replace(UNEQUAL, watts=np.zeros(4)))
    shares, broadcast, costs = free.best("joules")
    assert (shares > 0.99).all()
    assert broadcast > 0.99
    assert costs.joules == pytest.approx(4 * 78 * 6e-3 * costs.rounds)


def test_a_plan_is_a_set_of_parameters():
    plan = CompressionPlan(
        k=(5, 9), broadcast_k=7, local_steps=40, max_iter=12, target=0.3, rounds=11.2, seconds=5.0,
        joules=0.0, bytes_up=100.0, bytes_down=200.0,
    )  # fmt: skip
    assert plan.bytes == 300
    assert plan.params["compressor"].get_params() == TopK(k=[5, 9]).get_params()
    assert plan.params["broadcast_compressor"].count((100, 4), -1) == 7
    assert (plan.params["local_steps"], plan.params["max_iter"]) == (40, 12)
