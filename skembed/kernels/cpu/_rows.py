"""The transpose of the pooled gather over grouped occurrences, and solver steps over touched rows.

A solver step has two forms with equal bits:

*_rows   takes summed gradients (a SparseRowGradient), so that transforms can run before it;
*_bag    sums a block of rows itself and steps it at once, so that the summed gradients never
         leave the first-level cache; threads share the rows by taking some from `todo` at a time.

`pairs` is None for a bag. For a factorization machine it is (own, fields, F, K, d), see
`PendingPairGradient`, and `d_pooled` has F rows for each row of the batch; numba compiles another
kernel for that. ``values[u - first]`` is the gradient of row ``ids[u]``. `keep` multiplies the row
before the step: 1 - rate * weight_decay. Numbers come as float64 and are used in the dtype of the
table.
"""

import numpy as np
from numba import njit

from ._lines import add1, add4, prefetch_write, set1, take

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
AHEAD = 8  # read-ahead in touched rows
BLOCK = 32  # rows that are summed before they are stepped
CLAIM = 256  # touched rows that a thread takes at a time
U = np.uint64
LOW = np.uint64(0xFFFFFFFF)


@njit(inline="always", **OPTIONS)
def sum_bags(starts, keys, coef, d_pooled, first, lo, hi, values):
    """Write values[u - first] = sum of coef * d_pooled[source] over touched row u, lo <= u < hi."""
    width, line = values.shape[1], 64 // values.itemsize
    for u in range(lo, hi):
        o, p, e = U(u - first), starts[u], starts[u + 1]
        x0, j0 = coef[p], U(keys[p]) & LOW
        for k in range(0, width, line):
            set1(values, o, d_pooled, j0, x0, k)
        p += 1
        while p + 4 <= e:
            x0, x1, x2, x3 = coef[p], coef[p + 1], coef[p + 2], coef[p + 3]
            j0, j1 = U(keys[p]) & LOW, U(keys[p + 1]) & LOW
            j2, j3 = U(keys[p + 2]) & LOW, U(keys[p + 3]) & LOW
            for k in range(0, width, line):
                add4(values, o, d_pooled, j0, j1, j2, j3, x0, x1, x2, x3, k)
            p += 4
        while p < e:
            x0, j0 = coef[p], U(keys[p]) & LOW
            for k in range(0, width, line):
                add1(values, o, d_pooled, j0, x0, k)
            p += 1


@njit(inline="always", **OPTIONS)
def sum_pairs(ids, starts, keys, coef, d_pooled, pairs, first, lo, hi, table, values):
    """Do the same with the rows of d_pooled that are for the field of row u, and leave own pairs.

    Those are the sum of coef^2 * own times the vectors of the row that are for its own field.
    """
    own, fields, n_fields, n_outputs, d = pairs
    width, line, last = values.shape[1], 64 // values.itemsize, ids.shape[0] - 1
    n, left = U(n_fields), np.empty(n_outputs, values.dtype)
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
        j, o, p, e = U(ids[u]), U(u - first), starts[u], starts[u + 1]
        i0, x0 = U(keys[p]) & LOW, coef[p]
        f = U(fields[j]) if n_fields > 1 else U(0)
        for k in range(0, width, line):
            set1(values, o, d_pooled, i0 * n + f, x0, k)
        for c in range(n_outputs):
            left[c] = x0 * x0 * own[i0, c]
        p += 1
        while p + 4 <= e:
            x0, x1, x2, x3 = coef[p], coef[p + 1], coef[p + 2], coef[p + 3]
            i0, i1 = U(keys[p]) & LOW, U(keys[p + 1]) & LOW
            i2, i3 = U(keys[p + 2]) & LOW, U(keys[p + 3]) & LOW
            j0, j1, j2, j3 = i0 * n + f, i1 * n + f, i2 * n + f, i3 * n + f
            for k in range(0, width, line):
                add4(values, o, d_pooled, j0, j1, j2, j3, x0, x1, x2, x3, k)
            for c in range(n_outputs):
                a, b = x0 * x0 * own[i0, c], x1 * x1 * own[i1, c]
                left[c] += (a + b) + (x2 * x2 * own[i2, c] + x3 * x3 * own[i3, c])
            p += 4
        while p < e:
            i0, x0 = U(keys[p]) & LOW, coef[p]
            for k in range(0, width, line):
                add1(values, o, d_pooled, i0 * n + f, x0, k)
            for c in range(n_outputs):
                left[c] += x0 * x0 * own[i0, c]
            p += 1
        for c in range(n_outputs):
            a, q = left[c], (f * U(n_outputs) + U(c)) * U(d)
            for k in range(d):
                values[o, q + U(k)] -= a * table[j, q + U(k)]


