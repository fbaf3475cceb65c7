"""CSRBatch."""

import numpy as np

from skembed.core import CSRBatch


def test_occurrences_of_a_batch_in_any_order_with_repeats():
    indptr = np.array([0, 2, 2, 5])
    indices, data = np.zeros(5, np.int32), np.ones(5)
    rows = np.array([2, 1, 2, 0])
    batch = CSRBatch(indptr, indices, data, rows, np.ones(4))
    assert batch.indices is indices
    assert batch.data is data
