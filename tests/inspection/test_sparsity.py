"""The sparsity report beside a count by brute force, and on planted data."""

import sys
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fitted import buffers
from skembed.inspection import _sparsity, sparsity_report

SMALL = st.tuples(st.integers(1, 12), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0, 0, 0, 0, 1, -1, 2, 0.5]))
)


def by_hand(D, rare_below):
    """Count everything with loops over a dense matrix."""
    n, p = D.shape
    counts = [int(np.count_nonzero(D[:, j])) for j in range(p)]
    columns = [j for j in range(p) if counts[j]]
    order = sorted(columns, key=lambda j: (-counts[j], j))
    groups = np.array_split(order, min(10, len(order))) if order else []
    total = sum(counts)
    pairs = list(combinations(range(n), 2))
    zero = sum(D[i] @ D[j] == 0 for i, j in pairs)
    first = {j: next(i for i in columns if np.array_equal(D[:, i], D[:, j])) for j in columns}
    return {
        "columns": columns,
        "counts": [counts[j] for j in columns],
        "density": total / (n * p),
        "rare": [j for j in columns if counts[j] < rare_below],
        "share": [sum(counts[j] for j in g) / total for g in groups],
        "most": [counts[g[0]] for g in groups],
        "least": [counts[g[-1]] for g in groups],
        "zero_cosine": zero / len(pairs) if pairs else np.nan,
        "duplicates": [[j, first[j]] for j in columns if first[j] != j],
        "row_sizes": np.count_nonzero(D, axis=1).tolist(),
    }


@given(D=SMALL, rare_below=st.integers(1, 6))
def test_numbers_are_those_of_a_count_by_brute_force(D, rare_below):
    report, want = sparsity_report(sp.csr_array(D), rare_below=rare_below), by_hand(D, rare_below)
    for name in ("columns", "counts", "rare", "duplicates", "row_sizes"):
        assert getattr(report, name).tolist() == want[name], name
    deciles = report.deciles
    assert deciles["most"].tolist() == want["most"]
    assert deciles["least"].tolist() == want["least"]
    np.testing.assert_allclose(deciles["share"], want["share"], rtol=1e-12)
    assert report.density == want["density"]
    np.testing.assert_allclose(report.zero_cosine, want["zero_cosine"], rtol=1e-12)
    assert report.exact
    assert report.dense_bytes == D.nbytes


def test_memory_is_that_of_the_matrices():
    for dtype in (np.float32, np.float64):
        X = sp.random(50, 30, density=0.1, format="csr", random_state=0, dtype=dtype)
        report = sparsity_report(X)
        dense = X.toarray()
        assert report.dense_bytes == dense.nbytes
        assert report.csr_bytes == X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert sparsity_report(X.astype(bool)).dtype == np.float64, "what a fit would make of it"


def planted(n=1500):
    """Frequent, rare, duplicated and absent columns, in this order of columns."""
    rng = np.random.default_rng(0)
    D = np.zeros((n, 40))
    D[:, :20] = rng.random((n, 20)) < 0.3
    for j in range(20, 30):  # j - 19 rows each, of which up to 4 are rare
        D[rng.choice(n, j - 19, replace=False), j] = 1
    D[:, 30:35] = D[:, 5:10]
    return D


def test_planted_features_are_found():
    D = planted()
    names = [f"f{j}" for j in range(40)]
    report = sparsity_report(sp.csr_array(D), feature_names=names)
    assert report.rare.tolist() == [20, 21, 22, 23]
    assert report.names[report.counts < 5].tolist() == ["f20", "f21", "f22", "f23"]
    assert report.duplicates.tolist() == [[30 + k, 5 + k] for k in range(5)]
    assert report.columns.tolist() == list(range(35)), "the last five occur nowhere"
    assert "f20, f21, f22, f23" in str(report)


def test_drawn_pairs_tell_the_share_within_their_interval(monkeypatch):
    X = sp.csr_array(planted()[:, :8])
    exact = sparsity_report(X)
    assert exact.exact and exact.zero_cosine_interval == (exact.zero_cosine,) * 2
    monkeypatch.setattr(_sparsity, "EXACT_WORK", 0)
    hits, widths = 0, []
    for seed in range(20):
        drawn = sparsity_report(X, n_pairs=2000, random_state=seed)
        low, high = drawn.zero_cosine_interval
        assert not drawn.exact and drawn.n_pairs == 2000 and low <= drawn.zero_cosine <= high
        hits += low <= exact.zero_cosine <= high
        widths.append(high - low)
    assert hits >= 17, "95 % of the intervals hold the true share"
    assert 0.01 < np.mean(widths) < 0.05
    again = sparsity_report(X, n_pairs=2000, random_state=19)
    assert again.zero_cosine == drawn.zero_cosine
    alone = sparsity_report(sp.eye_array(300, format="csr"), n_pairs=100)
    assert alone.zero_cosine == 1 and 0.9 < alone.zero_cosine_interval[0] < 1


