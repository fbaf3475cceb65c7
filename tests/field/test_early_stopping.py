"""Early stopping where one class is rare."""

import numpy as np
import pytest
import scipy.sparse as sp

from skembed import EmbeddingBagClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rare_class(n_rare):
    r = np.random.RandomState(0)
    X = sp.csr_matrix((r.rand(200, 8) < 0.3).astype(float))
    y = np.zeros(200, int)
    y[:n_rare] = 1
    return X, y


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_held_out_hold_every_class(seed):
    X, y = rare_class(10)
    seen = []

    def spy(estimator, X, y):
        seen.append((len(y), set(y.tolist())))
        return estimator.score(X, y)

    clf = EmbeddingBagClassifier(
        early_stopping=True, validation_fraction=0.1, scoring=spy, max_iter=2, random_state=seed
    )
    clf.fit(X, y)
    assert len(seen) == 2
    assert all(10 <= n <= 30 and classes == {0, 1} for n, classes in seen)


def test_a_class_of_one_row_cannot_be_split():
    X, y = rare_class(1)
    clf = EmbeddingBagClassifier(early_stopping=True, random_state=0)
    with pytest.raises(ValueError, match=r"one row.*cannot be split.*early_stopping='auto'"):
        clf.fit(X, y)
    assert not hasattr(clf, "classes_")
    clf.set_params(early_stopping="auto").fit(X, y)
    assert clf.validation_scores_
    assert clf.classes_.tolist() == [0, 1]
    assert EmbeddingBagClassifier(early_stopping=False, random_state=0).fit(X, y).n_iter_ > 1
