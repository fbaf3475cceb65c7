"""Factorization machines as estimators: what they learn, their shapes, fields and bits."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OneHotEncoder

from fitted import FACTORIZATIONS, learned, small_data
from skembed import FactorizationMachineClassifier, FactorizationMachineRegressor
from skembed.losses import NegativeSampling
from skembed.solvers import SGD, SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
FIELDS = np.arange(12) % 3
every_estimator = pytest.mark.parametrize("cls", FACTORIZATIONS)
every_interaction = pytest.mark.parametrize(
    "options", [{}, dict(interaction="ffm", fields=FIELDS)], ids=["fm", "ffm"]
)


def planted(n, n_fields=8, size=12, rank=4, seed=0):
    """One-hot rows whose log odds are those of a factorization machine, and the true chances."""
    r = np.random.default_rng(seed)
    V, w = r.normal(0, 0.45, (n_fields * size, rank)), r.normal(0, 0.15, n_fields * size)
    J = r.integers(0, size, (n, n_fields)) + size * np.arange(n_fields)
    sums = V[J].sum(axis=1)
    z = w[J].sum(axis=1) + 0.5 * ((sums**2).sum(axis=1) - (V[J] ** 2).sum(axis=(1, 2)))
    p = 1 / (1 + np.exp(-z))
    X = sp.csr_array(
        (np.ones(J.size, np.float32), J.ravel(), np.arange(0, J.size + 1, n_fields)),
        (n, n_fields * size),
    )
    return X, (r.random(n) < p).astype(int), p


@pytest.mark.slow
def test_a_planted_interaction_is_found():
    X, y, p = planted(120_000)
    train, test = slice(0, 100_000), slice(100_000, None)
    fm = FactorizationMachineClassifier(8, random_state=0, n_jobs=2).fit(X[train], y[train])
    bayes = log_loss(y[test], p[test])
    found = log_loss(y[test], fm.predict_proba(X[test])[:, 1])
    linear = LogisticRegression(max_iter=200).fit(X[train], y[train])
    assert found < bayes + 0.01
    assert log_loss(y[test], linear.predict_proba(X[test])[:, 1]) > bayes + 0.03


def test_pairs_that_no_linear_model_sees():
    things = [["red", "circle"], ["red", "square"], ["blue", "circle"], ["blue", "square"]]
    X, y = OneHotEncoder().fit_transform(things * 25), np.array([1, 0, 0, 1] * 25)
    for options in ({}, dict(interaction="ffm", fields=[0, 0, 1, 1])):
        fm = FactorizationMachineClassifier(
            4, early_stopping=False, tol=1e-3, random_state=0, **options
        )
        assert fm.fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("n_classes, fields, shape", [
    (2, None, (12, 3)), (3, None, (12, 3, 3)), (2, FIELDS, (12, 3, 3)), (4, FIELDS, (12, 4, 3, 3)),
])  # fmt: skip
def test_shapes(n_classes, fields, shape):
    X, _ = small_data()
    D = X.toarray()
    D[:, 4] = 0
    y = np.arange(60) % n_classes
    interaction = "fm" if fields is None else "ffm"
    fm = FactorizationMachineClassifier(interaction=interaction, fields=fields, **QUICK)
    fm.fit(sp.csr_array(D), y)
    outputs = 1 if n_classes == 2 else n_classes
    assert fm.embedding_.shape == shape
    assert fm.active_embedding_.shape == (11, *shape[1:])
    assert not fm.embedding_[4].any() and fm.embedding_[[0, 5]].all()
    assert fm.linear_.shape == (outputs, 12)
    assert fm.intercept_.shape == (outputs,)
    assert fm.n_components_ == 3
    width = int(np.prod(shape[1:]))
    assert fm.transform(X).shape == (60, width)
    assert len(fm.get_feature_names_out()) == width
    assert fm.predict_proba(X).shape == (60, n_classes)
    np.testing.assert_allclose(fm.predict_proba(X).sum(axis=1), 1)
    assert not hasattr(fm, "coef_")
    assert hasattr(fm, "fields_") == (fields is not None)
    again = FactorizationMachineClassifier(
        interaction=interaction, fields=fields, init=fm.embedding_, frozen_features="all", **QUICK
    ).fit(sp.csr_array(D), y)
    assert np.array_equal(again.embedding_, fm.embedding_), "a start has the shape of the result"


@every_estimator
@every_interaction
def test_bits_do_not_depend_on_threads(cls, options, monkeypatch):
    monkeypatch.setattr("skembed.kernels.cpu._matrix.MIN_SHARE", 1)
    X, y = small_data(300)
    fits = [cls(**options, **QUICK | dict(n_jobs=n)).fit(X, y) for n in (1, 2, 4)]
    assert learned(fits[0]) == learned(fits[1]) == learned(fits[2])


@every_interaction
def test_one_row_and_many_are_predicted_alike(options):
    X, _ = small_data(300)
    fm = FactorizationMachineClassifier(**options, **QUICK).fit(X, np.arange(300) % 3)
    whole = fm.decision_function(sp.vstack([X] * 300, format="csr"))[:300]
    each = np.concatenate([fm.decision_function(X[[i]]) for i in range(300)])
    assert np.array_equal(whole, each)


@every_interaction
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_partial_fit_in_pieces_and_pickles(options, solver):
    X, y = small_data(128)
    fm = FactorizationMachineClassifier(solver=solver, **options, **QUICK)
    whole = clone(fm).partial_fit(X, y, classes=[0, 1])
    halves = clone(fm).partial_fit(X[:64], y[:64], classes=[0, 1])
    halves = pickle.loads(pickle.dumps(halves)).partial_fit(X[64:], y[64:])
    if set(whole.active_features_) == set(range(12)):
        assert np.array_equal(whole.embedding_, halves.embedding_)
        assert np.array_equal(whole.linear_, halves.linear_)


@every_interaction
def test_decay_of_all_rows_is_that_of_the_listed_ones_where_all_are_listed(options):
    X, y = small_data()
    fits = [
        FactorizationMachineRegressor(
            solver=SGD(decay_scope=scope),
            weight_decay=0.1,
            **options,
            **QUICK | dict(batch_size=60),
        ).fit(X, y)
        for scope in ("all", "touched")
    ]
    assert fits[0].n_updates_.tolist() == [3] * 12
    np.testing.assert_allclose(fits[0].embedding_, fits[1].embedding_, rtol=1e-12)
    np.testing.assert_allclose(fits[0].linear_, fits[1].linear_, rtol=1e-12)


@every_estimator
def test_fields_may_be_names_numbers_or_prefixes(cls):
    X, y = small_data()
    names = [f"{'abc'[j % 3]}_{j}" for j in range(12)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    other = frame.set_axis([f"{'abc'[j % 3]}=x_{j}" for j in range(12)], axis=1)
    fits = [
        cls(interaction="ffm", fields=fields, **QUICK).fit(data, y)
        for data, fields in (
            (X, FIELDS), (X, FIELDS + 7), (X, list("abc" * 4)), (frame, "names"), (other, "names"),
        )
    ]  # fmt: skip
    assert len({fit.embedding_.tobytes() for fit in fits}) == 1
    assert [fit.fields_.tolist() for fit in fits[:3]] == [[0, 1, 2], [7, 8, 9], ["a", "b", "c"]]
    assert fits[3].fields_.tolist() == ["a", "b", "c"]
    plain = cls(**QUICK).fit(X, y)
    for same in (
        dict(interaction="ffm"),
        dict(fields=FIELDS),
        dict(interaction="fm", fields="names"),
    ):
        assert learned(cls(**same, **QUICK).fit(X, y)) == learned(plain)


@every_estimator
@pytest.mark.parametrize("fields, match", [
    (FIELDS[:5], "one field for each of 12 columns"),
    (FIELDS.reshape(3, 4), "one field for each of 12 columns"),
    (FIELDS + 0.5, "integers or strings, got dtype float64"),
    (["a", None] * 6, "integers or strings"),
    ("names", "X has none"),
])  # fmt: skip
def test_fields_that_are_none(cls, fields, match):
    X, y = small_data()
    with pytest.raises(ValueError, match=match):
        cls(interaction="ffm", fields=fields, **QUICK).fit(X, y)


def test_growing_with_fields():
    X, y = small_data()
    options = dict(interaction="ffm", **QUICK)
    fm = FactorizationMachineClassifier(fields=FIELDS[:8], **options)
    fm.partial_fit(X[:, :8], y, classes=[0, 1])
    fm.set_params(fields=FIELDS).partial_fit(X, y, grow=True)
    assert fm.embedding_.shape == (12, 3, 3)
    before = learned(fm)
    fm.set_params(fields=np.where(np.arange(12) == 3, 1, FIELDS))
    with pytest.raises(ValueError, match=r"fields.* was changed"):
        fm.partial_fit(X, y)
    fm.set_params(fields=FIELDS, normalize_rows=False)
    with pytest.raises(ValueError, match=r"normalize_rows.* was changed"):
        fm.partial_fit(X, y)
    fm.set_params(normalize_rows=True, n_components=4)
    with pytest.raises(ValueError, match="earlier fit has 3 components"):
        fm.partial_fit(X, y)
    assert learned(fm) == before


def test_normalised_rows_do_not_know_the_size_of_x():
    X, y = small_data()
    for options in ({}, dict(interaction="ffm", fields=FIELDS)):
        a, b = (
            FactorizationMachineClassifier(**options, **QUICK).fit(size * X, y) for size in (1, 8)
        )
        assert np.array_equal(a.decision_function(X), b.decision_function(8 * X))
        given = FactorizationMachineClassifier(normalize_rows=False, **options, **QUICK).fit(X, y)
        assert not np.allclose(given.decision_function(X), given.decision_function(8 * X))


def test_several_labels_and_one_against_the_rest():
    r = np.random.default_rng(0)
    X, _ = small_data(200)
    Y = (r.random((200, 3)) < 0.4).astype(int)
    for labels in (Y, sp.csr_array(Y)):
        fm = FactorizationMachineClassifier(loss="ova", **QUICK).fit(X, labels)
        assert fm.embedding_.shape == (12, 3, 3)
        assert fm.predict(X).shape == (200, 3)
    y = np.arange(200) % 3
    ova = FactorizationMachineClassifier(loss="ova", **QUICK).fit(X, y)
    softmax = FactorizationMachineClassifier(**QUICK).fit(X, y)
    assert not np.array_equal(ova.embedding_, softmax.embedding_)
    rest = OneVsRestClassifier(FactorizationMachineClassifier(**QUICK)).fit(X, y)
    assert rest.predict_proba(X).shape == (200, 3)
    assert ova.predict_top_k(X, 2)[0].shape == (200, 2)


@every_estimator
def test_starting_vectors(cls):
    X, y = small_data(400, 200)
    options = dict(QUICK, n_components=8, frozen_features="all")
    normal, uniform = (
        cls(**options, init=init).fit(X, y).active_embedding_ for init in ("normal", "uniform")
    )
    assert abs(normal.std() - 0.05) < 0.005
    assert abs(uniform.std() - 0.05) < 0.005
    assert np.abs(uniform).max() < 0.05 * 3**0.5
    svd = cls(**options, init=TruncatedSVD(8, random_state=0)).fit(X, y).embedding_
    assert np.isclose(np.sqrt((svd**2).mean()), 0.05)


def test_losses_that_name_some_outputs_are_refused():
    X, _ = small_data()
    with pytest.raises(ValueError, match="'loss' parameter"):
        FactorizationMachineClassifier(loss="negative_sampling").fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="some outputs only"):
        FactorizationMachineClassifier(loss=NegativeSampling()).fit(X, np.arange(60) % 3)


@every_estimator
def test_rates_where_none_is_given(cls):
    X, y = small_data()
    rates = {"adagrad": 0.1, "rowwise_adagrad": 0.1, "lazy_adam": 0.003, "ftrl": 0.1}
    for solver, rate in rates.items():
        assert cls(solver=solver, **QUICK).fit(X, y).learning_rate_init_ == rate