@pytest.mark.parametrize("step", [1, 7, 10**6])
def test_all_pairs_are_the_same_in_blocks_of_any_size(step, monkeypatch):
    monkeypatch.setattr(_sparsity, "BLOCK_WORK", step)
    report = sparsity_report(sp.csr_array(planted(120)))
    assert report.zero_cosine == by_hand(planted(120), 5)["zero_cosine"]


def test_every_container_of_one_matrix_gives_one_report():
    D = planted(100)
    want = str(sparsity_report(sp.csr_array(D)))
    for make in (sp.csc_array, sp.coo_matrix, sp.lil_array, sp.dok_matrix, np.array, sp.csr_matrix):
        assert str(sparsity_report(make(D))) == want
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(D), columns=[f"c{j}" for j in range(40)])
    report = sparsity_report(frame)
    assert report.names[:3].tolist() == ["c0", "c1", "c2"]
    assert report.counts.tolist() == sparsity_report(D).counts.tolist()


def test_stored_zeros_duplicates_and_disorder_do_not_count_and_stay():
    X = sp.csr_array((
        np.array([1.0, 2.0, 0.0, 3.0, -3.0, 1.0]), np.array([2, 0, 1, 1, 1, 2]), np.array([0, 3, 6])
    ), shape=(2, 3))  # fmt: skip
    before = buffers(X)
    report = sparsity_report(X)
    assert report.columns.tolist() == [0, 2] and report.counts.tolist() == [1, 2]
    assert report.n_nonzero == 3
    assert buffers(X) == before


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_of_any_kind_read_only_and_unsorted(dtype):
    D = planted(50)
    X = sp.csr_array(D)
    order = np.concatenate([np.arange(e - 1, s - 1, -1) for s, e in pairwise(X.indptr)])
    X.indices, X.indptr = X.indices[order].astype(dtype), X.indptr.astype(dtype)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    report, want = sparsity_report(X), sparsity_report(D)
    assert report.counts.tolist() == want.counts.tolist()
    assert report.zero_cosine == want.zero_cosine
    assert report.duplicates.tolist() == want.duplicates.tolist()


def test_one_row_and_no_value():
    report = sparsity_report(sp.csr_array((1, 3)))
    assert np.isnan(report.zero_cosine) and report.density == 0
    assert len(report.columns) == len(report.deciles["share"]) == 0
    assert "columns that occur" in str(report)
    empty = sparsity_report(sp.csr_array((5, 3)))
    assert empty.zero_cosine == 1


def test_what_is_refused():
    X = sp.csr_array(np.eye(3))
    for broken in (np.array([0, 1, 7]), np.array([0, 1, -1])):
        bad = X.copy()
        bad.indices = broken
        for matrix in (bad, sp.csc_array((bad.data, X.indices, X.indptr), shape=(3, 3))):
            matrix.indices = broken
            with pytest.raises(ValueError):
                sparsity_report(matrix)
    with pytest.raises(ValueError, match="NaN"):
        sparsity_report(sp.csr_array([[np.nan, 1.0]]))
    with pytest.raises(ValueError, match=r"one entry for each of 3 columns, got shape \(2,\)"):
        sparsity_report(X, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="n_pairs"):
        sparsity_report(X, n_pairs=0)


def test_advice_fits_the_data():
    dense = sparsity_report(np.ones((20, 5)))
    assert any("not sparse" in line for line in dense.advice)
    ids = sparsity_report(sp.eye_array(100, format="csr"))
    assert any("min_count=5" in line for line in ids.advice)
    assert any("no similarity" in line for line in ids.advice)
    half = sp.csr_array(np.random.default_rng(0).random((200, 30)) < 0.3)
    assert sparsity_report(half).advice == []
    n = (1 << 20) + 8
    many = sp.csr_array((np.ones(n), np.arange(n) * 4, np.array([0, n])), shape=(1, 4 * n))
    assert any("Hash them into 524,288 columns" in line for line in sparsity_report(many).advice)


def test_html_is_escaped_and_text_has_the_numbers():
    names = ["<b>&", "b", "c"]
    report = sparsity_report(sp.csr_array(np.eye(3)), feature_names=names)
    page = report._repr_html_()
    assert "<b>&" not in page and "&lt;b&gt;&amp;" in page
    assert page.count("<table>") == page.count("</table>") == 2
    assert "33.3 %" in str(report) and "33.3 %" in page
    assert repr(report) == str(report)


def test_frame_and_the_message_without_pandas(monkeypatch):
    report = sparsity_report(sp.csr_array(planted()))
    frame = report.to_frame()
    assert frame.shape == (10, 4) and frame["share"].sum() == pytest.approx(1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        report.to_frame()


def test_nothing_is_as_large_as_the_matrix_would_be():
    import tracemalloc

    n, p = 20_000, 1_000_000
    rng = np.random.default_rng(0)
    X = sp.csr_array(
        (np.ones(3 * n), rng.integers(0, p, 3 * n), np.arange(0, 3 * n + 1, 3)), (n, p)
    )
    sparsity_report(X[:100])
    tracemalloc.start()
    sparsity_report(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
