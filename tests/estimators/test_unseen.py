"""Features without a vector in rows to predict."""

import numpy as np
import pytest
import scipy.sparse as sp

from fitted import ESTIMATORS, FACTORIZATIONS, learned, predictions, small_data
from skembed import EmbeddingBag, EmbeddingBagClassifier, FactorizationMachineClassifier
from skembed.kernels.cpu import _matrix

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
X, Y = small_data()
WIDE = sp.csr_array(np.c_[X.toarray(), np.zeros((60, 3))])  # three columns that do not occur
WIDE_NEW = sp.csr_array(np.c_[X.toarray(), np.arange(180).reshape(60, 3) % 4 - 1.0])


def rare_mean(fit):
    """The mean that stands for unseen features, by the definition."""
    counts = fit.feature_counts_
    rare = (counts > 0) & (counts <= 2 * counts[counts > 0].min())
    assert rare.any()
    return np.average(fit.embedding_[rare], axis=0, weights=counts[rare])


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_zero_is_the_default_and_nothing(cls):
    fit = cls(**QUICK).fit(WIDE, Y)
    for (name, got), (_, want) in zip(
        predictions(fit, WIDE_NEW), predictions(fit, WIDE), strict=True
    ):
        assert np.array_equal(got, want), name


@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrtn", "max"])
def test_unseen_features_are_pooled_as_the_mean_of_rare_ones(pooling):
    bag = EmbeddingBag(pooling=pooling, unseen="rare_mean", **QUICK).fit(WIDE, Y)
    table = bag.embedding_
    table[12:] = rare_mean(bag)
    dense = WIDE_NEW.toarray()
    if pooling == "max":
        parts = np.where(dense[:, :, None] != 0, dense[:, :, None] * table, -np.inf)
        want = parts.max(axis=1)
    else:
        norm = {"sum": 0 * dense[:, 0] + 1, "mean": np.abs(dense).sum(axis=1)}
        norm["sqrtn"] = np.sqrt((dense**2).sum(axis=1))
        want = dense @ table / np.where(norm[pooling] > 0, norm[pooling], 1)[:, None]
        want[~dense.any(axis=1)] = 0
    got = bag.transform(WIDE_NEW)
    np.testing.assert_allclose(got[dense.any(axis=1)], want[dense.any(axis=1)], rtol=1e-10)
    assert np.array_equal(bag.transform(WIDE), bag.set_params(unseen="zero").transform(WIDE))
    assert not np.array_equal(bag.transform(WIDE_NEW), got)


