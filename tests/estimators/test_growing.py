"""More columns in a later partial_fit; forgetting the solver's state; calls that fail half-way."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone

from fitted import ESTIMATORS, as_given, known_classes, learned, predictions, small_data
from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.solvers import SGD, SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
WIDE, Y = small_data(80, 20)
NARROW = WIDE[:, :12]


def first_call(cls, X=NARROW, **options):
    known = known_classes(cls)
    return cls(**QUICK | options).partial_fit(X, Y, **known)


def rows_of(fit):
    """Column -> bytes of its vector and of the solver's state."""
    state = fit._state
    arrays = [state.params["table"], *state.solver_state["table"].values(), state.n_updates]
    columns = state.index.row_columns().tolist()
    return {c: [a.values[r].tobytes() for a in arrays] for r, c in enumerate(columns)}


# ---------------------------------------------------------------- growing
@every_estimator
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_new_columns_come_behind_the_old_ones(cls, solver):
    fit = first_call(cls, solver=solver, frozen_features=[3])
    before = rows_of(fit)
    step, counts = fit._state.step, fit.feature_counts_
    batch = WIDE.tolil()
    batch[:, :8] = 0  # old columns 0, ..., 7 are not in this batch
    batch = sp.csr_array(batch)
    assert fit.partial_fit(batch, Y, grow=True) is fit
    after = rows_of(fit)
    if solver != "adamw":  # its rows move at every step
        assert {c: after[c] for c in range(8)} == {c: before[c] for c in range(8)}
    assert after[9] != before[9]
    assert fit.n_features_in_ == 20
    assert fit.embedding_.shape == (20, 3)
    assert fit.feature_counts_.shape == fit.n_updates_.shape == (20,)
    assert fit.feature_counts_[:12].tolist() == (
        counts + (batch[:, :12] != 0).sum(axis=0)
    ).tolist()  # fmt: skip
    assert fit.active_features_.tolist() == list(range(20))
    assert fit._state.step == 2 * step
    for _, value in predictions(fit, WIDE):
        assert np.isfinite(value).all()
    with pytest.raises(ValueError, match=r"12 features.*expecting 20"):
        fit.transform(NARROW)


def test_a_new_column_begins_as_it_would_have_from_the_start():
    options = dict(frozen_features="all")
    grown = first_call(EmbeddingBagClassifier, **options).partial_fit(WIDE, Y, grow=True)
    whole = first_call(EmbeddingBagClassifier, WIDE, **options)
    assert np.array_equal(grown.embedding_, whole.embedding_)


@every_estimator
def test_grow_with_the_same_columns_changes_nothing_else(cls):
    plain, grown = first_call(cls).partial_fit(NARROW, Y), first_call(cls)
    assert learned(grown.partial_fit(NARROW, Y, grow=True)) == learned(plain)
    known = known_classes(cls)
    at_once = cls(**QUICK).partial_fit(NARROW, Y, grow=True, **known)
    assert learned(at_once) == learned(first_call(cls))


@every_estimator
def test_columns_are_refused_without_grow_and_fewer_always(cls):
    fit = first_call(cls)
    before = learned(fit)
    with pytest.raises(ValueError, match=r"20 features.*expecting 12"):
        fit.partial_fit(WIDE, Y)
    for grow in (False, True):
        with pytest.raises(ValueError, match=r"9 features.*expecting 12"):
            fit.partial_fit(WIDE[:, :9], Y, grow=grow)
    assert learned(fit) == before
    assert fit.n_features_in_ == 12


@pytest.mark.parametrize("kind", ["lists", "array", "coo", "csc", "dok"])
def test_every_container_can_grow(kind):
    want = learned(first_call(EmbeddingBagClassifier).partial_fit(WIDE, Y, grow=True))
    dense = WIDE.toarray()
    given = {"lists": dense.tolist(), "array": dense}.get(kind)
    given = WIDE.asformat(kind) if given is None else given
    assert learned(first_call(EmbeddingBagClassifier).partial_fit(given, Y, grow=True)) == want


