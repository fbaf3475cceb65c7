"""Training again on all rows, going on after early stopping, learning rates, reports by epoch."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import RegressorMixin

from fitted import ESTIMATORS, known_classes, learned, small_data
from skembed import EmbeddingBagClassifier, EmbeddingBagRegressor
from skembed.solvers import SGD, SOLVERS
from skembed.training import Schedule

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=12, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def noisy_data(n=250, n_features=80, n_classes=2, noise=1.0):
    r = np.random.default_rng(0)
    X = sp.csr_array((r.random((n, n_features)) < 0.08).astype(float))
    signal = X[:, :10].sum(axis=1) + noise * r.normal(size=n)
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def model_of(fit):
    """What a fit has learned, without the record of its epochs."""
    return {name: value for name, value in learned(fit).items() if "curve" not in name}


# ---------------------------------------------------------------- refit
@every_estimator
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_refit_equals_a_fit_of_so_many_epochs(cls, solver):
    X, y = noisy_data(noise=3.0)
    weight = np.random.default_rng(1).integers(0, 3, 250).astype(float)
    rate = 5.0 if solver == "sgd" and not issubclass(cls, RegressorMixin) else 0.3
    options = QUICK | dict(solver=solver, learning_rate_init=rate, max_iter=40)
    search = cls(early_stopping=True, **options).fit(X, y, weight)
    again = cls(early_stopping=True, refit=True, **options).fit(X, y, weight)
    for name in ("validation_scores_", "loss_curve_", "best_n_iter_", "n_iter_"):
        assert getattr(again, name) == getattr(search, name), "the record is that of the search"
    assert again.best_n_iter_ < again.n_iter_
    short = options | dict(max_iter=again.best_n_iter_, early_stopping=False)
    assert model_of(again) == model_of(cls(**short).fit(X, y, weight))
    assert model_of(again) != model_of(search)
    assert again.feature_counts_.sum() > search.feature_counts_.sum()


def test_refit_equals_a_fit_of_batches_of_automatic_size():
    r = np.random.default_rng(0)
    X = sp.csr_array((np.ones(8_600), r.integers(0, 20, 8_600), np.arange(8_601)), (8_600, 20))
    y = r.integers(0, 2, 8_600)
    options = dict(n_components=2, random_state=0)
    again = EmbeddingBagClassifier(max_iter=2, refit=True, **options).fit(X, y)
    plain = EmbeddingBagClassifier(max_iter=again.best_n_iter_, early_stopping=False, **options)
    assert model_of(again) == model_of(plain.fit(X, y))


def test_refit_without_rows_held_out_is_a_plain_fit():
    X, y = small_data()
    plain = EmbeddingBagClassifier(**QUICK).fit(X, y)
    assert learned(EmbeddingBagClassifier(refit=True, **QUICK).fit(X, y)) == learned(plain)


def test_refit_goes_on_from_the_earlier_fit():
    X, y = noisy_data()
    options = QUICK | dict(warm_start=True, tol=0.0)
    first = EmbeddingBagClassifier(early_stopping=False, **options | dict(max_iter=2)).fit(X, y)
    other = EmbeddingBagClassifier(early_stopping=False, **options | dict(max_iter=2)).fit(X, y)
    first.set_params(early_stopping=True, refit=True, max_iter=12).fit(X, y)
    other.set_params(max_iter=first.best_n_iter_).fit(X, y)
    assert model_of(first) == model_of(other)
    assert first._state.step == (2 + first.best_n_iter_) * -(-250 // 16)


# ---------------------------------------------------------------- going on
def test_going_on_holds_the_same_rows_out():
    X, y = noisy_data()
    seen = []

    def scorer(est, X, y):
        seen.append((X.toarray().tobytes(), y.tobytes()))
        return 0.0

    options = QUICK | dict(max_iter=2, warm_start=True, early_stopping=True, scoring=scorer)
    fit = EmbeddingBagClassifier(**options).fit(X, y)
    step = fit._state.step
    fit.fit(X, y)
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert step == -(-225 // 16), "the first of equal scores is kept"
    assert fit._state.step == 2 * step
    assert fit.validation_scores_ == [0.0, 0.0]
    assert fit.best_n_iter_ == 1


@every_estimator
def test_numbers_of_an_earlier_fit_do_not_stay(cls):
    X, y = noisy_data()
    fit = cls(early_stopping=True, **QUICK).fit(X, y)
    assert fit.validation_scores_
    fit.set_params(early_stopping=False, max_iter=2).fit(X, y)
    assert fit.validation_scores_ == []
    assert fit.n_iter_ == fit.best_n_iter_ == 2
    assert not hasattr(fit, "best_validation_score_")


# ---------------------------------------------------------------- learning rates
def test_rates_by_formula():
    steps = np.arange(1, 8)

    def rates(*args):
        return [Schedule(*args).rate(int(t)) for t in steps]

    np.testing.assert_allclose(rates(0.4), 0.4)
    np.testing.assert_allclose(rates(0.4, "invscaling"), 0.4 / np.sqrt(steps))
    np.testing.assert_allclose(
        rates(0.4, "linear", 0, 5), [0.4, 0.32, 0.24, 0.16, 0.08, 0, 0], atol=1e-15
    )
    np.testing.assert_allclose(rates(0.4, "linear", 2, 4)[2:], [0.4, 0.3, 0.2, 0.1, 0], atol=1e-15)


class Watched(SGD):
    """Notes the learning rate of each step."""

    rates = []

    def step(self, table, state, grad, *, lr, keep, step, backend):
        self.rates.append(lr)
        super().step(table, state, grad, lr=lr, keep=keep, step=step, backend=backend)


@pytest.fixture
def rates():
    Watched.rates.clear()
    return Watched.rates


@pytest.mark.parametrize("kind", ["constant", "linear", "invscaling"])
def test_rates_of_a_fit(rates, kind):
    X, y = small_data()
    clf = EmbeddingBagClassifier(
        solver=Watched(), learning_rate=kind, learning_rate_init=0.5, warm_start=True,
        **QUICK | dict(max_iter=3),
    ).fit(X, y)  # fmt: skip
    t = np.arange(1, 13)  # three epochs of four batches
    want = {"constant": 0.5 + 0 * t, "linear": 0.5 * (13 - t) / 12, "invscaling": 0.5 / t**0.5}
    np.testing.assert_allclose(rates, want[kind])
    assert clf.learning_rate_init_ == 0.5
    rates.clear()
    clf.fit(X, y)
    want["invscaling"] = 0.5 / (t + 12) ** 0.5
    np.testing.assert_allclose(rates, want[kind], err_msg="another fit goes on")
    rates.clear()
    if kind != "linear":
        clf.partial_fit(X, y)
        np.testing.assert_allclose(
            rates, 0.5 if kind == "constant" else 0.5 / np.arange(25, 29) ** 0.5
        )


def test_linear_rate_counts_the_rows_to_train_on(rates):
    X, y = noisy_data()
    EmbeddingBagClassifier(
        solver=Watched(), learning_rate="linear", learning_rate_init=0.5, early_stopping=True,
        **QUICK | dict(max_iter=4),
    ).fit(X, y)  # fmt: skip
    n = 4 * -(-225 // 16)
    np.testing.assert_allclose(rates, 0.5 * (1 - np.arange(n) / n))


@every_estimator
def test_linear_rate_is_refused_by_partial_fit(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    before = learned(fit)
    with pytest.raises(ValueError, match="learning_rate='linear' falls to zero"):
        fit.set_params(learning_rate="linear").partial_fit(X, y)
    assert learned(fit) == before
    new = cls(learning_rate="linear", **QUICK)
    known = known_classes(cls)
    with pytest.raises(ValueError, match="learning_rate='linear' falls to zero"):
        new.partial_fit(X, y, **known)
    assert not hasattr(new, "n_features_in_")


# ---------------------------------------------------------------- reports by epoch
def test_verbose_tells_the_score(capsys):
    X, y = noisy_data()
    fit = EmbeddingBagClassifier(verbose=1, early_stopping=True, **QUICK).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == fit.n_iter_
    for n, line in enumerate(lines):
        loss, score = fit.loss_curve_[n], fit.validation_scores_[n]
        want = rf"Epoch {n + 1}/12, loss = {loss:.6f}, validation score = {score:.6f}"
        assert re.fullmatch(want, line)


class Keeper:
    """Keeps the fitted estimator of every epoch and that of the end."""

    def __init__(self):
        self.epochs, self.last = [], None

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name == "epoch":
            self.epochs.append(fitted_estimator)
        else:
            self.last = fitted_estimator


@pytest.mark.parametrize("refit", [False, True])
def test_callbacks_get_estimators_that_predict(refit):
    X, y = noisy_data(n_classes=3)
    keeper, scores = Keeper(), []

    def scorer(est, X, y):
        scores.append((est.predict_proba(X), X))
        return est.score(X, y)

    clf = EmbeddingBagClassifier(early_stopping=True, scoring=scorer, refit=refit, **QUICK)
    fit = clf.set_callbacks(keeper).fit(X, y)
    assert len(keeper.epochs) == fit.n_iter_ == len(scores)
    for n, (est, (proba, X_out)) in enumerate(zip(keeper.epochs, scores, strict=True)):
        assert np.array_equal(est.predict_proba(X_out), proba)
        assert est.n_iter_ == n + 1
        assert est.validation_scores_ == fit.validation_scores_[: n + 1]
    assert np.array_equal(keeper.last.predict_proba(X), fit.predict_proba(X))
    best = keeper.epochs[fit.best_n_iter_ - 1].predict_proba(X)
    assert np.array_equal(best, fit.predict_proba(X)) != refit


def test_regressor_stops_early_on_several_targets():
    X, y = noisy_data()
    Y = np.stack([y, 3.0 * y - 1], axis=1)
    fit = EmbeddingBagRegressor(early_stopping=True, **QUICK).fit(X, Y)
    errors = []

    def scorer(est, X, Y):
        errors.append(-((est.predict(X) - Y) ** 2).sum(axis=1).mean() / 2)
        return errors[-1]

    again = EmbeddingBagRegressor(early_stopping=True, scoring=scorer, **QUICK).fit(X, Y)
    np.testing.assert_allclose(fit.validation_scores_, errors)
    assert model_of(fit) == model_of(again)
