"""How much to send: closed forms for rounds, bytes, time and energy, and the best of them.

Two short fits fix the laws below. What is best lies in a family with one parameter for what the
partitions send, and one for what the coordinator sends; both are searched on a grid.
"""

from dataclasses import dataclass

import numpy as np

POWER, DOWN_TO_UP = 1.5, 0.65  # measured: how delays in both directions add up, and their ratio
FREE = 1e-15  # J for a bit: nothing
LEAST_SHARE = 0.01  # of the entries; the laws were measured above it
GRID, NARROWER = 48, (1.0, 0.1, 0.01)  # candidates for a parameter, and the part of its range


def norm(u, d):
    """Return the rounds that delays of u and d rounds come to together."""
    return (u**POWER + d**POWER) ** (1 / POWER)


@dataclass(frozen=True, slots=True)
class Workers:
    """What computing and sending costs each partition; arrays of shape (n_partitions,).

    Attributes
    ----------
    upload, download : ndarray
        Speed of the link, bit/s.
    seconds, joules : ndarray
        Cost of a step.
    watts : ndarray
        Power drawn while a message travels.
    weights : ndarray
        Share of each partition in the mean; they sum to 1.
    filled : ndarray
        Share of the rows of the table that have data in a partition: it has no more to send.
    """

    upload: np.ndarray
    download: np.ndarray
    seconds: np.ndarray
    joules: np.ndarray
    watts: np.ndarray
    weights: np.ndarray
    filled: np.ndarray


@dataclass(frozen=True, slots=True)
class RoundLaw:
    """Rounds to a target: computing + (u^1.5 + d^1.5)^(2/3), at least 1.

    u = up sum(w / share) and d = down / broadcast share are the rounds for what has to cross.

    Attributes
    ----------
    computing : float
        Rounds where everything is sent.
    up, down : float
        What has to cross in either direction, in tables.
    """

    computing: float
    up: float
    down: float

    @classmethod
    def fit(cls, shares, rounds):
        """Return the law through two fits that sent equal shares both ways."""
        (a, b), (few, many) = shares, rounds
        slope = max((many - few) / (1 / b - 1 / a), 0.0)
        part = slope / float(norm(1, DOWN_TO_UP))
        return cls(max(few - slope / a, 0.0), part, DOWN_TO_UP * part)

    def rounds(self, shares, broadcast, weights):
        """Return the rounds for shares of shape (..., n_partitions) and broadcast shares (...)."""
        sent = self.up * (weights / shares).sum(axis=-1)
        return np.maximum(1.0, self.computing + norm(sent, self.down / broadcast))


@dataclass(frozen=True, slots=True)
class MessageLaw:
    """Bits of a message: fixed + size share (base + slope log2(1 / share)).

    Attributes
    ----------
    size : int
        Entries of the table.
    fixed : float
        Bits of all that always travels.
    base, slope : float
        Bits of an entry, and what its place costs more when half as many are sent.
    """

    size: int
    fixed: float
    base: float
    slope: float

    @classmethod
    def fit(cls, size, fixed, shares, bits):
        """Return the law through messages of two shares."""
        shares = np.asarray(shares, np.float64)
        each = (np.asarray(bits, np.float64) - fixed) / (size * shares)
        doublings = np.log2(1 / shares)
        slope = (each[1] - each[0]) / (doublings[1] - doublings[0])
        slope = float(np.clip(slope, 0, each.min() / (2 + doublings.max())))  # rises with the share
        return cls(size, fixed, float((each - slope * doublings).mean()), slope)

    def bits(self, share):
        """Return the bits of a message, or of many."""
        return self.fixed + self.size * share * (self.base - self.slope * np.log2(share))

    def share(self, bits):
        """Return the share that fits into so many bits, at least the least and at most all."""
        known = np.geomspace(LEAST_SHARE, 1, 400)
        return np.interp(bits, self.bits(known), known)