def test_columns_that_are_named_by_a_parameter_or_not_new():
    mask = np.isin(np.arange(12), [2, 7])
    for numeric in ([2, 7], mask):
        fit = first_call(EmbeddingBagClassifier, numeric_features=numeric, linear_term=True)
        fit.partial_fit(WIDE, Y, grow=True)
        assert fit.coef_.shape == (1, 5)
        assert fit.linear_.shape == (1, 20)
        assert not fit.embedding_[[2, 7]].any()
        assert fit.embedding_[12:].all()
    padded = first_call(EmbeddingBagClassifier, padding_features=[3]).set_params(
        padding_features=[3, 15]
    )
    padded.partial_fit(WIDE, Y, grow=True)
    assert np.setdiff1d(np.arange(20), padded.active_features_).tolist() == [3, 15]


def frames(make=pd.DataFrame):
    names = [f"f{j}" for j in range(20)]
    narrow = make({n: NARROW[:, [j]].toarray()[:, 0] for j, n in enumerate(names[:12])})
    return narrow, make({n: WIDE[:, [j]].toarray()[:, 0] for j, n in enumerate(names)})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_names_grow_too(make):
    narrow, wide = frames(make)
    fit = first_call(EmbeddingBagClassifier, narrow).partial_fit(wide, Y, grow=True)
    assert fit.feature_names_in_.tolist() == list(wide.columns)
    assert fit.feature_names_in_.dtype == object
    assert learned(fit) == learned(
        first_call(EmbeddingBagClassifier).partial_fit(WIDE, Y, grow=True)
    )
    assert fit.predict(wide).shape == (80,)
    fit.partial_fit(wide, Y)


@pytest.mark.parametrize("how", ["renamed", "reordered", "in front"])
def test_old_names_stay_where_they_are(how):
    narrow, wide = frames()
    fit = first_call(EmbeddingBagClassifier, narrow)
    before = learned(fit)
    other = {
        "renamed": wide.rename(columns={"f3": "other"}),
        "reordered": wide[["f1", "f0", *wide.columns[2:]]],
        "in front": wide[[*wide.columns[12:], *wide.columns[:12]]],
    }[how]
    with pytest.raises(ValueError, match="keep their names and order"):
        fit.partial_fit(other, Y, grow=True)
    assert learned(fit) == before
    assert fit.feature_names_in_.tolist() == list(narrow.columns)
    with pytest.raises(ValueError, match="feature names"):
        fit.partial_fit(wide.iloc[:, :9], Y, grow=True)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_new_columns_without_names():
    narrow, _ = frames()
    fit = first_call(EmbeddingBagClassifier, narrow)
    before = learned(fit)
    try:
        fit.partial_fit(WIDE, Y, grow=True)
    except ValueError as error:
        assert "names" in str(error)
        assert learned(fit) == before
    else:
        names = getattr(fit, "feature_names_in_", None)
        assert names is None or len(names) == fit.n_features_in_ == 20
        assert fit.predict(WIDE).shape == (80,)


@pytest.mark.parametrize("cls", [EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor])
def test_grow_is_no_metadata(cls):
    with sklearn.config_context(enable_metadata_routing=True):
        requests = cls().get_metadata_routing().partial_fit.requests
        assert "grow" not in requests
        assert "sample_weight" in requests
        with pytest.raises(TypeError, match="grow"):
            cls().set_partial_fit_request(grow=True)


# ---------------------------------------------------------------- forgetting the solver's state
@every_estimator
@pytest.mark.parametrize("solver", ["adagrad", "lazy_adam", "adamw", "ftrl"])
def test_forgetting_the_state_of_the_solver(cls, solver):
    fit = cls(**QUICK | dict(n_components=32, solver=solver, warm_start=True)).fit(WIDE, Y)
    before, size = predictions(fit, WIDE), len(pickle.dumps(fit))
    vectors = fit.embedding_
    assert fit.drop_solver_state() is fit
    assert size - len(pickle.dumps(fit)) > 0.9 * vectors.nbytes
    again = pickle.loads(pickle.dumps(fit))
    for est in (fit, again, fit.drop_solver_state()):
        for (name, value), (_, old) in zip(predictions(est, WIDE), before, strict=True):
            assert np.array_equal(value, old), name
        assert np.array_equal(est.embedding_, vectors)
        for method in (est.partial_fit, est.fit):
            with pytest.raises(ValueError, match=r"dropped by drop_solver_state\(\)"):
                method(WIDE, Y)
    fresh = fit.set_params(warm_start=False).fit(WIDE, Y)
    assert np.array_equal(fresh.embedding_, vectors)
    fresh.partial_fit(WIDE, Y)


