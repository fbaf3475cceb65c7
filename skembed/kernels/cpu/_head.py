"""Losses, and a linear head of few outputs: forward, loss and back.

Raw predictions are class-major. `weight` has one number a row of the batch, `total` is their sum;
the value of a batch is summed in float64 in a fixed order. `space` is work space: three lines of
one number a row.
"""

import math

import numpy as np
from numba import njit

from ._lines import add1, add4, dot, set1, two_to_the

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
U = np.uint64
TAYLOR = tuple(1 / math.factorial(k) for k in range(12, -1, -1))
LOGS = 256  # outputs whose logarithms are one: the product, at most 2**LOGS, is finite
LOWEST = (-87.0, -708.0)  # exponents whose power is still a normal number: float32, float64


@njit(inline="always", **OPTIONS)
def _exp(z, like):
    """exp(z) for z <= 0, 0 where that is no normal number: arithmetic that becomes vector code.

    z = n log 2 + r with a whole n; exp(r) is its Taylor series, |r| < 0.35. `like` is an array of
    the dtype of z.
    """
    kind = like.dtype.type
    lowest = kind(LOWEST[like.itemsize // 8])
    x = lowest if z < lowest else z
    n = np.floor(x * kind(1.4426950408889634) + kind(0.5))
    r = x - n * kind(0.693359375) - n * kind(-2.121944400546905827679e-4)
    y = kind(0)
    for k in range(len(TAYLOR)):
        y = y * r + kind(TAYLOR[k])
    return kind(0) if z < lowest else y * two_to_the(n)


@njit(**OPTIONS)
def log_loss(target, raw, weight, total, space, slope):
    """Write the gradient of log(1 + exp(z)) - y z; return the weighted mean loss.

    Logarithms are dear: those of several outputs are one, log1p of `factors`, which is the product
    of their 1 + exp(-|z|), less 1.
    """
    (n_outputs, b), kind, value = raw.shape, raw.dtype.type, 0.0
    zero, one, (losses, factors, share) = kind(0), kind(1), space
    for i in range(b):
        losses[i], factors[i], share[i] = 0, 0, weight[i] / total
    for k in range(n_outputs):
        for i in range(b):
            slope[k, i] = _exp(-abs(raw[k, i]), raw)
        for i in range(b):
            z, y, small = raw[k, i], target[k, i], slope[k, i]
            losses[i] += np.float64(z if z > zero else zero) - np.float64(y) * np.float64(z)
            factors[i] += np.float64(small) * (1 + factors[i])
            chance = (one if z >= zero else small) / (one + small)
            slope[k, i] = (chance - y) * kind(share[i])
        if k % LOGS == LOGS - 1 or k == n_outputs - 1:
            for i in range(b):
                losses[i] += np.log1p(factors[i])
                factors[i] = 0
    for i in range(b):
        value += losses[i] * weight[i]
    return value / total


@njit(**OPTIONS)
def softmax(target, raw, weight, total, space, slope):
    """Write the gradient of log(sum exp z) - z[y]; return the weighted mean loss."""
    (n_classes, b), kind, value = raw.shape, raw.dtype.type, 0.0
    top, sums, share = space
    for i in range(b):
        top[i], sums[i] = raw[0, i], 0
    for k in range(1, n_classes):
        for i in range(b):
            z = np.float64(raw[k, i])
            top[i] = z if z > top[i] else top[i]
    for k in range(n_classes):
        for i in range(b):
            y = _exp(raw[k, i] - kind(top[i]), raw)
            slope[k, i] = y
            sums[i] += y
    for i in range(b):
        picked = raw[U(target[i]), i] - top[i]
        value += (np.log(sums[i]) - picked) * weight[i]
        share[i] = weight[i] / total
        sums[i] = share[i] / sums[i]
    for k in range(n_classes):
        for i in range(b):
            slope[k, i] *= kind(sums[i])
    for i in range(b):
        slope[U(target[i]), i] -= kind(share[i])
    return value / total


@njit(inline="always", **OPTIONS)
def _widen(coef, rows):
    """Write rows of `coef` into rows that are padded with zeros to whole lines."""
    for c in range(coef.shape[0]):
        for k in range(rows.shape[1]):
            rows[c, k] = coef[c, k] if k < coef.shape[1] else 0


@njit(**OPTIONS)
def linear(pooled, coef, intercept, rows, raw):
    """Write raw[c, i] = coef[c] . pooled[i] + intercept[c]; `rows` is work space."""
    _widen(coef, rows)
    for i in range(pooled.shape[0]):
        for c in range(coef.shape[0]):
            raw[c, i] = dot(rows, U(c), pooled, U(i), pooled.shape[1]) + intercept[c, 0]


@njit(**OPTIONS)
def linear_backward(pooled, coef, d_raw, scale, rows, g_coef, g_intercept, d_pooled):
    """Write d_pooled[i] = scale[i] * sum_c d_raw[c, i] coef[c] and the gradients of the head.

    `rows` is work space of one padded row an output.
    """
    (n_outputs, d), b, width = coef.shape, d_raw.shape[1], pooled.shape[1]
    line = 64 // pooled.itemsize
    for c in range(n_outputs):
        i, total = 0, 0.0
        for k in range(width):
            rows[c, k] = 0
        while i + 4 <= b:
            x0, x1, x2, x3 = d_raw[c, i], d_raw[c, i + 1], d_raw[c, i + 2], d_raw[c, i + 3]
            i0, i1, i2, i3 = U(i), U(i + 1), U(i + 2), U(i + 3)
            for k in range(0, width, line):
                add4(rows, c, pooled, i0, i1, i2, i3, x0, x1, x2, x3, k)
            i += 4
        while i < b:
            for k in range(0, width, line):
                add1(rows, c, pooled, U(i), d_raw[c, i], k)
            i += 1
        for i in range(b):
            total += d_raw[c, i]
        g_intercept[c, 0] = total
        for k in range(d):
            g_coef[c, k] = rows[c, k]
    _widen(coef, rows)
    for i in range(b):
        for k in range(0, width, line):
            set1(d_pooled, i, rows, U(0), d_raw[0, i] * scale[i], k)
        for c in range(1, n_outputs):
            for k in range(0, width, line):
                add1(d_pooled, i, rows, U(c), d_raw[c, i] * scale[i], k)
