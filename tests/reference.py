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


def pool_max(E, X, i, active):
    """Componentwise maximum of x E over a bag, and of which pair it is; zeros for an empty bag."""
    pairs = [(j, x) for j, x in entries(X, i) if active[j]]
    h, of = np.zeros(E.shape[1]), np.full(E.shape[1], -1)
    for k in range(E.shape[1]):
        for p, (j, x) in enumerate(pairs):
            if of[k] < 0 or x * E[j, k] > h[k]:
                h[k], of[k] = x * E[j, k], p
    return h, pairs, of


def deep_forward(params, X, i, numeric, pooling, active):
    """Raw scores of a row, and what the way back needs; `params` as in `deep_gradients`."""
    E, V, layers = params
    h, pairs, way = (
        pool_max(E, X, i, active) if pooling == "max" else pool(E, X, i, pooling, active)
    )
    inputs, x = [], np.concatenate([h, numeric])
    for n, (W, b) in enumerate(layers):
        inputs.append(x)
        x = np.array([sum(w * v for w, v in zip(row, x, strict=True)) for row in W]) + b
        if n < len(layers) - 1:
            x = np.where(x > 0, x, 0.0)
    if V is not None:
        for j, value in pairs:
            x = x + value / way * V[j]
    return x, pairs, way, inputs


def deep_gradients(params, X, rows, y, weight, numeric, *, pooling, loss, active, frozen):
    """Mean loss and dense gradients of (embeddings, direct weights, [(W, b) of each layer]).

    `numeric` holds the columns that join the pooled vector, a dense array.
    """
    E, V, layers = params
    d, total, value = E.shape[1], sum(weight[i] for i in rows), 0.0
    dE, dV = np.zeros_like(E), None if V is None else np.zeros_like(V)
    grads = [(np.zeros_like(W), np.zeros_like(b)) for W, b in layers]
    for i in rows:
        raw, pairs, way, inputs = deep_forward(params, X, i, numeric[i], pooling, active)
        one, top = loss_and_slope(loss, y[i], raw)
        share = weight[i] / total
        value, slope = value + share * one, top
        for n in reversed(range(len(layers))):
            grads[n][0][...] += share * np.outer(slope, inputs[n])
            grads[n][1][...] += share * slope
            slope = layers[n][0].T @ slope
            if n:
                slope = np.where(inputs[n] > 0, slope, 0.0)
        for p, (j, x) in enumerate(pairs):
            if frozen[j]:
                continue
            dE[j] += share * slope[:d] * (x * (way == p) if pooling == "max" else x / way)
            if V is not None:
                dV[j] += share * x / way * top
    return value, dE, dV, grads


class ReferenceSolver:
    """One step, row by row and coordinate by coordinate.

    `decay_scope` "all" decays every trainable row at every step; "adamw" also moves every row.
    `decay_toward` "start" decays the table to the values of its first step, else to zero.
    """

    def __init__(
        self, name, lr, *, weight_decay=0.0, eps=None, b1=0.9, b2=0.999, bias="row",
        decay_scope="touched", momentum=0.0, nesterov=False, beta=1.0, l1=0.0, l2=0.0, start=0.0,
        decay_toward="zero",
    ):  # fmt: skip
        self.name, self.lr, self.decay, self.decay_scope = name, lr, weight_decay, decay_scope
        self.b1, self.b2, self.bias = b1, b2, bias
        self.momentum, self.nesterov = momentum, nesterov
        self.beta, self.l1, self.l2, self.start = beta, l1, l2, start
        self.eps = {"lazy_adam": 1e-8, "adamw": 1e-8}.get(name, 1e-10) if eps is None else eps
        self.state, self.decay_toward = {}, decay_toward

    def step(self, key, w, g, listed, t, *, trainable=None, dense=False):
        """Step the listed rows of w (n, d) in place; `key` names the array."""
        lr = self.lr(t) if callable(self.lr) else self.lr
        if key not in self.state:
            start = self.start
            start += 1e-6 if key == "intercept" and "adagrad" in self.name else 0.0
            zeros = np.zeros_like(w)
            self.state[key] = {"s": zeros + start, "m": zeros.copy(), "n": np.zeros(len(w), int)}
            to_start = self.decay_toward == "start" and key == "table"
            self.state[key]["goal"] = w.copy() if to_start else zeros
            if self.name == "ftrl":
                l1, l2 = self._penalties(key)
                self.state[key]["m"] = -w * (self.beta / lr + l2) - np.sign(w) * l1
        every = np.ones(len(w), bool) if trainable is None else trainable
        decays = every if self.decay_scope == "all" or self.name == "adamw" else listed
        moves = every if self.name == "adamw" else listed
        state = self.state[key]
        for j in range(len(w)):
            if decays[j] and key != "intercept":
                w[j] -= lr * self.decay * (w[j] - state["goal"][j])
            if moves[j]:
                state["n"][j] += 1
                for k in range(w.shape[1]):
                    self._move(state, w, g, j, k, t, lr, key, dense)

    def _penalties(self, key):
        return (0.0, 0.0) if key == "intercept" else (self.l1, self.l2)

    def _move(self, state, w, g, j, k, t, lr, key, dense):
        s, m, x = state["s"], state["m"], g[j, k]
        if self.name == "sgd":
            m[j, k] = self.momentum * m[j, k] + x
            ahead = x + self.momentum * m[j, k] if self.nesterov else m[j, k]
            w[j, k] -= lr * (ahead if self.momentum else x)
        elif self.name == "adagrad":
            s[j, k] += x**2
            root = np.sqrt(s[j, k]) + self.eps
            w[j, k] -= lr * x / root if root else 0.0
        elif self.name == "rowwise_adagrad":
            if k == 0:
                s[j, :] += (g[j] ** 2).mean()
            root = np.sqrt(s[j, k]) + self.eps
            w[j, k] -= lr * x / root if root else 0.0
        elif self.name == "ftrl":
            l1, l2 = self._penalties(key)
            n_old, s[j, k] = s[j, k], s[j, k] + x**2
            m[j, k] += x - (np.sqrt(s[j, k]) - np.sqrt(n_old)) / lr * w[j, k]
            z = m[j, k]
            shrunk = np.sign(z) * max(abs(z) - l1, 0)
            w[j, k] = -shrunk / ((self.beta + np.sqrt(s[j, k])) / lr + l2)
        else:
            self._adam(state, w, x, j, k, t, lr, dense)

    def _adam(self, state, w, x, j, k, t, lr, dense):
        b1, b2, s, m = self.b1, self.b2, state["s"], state["m"]
        m[j, k] = b1 * m[j, k] + (1 - b1) * x
        s[j, k] = b2 * s[j, k] + (1 - b2) * x**2
        n = state["n"][j] if self.bias == "row" and self.name == "lazy_adam" else t
        if dense or self.name == "adamw":
            m_hat, root = m[j, k] / (1 - b1**n), np.sqrt(s[j, k] / (1 - b2**n)) + self.eps
            w[j, k] -= lr * m_hat / root if root else 0.0
        else:
            size, root = lr * np.sqrt(1 - b2**n) / (1 - b1**n), np.sqrt(s[j, k]) + self.eps
            w[j, k] -= size * m[j, k] / root if root else 0.0


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
            solver.step("table", E, dE, counts > 0, t, trainable=active & ~frozen)
            solver.step("coef", W, dW, every, t, dense=True)
            solver.step("intercept", b[:, None], db[:, None], every, t, dense=True)
            losses.append((value, sum(weight[i] for i in rows)))
        values, weights = zip(*losses, strict=True)
        curve.append(np.average(values, weights=weights))
    return curve