@pytest.mark.parametrize("fields", [None, np.arange(15) % 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pairs_with_unseen_features(fields, n_classes):
    y = np.arange(60) % n_classes
    interaction = "fm" if fields is None else "ffm"
    options = dict(interaction=interaction, fields=fields, normalize_rows=False, **QUICK)
    fm = FactorizationMachineClassifier(unseen="rare_mean", **options).fit(WIDE, y)
    table, linear, counts = fm.embedding_, fm.linear_, fm.feature_counts_
    rare = (counts > 0) & (counts <= 2 * counts[counts > 0].min())
    for column in (12, 13, 14):
        mine = rare if fields is None else rare & (fields == fields[column])
        if not mine.any():
            pytest.fail("the data must have rare features of every field")
        table[column] = np.average(table[mine], axis=0, weights=counts[mine])
        linear[:, column] = np.average(linear[:, mine], axis=1, weights=counts[mine])
    place = np.zeros(15, int) if fields is None else fields
    vectors = table.reshape(15, linear.shape[0], -1, 3)  # feature, output, field
    want = np.tile(fm.intercept_, (60, 1))
    for i, row in enumerate(WIDE_NEW.toarray()):
        for p in np.flatnonzero(row):
            want[i] += row[p] * linear[:, p]
            for q in range(p):
                pair = vectors[p, :, place[q]] * vectors[q, :, place[p]]
                want[i] += row[p] * row[q] * pair.sum(axis=-1)
    got = fm.decision_function(WIDE_NEW).reshape(60, -1)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_one_row_and_many_and_threads_give_the_same_bits(cls, monkeypatch):
    monkeypatch.setattr(_matrix, "MIN_SHARE", 1)
    fit = cls(unseen="rare_mean", **QUICK).fit(WIDE, Y)
    whole = fit.predict(WIDE_NEW) if hasattr(fit, "predict") else fit.transform(WIDE_NEW)
    for few in (_matrix.FEW, -1):
        monkeypatch.setattr(_matrix, "FEW", few)
        for n_jobs in (1, 3):
            fit.set_params(n_jobs=n_jobs)
            read = fit.predict if hasattr(fit, "predict") else fit.transform
            assert np.array_equal(read(WIDE_NEW), whole)
            assert np.array_equal(np.concatenate([read(WIDE_NEW[[i]]) for i in range(60)]), whole)


def test_what_is_left_out_by_intention_stays_out():
    options = dict(padding_features=[12], numeric_features=[13], **QUICK)
    fit = EmbeddingBagClassifier(unseen="rare_mean", **options).fit(WIDE, Y)
    zero = EmbeddingBagClassifier(**options).fit(WIDE, Y)
    assert learned(fit) == learned(zero), "training does not look at it"
    only = sp.csr_array(WIDE_NEW.toarray() * (np.arange(15) != 14))
    assert np.array_equal(fit.transform(only), zero.transform(only))
    assert not np.array_equal(fit.transform(WIDE_NEW), zero.transform(WIDE_NEW))
    zeros = WIDE_NEW.copy()
    zeros.data[zeros.indices == 14] = 0
    assert np.array_equal(fit.transform(zeros), zero.transform(zeros)), "stored zeros"


def test_features_below_min_count_count_as_rare_ones():
    counts = EmbeddingBag(**QUICK).fit(X, Y).feature_counts_
    bound = int(np.sort(counts)[2])
    bag = EmbeddingBag(pooling="sum", min_count=bound, unseen="rare_mean", **QUICK).fit(X, Y)
    active = bag.active_features_
    assert len(active) == (counts >= bound).sum() < 12
    rare = active[counts[active] <= 2 * counts[active].min()]
    table = bag.embedding_
    table[counts < bound] = np.average(table[rare], axis=0, weights=counts[rare])
    np.testing.assert_allclose(bag.transform(X), X @ table, rtol=1e-10, atol=1e-12)


def test_rare_vectors_are_averaged_in_blocks(monkeypatch):
    bag = EmbeddingBag(unseen="rare_mean", **QUICK).fit(WIDE, Y)
    want = bag.transform(WIDE_NEW)
    monkeypatch.setattr("skembed.estimators._unseen.BLOCK", 2)
    np.testing.assert_allclose(bag.transform(WIDE_NEW), want, rtol=1e-12)


def test_a_fit_without_vectors_folds_nothing_in():
    empty = sp.csr_array((6, 4))
    fit = EmbeddingBagClassifier(unseen="rare_mean", **QUICK).fit(empty, [0, 1] * 3)
    assert not fit.transform(sp.csr_array(np.eye(4))).any()


def test_cross_fitting_folds_in_what_a_fold_has_not_seen():
    ids = sp.csr_array(np.c_[np.ones(40), np.eye(40)])
    y = np.arange(40) % 2
    options = dict(cv=4, pooling="sum", **QUICK)
    zero = EmbeddingBag(**options).fit_transform(ids, y)
    mean = EmbeddingBag(unseen="rare_mean", **options).fit_transform(ids, y)
    assert (mean != zero).any(axis=1).all()


@pytest.mark.parametrize("cls", FACTORIZATIONS)
def test_other_names_are_refused(cls):
    with pytest.raises(ValueError, match="'unseen' parameter"):
        cls(unseen="mean").fit(X, Y)
