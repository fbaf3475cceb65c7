"""Targets: which are taken, what comes back, and which are refused in which words."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from fitted import ESTIMATORS, learned, small_data
from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
CLASSIFIERS = [EmbeddingBag, EmbeddingBagClassifier]
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)


# ---------------------------------------------------------------- labels that are taken
LABELS = {
    "str": ["pear", "apple", "fig"],
    "object": np.array(["pear", "apple", "fig"], dtype=object),
    "int": [7, -3, 20],
    "int8": np.array([7, -3, 20], np.int8),
    "bool": [True, False],
    "float": [1.0, 0.0, 2.0],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_in_their_dtype(kind):
    X, _ = small_data()
    y = np.resize(np.asarray(LABELS[kind]), 60)
    clf = EmbeddingBagClassifier(**QUICK).fit(X, y)
    assert clf.classes_.tolist() == sorted(set(y.tolist()))
    assert clf.classes_.dtype == y.dtype
    predicted = clf.predict(X)
    assert predicted.dtype == y.dtype
    assert set(predicted.tolist()) <= set(y.tolist())
    assert clf.predict_proba(X).shape == (60, len(clf.classes_))
    best = clf.classes_[clf.predict_proba(X).argmax(axis=1)]
    assert best.tolist() == predicted.tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_only_names(kind):
    X, _ = small_data()
    y = np.resize(np.asarray(LABELS[kind]), 60)
    codes = np.unique(y, return_inverse=True)[1]
    a = EmbeddingBagClassifier(**QUICK).fit(X, y)
    b = EmbeddingBagClassifier(**QUICK).fit(X, codes)
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))


@every_estimator
def test_lists_and_series(cls):
    X, y = small_data()
    want = learned(cls(**QUICK).fit(X, y))
    assert learned(cls(**QUICK).fit(X, y.tolist())) == want
    assert learned(cls(**QUICK).fit(X, pd.Series(y))) == want


@every_classifier
def test_column_of_labels_is_taken_with_a_warning(cls):
    X, y = small_data()
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        fit = cls(**QUICK).fit(X, y[:, None])
    assert learned(fit) == learned(cls(**QUICK).fit(X, y))


def test_regressor_predicts_the_shape_of_its_targets():
    X, _ = small_data()
    y = np.linspace(0, 1, 60)
    flat = EmbeddingBagRegressor(**QUICK).fit(X, y)
    column = EmbeddingBagRegressor(**QUICK).fit(X, y[:, None])
    both = EmbeddingBagRegressor(**QUICK).fit(X, np.stack([y, 1 - y], axis=1))
    assert flat.predict(X).shape == (60,)
    assert column.predict(X).shape == (60, 1)
    assert both.predict(X).shape == (60, 2)
    assert np.array_equal(flat.predict(X), column.predict(X)[:, 0])


def test_transformer_reads_the_task_from_its_targets():
    X, y = small_data()
    numbers = np.linspace(0, 1, 60)
    assert EmbeddingBag(**QUICK).fit(X, y).coef_.shape == (1, 3)
    assert EmbeddingBag(**QUICK).fit(X, np.arange(60) % 4).coef_.shape == (4, 3)
    as_numbers = EmbeddingBag(**QUICK).fit(X, numbers)
    regressor = EmbeddingBagRegressor(**QUICK).fit(X, numbers)
    assert np.array_equal(as_numbers.transform(X), regressor.transform(X))
    told = EmbeddingBag(loss="squared_error", **QUICK).fit(X, y)
    assert np.array_equal(told.transform(X), EmbeddingBagRegressor(**QUICK).fit(X, y).transform(X))


# ---------------------------------------------------------------- targets that are refused
@every_classifier
@pytest.mark.parametrize("labels", [["a", 1, None], ["a", 1], ["a", None], [1, None]], ids=str)
def test_mixed_labels(cls, labels):
    X, _ = small_data()
    y = np.resize(np.array(labels, dtype=object), 60)
    match = r"(?i)strings.*numbers|numbers.*strings|Unknown label type"
    with pytest.raises((TypeError, ValueError), match=match):
        cls(**QUICK).fit(X, y)


@every_estimator
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (np.inf, "infinity")])
def test_targets_that_are_not_finite(cls, value, word):
    X, _ = small_data()
    y = np.linspace(0, 1, 60)
    y[7] = value
    with pytest.raises(ValueError, match=f"Input y contains {word}"):
        cls(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match=f"Input y contains {word}"):
        cls(**QUICK).partial_fit(X, y)


def test_continuous_targets_are_no_classes():
    X, _ = small_data()
    y = np.random.default_rng(0).random(60)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        EmbeddingBagClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        EmbeddingBag(loss="log_loss", **QUICK).fit(X, y)
    clf = EmbeddingBagClassifier(**QUICK)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        clf.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(clf, "classes_")


@pytest.mark.parametrize("sparse", [False, True])
def test_indicator_targets(sparse):
    X, _ = small_data()
    Y = np.random.default_rng(0).integers(0, 2, (60, 3))
    for cls in CLASSIFIERS:
        plain = cls(**QUICK).fit(X, Y)
        other = cls(**QUICK).fit(X, sp.csr_array(Y) if sparse else Y.astype(bool))
        assert np.array_equal(plain.embedding_, other.embedding_)
        assert plain.coef_.shape == (3, plain.n_components_)
    clf = EmbeddingBagClassifier(**QUICK).fit(X, sp.csr_array(Y) if sparse else Y)
    predicted = clf.predict(X)
    assert sp.issparse(predicted) == sparse
    assert predicted.shape == (60, 3)
    assert clf.predict_proba(X).shape == clf.decision_function(X).shape == (60, 3)
    assert clf.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Unknown label type"):
        clf.fit(X, 2 * Y)
    with pytest.raises(ValueError, match="class_weight"):
        EmbeddingBagClassifier(class_weight="balanced", **QUICK).fit(X, Y)


def test_sparse_targets_of_a_regressor():
    X, _ = small_data()
    Y = sp.csr_array(np.random.default_rng(0).random((60, 3)))
    with pytest.raises((ValueError, TypeError), match=r"(?i)sparse"):
        EmbeddingBagRegressor(**QUICK).fit(X, Y)


@every_classifier
def test_one_class(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    before = learned(fit)
    with pytest.raises(ValueError, match="class"):
        fit.fit(X, np.ones(60, int))
    with pytest.raises(ValueError, match="class"):
        fit.fit(X, y, sample_weight=y.astype(float))
    assert learned(fit) == before


@every_estimator
def test_no_targets(cls):
    X, _ = small_data()
    match = f"{cls.__name__} .*requires y to be passed, but the target y is None"
    with pytest.raises(ValueError, match=match):
        cls(**QUICK).fit(X, None)


@every_estimator
@pytest.mark.parametrize("n", [59, 61])
def test_lengths_differ(cls, n):
    X, _ = small_data()
    match = rf"inconsistent numbers of samples: \[60, {n}\]"
    with pytest.raises(ValueError, match=match):
        cls(**QUICK).fit(X, np.arange(n) % 2)
    with pytest.raises(ValueError, match=match):
        cls(**QUICK).partial_fit(X, np.arange(n) % 2)


# ---------------------------------------------------------------- classes of partial_fit
def test_first_call_needs_classes():
    X, y = small_data()
    clf = EmbeddingBagClassifier(**QUICK)
    with pytest.raises(ValueError, match=r"classes must be passed on the first call to partial_fi"):
        clf.partial_fit(X, y)
    assert not [name for name in vars(clf) if name.endswith("_")]


@every_classifier
def test_unknown_label_in_a_later_call(cls):
    X, y = small_data()
    fit = cls(**QUICK).partial_fit(X, y, classes=[0, 1])
    before = learned(fit)
    new = np.where(np.arange(60) < 30, y, 30 + np.arange(60) % 7)
    with pytest.raises(ValueError, match=r"30, 31, 32, 33, 34\]"):
        fit.partial_fit(X, new)
    assert learned(fit) == before
    fit.partial_fit(X, np.where(y == 1, 7, 0), sample_weight=(y == 0).astype(float))
    assert learned(fit) != before, "labels of rows without weight do not matter"


@every_classifier
def test_other_classes_in_a_later_call(cls):
    X, y = small_data()
    fit = cls(**QUICK).partial_fit(X, y, classes=[0, 1])
    before = learned(fit)
    with pytest.raises(ValueError, match=r"0, 1, 2.*0, 1\]"):
        fit.partial_fit(X, y, classes=[0, 1, 2])
    assert learned(fit) == before
    fit.partial_fit(X, y, classes=[1, 0])


def test_classes_that_have_not_come_yet():
    X, y = small_data()
    clf = EmbeddingBagClassifier(**QUICK).partial_fit(X, y, classes=[2, 1, 0])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.predict_proba(X).shape == (60, 3)
    clf.partial_fit(X, np.full(60, 2))


def test_regressor_with_another_number_of_outputs():
    X, y = small_data()
    one, two = y.astype(float), np.stack([y, 1 - y], axis=1).astype(float)
    for first, later in ((one, two), (two, one), (two, two[:, [0, 1, 1]])):
        fit = EmbeddingBagRegressor(**QUICK).partial_fit(X, first)
        before = learned(fit)
        with pytest.raises(ValueError, match=r"(?i)output|target"):
            fit.partial_fit(X, later)
        assert learned(fit) == before