@njit(inline="always", **OPTIONS)
def sum_rows(ids, starts, keys, coef, d_pooled, pairs, first, lo, hi, table, values):
    """Write values[u - first] = the gradient of touched row u, lo <= u < hi."""
    if pairs is None:
        sum_bags(starts, keys, coef, d_pooled, first, lo, hi, values)
    else:
        sum_pairs(ids, starts, keys, coef, d_pooled, pairs, first, lo, hi, table, values)


@njit(**OPTIONS)
def sum_groups(ids, starts, keys, coef, d_pooled, pairs, todo, table, values):
    """Write values[u] = the gradient of touched row u, as long as `todo` has rows left."""
    m = values.shape[0]
    lo = take(todo, CLAIM)
    while lo < m:
        hi = min(lo + CLAIM, m)
        sum_rows(ids, starts, keys, coef, d_pooled, pairs, 0, lo, hi, table, values)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def sgd_rows(ids, values, first, lo, hi, table, keep, lr):
    """Step w = keep w - lr g."""
    kind = table.dtype.type
    keep, lr = kind(keep), kind(lr)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
        j, o = U(ids[u]), U(u - first)
        for k in range(width):
            table[j, k] = keep * table[j, k] - lr * values[o, k]


@njit(**OPTIONS)
def sgd_bag(ids, starts, keys, coef, d_pooled, pairs, todo, block, table, keep, lr):
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            sgd_rows(ids, block, s, s, e, table, keep, lr)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def adagrad_rows(ids, values, first, lo, hi, table, sum_sq, keep, lr, eps):
    """Step s += g^2, w = keep w - lr g / (sqrt(s) + eps)."""
    kind = table.dtype.type
    keep, lr, eps = kind(keep), kind(lr), kind(eps)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(sum_sq, ahead, k)
        j, o = U(ids[u]), U(u - first)
        for k in range(width):
            g = values[o, k]
            s = sum_sq[j, k] + g * g
            root = np.sqrt(s) + eps
            sum_sq[j, k] = s
            move = lr * g / root
            table[j, k] = keep * table[j, k] - (move if root > 0 else root)


@njit(**OPTIONS)
def adagrad_bag(
    ids, starts, keys, coef, d_pooled, pairs, todo, block, table, sum_sq, keep, lr, eps
):
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            adagrad_rows(ids, block, s, s, e, table, sum_sq, keep, lr, eps)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def rowwise_adagrad_rows(ids, values, first, lo, hi, table, sum_sq, keep, lr, eps, share):
    """Step s += mean(g^2), w = keep w - lr / (sqrt(s) + eps) g; one s a row, share = 1 / d."""
    kind = table.dtype.type
    keep, lr, eps, share = kind(keep), kind(lr), kind(eps), kind(share)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        prefetch_write(sum_sq, ahead, 0)
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
        j, o = U(ids[u]), U(u - first)
        a = b = c = d = lr * 0
        for k in range(0, width - 3, 4):
            a += values[o, k] * values[o, k]
            b += values[o, k + 1] * values[o, k + 1]
            c += values[o, k + 2] * values[o, k + 2]
            d += values[o, k + 3] * values[o, k + 3]
        for k in range(width - width % 4, width):  # only rows of the head are not padded
            a += values[o, k] * values[o, k]
        s = sum_sq[j, 0] + ((a + b) + (c + d)) * share
        sum_sq[j, 0] = s
        root = np.sqrt(s) + eps
        size = lr / root if root > 0 else root
        for k in range(width):
            table[j, k] = keep * table[j, k] - size * values[o, k]


@njit(**OPTIONS)
def rowwise_adagrad_bag(
    ids, starts, keys, coef, d_pooled, pairs, todo, block, table, sum_sq, keep, lr, eps, share
):
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            rowwise_adagrad_rows(ids, block, s, s, e, table, sum_sq, keep, lr, eps, share)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def lazy_adam_rows(
    ids, values, first, lo, hi, table, m, v, n_steps, keep, lr, corr, b1, c1, b2, c2, eps
):
    """Step m = b1 m + c1 g, v = b2 v + c2 g^2, w = keep w - size m / (sqrt(v) + eps).

    size = lr * corr[n - 1] at the n-th step of the row; the last entry serves all later steps.
    """
    kind = table.dtype.type
    keep, b1, c1, b2, c2, eps = kind(keep), kind(b1), kind(c1), kind(b2), kind(c2), kind(eps)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    longest = corr.shape[0]
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        prefetch_write(n_steps, ahead, 0)
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(m, ahead, k)
            prefetch_write(v, ahead, k)
        j, o = U(ids[u]), U(u - first)
        n = n_steps[j, 0]
        n_steps[j, 0] = n + 1
        size = kind(lr * corr[U(min(n, longest - 1))])
        for k in range(width):
            g = values[o, k]
            a = b1 * m[j, k] + c1 * g
            b = b2 * v[j, k] + c2 * (g * g)
            m[j, k] = a
            v[j, k] = b
            root = np.sqrt(b) + eps
            move = size * a / root
            table[j, k] = keep * table[j, k] - (move if root > 0 else root)


