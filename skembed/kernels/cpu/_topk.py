"""The numbers of largest magnitude, by their bits: for floats without a sign, larger bits, larger.

The k-th largest is found digit by digit, from the highest: a count of the digits of those that
agree with it so far tells its next one. Every pass is over all numbers, in order.
"""

import numpy as np
from numba import njit

OPTIONS = dict(cache=True, nogil=True, error_model="numpy")
DIGIT = 11  # bits
U = np.uint64


@njit(**OPTIONS)
def count_digits(bits, lo, hi, mask, shift, width, known, counts):
    """Count the digit `width` bits wide at `shift` of the numbers whose bits above are `known`."""
    kind = bits.dtype.type
    above, low, ones = kind(shift + width), kind(shift), kind((1 << width) - 1)
    for i in range(lo, hi):
        x = bits[U(i)] & mask
        if x >> above == known:
            counts[U((x >> low) & ones)] += 1


@njit(**OPTIONS)
def take_largest(bits, lo, hi, mask, least, equals, out, m):
    """Write to out[m:] where the numbers above `least` are, and the first `equals` equal to it.

    Returns the new m, and how many equals are still to be taken.
    """
    m = U(m)
    for i in range(lo, hi):
        x = bits[U(i)] & mask
        if x >= least and (x > least or equals > 0):
            equals -= x == least
            out[m] = i
            m += U(1)
    return np.int64(m), equals