def pair_forward(params, X, i, pooling, active, fields):
    """Raw scores of a row of a factorization machine, over all pairs of its entries.

    `params` are vectors of shape (n_features, n_fields, n_outputs, d), direct weights of shape
    (n_features, n_outputs) or None, and intercepts; `fields` has the field of each column.
    """
    V, w, b = params
    pairs = [(j, x) for j, x in entries(X, i) if active[j]]
    z = divisor(pairs, pooling) if pairs else 1.0
    raw = b.astype(float)
    for p, (j, x) in enumerate(pairs):
        if w is not None:
            raw = raw + x / z * w[j]
        for k, y in pairs[:p]:
            raw = raw + x / z * y / z * (V[j, fields[k]] * V[k, fields[j]]).sum(axis=-1)
    return raw, pairs, z


def pair_gradients(params, X, rows, y, weight, *, pooling, loss, active, frozen, fields):
    """Mean loss of a batch, its dense gradients, and the occurrences of each listed column."""
    V, w, b = params
    dV, dw, db = np.zeros_like(V), None if w is None else np.zeros_like(w), np.zeros_like(b)
    counts, total, value = np.zeros(len(V), int), sum(weight[i] for i in rows), 0.0
    for i in rows:
        raw, pairs, z = pair_forward(params, X, i, pooling, active, fields)
        one, slope = loss_and_slope(loss, y[i], raw)
        share = weight[i] / total
        value += share * one
        db += share * slope
        for p, (j, x) in enumerate(pairs):
            if w is not None and not frozen[j]:
                dw[j] += share * x / z * slope
            counts[j] += not frozen[j]
            for k, v in pairs[:p]:
                size = share * x / z * v / z * slope[:, None]
                if not frozen[j]:
                    dV[j, fields[k]] += size * V[k, fields[j]]
                if not frozen[k]:
                    dV[k, fields[j]] += size * V[j, fields[k]]
    return value, (dV, dw, db), counts


def cooccurrence_gradients(E, W, offset, bags, factors, lists):
    """Mean loss of predicted features and its dense gradients with respect to E and W.

    Row i pools ``bags[i]``, pairs of feature and value, times ``factors[i]``; ``lists[i]`` holds
    (feature, 1 if it was left out or 0 if it was drawn, weight).
    """
    dE, dW, value = np.zeros_like(E), np.zeros_like(W), 0.0
    total = sum(weight for row in lists for _, true, weight in row if true)
    for bag, factor, row in zip(bags, factors, lists, strict=True):
        h = factor * sum(x * E[j] for j, x in bag)
        for k, true, weight in row:
            one, (slope,) = loss_and_slope("log_loss", true, np.array([h @ W[k] + offset[k]]))
            value += weight / total * one
            dW[k] += weight / total * slope * h
            for j, x in bag:
                dE[j] += weight / total * slope * factor * x * W[k]
    return value, dE, dW
