"""Input that cannot be right is refused with a message, by every method and before any kernel."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from corruptions import CORRUPTIONS, calls
from fitted import ESTIMATORS, buffers, learned, small_data
from skembed import EmbeddingBagClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The vectors that fit_transform returns:UserWarning"),
]
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def refused(estimator, X, y, error, match):
    """Assert that every method refuses `X` and that neither it nor the estimator changes."""
    before, model = buffers(X), learned(estimator)
    for _, call in calls(estimator):
        with pytest.raises(error, match=match):
            call(X, y)
        assert learned(estimator) == model
    assert buffers(X) == before
    with pytest.raises(error, match=match):
        type(estimator)(**QUICK).fit(X, y)


@every_estimator
@pytest.mark.parametrize("title", CORRUPTIONS)
def test_broken_csr(cls, title):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    refused(fit, CORRUPTIONS[title](X), y, ValueError, "X has an invalid CSR structure: ")


def test_broken_csr_never_ends_the_process():
    tests = Path(__file__).parent.parent
    command = [sys.executable, "-W", "ignore", "corruptions.py"]
    root = {"PYTHONPATH": str(tests.parent)}
    run = subprocess.run(
        command, cwd=tests, env=os.environ | root, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == len(CORRUPTIONS) * (4 + 8 + 6 + 8 + 6)
    assert all("X has an invalid CSR structure: " in line for line in lines)


@pytest.mark.parametrize("form", ["csc", "bsr", "coo"])
@pytest.mark.parametrize("place, value", [(0, -1), (-1, 2**20)])
def test_broken_containers_of_other_formats(form, place, value):
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    X = X.asformat(form)
    (X.coords[1] if form == "coo" else X.indices)[place] = value
    refused(fit, X, y, ValueError, "X has an invalid CSR structure: ")


@pytest.mark.parametrize("change", ["indptr.ndim", "indptr.dtype", "indices.dtype"])
def test_index_arrays_that_are_none(change):
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    X = X.copy()
    if change == "indptr.ndim":
        X.indptr = X.indptr[:, None]
    elif change == "indptr.dtype":
        X.indptr = X.indptr.astype(float)
    else:
        X.indices = X.indices.astype(float)
    refused(fit, X, y, ValueError, "X has an invalid CSR structure: ")


@every_estimator
@pytest.mark.parametrize("ndim", [1, 3])
def test_arrays_of_other_dimensions(cls, ndim):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    other = sp.coo_array(np.ones((3,) * ndim))
    refused(fit, other, y, ValueError, "Expected 2D input")


@every_estimator
@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
@pytest.mark.parametrize("place", [0, 100, -1])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(cls, kind, place, value):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    X = X.asformat("csc" if kind == "csc" else "csr")
    X.data[place] = value
    X = X.toarray() if kind == "dense" else X
    match = "Input X contains NaN" if np.isnan(value) else "Input X contains infinity or a value"
    refused(fit, X, y, ValueError, match)


def test_nan_beside_stored_zeros():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    X.data[X.indptr[3] : X.indptr[4]] = 0
    X.data[X.indptr[4] - 1] = np.nan
    refused(fit, X, y, ValueError, "Input X contains NaN")


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_values_too_large_for_float32(kind):
    X, y = small_data(dtype=np.float32)
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    big = X.astype(np.float64)
    big.data[4] = 1e300
    big = big.toarray() if kind == "dense" else big
    for method in (fit.predict, fit.transform):
        with pytest.raises(ValueError, match="infinity or a value too large for dtype"):
            method(big)
    with pytest.raises(ValueError, match="infinity or a value too large for dtype"):
        fit.partial_fit(big, y)


@every_estimator
def test_no_samples(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    empty = sp.csr_array((0, 12))
    refused(fit, empty, y[:0], ValueError, r"Found array with 0 sample\(s\).*minimum of 1")


@every_estimator
def test_no_features(cls):
    _, y = small_data()
    for X in (sp.csr_array((60, 0)), np.empty((60, 0))):
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            cls(**QUICK).fit(X, y)


@every_estimator
@pytest.mark.parametrize("width", [11, 13])
def test_another_number_of_features(cls, width):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    match = f"X has {width} features, but {cls.__name__} is expecting 12 features as input"
    other, before = sp.csr_array((60, width)), learned(fit)
    for name, call in calls(fit):
        if not name.startswith("fit"):
            with pytest.raises(ValueError, match=match):
                call(other, y)
    assert learned(fit) == before


@every_estimator
def test_other_feature_names(cls):
    X, y = small_data()
    names = [f"f{j}" for j in range(12)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    fit = cls(**QUICK).fit(frame, y)
    before = learned(fit)
    reading = [call for name, call in calls(fit) if not name.startswith("fit")]
    for columns, match in ((names[::-1], "same order"), ([*names[:-1], "new"], "(?s)unseen.*new")):
        other = pd.DataFrame(X.toarray(), columns=columns)
        for call in reading:
            with pytest.raises(ValueError, match=match):
                call(other, y)
    assert learned(fit) == before
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fit.transform(X)
    plain = cls(**QUICK).fit(X, y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        plain.transform(frame)


@every_estimator
@pytest.mark.parametrize("X", [[["a", 1], ["b", 2]], ["good film", "bad film"]])
def test_text_is_refused_with_a_cure(cls, X):
    with pytest.raises(ValueError, match=r"(?i)vectorizer|FeatureHasher"):
        cls(**QUICK).fit(X, [0, 1])


@every_estimator
@pytest.mark.parametrize("kind", ["csr", "coo", "dense"])
def test_complex_values(cls, kind):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    X = X.astype(complex)
    X = X.toarray() if kind == "dense" else X.asformat(kind)
    refused(fit, X, y, ValueError, "Complex data not supported")


@every_estimator
def test_matrix_of_another_device(cls):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    fake = type("csr_matrix", (), {"__module__": "cupyx.scipy.sparse._csr", "shape": X.shape})()
    for _, call in calls(fit):
        with pytest.raises(TypeError, match=r"\.get\(\)"):
            call(fake, y)