@njit(**OPTIONS)
def lazy_adam_bag(
    ids, starts, keys, coef, d_pooled, pairs, todo, block,
    table, m, v, n_steps, keep, lr, corr, b1, c1, b2, c2, eps,
):  # fmt: skip
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            lazy_adam_rows(
                ids, block, s, s, e, table, m, v, n_steps, keep, lr, corr, b1, c1, b2, c2, eps
            )
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def adam_rows(ids, values, first, lo, hi, table, m, v, keep, size, b1, c1, b2, c2, eps):
    """`lazy_adam_rows` with one size for all rows."""
    kind = table.dtype.type
    keep, size, b1 = kind(keep), kind(size), kind(b1)
    c1, b2, c2, eps = kind(c1), kind(b2), kind(c2), kind(eps)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(m, ahead, k)
            prefetch_write(v, ahead, k)
        j, o = U(ids[u]), U(u - first)
        for k in range(width):
            g = values[o, k]
            a = b1 * m[j, k] + c1 * g
            b = b2 * v[j, k] + c2 * (g * g)
            m[j, k] = a
            v[j, k] = b
            root = np.sqrt(b) + eps
            move = size * a / root
            table[j, k] = keep * table[j, k] - (move if root > 0 else root)


@njit(**OPTIONS)
def adam_bag(
    ids, starts, keys, coef, d_pooled, pairs, todo, block,
    table, m, v, keep, size, b1, c1, b2, c2, eps,
):  # fmt: skip
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            adam_rows(ids, block, s, s, e, table, m, v, keep, size, b1, c1, b2, c2, eps)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def momentum_rows(ids, values, first, lo, hi, table, velocity, keep, lr, mu, a, b):
    """Step u = mu u + g, w = keep w - lr (a g + b u)."""
    kind = table.dtype.type
    keep, lr, mu, a, b = kind(keep), kind(lr), kind(mu), kind(a), kind(b)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(velocity, ahead, k)
        j, o = U(ids[u]), U(u - first)
        for k in range(width):
            g = values[o, k]
            x = mu * velocity[j, k] + g
            velocity[j, k] = x
            table[j, k] = keep * table[j, k] - lr * (a * g + b * x)


@njit(**OPTIONS)
def momentum_bag(
    ids, starts, keys, coef, d_pooled, pairs, todo, block, table, velocity, keep, lr, mu, a, b
):
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            momentum_rows(ids, block, s, s, e, table, velocity, keep, lr, mu, a, b)
        lo = take(todo, CLAIM)


@njit(inline="always", **OPTIONS)
def ftrl_rows(ids, values, first, lo, hi, table, z, n, lr, beta, l1, l2):
    """Step n += g^2, z += g - (sqrt(n') - sqrt(n)) / lr w; w solves for z, see `FTRL`."""
    kind = table.dtype.type
    lr, beta, l1, l2 = kind(lr), kind(beta), kind(l1), kind(l2)
    width, line, last = table.shape[1], 64 // table.itemsize, ids.shape[0] - 1
    for u in range(lo, hi):
        ahead = ids[min(u + AHEAD, last)]
        for k in range(0, width, line):
            prefetch_write(table, ahead, k)
            prefetch_write(z, ahead, k)
            prefetch_write(n, ahead, k)
        j, o = U(ids[u]), U(u - first)
        for k in range(width):
            g = values[o, k]
            n_old = n[j, k]
            n_new = n_old + g * g
            root = np.sqrt(n_new)
            x = z[j, k] + (g - (root - np.sqrt(n_old)) / lr * table[j, k])
            n[j, k] = n_new
            z[j, k] = x
            rest = abs(x) - l1
            size = rest / ((beta + root) / lr + l2)
            table[j, k] = (-size if x > 0 else size) if rest > 0 else lr * 0


@njit(**OPTIONS)
def ftrl_bag(ids, starts, keys, coef, d_pooled, pairs, todo, block, table, z, n, lr, beta, l1, l2):
    """Sum and step, block by block."""
    lo = take(todo, CLAIM)
    while lo < ids.shape[0]:
        for s in range(lo, min(lo + CLAIM, ids.shape[0]), BLOCK):
            e = min(s + BLOCK, ids.shape[0])
            sum_rows(ids, starts, keys, coef, d_pooled, pairs, s, s, e, table, block)
            ftrl_rows(ids, block, s, s, e, table, z, n, lr, beta, l1, l2)
        lo = take(todo, CLAIM)
