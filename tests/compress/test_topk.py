"""What is sent and what is kept."""

import numpy as np
import pytest

from skembed.compress import Header, TopK
from skembed.core import SparseRowGradient
from skembed.kernels import get_backend

HEADER = Header(fit=7, partition=0, round=3)


def change(rng, shape, m, dtype):
    rows = np.sort(rng.choice(shape[0], m, replace=False)).astype(np.int32)
    values = rng.normal(size=(m, shape[1])).astype(dtype)
    return SparseRowGradient(rows, values, np.ones(m, np.int64), shape)


@pytest.mark.parametrize("values", ["int8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("level", ["entry", "row"])
def test_sent_and_kept_are_what_was_owed(values, level):
    rng, shape, memory = np.random.default_rng(0), (90, 5), None
    compressor = TopK(ratio=0.2, values=values, level=level)
    for _ in range(4):
        news = change(rng, shape, 40, np.float32)
        message, kept = compressor.compress(news, memory, get_backend(), header=HEADER)
        header, sent = compressor.decompress(message, shape=shape)
        assert header == HEADER
        owed = news if memory is None else news.add(memory)
        np.testing.assert_allclose(
            (sent.to_csr() + kept.to_csr()).toarray(), owed.to_csr().toarray(), rtol=1e-6
        )
        memory = kept
