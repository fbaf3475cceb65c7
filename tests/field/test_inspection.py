"""What people could not see elsewhere: gradients of repeated, padded and empty input; no copy."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier, EmbeddingBagRegressor, FactorizationMachineClassifier
from skembed.inspection import (
    activation_report,
    embedding_report,
    explain,
    nearest_features,
    sparsity_report,
    training_gradient,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=2, max_iter=3, random_state=0)


def test_a_repeated_feature_has_one_summed_gradient():
    """The same id twice in a row, and in two rows of a batch."""
    X = sp.csr_array(np.vstack([np.eye(4)] * 5))
    bag = EmbeddingBagRegressor(pooling="sum", early_stopping=False, **QUICK).fit(
        X, np.arange(20.0)
    )
    twice = sp.csr_array((np.ones(3), np.array([3, 3, 1]), np.array([0, 3])), shape=(1, 4))
    once = sp.csr_array((np.array([2.0, 1.0]), np.array([3, 1]), np.array([0, 2])), shape=(1, 4))
    gradient, want = (training_gradient(bag, row, [7.0]) for row in (twice, once))
    assert gradient.indices.tolist() == [1, 3] and gradient.counts.tolist() == [1, 1]
    np.testing.assert_allclose(gradient.values[1], 2 * gradient.values[0])
    np.testing.assert_array_equal(gradient.values, want.values)
    alone = [training_gradient(bag, X[[2]], [target]).values for target in (1.0, 9.0)]
    both = training_gradient(bag, X[[2, 2]], [1.0, 9.0])
    assert both.indices.tolist() == [2] and both.counts.tolist() == [2]
    np.testing.assert_allclose(both.values, sum(alone) / 2)


def test_a_batch_of_padding_and_empty_rows_has_no_gradient():
    X = sp.csr_array(np.vstack([np.eye(4)] * 5))
    bag = EmbeddingBagClassifier(padding_features=[0], **QUICK).fit(X, [0, 1, 1, 0] * 5)
    rows = sp.csr_array(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]))
    gradient = training_gradient(bag, rows, [0, 1])
    assert len(gradient.indices) == 0 and gradient.values.shape == (0, 2)
    assert gradient.norm() == 0 and gradient.to_csr().nnz == 0
    for row in (rows[[0]], rows[[1]]):
        found = explain(bag, row)
        assert len(found.columns) == 0 and found.score == bag.intercept_[0]
    assert 0 not in embedding_report(bag).columns
    assert activation_report(bag, rows).done[0] == 0


def test_rows_that_were_not_in_the_batch_have_no_gradient_and_do_not_move():
    pairs = np.eye(6) + np.roll(np.eye(6), 1, axis=1)  # a machine learns from pairs only
    X, y = sp.csr_array(np.vstack([pairs] * 10)), [0, 1, 1, 0, 1, 0] * 10
    for cls in (EmbeddingBagClassifier, FactorizationMachineClassifier):
        fit = cls(2, batch_size=8, max_iter=10, random_state=0).fit(X, y)
        before = embedding_report(fit)
        assert training_gradient(fit, X[:1], y[:1]).indices.tolist() == [0, 1]
        fit.partial_fit(X[:1], y[:1])
        moved = embedding_report(fit).n_updates - before.n_updates
        assert moved.tolist() == [1, 1, 0, 0, 0, 0]
        assert (embedding_report(fit).norm == before.norm)[2:].all()


@pytest.mark.parametrize("container", [sp.csc_array, sp.coo_matrix, sp.lil_array, sp.csr_matrix])
def test_a_transposed_or_other_container_is_the_same_matrix(container):
    D = (np.random.RandomState(0).rand(50, 8) < 0.3) * 2.0
    y = np.arange(50) % 2
    bag, same = EmbeddingBagClassifier(**QUICK).fit(D, y), container(D)
    assert str(sparsity_report(same)) == str(sparsity_report(D))
    assert str(activation_report(bag, same)) == str(activation_report(bag, D))
    want = training_gradient(bag, D, y)
    np.testing.assert_array_equal(training_gradient(bag, same, y).values, want.values)


def test_float32_stays_float32():
    X = sp.random(60, 9, density=0.3, format="csr", dtype=np.float32, random_state=0)
    bag = EmbeddingBagClassifier(**QUICK).fit(X, np.arange(60) % 2)
    assert sparsity_report(X).dtype == np.float32
    assert training_gradient(bag, X, np.arange(60) % 2).values.dtype == np.float32
    assert len(nearest_features(bag, 0, 3).columns) == 3


def test_a_row_of_another_width_names_both_numbers():
    X = sp.csr_array(np.eye(5))
    bag = EmbeddingBagClassifier(**QUICK).fit(X, [0, 1, 0, 1, 0])
    wide = sp.csr_array((1, 7))
    for call in (explain, activation_report, lambda fit, x: training_gradient(fit, x, [0])):
        with pytest.raises(ValueError, match=r"7.*5"):
            call(bag, wide)


def test_a_million_columns_are_looked_at_without_a_dense_array():
    n, p, r = 20_000, 1_000_000, np.random.RandomState(0)
    X = sp.csr_array((np.ones(n * 3), r.randint(0, p, n * 3), np.arange(0, 3 * n + 1, 3)), (n, p))
    y = r.randint(0, 2, n)
    bag = EmbeddingBagClassifier(4, max_iter=1, batch_size=4096, random_state=0).fit(X, y)
    report = embedding_report(bag)  # so that kernels are compiled
    tracemalloc.start()
    assert len(embedding_report(bag).columns) == len(report.columns)
    activation_report(bag, X)
    nearest_features(bag, int(report.columns[0]))
    gradient = training_gradient(bag, X[:256], y[:256])
    explain(bag, X[[0]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the table and its state are 8 MB, a dense X would be 160 GB
    assert len(gradient.indices) <= 768 and gradient.shape == (p, 4)
