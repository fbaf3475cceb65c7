"""Plans of compression against what happens: rounds, bytes, time and energy on simulated links.

    python tests/bench/partitioned_planner.py

Two tasks that the laws have not seen. A plan is made for four partitions with unequal links, then
carried out with three other seeds, whose mean counts. An event simulator with jitter in steps and
links takes the messages that were really sent; its mean time over 20 runs is the time measured. The
best plan with equal k for all, by the same laws, is carried out beside it.
"""

import json
import warnings
from dataclasses import astuple

import numpy as np
import scipy.sparse as sp
from partitioned import texts
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from skembed import EmbeddingBagClassifier, PartitionedFit, plan_compression
from skembed.compress import Forecast, TopK
from skembed.estimators._planning import Pilots, Progress, numbers, workers_of

UPLOAD, DOWNLOAD = np.array([0.5e6, 0.5e6, 2e6, 12e6]), np.array([4e6, 4e6, 8e6, 24e6])
STEP, JOULES, WATTS = 2e-3, 6e-3, 1.0
JITTER_STEP, JITTER_LINK, RUNS = 0.1, 0.1, 20  # standard deviations of logarithms
LINKS = dict(
    upload=UPLOAD, download=DOWNLOAD, seconds_per_step=STEP, joules_per_step=JOULES, watts=WATTS
)


def clicks(n=16_000, n_test=6_000, seed=5):
    """Return one-hot rows of 12 categorical columns, and whether they were clicked."""
    rng = np.random.default_rng(seed)
    sizes = [3, 10, 30, 100, 300, 1000, 2000, 3000, 5000, 50, 500, 20]
    effects = [rng.normal(size=(size, 3)) for size in sizes]
    n_all, columns, score, offset = n + n_test, [], 0.0, 0
    vectors = np.zeros((n_all, 3))
    for size, effect in zip(sizes, effects, strict=True):
        chance = 1 / np.arange(1, size + 1) ** 1.05
        value = rng.choice(size, n_all, p=chance / chance.sum())
        columns.append(value + offset)
        score = score + 1.2 * effect[value, 0]
        vectors += effect[value]
        offset += size
    score = score + 0.4 * vectors[:, 1] * vectors[:, 2] / np.sqrt(len(sizes))
    y = (score + rng.logistic(size=n_all) > 0).astype(int)
    row = np.repeat(np.arange(n_all), len(sizes))
    where = row, np.stack(columns, axis=1).ravel()
    X = sp.csr_array((np.ones(len(row), np.float32), where), shape=(n_all, offset))
    return X[:n], y[:n], X[n:], y[n:]


class Counted(TopK):
    """TopK that notes the bytes of its messages by partition and round."""

    log = {}

    def compress(self, change, memory, backend, *, header):
        """Note the size."""
        message, memory = super().compress(change, memory, backend, header=header)
        self.log[header.partition, header.round] = len(message)
        return message, memory


def carry_out(model, data, scorer, k, broadcast_k, target, seed, max_rounds=80):
    """Fit to the target; return the rounds, all bytes by round and partition, and the steps."""
    X, y, X_test, y_test = data
    progress = Progress(scorer, X_test, y_test, target)
    model = clone(model).set_params(
        compressor=Counted(k=[int(x) for x in k]),
        broadcast_compressor=Counted(k=int(broadcast_k)),
        max_iter=max_rounds,
        random_state=seed,
    )
    model.estimator.set_params(n_iter_no_change=max_rounds).set_callbacks(progress)
    Counted.log.clear()
    model.fit(X, y)
    n, h = model.n_iter_, model.history_
    up = np.array([[Counted.log[p, r] for p in range(4)] for r in range(n)], np.float64)
    up += (np.array(h["bytes_up"])[:, None] - up.sum(axis=1, keepdims=True)) / 4  # heads
    down = np.array(h["bytes_down"])[:, None] / 4 * np.ones(4)
    steps = model.estimator_._state.step / n
    return progress.rounds(target), up, down, steps


def at(rounds, per_round):
    """Return a sum over a number of rounds with a fraction."""
    whole = int(rounds)
    rest = per_round[whole] * (rounds - whole) if whole < len(per_round) else 0.0
    return per_round[:whole].sum() + rest


