"""The whole training line in slow, plain NumPy: loops, dense gradients, float64.

The arbiter for every kernel. Nothing here is imported from the package.
"""

import numpy as np


def entries(X, i):
    """Stored (column, value) pairs of a row of a CSR matrix, zeros left out, in storage order."""
    span = slice(X.indptr[i], X.indptr[i + 1])
    return [(int(j), float(x)) for j, x in zip(X.indices[span], X.data[span], strict=True) if x]


def divisor(pairs, pooling):
    """What the weighted sum of a bag is divided by."""
    values = np.array([x for _, x in pairs])
    if pooling == "sum":
        return 1.0
    return np.abs(values).sum() if pooling == "mean" else np.sqrt((values**2).sum())


def pool(E, X, i, pooling, active):
    """Pooled vector of one row and its divisor; zeros and no divisor for an empty bag."""
    pairs = [(j, x) for j, x in entries(X, i) if active[j]]
    h = np.zeros(E.shape[1])
    if not pairs:
        return h, pairs, None
    for j, x in pairs:
        h += x * E[j]
    z = divisor(pairs, pooling)
    return h / z, pairs, z


def loss_and_slope(loss, y, raw):
    """Loss of one row and its derivative with respect to the raw scores of the row."""
    if loss == "log_loss":
        z = raw[0]
        p = 1 / (1 + np.exp(-z))
        return np.logaddexp(0, z) - y * z, np.array([p - y])
    if loss == "softmax":
        top = raw.max()
        log_total = top + np.log(np.exp(raw - top).sum())
        p = np.exp(raw - log_total)
        p[y] -= 1
        return log_total - raw[y], p
    error = raw - y
    return 0.5 * (error**2).sum(), error


def forward(params, X, rows, pooling, active):
    """Raw scores, shape (b, n_outputs)."""
    E, W, b = params
    return np.array([W @ pool(E, X, i, pooling, active)[0] + b for i in rows])


def gradients(params, X, rows, y, weight, *, pooling, loss, active, frozen):
    """Mean loss and dense gradients over a batch, and the occurrences of each listed column."""
    E, W, b = params
    dE, dW, db = np.zeros_like(E), np.zeros_like(W), np.zeros_like(b)
    counts, total, value = np.zeros(len(E), int), sum(weight[i] for i in rows), 0.0
    for i in rows:
        h, pairs, z = pool(E, X, i, pooling, active)
        one, slope = loss_and_slope(loss, y[i], W @ h + b)
        share = weight[i] / total
        value += share * one
        dW += share * np.outer(slope, h)
        db += share * slope
        for j, x in pairs:
            if not frozen[j]:
                dE[j] += share * x / z * (W.T @ slope)
                counts[j] += 1
    return value, (dE, dW, db), counts


class ReferenceSolver:
    """One step on listed rows, row by row and coordinate by coordinate."""

    def __init__(self, name, lr, *, weight_decay=0.0, eps=None, b1=0.9, b2=0.999, scope="row"):
        self.name, self.lr, self.decay, self.b1, self.b2, self.scope = (
            name, lr, weight_decay, b1, b2, scope,
        )  # fmt: skip
        self.eps = {"lazy_adam": 1e-8}.get(name, 1e-10) if eps is None else eps
        self.state = {}

    def step(self, key, w, g, listed, t, *, dense=False, decay=True):
        """Step the listed rows of w (n, d) in place; `key` names the array."""
        if key not in self.state:
            start = 1e-6 if key == "intercept" and "adagrad" in self.name else 0.0
            self.state[key] = {
                "s": np.full_like(w, start),
                "m": np.zeros_like(w),
                "n": np.zeros(len(w), int),
            }
        state, lr = self.state[key], self.lr
        for j in np.flatnonzero(listed):
            state["n"][j] += 1
            if decay:
                w[j] *= 1 - lr * self.decay
            for k in range(w.shape[1]):
                w[j, k] -= self._move(state, g, j, k, t, dense)

    def _move(self, state, g, j, k, t, dense):
        lr, eps, s, m = self.lr, self.eps, state["s"], state["m"]
        if self.name == "sgd":
            return lr * g[j, k]
        if self.name == "adagrad":
            s[j, k] += g[j, k] ** 2
            root = np.sqrt(s[j, k]) + eps
            return lr * g[j, k] / root if root else 0.0
        if self.name == "rowwise_adagrad":
            if k == 0:
                s[j, :] += (g[j] ** 2).mean()
            root = np.sqrt(s[j, k]) + eps
            return lr * g[j, k] / root if root else 0.0
        b1, b2 = self.b1, self.b2
        m[j, k] = b1 * m[j, k] + (1 - b1) * g[j, k]
        s[j, k] = b2 * s[j, k] + (1 - b2) * g[j, k] ** 2
        n = state["n"][j] if self.scope == "row" or dense else t
        if dense:
            m_hat, v_hat = m[j, k] / (1 - b1**n), s[j, k] / (1 - b2**n)
            return lr * m_hat / (np.sqrt(v_hat) + eps)
        size = lr * np.sqrt(1 - b2**n) / (1 - b1**n)
        root = np.sqrt(s[j, k]) + eps
        return size * m[j, k] / root if root else 0.0


def fit(params, X, y, weight, orders, *, batch_size, pooling, loss, solver, active, frozen):
    """Train in place over the given orders of rows, one an epoch; return the loss of each epoch."""
    E, W, b = params
    curve, t = [], 0
    for order in orders:
        losses = []
        for s in range(0, len(order), batch_size):
            rows = order[s : s + batch_size]
            value, (dE, dW, db), counts = gradients(
                params, X, rows, y, weight, pooling=pooling, loss=loss, active=active, frozen=frozen
            )
            t += 1
            every = np.ones(len(W), bool)
            solver.step("table", E, dE, counts > 0, t)
            solver.step("coef", W, dW, every, t, dense=True)
            column = b[:, None]
            solver.step("intercept", column, db[:, None], every, t, dense=True, decay=False)
            losses.append((value, sum(weight[i] for i in rows)))
        values, weights = zip(*losses, strict=True)
        curve.append(np.average(values, weights=weights))
    return curve
