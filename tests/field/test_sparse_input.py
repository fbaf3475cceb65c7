"""Containers, duplicates, buffers and values of sparse input."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_every_container_of_a_matrix_gives_the_same_model():
    r = np.random.RandomState(0)
    D = (r.rand(8, 50) < 0.2) * r.randint(1, 4, (8, 50)).astype(float)
    M, y = sp.csr_matrix(D), (D.sum(0) > 2).astype(int)
    rows = sp.csr_matrix(D.T)
    want = EmbeddingBagClassifier(random_state=0).fit(rows, y).predict_proba(rows)
    assert np.ptp(want[:, 1]) > 0.1
    for Z in (
        M.T,
        sp.coo_matrix(D.T),
        sp.lil_matrix(D.T),
        sp.dok_matrix(D.T),
        sp.bsr_matrix(D.T),
        sp.csc_array(D.T),
        sp.csr_array(D.T),
    ):
        got = EmbeddingBagClassifier(random_state=0).fit(Z, y).predict_proba(Z)
        np.testing.assert_allclose(want, got, rtol=1e-6)


def test_dense_and_sparse_copies_fit_alike():
    r = np.random.RandomState(3)
    D = r.rand(60, 5)
    y = (D[:, 0] > 0.5).astype(int)
    a = EmbeddingBagClassifier(random_state=0, max_iter=5).fit(D, y)
    b = EmbeddingBagClassifier(random_state=0, max_iter=5).fit(sp.csr_matrix(D), y)
    scores = b.decision_function(sp.csr_matrix(D))
    np.testing.assert_allclose(a.decision_function(D), scores, rtol=1e-6)


@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn", "max"])
def test_repeated_coordinates_are_summed(pooling):
    values, columns = np.array([1.0, 1.0, 2.0, 1.0]), np.array([2, 2, 0, 1])
    X = sp.csr_matrix((values, columns, np.array([0, 3, 4])), shape=(2, 3))
    Xc = sp.csr_matrix(X.toarray())
    assert Xc.toarray().tolist() == [[2.0, 0.0, 2.0], [0.0, 1.0, 0.0]]
    clf = EmbeddingBagClassifier(pooling=pooling, random_state=0).fit(Xc, [0, 1])
    np.testing.assert_allclose(clf.transform(X), clf.transform(Xc), rtol=1e-12)
    again = EmbeddingBagClassifier(pooling=pooling, random_state=0).fit(X, [0, 1])
    np.testing.assert_allclose(again.transform(Xc), clf.transform(Xc), rtol=1e-12)


def test_read_only_unsorted_buffers_are_read_and_left_alone():
    values, columns = np.array([2.0, 1.0, 4.0, 3.0]), np.array([1, 0, 1, 0])
    X = sp.csr_matrix((values, columns, np.array([0, 2, 4])), shape=(2, 2))
    for a in (X.data, X.indices, X.indptr):
        a.flags.writeable = False
    assert not X.has_sorted_indices
    want = sp.csr_matrix(X.toarray())
    clf = EmbeddingBagClassifier(random_state=0).fit(X, [0, 1])
    np.testing.assert_allclose(clf.predict_proba(X), clf.predict_proba(want), rtol=1e-6)
    np.testing.assert_allclose(clf.transform(X), clf.transform(want), rtol=1e-6)
    clf.partial_fit(X, [0, 1])
    assert X.indices.tolist() == [1, 0, 1, 0]
    assert X.data.tolist() == [2.0, 1.0, 4.0, 3.0]


@pytest.mark.parametrize(
    "index_dtype, pointer_dtype",
    [(np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64), (np.int64, np.int32)],
)
def test_index_arrays_of_64_bits(index_dtype, pointer_dtype):
    D, y = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), [0, 1, 0]
    M = sp.csr_matrix(D)
    want = EmbeddingBagClassifier(random_state=0).fit(M, y).predict_proba(M)
    X = sp.csr_array(D)
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(pointer_dtype)
    assert (X.indices.dtype, X.indptr.dtype) == (index_dtype, pointer_dtype)
    got = EmbeddingBagClassifier(random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(want, got, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_stored_nan_and_infinity_are_refused(value):
    X = sp.csr_matrix(np.array([[1.0, 0.0], [value, 2.0]]))
    word = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=word):
        EmbeddingBagClassifier(random_state=0).fit(X, [0, 1])
    clf = EmbeddingBagClassifier(random_state=0).fit(sp.csr_matrix(np.eye(2)), [0, 1])
    with pytest.raises(ValueError, match=word):
        clf.predict(X)


def test_memory_follows_table_and_matrix():
    n, d = 20_000, 1_000_000
    r = np.random.RandomState(0)
    columns, indptr = r.randint(0, d, n * 3), np.arange(0, 3 * n + 1, 3)
    X = sp.csr_matrix((np.ones(n * 3), columns, indptr), shape=(n, d))
    y = r.randint(0, 2, n)
    clf = EmbeddingBagClassifier(n_components=4, max_iter=1, batch_size=4096, random_state=0)
    tracemalloc.start()
    try:
        clf.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400e6
    # Only features that occur have a row: two arrays of whole cache lines for 60,000 of them.
    assert peak < 60e6


def test_one_dimensional_row_is_refused_with_advice():
    X = sp.csr_array(np.eye(3))
    clf = EmbeddingBagClassifier(random_state=0).fit(X, [0, 1, 0])
    row = sp.coo_array(np.array([1.0, 0.0, 0.0]))
    assert row.ndim == 1
    for method in (clf.predict, clf.transform):
        for one in (row, X[0]):
            if one.ndim == 1:
                with pytest.raises(ValueError, match=r"Expected 2D input.*[rR]eshape"):
                    method(one)
    assert clf.predict(X[[0]]).shape == (1,)
