"""Rows that change without being listed are brought up to date before they are read.

Numbers of steps count from the beginning of the epoch, when every row is up to date. ``decay[p]``
and its like hold, for a row last seen at step p, the joint effect of all later steps up to `now`;
a step updates these short arrays, not the table.
"""

import numpy as np


class DecayCatchUp:
    """Decoupled weight decay of all rows.

    Parameters
    ----------
    table : ParamTable
        The table, up to date now.
    start : RowArray or None
        Where its rows decay to; None is zero. The way from there obeys the same rules, and a row
        that has not left it keeps its bits.
    """

    def __init__(self, table, start=None):
        self.table, self.start, self.now = table, start, 0
        self.last = np.zeros((table.n_rows, 1), np.int32)
        self.factors = {"decay": np.ones(1)}

    def bring(self, ids, backend):
        """Bring the listed rows up to the last step that was made."""
        if self.start is None:
            self._bring(ids, backend)
        elif self.now:
            table, start = self.table.values, self.start.values
            backend.add_rows(ids, table, start, -1.0)
            self._bring(ids, backend)
            backend.add_rows(ids, table, start, 1.0)

    def _bring(self, ids, backend):
        backend.catch_up_decay(ids, self.table.values, self.last, self.now, self.factors["decay"])

    def advance(self, ids, lr, keep, step, backend):
        """Note that step number `step` of the fit was made on the listed rows."""
        self.extend(lr, keep, step)
        self.now += 1
        backend.mark(ids, self.last, self.now)

    def extend(self, lr, keep, step):
        """Add the effect of one more step to the factors of all earlier ones."""
        decay = self.factors["decay"] * keep
        self.factors["decay"] = np.append(decay, 1.0)

    def finish(self, backend):
        """Bring every trainable row up to date."""
        if self.now:
            self.bring(np.arange(self.table.n_trainable, dtype=np.int32), backend)


class AdamCatchUp(DecayCatchUp):
    """The silent steps of Adam: decay, and moves by a momentum that fades.

    A silent step s of a row last seen at step p moves it by ``c_s rho^(s - p) m / (sqrt(v) + e_s)``
    with ``c_s = lr_s sqrt(1 - b2^s) / (1 - b1^s)``, ``rho = b1 / sqrt(b2)`` and
    ``e_s = eps sqrt(1 - b2^s) / b2^((s - p) / 2)``. The sum of the factors before m is one number
    for all rows with the same p; e_s is replaced by the two values of the Gauss quadrature under
    those factors as weights, which is exact for ``eps=0`` and to third order in ``eps / sqrt(v)``.

    Parameters
    ----------
    table : ParamTable
        The table, up to date now.
    start : RowArray or None
        Where its rows decay to; None is zero.
    m, v : ndarray of shape (n_rows, width)
        Its moments.
    beta_1, beta_2, eps : float
        As in `AdamW`.
    decays : bool
        Whether silent steps decay.
    """

    def __init__(self, table, start, m, v, beta_1, beta_2, eps, decays):
        super().__init__(table, start)
        self.m, self.v, self.decays = m, v, decays
        self.beta_1, self.beta_2, self.eps = beta_1, beta_2, eps
        rho, tiny = beta_1 / np.sqrt(beta_2), 1e-20
        n = 1 if rho <= tiny else int(np.ceil(np.log(tiny) / np.log(rho)))
        since = np.arange(n, 0, -1)  # steps since p, the latest p last
        self.fading = rho**since
        self.grown = eps * beta_2 ** (-since / 2)
        zero, one = np.zeros(1), np.ones(1)
        self.factors.update(m_keep=one, v_keep=one)
        self.moments = [zero] * 4  # of e_s under the factors

    def _bring(self, ids, backend):
        factors = [*self.factors.values(), *two_points(*self.moments)]
        backend.catch_up_adam(ids, self.table.values, self.m, self.v, self.last, self.now, *factors)

    def extend(self, lr, keep, step):
        """Add the effect of one more step to the factors of all earlier ones."""
        keep = keep if self.decays else 1.0
        root = np.sqrt(1 - self.beta_2**step)
        c = lr * root / (1 - self.beta_1**step)
        super().extend(lr, keep, step)
        f = self.factors
        n = min(self.now + 1, len(self.fading))
        add, eps = c * self.fading[-n:], root * self.grown[-n:]
        for i, moment in enumerate(self.moments):
            moment = moment * keep
            moment[-n:] += add
            self.moments[i] = np.append(moment, 0.0)
            add = add * eps
        f["m_keep"] = np.append(f["m_keep"] * self.beta_1, 1.0)
        f["v_keep"] = np.append(f["v_keep"] * self.beta_2, 1.0)


def two_points(total, first, second, third):
    """Return weights and nodes of the two-point Gauss quadrature with the given raw moments.

    Parameters
    ----------
    total, first, second, third : ndarray
        Moments of order 0 to 3 of positive measures on positive numbers.

    Returns
    -------
    weight_1, node_1, weight_2, node_2 : ndarray
        The quadratures; zero weights where the measure is zero.
    """
    share = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    mean, square, cube = first * share, second * share, third * share
    sd = np.sqrt(np.maximum(square - mean**2, 0))
    sd[sd < 1e-6 * mean] = 0  # rounding noise
    third_central = cube - 3 * mean * square + 2 * mean**3
    half = np.divide(third_central, 2 * sd**3, out=np.zeros_like(sd), where=sd > 0)
    root = np.sqrt(1 + half**2)
    low = (root + half) / (2 * root)
    return total * low, mean + sd * (half - root), total * (1 - low), mean + sd * (half + root)
