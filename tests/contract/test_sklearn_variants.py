"""scikit-learn's own checks on settings away from the defaults, without one expected failure."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from skembed import EmbeddingBag, EmbeddingBagClassifier, EmbeddingBagRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The vectors that fit_transform returns:UserWarning"),
]

CLASSIFIERS = [
    EmbeddingBagClassifier(loss="ova"),
    EmbeddingBagClassifier(hidden_layer_sizes=(16,)),
    EmbeddingBagClassifier(linear_term=True),
    EmbeddingBagClassifier(pooling="max"),
    EmbeddingBagClassifier(solver="adamw"),
    EmbeddingBagClassifier(solver="ftrl"),
    EmbeddingBagClassifier(early_stopping=True),
]
OTHERS = [
    # at the default rate the 15 rows of the check of weights end in oscillations, in which
    # differences of rounding grow without bound
    EmbeddingBagRegressor(loss="huber", learning_rate_init=0.02),
    EmbeddingBagRegressor(hidden_layer_sizes=(16,)),
    EmbeddingBagRegressor(early_stopping=True),
]
HINGE = {  # they call predict_proba
    "check_decision_proba_consistency",
    "check_classifiers_multilabel_output_format_predict_proba",
}
# estimators with the checks that do not apply to them
CROSS_FITTED = {  # fit_transform is not transform, by intention
    "check_transformer_general",
    "check_transformer_data_not_an_array",
}
SIX_COPIES = {  # of a row, for estimators with cv; equal rows stay on one side up to four
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
SOME = [
    (EmbeddingBagClassifier(loss="hinge"), HINGE),
    (EmbeddingBag(cv=2), CROSS_FITTED),
    (EmbeddingBag(early_stopping=True), SIX_COPIES),
]


def name_of(check):
    return getattr(check, "func", check).__name__


def some_checks():
    for estimator, left_out in SOME:
        for est, check in estimator_checks_generator(estimator):
            if name_of(check) not in left_out:
                yield pytest.param(est, check, id=f"{estimator}-{name_of(check)}")


@parametrize_with_checks(CLASSIFIERS)
def test_classifiers_pass(estimator, check):
    check(estimator)


@parametrize_with_checks(OTHERS)
def test_others_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator, check", list(some_checks()))
def test_those_pass_what_applies_to_them(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator, left_out", SOME, ids=[str(est) for est, _ in SOME])
def test_what_is_left_out_exists(estimator, left_out):
    assert left_out <= {name_of(check) for _, check in estimator_checks_generator(estimator)}
