"""Copies of estimators, by every way that Python offers, hold the same numbers and go on alike.

Run as ``python tests/contract/test_saving.py`` to store what the present version pickles.
"""

import base64
import copy
import hashlib
import io
import lzma
import pickle
import re
import tempfile
import textwrap
from contextlib import nullcontext
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning

import skembed
from fitted import ESTIMATORS, FACTORIZATIONS, learned, predictions, small_data
from house import ROOT
from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    EmbeddingBagRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    FeatureHasher,
    HashingVectorizer,
    TruncatedSVD,
    load_model,
    save_model,
)
from skembed.losses import LOSSES, Quantile
from skembed.solvers import FTRL, SOLVERS, AdamW

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)


def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "pickle": lambda e: pickle.loads(pickle.dumps(e)),
    "old pickle": lambda e: pickle.loads(pickle.dumps(e, protocol=2)),
    "joblib": by_joblib,
    "cloudpickle": lambda e: cloudpickle.loads(cloudpickle.dumps(e)),
    "deepcopy": copy.deepcopy,
}


@every_estimator
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_copy_predicts_and_goes_on_with_the_same_bits(cls, way, solver):
    X, y = small_data()
    options = dict(solver=SOLVERS[solver](), learning_rate_init=0.05, frozen_features=[2], n_jobs=2)
    fit = cls(**options, **QUICK).fit(X[:30], y[:30])
    other = WAYS[way](fit)
    assert other is not fit
    assert repr(other) == repr(fit)
    assert learned(other) == learned(fit)
    for (name, a), (_, b) in zip(predictions(fit, X), predictions(other, X), strict=True):
        assert np.array_equal(a, b), name
    fit.partial_fit(X, y)
    assert learned(other) != learned(fit), "a copy does not move with the original"
    assert learned(other.partial_fit(X, y)) == learned(fit)
    a, b = (e.set_params(warm_start=True).fit(X, y) for e in (fit, other))
    assert learned(a) == learned(b)


@every_estimator
def test_unfitted_estimators(cls):
    X, y = small_data()
    fit = cls(**QUICK)
    for way in WAYS.values():
        assert learned(way(fit).fit(X, y)) == learned(cls(**QUICK).fit(X, y))
    clean = clone(fit.fit(X, y))
    assert not [name for name in vars(clean) if name.endswith("_")]
    assert not clean.__sklearn_is_fitted__()


@every_estimator
def test_pickle_holds_the_numbers_and_little_else(cls):
    X, y = small_data(300, 3_000)
    n, d = len(np.unique(X.indices)), 5
    fit = cls(n_components=d, max_iter=1, random_state=0).fit(X, y)
    width = d + (cls in FACTORIZATIONS)  # with a direct weight
    numbers = n * (width * 8 + width * 8 + 4 + 4 + 8 + 4)  # rows, Adagrad state, counters, ids
    assert n > 2_900
    assert len(pickle.dumps(fit)) < 1.02 * numbers + 8_000


# ---------------------------------------------------------------- other versions
STORED = Path(__file__).parent / "stored"


def to_store():
    """Return estimators to store, fitted, by name."""
    X, y = small_data()
    Y = sp.csr_array(np.random.default_rng(0).integers(0, 2, (60, 3)))
    fits = {
        "adagrad": EmbeddingBagClassifier(**QUICK, linear_term=True, class_weight={0: 1, 1: 2}),
        "mlp": EmbeddingBagRegressor(
            **QUICK, hidden_layer_sizes=(4,), solver=AdamW(), loss=Quantile(0.3)
        ),
        "numeric": EmbeddingBag(**QUICK, solver=FTRL(l1=1e-3), numeric_features=[1]),
        "machine": FactorizationMachineRegressor(**QUICK, solver="sgd"),
        "fields": FactorizationMachineClassifier(
            **QUICK, interaction="ffm", fields=[0, 1, 2] * 4, frozen_features=[2], min_count=2
        ),
    }
    fits = {name: fit.fit(X, y) for name, fit in fits.items()}
    fits["labels"] = EmbeddingBagClassifier(**QUICK, solver="lazy_adam").fit(X, Y)
    three = np.arange(60) % 3
    fits["sampled"] = EmbeddingBagClassifier(**QUICK, loss="negative_sampling").fit(X, three)
    fits["bits"] = fits["adagrad"].quantize(8)
    fits["svd"] = TruncatedSVD(3, random_state=0).partial_fit(X)
    hasher = FeatureHasher(2**8, input_type="string", store_names=True)
    fits["hasher"] = hasher.fit([["a", "b"], ["a"]])
    return fits


def digest(fit):
    """Return a digest of what a fit has learned, where it has a table of floats."""
    if not hasattr(fit, "active_features_") or hasattr(fit, "quantization_"):
        return None
    return hashlib.sha256(repr(sorted(learned(fit).items())).encode()).hexdigest()


def results(fit, X):
    """Return what a fit predicts, as dense arrays."""
    rows = [["a", "b"], ["c"]] if isinstance(fit, FeatureHasher) else X
    return {n: a @ np.eye(a.shape[1]) if sp.issparse(a) else a for n, a in predictions(fit, rows)}