def test_nothing_to_forget_before_a_fit():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        EmbeddingBagClassifier().drop_solver_state()


# ---------------------------------------------------------------- calls that fail half-way
def broken(X, row):
    """Return X with values in two rows, of different classes, that no fit survives."""
    D = X.toarray()
    D[[row, row + 1]] = 1e200
    return sp.csr_array(D)


@every_estimator
@pytest.mark.parametrize("grow", [False, True])
def test_a_first_batch_that_diverges_is_as_if_it_had_not_been(cls, grow):
    fit = first_call(cls, frozen_features=[3], **as_given(cls))
    before = learned(fit)
    bad = broken(WIDE if grow else NARROW, 5)
    with pytest.raises(ValueError, match="batch 1"):
        fit.partial_fit(bad, Y, grow=grow)
    assert learned(fit) == before
    other = first_call(cls, frozen_features=[3], **as_given(cls))
    for est in (fit, other):
        est.partial_fit(WIDE, Y, grow=True)
    assert learned(fit) == learned(other)


@every_estimator
@pytest.mark.parametrize("grow", [False, True])
def test_batches_before_one_that_diverges_are_kept(cls, grow):
    X = WIDE if grow else NARROW
    fit = first_call(cls, **as_given(cls))
    part = first_call(cls, **as_given(cls)).partial_fit(X[:32], Y[:32], grow=grow)
    with pytest.raises(ValueError, match="batch 3"):
        fit.partial_fit(broken(X, 40), Y, grow=grow)
    assert fit._state.step == part._state.step == 7
    assert fit.n_features_in_ == X.shape[1] == len(fit.feature_counts_)
    columns = part.active_features_
    assert np.array_equal(fit.embedding_[columns], part.embedding_[columns])
    assert np.array_equal(fit.embedding_, part.embedding_)
    fit.partial_fit(X, Y)
    part.partial_fit(X, Y)
    assert np.array_equal(fit.embedding_[columns], part.embedding_[columns])


@every_estimator
def test_batches_of_a_first_call_are_kept(cls):
    known = known_classes(cls)
    fit = cls(**as_given(cls), **QUICK)
    with pytest.raises(ValueError, match="batch 3"):
        fit.partial_fit(broken(NARROW, 40), Y, **known)
    assert fit.__sklearn_is_fitted__()
    assert fit._state.step == 2
    assert fit.n_features_in_ == 12
    assert fit.partial_fit(NARROW, Y)._state.step == 7


class Interrupted(SGD):
    """Is interrupted before it has written anything."""

    def step(self, *args, **kwargs):
        raise KeyboardInterrupt


def test_an_interrupt_before_the_first_batch_of_new_columns():
    fit = first_call(EmbeddingBagClassifier, solver=SGD())
    before = learned(fit)
    with pytest.raises(KeyboardInterrupt):
        fit.set_params(solver=Interrupted()).partial_fit(WIDE, Y, grow=True)
    assert fit.n_features_in_ == len(fit.feature_counts_), "else a look-up reads past its end"
    assert learned(fit) == before
    other = first_call(EmbeddingBagClassifier, solver=SGD())
    for est in (fit.set_params(solver=SGD()), other):
        est.partial_fit(WIDE, Y, grow=True)
    assert learned(fit) == learned(other)


def test_start_from_an_array_grows_with_it():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    fit = first_call(EmbeddingBagClassifier, init=rows[:12], frozen_features="all")
    before = learned(fit)
    with pytest.raises(ValueError, match=r"\(20, 3\), got \(12, 3\)"):
        fit.partial_fit(WIDE, Y, grow=True)
    assert learned(fit) == before
    fit.set_params(init=rows).partial_fit(WIDE, Y, grow=True)
    assert np.array_equal(fit.embedding_, rows)
    assert clone(fit).init.shape == (20, 3)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wider_rows_of_weight_zero_change_nothing(cls):
    X, y = small_data()
    fit = cls(n_components=3, max_iter=2, random_state=0).fit(X, y)
    before = learned(fit)
    wide = sp.csr_array((X.data, X.indices + 5, X.indptr), (60, 20))
    assert fit.partial_fit(wide, y, sample_weight=np.zeros(60), grow=True) is fit
    assert learned(fit) == before and fit.n_features_in_ == 12
    with pytest.raises(ValueError, match="X has 20 features"):
        fit.transform(wide)
