"""PartitionedFit as an estimator: equal to a plain fit, what it takes, what it passes on."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV

from engines import Here, bits, data
from fitted import ESTIMATORS
from skembed import (
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    PartitionedFit,
)
from skembed.compress import TopK
from skembed.solvers import FTRL

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = data()
QUICK = dict(n_components=4, max_iter=4, random_state=0)
EXACT = dict(n_partitions=1, compressor=None, broadcast_compressor=None, max_iter=4)
PARTS = [X[i::3] for i in range(3)]
TARGETS = [Y[i::3] for i in range(3)]


def parameters(estimator):
    """Return everything that predictions are made of, as bytes."""
    params = estimator._state.params
    return {name: np.asarray(getattr(p, "values", p)).tobytes() for name, p in params.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("early", [False, "auto"])
def test_one_partition_without_compression_is_a_plain_fit(cls, dtype, early):
    plain = cls(**QUICK, early_stopping=early).fit(X.astype(dtype), Y)
    over = PartitionedFit(cls(**QUICK, early_stopping=early), **EXACT).fit(X.astype(dtype), Y)
    assert parameters(over.estimator_) == parameters(plain)
    assert over.estimator_.loss_curve_ == plain.loss_curve_
    assert over.estimator_.validation_scores_ == plain.validation_scores_
    assert over.n_iter_ == plain.n_iter_ == 4
    assert over.estimator_.feature_counts_.tobytes() == plain.feature_counts_.tobytes()


@pytest.mark.parametrize(
    "options",
    [
        dict(solver="lazy_adam"),
        dict(solver="adamw", weight_decay=0.1),
        dict(solver="rowwise_adagrad", decay_scope="all"),
        dict(hidden_layer_sizes=(5,), pooling="max"),
        dict(loss="negative_sampling", learning_rate="linear"),
        dict(linear_term=True, min_count=3, frozen_features=[1, 2], padding_features=[5]),
        dict(numeric_features=[3, 4], class_weight="balanced", init="normal"),
        dict(batch_size=70, learning_rate="invscaling"),
    ],
    ids=str,
)
def test_the_same_with_other_settings(options):
    if "decay_scope" in options:
        from skembed.solvers import RowwiseAdagrad

        options = dict(solver=RowwiseAdagrad(decay_scope="all"), weight_decay=0.1)
    bag = EmbeddingBagClassifier(**QUICK, **options, early_stopping=False)
    plain = clone(bag).fit(X, Y)
    over = PartitionedFit(bag, **EXACT).fit(X, Y)
    assert parameters(over.estimator_) == parameters(plain)


def test_rounds_of_some_batches_make_up_an_epoch():
    bag = EmbeddingBagClassifier(**QUICK | dict(max_iter=2), batch_size=50, early_stopping=False)
    over = PartitionedFit(bag, **EXACT | dict(max_iter=4), local_steps=3).fit(X[:300], Y[:300])
    assert parameters(over.estimator_) == parameters(clone(bag).fit(X[:300], Y[:300]))


@pytest.mark.parametrize("aggregate", ["touch", "sqrt"])
@pytest.mark.parametrize("solver_state", ["local", "reset"])
def test_options_change_the_result(aggregate, solver_state):
    bag = EmbeddingBagClassifier(**QUICK, early_stopping=False)
    usual = PartitionedFit(bag, max_iter=4).fit(X, Y)
    other = PartitionedFit(bag, max_iter=4, aggregate=aggregate, solver_state=solver_state)
    assert bits(other.fit(X, Y)) != bits(usual)
    assert np.isfinite(other.history_["loss"]).all()
    alone = PartitionedFit(bag, **EXACT, aggregate=aggregate).fit(X, Y)
    assert parameters(alone.estimator_) == parameters(clone(bag).fit(X, Y))


def test_small_inputs_have_fewer_partitions():
    bag = EmbeddingBagClassifier(**QUICK)
    assert PartitionedFit(bag, n_partitions=9, max_iter=2).fit(X, Y).n_partitions_ == 4
    assert PartitionedFit(bag, n_partitions=9, max_iter=2).fit(X[:100], Y[:100]).n_partitions_ == 1


def test_learns():
    bag = EmbeddingBagClassifier(8, learning_rate_init=0.2, random_state=0, early_stopping=False)
    easy = np.asarray(X[:, :8].argmax(axis=1)).ravel() // 3
    model = PartitionedFit(bag, max_iter=30).fit(X, easy)
    assert model.score(X, easy) > 0.9
    assert model.history_["loss"][-1] < model.history_["loss"][0] / 2


# -------------------------------------------------------------------- data that come in parts
def write_parts(folder):
    """Return the paths of parts and targets in files."""
    for i, (part, target) in enumerate(zip(PARTS, TARGETS, strict=True)):
        sp.save_npz(folder / f"{i}.npz", part)
        np.save(folder / f"{i}.npy", target)
    return [folder / f"{i}.npz" for i in range(3)], [folder / f"{i}.npy" for i in range(3)]


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_give_the_bits_of_one_matrix(weighted, tmp_path):
    rng = np.random.default_rng(0)
    weights = [rng.random(len(t)) * (rng.random(len(t)) > 0.1) for t in TARGETS]
    weights = weights if weighted else None
    whole = None if weights is None else np.concatenate(weights)
    bag = EmbeddingBagClassifier(**QUICK, class_weight="balanced", early_stopping=False)

    def fit(*given, **options):
        return bits(PartitionedFit(bag, max_iter=4).fit(*given, **options))

    part_of = np.repeat([10, 20, 30], [len(t) for t in TARGETS])
    want = fit(sp.vstack(PARTS).tocsr(), np.concatenate(TARGETS), whole, partition=part_of)
    assert fit(PARTS, TARGETS, weights) == want
    assert fit([lambda p=p: p for p in PARTS], TARGETS, weights) == want
    pairs = zip(PARTS, TARGETS, strict=True)
    assert fit([lambda pair=pair: pair for pair in pairs], None, weights) == want
    paths, targets = write_parts(tmp_path)
    assert fit(paths, targets, weights) == want
    assert fit([str(path) for path in paths], TARGETS, weights) == want


@pytest.mark.parametrize("lazy", [False, True])
def test_parts_that_do_not_fit_are_refused(lazy):
    def fit(parts, targets, **options):
        given = [lambda p=p: p for p in parts] if lazy else parts
        model = PartitionedFit(EmbeddingBagClassifier(**QUICK, **options), engine=Here())
        return model.fit(given, targets)

    with pytest.raises(ValueError, match="must have the same features"):
        fit([X, X[:, :9]], [Y, Y])
    with pytest.raises(ValueError, match="for each of 2 parts"):
        fit([X, X], [Y])
    with pytest.raises(ValueError, match=r"rows|samples"):
        fit([X, X], [Y, Y[:5]])
    with pytest.raises(ValueError, match="class"):
        fit([X, X], [0 * Y, 0 * Y])


def test_partition_may_lack_a_class_or_all_weight():
    bag = EmbeddingBagClassifier(**QUICK, early_stopping=False)
    order = np.argsort(Y, kind="stable")
    model = PartitionedFit(bag, max_iter=3).fit(X[order], Y[order], partition=Y[order])
    assert model.classes_.tolist() == [0, 1, 2]
    weight = np.ones(len(Y))
    weight[Y == 1] = 0
    model = PartitionedFit(bag, max_iter=3).fit(X, Y, weight, partition=Y)
    assert model.n_partitions_ == 3
    assert len(model.history_["memory_norms"][0]) == 2, "one has no rows to train on"


def test_rows_elsewhere_can_not_be_held_out_but_others_can_be_scored():
    loaders = [lambda p=p: p for p in PARTS]
    strict = EmbeddingBagClassifier(**QUICK, early_stopping=True)
    with pytest.raises(ValueError, match="Pass X_val and y_val"):
        PartitionedFit(strict).fit(loaders, TARGETS)
    model = PartitionedFit(strict, max_iter=4).fit(loaders, TARGETS, X_val=X, y_val=Y)
    assert len(model.estimator_.validation_scores_) == 4
    started = EmbeddingBagClassifier(**QUICK, init=EmbeddingBagClassifier(**QUICK))
    with pytest.raises(ValueError, match="FrozenEstimator"):
        PartitionedFit(started).fit(loaders, TARGETS)


def test_wrong_partition_is_refused():
    bag = EmbeddingBagClassifier(**QUICK)
    with pytest.raises(ValueError, match="partition has 3 entries, but X has 300 rows"):
        PartitionedFit(bag).fit(X, Y, partition=[1, 2, 3])
    with pytest.raises(ValueError, match="partition must be None"):
        PartitionedFit(bag).fit(PARTS, TARGETS, partition=Y)


# -------------------------------------------------------------------- as a meta-estimator
def test_methods_are_those_of_the_estimator():
    classifier = PartitionedFit(EmbeddingBagClassifier(**QUICK), max_iter=2).fit(X, Y)
    assert is_classifier(classifier)
    inner = classifier.estimator_
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert np.array_equal(getattr(classifier, name)(X), getattr(inner, name)(X))
    assert np.array_equal(classifier.transform(X), inner.transform(X))
    assert np.array_equal(classifier.predict_top_k(X, 2)[0], inner.predict_top_k(X, 2)[0])
    assert classifier.score(X, Y) == inner.score(X, Y)
    regressor = PartitionedFit(EmbeddingBagRegressor(**QUICK))
    assert is_regressor(regressor)
    assert not hasattr(regressor, "predict_proba")
    assert not hasattr(PartitionedFit(EmbeddingBagClassifier(loss="hinge")), "predict_proba")


def test_refused_settings():
    with pytest.raises(ValueError, match="does not refit"):
        PartitionedFit(EmbeddingBagClassifier(refit=True)).fit(X, Y)
    machine = FactorizationMachineClassifier(**QUICK, solver=FTRL())
    with pytest.raises(ValueError, match="FTRL computes rows from its state"):
        PartitionedFit(machine).fit(X, Y)
    model = PartitionedFit(machine, solver_state="reset", max_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match="state was dropped"):
        model.estimator_.set_params(early_stopping=False).partial_fit(X, Y)
    with pytest.raises(TypeError, match="X_vale"):
        PartitionedFit(EmbeddingBagClassifier(**QUICK)).fit(X, Y, X_vale=X)


def test_failed_fit_keeps_the_earlier_one():
    model = PartitionedFit(EmbeddingBagClassifier(**QUICK), max_iter=2).fit(X, Y)
    before = bits(model)
    with pytest.raises(ValueError, match="class"):
        model.fit(X, 0 * Y)
    assert bits(model) == before


def test_seed_of_the_fit_takes_the_place_of_that_of_the_estimator():
    bag = EmbeddingBagClassifier(4)
    one = PartitionedFit(bag, max_iter=2, random_state=3).fit(X, Y)
    assert bits(one) == bits(PartitionedFit(bag, max_iter=2, random_state=3).fit(X, Y))
    inner = PartitionedFit(EmbeddingBagClassifier(4, random_state=3), max_iter=2).fit(X, Y)
    assert bits(one) == bits(inner)


def test_metadata_are_routed():
    weight = np.random.default_rng(0).random(len(Y))
    bag = EmbeddingBagClassifier(**QUICK, early_stopping=False)
    want = bits(PartitionedFit(bag, max_iter=2).fit(X, Y, weight))
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(bag).set_fit_request(sample_weight=True)
        model = PartitionedFit(asks, max_iter=2).set_fit_request(sample_weight=True)
        assert bits(model.fit(X, Y, sample_weight=weight)) == want
        with pytest.raises(UnsetMetadataPassedError):
            PartitionedFit(bag, max_iter=2).fit(X, Y, sample_weight=weight)
        model.set_score_request(sample_weight=False)
        names = ("n_components", "local_steps")
        grid = {"estimator__n_components": [2, 3], "local_steps": ["epoch", 1]}
        search = GridSearchCV(model, grid, cv=2).fit(X, Y, sample_weight=weight)
        assert set(search.best_params_) == {f"estimator__{names[0]}", names[1]}


def test_plan_is_kept_beside_what_is_measured():
    class Plan:
        rounds, seconds, joules, bytes_up, bytes_down = 2.0, 1e9, 4.0, 2e3, 2e3

    bag = EmbeddingBagClassifier(**QUICK)
    with pytest.warns(RuntimeWarning, match=r"The plan is off: .* seconds were predicted"):
        model = PartitionedFit(bag, max_iter=3).fit(X, Y, plan=Plan())
    assert model.history_["predicted_bytes_up"] == [1e3] * 3
    assert model.history_["predicted_joules"] == [2.0] * 3


def test_end_of_rounds_is_told():
    bag = EmbeddingBagClassifier(**QUICK, early_stopping=False, tol=0.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 rounds"):
        PartitionedFit(bag, max_iter=2, compressor=TopK(ratio=0.5)).fit(X, Y)