def store():
    """Write the fits of this version, as pickles and model files, and what they predict."""
    found, (X, y) = {}, small_data()
    for name, fit in to_store().items():
        with tempfile.TemporaryDirectory() as folder:
            save_model(fit, Path(folder) / "model", include_state=True)
            model = (Path(folder) / "model").read_bytes()
        found[name] = {
            "pickle": pickle.dumps(fit, protocol=4), "model": model,
            "learned": digest(fit), "results": results(fit, X),
        }  # fmt: skip
    content = lzma.compress(pickle.dumps({"X": X, "y": y, "fits": found}, protocol=4))
    lines = textwrap.wrap(base64.urlsafe_b64encode(content).decode(), 100)
    (STORED / f"{skembed.__version__}.txt").write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize("path", sorted(STORED.glob("*.txt")), ids=lambda path: path.stem)
def test_what_other_versions_have_stored(path, tmp_path):
    content = base64.urlsafe_b64decode(path.read_text().replace("\n", ""))
    stored = pickle.loads(lzma.decompress(content))
    X, y = stored["X"], stored["y"]
    for name, kept in stored["fits"].items():
        (tmp_path / "model").write_bytes(kept["model"])
        other = path.stem != skembed.__version__
        with pytest.warns(InconsistentVersionWarning) if other else nullcontext():
            unpickled = pickle.loads(kept["pickle"])
        for fit in (unpickled, load_model(tmp_path / "model")):
            assert digest(fit) == kept["learned"], name
            for method, found in results(fit, X).items():
                expected = kept["results"][method]
                assert found.dtype == expected.dtype and found.shape == expected.shape
                close = (
                    found == expected if found.dtype.kind == "U" else np.isclose(found, expected)
                )
                assert close.all(), (name, method)
            if name in ("adagrad", "mlp", "numeric", "machine", "fields"):
                fit.partial_fit(X, y)


def test_this_version_is_stored():
    assert (STORED / f"{skembed.__version__}.txt").exists(), "run this file"


def with_version(fit, version):
    """Return a pickle that another version could have made."""
    state = fit.__getstate__()
    assert state["_skembed_version"] == skembed.__version__
    state.pop("_skembed_version")
    if version is not None:
        state["_skembed_version"] = version
    other = type(fit).__new__(type(fit))
    return other, state


@pytest.mark.parametrize("version", ["0.0.9", "0.99.1", None])
def test_other_versions_warn(version):
    X, y = small_data()
    for fit in (EmbeddingBag(**QUICK).fit(X, y), TruncatedSVD(), FeatureHasher()):
        other, state = with_version(fit, version)
        with pytest.warns(InconsistentVersionWarning, match="was pickled by skembed") as caught:
            other.__setstate__(state)
        assert (version or "before 0.1") in str(caught[0].message)
        assert repr(other) == repr(fit) and "_skembed_version" not in vars(other)


def test_a_newer_major_version_raises():
    other, state = with_version(HashingVectorizer(), "1.0.0")
    with pytest.raises(ValueError, match=r"pickled by skembed 1\.0\.0, which .* Upgrade skembed"):
        other.__setstate__(state)


def test_what_old_pickles_lack_gets_its_default():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    other, state = with_version(fit, skembed.__version__)
    del state["refit"], state["class_weight"]
    inner = vars(copy.deepcopy(fit._state))
    del inner["fields"], inner["class_counts"]
    state["_state"] = type(fit._state).__new__(type(fit._state))
    state["_state"].__setstate__(inner)
    other.__setstate__(state)
    assert other.get_params() == fit.get_params()
    assert learned(other.partial_fit(X, y)) == learned(fit.partial_fit(X, y))


# ---------------------------------------------------------------- skops
def test_skops_trusts_the_types_that_the_page_lists():
    skops = pytest.importorskip("skops.io")
    page = (ROOT / "docs" / "model-files.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"<!-- types -->\n```\n(.*?)```", page, re.DOTALL)
    listed, found, (X, y) = block.split(), set(), small_data()
    fits = to_store()
    for name, cls in SOLVERS.items():
        fits[name] = EmbeddingBagRegressor(**QUICK, solver=cls()).fit(X, y)
    for name, cls in LOSSES.items():
        kind = EmbeddingBagClassifier if cls.targets == "classes" else EmbeddingBagRegressor
        target = np.arange(60) % 3 if name == "softmax" else y
        fits[name] = kind(**QUICK, loss=cls()).fit(X, target)
    fits["vectorizer"] = HashingVectorizer()
    for name, fit in fits.items():
        raw = skops.dumps(fit)
        found.update(skops.get_untrusted_types(data=raw))
        other = skops.loads(raw, trusted=listed)
        assert digest(other) == digest(fit), name
        for method, expected in results(fit, X).items() if name != "vectorizer" else ():
            assert np.array_equal(results(other, X)[method], expected), (name, method)
    assert listed == sorted(found)


if __name__ == "__main__":
    store()