@dataclass(frozen=True)
class Costs:
    """What a fit to the target is predicted to take.

    Attributes
    ----------
    rounds : float
        Rounds.
    seconds : float
        Time: in each round the slowest partition decides.
    joules : float
        Energy of all partitions.
    bytes_up, bytes_down : float
        Bytes of all partitions, head included.
    """

    rounds: float
    seconds: float
    joules: float
    bytes_up: float
    bytes_down: float

    @property
    def bytes(self):
        """Bytes in both directions."""
        return self.bytes_up + self.bytes_down


@dataclass(frozen=True, slots=True)
class Forecast:
    """The laws of one number of local steps, for given workers.

    Attributes
    ----------
    law : RoundLaw
        Rounds.
    up, down : MessageLaw
        Messages.
    workers : Workers
        Costs.
    steps : float
        Steps of each partition in a round, or one number for all.
    """

    law: RoundLaw
    up: MessageLaw
    down: MessageLaw
    workers: Workers
    steps: float

    def costs(self, shares, broadcast):
        """Return the `Costs` of shares (..., n_partitions) and broadcast shares (...)."""
        w, rounds = self.workers, self.law.rounds(shares, broadcast, self.workers.weights)
        sent = np.minimum(shares, w.filled)
        told = np.minimum(broadcast, sent.sum(axis=-1))  # no more can be told than was heard
        up, down = self.up.bits(sent), self.down.bits(told)
        heard = rounds - 1  # the first round hears nothing
        alone = self.steps * w.seconds + up / w.upload
        hearing = down[..., None] / w.download
        first, later = alone.max(axis=-1), (alone + hearing).max(axis=-1)
        energy = (self.steps * w.joules + w.watts * up / w.upload).sum(axis=-1)
        return Costs(
            rounds,
            first + heard * later,
            rounds * energy + heard * (w.watts * hearing).sum(axis=-1),
            rounds * up.sum(axis=-1) / 8,
            heard * shares.shape[-1] * down / 8,
        )

    def _shares(self, minimize, at, broadcast):
        """The family that holds the best shares; `at` and `broadcast` of shape (...), in [0, 1].

        Energy and bytes: the sum of cost and share, for a given sum of weight / share, is least
        where shares are as sqrt(weight / cost). Time: nobody idles.
        """
        w = self.workers
        if minimize == "seconds":
            rest = self.steps * w.seconds + (self.down.bits(broadcast)[..., None] / w.download)
            fastest = (rest + self.up.bits(LEAST_SHARE) / w.upload).max(axis=-1)
            slowest = (rest + self.up.bits(1.0) / w.upload).max(axis=-1)
            round_seconds = fastest * (slowest / fastest) ** at
            return self.up.share((round_seconds[..., None] - rest) * w.upload)
        cost = np.ones_like(w.weights)
        if minimize == "joules":
            cost = np.maximum(w.watts / w.upload, FREE)
        shape = np.sqrt(w.weights / cost)
        least, most = LEAST_SHARE / shape.max(), 1 / shape.min()
        return np.clip((least * (most / least) ** at)[..., None] * shape, LEAST_SHARE, 1)

    def best(self, minimize):
        """Return (shares, broadcast share, costs) with the least "seconds", "joules" or "bytes"."""
        at, told = 0.5, 0.5
        for part in NARROWER:
            grid = part * np.linspace(-0.5, 0.5, GRID)
            x, y = np.meshgrid(np.clip(at + grid, 0, 1), np.clip(told + grid, 0, 1))
            broadcast = LEAST_SHARE ** (1 - y)
            shares = self._shares(minimize, x, broadcast)
            costs = getattr(self.costs(shares, broadcast), minimize)
            i = np.unravel_index(np.argmin(costs), costs.shape)
            at, told = x[i], y[i]
        best = self.costs(shares[i], broadcast[i])
        numbers = (best.rounds, best.seconds, best.joules, best.bytes_up, best.bytes_down)
        return shares[i], float(broadcast[i]), Costs(*map(float, numbers))
