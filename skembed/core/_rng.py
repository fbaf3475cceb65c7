"""One seed in, independent streams out; and values that depend on (seed, column) alone.

Every random draw of a fit comes from one integer seed. Streams that walk (the order of rows in an
epoch) are NumPy generators keyed by purpose and number, so that a fit that goes on after a pickle
needs to keep no generator. Starting rows come from a hash of (seed, column, component): a row is
the same whenever, wherever and in whatever company it is made. The hash is SplitMix64 (Steele, Lea
and Flood, "Fast splittable pseudorandom number generators", 2014) started at a mixed key.
"""

import numpy as np

# Purposes of a stream: order of rows in an epoch, rows held out, hidden layers, negative samples,
# rows of each partition.
SHUFFLE, SPLIT, HEAD, NEGATIVES, DEAL = 1, 2, 3, 4, 5
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def stream(seed, purpose, number=0, partition=0):
    """Return the NumPy generator of (seed, purpose, number, partition)."""
    return np.random.default_rng(np.random.SeedSequence([seed, purpose, number, partition]))


def mix(z):
    """Return SplitMix64's finisher of uint64 numbers."""
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


def hashed_uniform(seed, columns, d):
    """Return values in [0, 1), shape (len(columns), d), float64: functions of (seed, column, k)."""
    key = mix(np.asarray([seed], dtype=np.uint64) + GOLDEN)
    key = mix(key ^ mix(np.asarray(columns).astype(np.uint64) + GOLDEN))
    steps = np.arange(1, d + 1, dtype=np.uint64) * GOLDEN
    return (mix(key[:, None] + steps) >> np.uint64(11)) * 2.0**-53