def simulate(rounds, up, down, steps, seed):
    """Return the seconds to a number of rounds: events of four partitions with jitter."""
    rng, now, ready, seconds = np.random.default_rng(seed), 0.0, np.zeros(4), []
    for r in range(len(up)):
        hear = 8 * down[r] / DOWNLOAD * rng.lognormal(-(JITTER_LINK**2) / 2, JITTER_LINK, 4)
        work = (STEP * rng.lognormal(-(JITTER_STEP**2) / 2, JITTER_STEP, (int(steps), 4))).sum(0)
        send = 8 * up[r] / UPLOAD * rng.lognormal(-(JITTER_LINK**2) / 2, JITTER_LINK, 4)
        ready = now + hear + work + send
        seconds.append(ready.max() - now)
        now = ready.max()
    return at(rounds, np.array(seconds))


def measured(*plan):
    """Return mean rounds, seconds, joules and bytes of what was carried out with three seeds."""
    found = []
    for seed in (1, 2, 3):
        rounds, up, down, steps = carry_out(*plan, seed)
        energy = 4 * steps * JOULES + WATTS * 8 * (up / UPLOAD + down / DOWNLOAD).sum(axis=1)
        times = [simulate(rounds, up, down, steps, run) for run in range(RUNS)]
        sent = (up + down).sum(axis=1)
        found.append((rounds, np.mean(times), at(rounds, energy), at(rounds, sent)))
    return dict(zip(("rounds", "seconds", "joules", "bytes"), np.mean(found, 0), strict=True))


def predicted(costs):
    """Return the same of a prediction."""
    return {name: getattr(costs, name) for name in ("rounds", "seconds", "joules", "bytes")}


def best_equal(forecast, minimize):
    """Return the best share where all partitions send equally, and that of the broadcast."""
    grid = np.geomspace(0.01, 1, 120)
    share, told = np.meshgrid(grid, grid)
    costs = getattr(forecast.costs(np.repeat(share[..., None], 4, axis=-1), told), minimize)
    i = np.unravel_index(np.argmin(costs), costs.shape)
    return share[i], told[i]


def show(**line):
    """Print numbers with three digits."""
    rounded = {
        key: {k: float(f"{v:.4g}") for k, v in value.items()} if isinstance(value, dict) else value
        for key, value in line.items()
    }
    print(json.dumps(rounded), flush=True)


def main():
    """Print plans, predictions and what was measured."""
    tasks = {
        "texts": (texts(16_000, 6_000, 20_000, 8, seed=3), 0.1, "accuracy", None),
        "clicks": (clicks(), 0.02, "roc_auc", 0.89),
    }
    for name, (data, rate, scoring, target) in tasks.items():
        bag = EmbeddingBagClassifier(
            16, learning_rate_init=rate, batch_size=64, early_stopping=False, tol=0.0,
            n_iter_no_change=1000, random_state=0,
        )  # fmt: skip
        model, scorer = PartitionedFit(bag, random_state=0), get_scorer(scoring)
        X, y, X_val, y_val = data
        pilots = Pilots(model, data, None, scorer, 80)
        target = pilots.target("epoch") if target is None else target
        law, up, down, steps, filled = pilots.laws("epoch", target)
        costs = numbers(upload=UPLOAD, download=DOWNLOAD, seconds=STEP, joules=JOULES, watts=WATTS)
        workers = workers_of(costs, np.full(4, 0.25), filled)
        forecast = Forecast(law, up, down, workers, steps)
        show(task=name, target=target, law=dict(zip("ABC", astuple(law), strict=True)))
        for minimize in ("seconds", "joules"):
            plan = plan_compression(
                model, X, y, **LINKS, X_val=X_val, y_val=y_val, scoring=scoring, target=target,
                minimize=minimize, max_rounds=80,
            )  # fmt: skip
            done = measured(model, data, scorer, plan.k, plan.broadcast_k, target)
            want = predicted(plan)
            off = {key: done[key] / want[key] - 1 for key in want}
            show(minimize=minimize, k=plan.k, broadcast_k=plan.broadcast_k)
            show(predicted=want, measured=done, off=off)
            share, told = best_equal(forecast, minimize)
            k = np.full(4, round(share * up.size))
            same = measured(model, data, scorer, k, round(told * up.size), target)
            show(equal_k=int(k[0]), broadcast_k=round(told * up.size), measured=same,
                 saved={minimize: 1 - done[minimize] / same[minimize]})  # fmt: skip


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        main()
