"""scikit-learn's own checks, without one expected failure, and those its generator leaves out."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import estimator_checks as checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    FeatureHasher,
    HashingVectorizer,
    PartitionedFit,
    TruncatedSVD,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The vectors that fit_transform returns:UserWarning"),
]

DEFAULTS = [
    EmbeddingBag(),
    EmbeddingBagClassifier(),
    EmbeddingBagRegressor(),
    FactorizationMachineClassifier(),
    FactorizationMachineRegressor(),
    PartitionedFit(EmbeddingBagClassifier()),
    PartitionedFit(EmbeddingBagRegressor()),
    TruncatedSVD(),
]
VARIANTS = [
    EmbeddingBagClassifier(solver="lazy_adam"),
    EmbeddingBagClassifier(solver="rowwise_adagrad"),
    EmbeddingBagClassifier(solver="sgd"),
    EmbeddingBag(loss="cooccurrence"),
    EmbeddingBagClassifier(pooling="mean"),
    EmbeddingBagClassifier(pooling="sum"),
    EmbeddingBagClassifier(n_jobs=2),
    FactorizationMachineClassifier(interaction="ffm"),
    FactorizationMachineRegressor(interaction="ffm"),
    FactorizationMachineRegressor(normalize_rows=False),
    TruncatedSVD(1, algorithm="arpack"),
    TruncatedSVD(n_iter="auto", tol="auto", n_jobs=2),
]
HASHERS = [  # the checks bring arrays; those of records are in tests/hashing
    FeatureHasher(64, input_type="table"),
    FeatureHasher(64, input_type="csr"),
    FeatureHasher(64, input_type="table", store_names=True, n_hashes=2),
]
LEFT_OUT = [
    checks.check_param_validation,
    checks.check_dataframe_column_names_consistency,
    checks.check_transformer_get_feature_names_out,
    checks.check_transformer_get_feature_names_out_pandas,
    checks.check_get_feature_names_out_error,
    checks.check_set_output_transform,
    checks.check_set_output_transform_pandas,
    checks.check_set_output_transform_polars,
    checks.check_global_output_transform_pandas,
    checks.check_global_set_output_transform_polars,
    checks.check_inplace_ensure_writeable,
]
OF_TEXT = [  # the generator has none for estimators that take texts
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_estimator_tags_renamed,
    checks.check_estimators_unfitted,
    checks.check_get_params_invariance,
    checks.check_mixin_order,
    checks.check_no_attributes_set_in_init,
    checks.check_param_validation,
    checks.check_parameters_default_constructible,
    checks.check_set_params,
    checks.check_transformers_unfitted,
    checks.check_valid_tag_types,
]


@parametrize_with_checks(DEFAULTS)
def test_defaults_pass(estimator, check):
    check(estimator)


@parametrize_with_checks([*VARIANTS, *HASHERS])
def test_variants_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
@pytest.mark.parametrize("estimator", [*DEFAULTS, *HASHERS], ids=str)
@pytest.mark.parametrize("check", LEFT_OUT, ids=lambda check: check.__name__)
def test_checks_that_the_generator_leaves_out(estimator, check):
    if hasattr(estimator, "set_output") or "output_transform" not in check.__name__:
        check(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize("estimator", HASHERS, ids=str)
def test_sparse_output_needs_no_container(estimator):
    assert not hasattr(estimator, "set_output"), "as scikit-learn's"
    with sklearn.config_context(transform_output="pandas"):
        assert sp.issparse(clone(estimator).fit_transform(np.eye(3)))


@pytest.mark.parametrize("check", OF_TEXT, ids=lambda check: check.__name__)
def test_checks_of_estimators_of_texts(check):
    check("HashingVectorizer", HashingVectorizer())


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data():
    r = np.random.default_rng(0)
    X = sp.csr_array((r.random((90, 12)) < 0.3) * r.integers(1, 4, (90, 12)).astype(float))
    return X, r.integers(0, 2, 90), r.integers(0, 4, 90).astype(float)


def bits(estimator):
    """Everything a fit has learned, as bytes."""
    parts = (estimator.embedding_, estimator.coef_, estimator.intercept_)
    return b"".join(part.tobytes() for part in parts)


QUICK = dict(max_iter=2, random_state=0)


@pytest.mark.parametrize("cls", [EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor])
def test_weights_are_routed_through_a_pipeline(routing, data, cls):
    X, y, w = data
    model = make_pipeline(MaxAbsScaler(), cls(4, **QUICK).set_fit_request(sample_weight=True))
    got = bits(model.fit(X, y, sample_weight=w)[-1])
    scaled = MaxAbsScaler().fit_transform(X)
    assert got == bits(cls(4, **QUICK).fit(scaled, y, sample_weight=w))
    assert got != bits(cls(4, **QUICK).fit(scaled, y))


def test_weights_reach_a_transformer_and_the_model_after_it(routing, data):
    X, y, w = data
    bag = EmbeddingBag(4, **QUICK).set_fit_request(sample_weight=True)
    last = LogisticRegression().set_fit_request(sample_weight=True)
    model = make_pipeline(bag, last).fit(X, y, sample_weight=w)
    alone = EmbeddingBag(4, **QUICK).fit(X, y, w)
    assert bits(model[0]) == bits(alone)
    want = LogisticRegression().fit(alone.transform(X), y, w)
    assert np.array_equal(model[-1].coef_, want.coef_)


def test_weights_are_routed_through_a_search(routing, data):
    X, y, w = data
    clf = EmbeddingBagClassifier(4, **QUICK)
    clf.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(clf, {"n_components": [2, 3]}, cv=KFold(2)).fit(X, y, sample_weight=w)
    best = EmbeddingBagClassifier(**search.best_params_, **QUICK)
    assert bits(search.best_estimator_) == bits(best.fit(X, y, w))
    train, test = next(KFold(2).split(X))
    first = EmbeddingBagClassifier(2, **QUICK).fit(X[train], y[train], w[train])
    score = first.score(X[test], y[test], w[test])
    assert search.cv_results_["split0_test_score"][0] == score


def test_weights_are_routed_through_cross_validation(routing, data):
    X, y, w = data
    clf = EmbeddingBagClassifier(4, **QUICK)
    clf.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    out = cross_validate(clf, X, y, cv=KFold(2), params={"sample_weight": w}, return_estimator=True)
    for fitted, (train, _) in zip(out["estimator"], KFold(2).split(X), strict=True):
        again = EmbeddingBagClassifier(4, **QUICK).fit(X[train], y[train], w[train])
        assert bits(fitted) == bits(again)


def test_weights_that_nobody_asked_for_are_refused(routing, data):
    X, y, w = data
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(EmbeddingBagClassifier(), X, y, params={"sample_weight": w})


@pytest.mark.parametrize("cls", [EmbeddingBag, EmbeddingBagClassifier])
def test_partial_fit_has_requests_of_its_own(routing, cls):
    asked = cls().set_partial_fit_request(sample_weight=True, classes=False)
    requests = asked.get_metadata_routing().partial_fit.requests
    assert requests == {"sample_weight": True, "classes": False}
