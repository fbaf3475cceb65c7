"""Estimators with vectors of fewer bits; vectors that go to other tools and come from them."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from fitted import BAGS, ESTIMATORS, FACTORIZATIONS, learned, predictions, small_data
from skembed import (
    EmbeddingBag,
    EmbeddingBagClassifier,
    FactorizationMachineClassifier,
    load_model,
    load_vectors,
    save_model,
)
from skembed.inspection import explain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
every_width = pytest.mark.parametrize("bits", [8, 16])
VARIANTS = {
    "max": (EmbeddingBagClassifier, dict(pooling="max")),
    "mean": (EmbeddingBagClassifier, dict(pooling="mean", linear_term=True)),
    "mlp": (EmbeddingBagClassifier, dict(hidden_layer_sizes=(4,), numeric_features=[1])),
    "ffm": (FactorizationMachineClassifier, dict(interaction="ffm", fields=[0, 1, 2] * 4)),
    "frozen": (EmbeddingBag, dict(frozen_features=[2, 3], padding_features=[1])),
}


# ---------------------------------------------------------------- fewer bits
def as_floats(quantized):
    """Return the estimator whose floats are what a quantized one stands for."""
    floats = copy.deepcopy(quantized)
    table = floats._state.params["table"]
    floats._state.params["table"] = table.table(np.arange(table.n_rows))
    return floats


@every_width
@every_estimator
def test_predicts_as_the_rounded_floats_do(cls, bits):
    X, y = small_data()
    fit = cls(**QUICK).fit(X, y)
    before = learned(fit)
    quantized = fit.quantize(bits)
    assert type(quantized) is cls and repr(quantized) == repr(fit)
    for rows in (X, X[:1]):
        floats = predictions(as_floats(quantized), rows)
        for (name, a), (_, b) in zip(predictions(quantized, rows), floats, strict=True):
            assert a.dtype == b.dtype and np.array_equal(a, b), name
    for (name, a), (_, b) in zip(predictions(quantized, X), predictions(fit, X), strict=True):
        assert np.allclose(a, b, atol=0.02), name
    assert learned(fit) == before, "the original stays as it is"


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(variant, n_jobs):
    cls, options = VARIANTS[variant]
    X, y = small_data()
    fit = cls(**options, **QUICK, n_jobs=n_jobs).fit(X, y)
    quantized = fit.quantize()
    floats = as_floats(quantized)
    for (name, a), (_, b) in zip(predictions(quantized, X), predictions(floats, X), strict=True):
        assert np.array_equal(a, b), name
    assert np.array_equal(quantized.embedding_, floats.embedding_)
    assert np.array_equal(quantized.active_features_, fit.active_features_)
    if cls is FactorizationMachineClassifier:
        assert explain(quantized, X[:1]).score == explain(floats, X[:1]).score


def test_blocks_of_rows(monkeypatch):
    X, y = small_data(300, 400)
    quantized = EmbeddingBagClassifier(**QUICK).fit(X, y).quantize()
    whole = quantized.decision_function(X)
    monkeypatch.setattr("skembed.estimators._fitted.BLOCK_VALUES", 50)
    assert np.array_equal(quantized.decision_function(X), whole)


@every_width
@every_estimator
def test_copies_and_files(cls, bits, tmp_path):
    X, y = small_data()
    quantized = cls(**QUICK).fit(X, y).quantize(bits)
    save_model(quantized, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(quantized)), load_model(tmp_path / "model")):
        assert other.quantization_ == quantized.quantization_
        assert other._state.params["table"].codes.itemsize == bits // 8
        pairs = zip(predictions(quantized, X), predictions(other, X), strict=True)
        assert all(np.array_equal(a, b) for (_, a), (_, b) in pairs)
    assert not clone(quantized).__sklearn_is_fitted__()


def test_size(tmp_path):
    X, y = small_data(400, 2_000, np.float32)
    fit = EmbeddingBagClassifier(64, max_iter=1).fit(X, y)
    n = len(fit.active_features_)
    head = (64 + 1) * 4
    for bits, width in ((8, 64 + 4), (16, 128 + 4)):
        quantized = fit.quantize(bits)
        assert quantized.quantization_.nbytes == n * width + head
        assert quantized.quantization_.nbytes_before == n * 256 + head
        save_model(quantized, tmp_path / "model")
        assert (tmp_path / "model").stat().st_size < n * (width + 12) + head + 4_000
        assert len(pickle.dumps(quantized)) < n * (width + 20) + head + 4_000


def test_training_goes_on_with_the_original_only():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    quantized = fit.quantize()
    before = [a.copy() for _, a in predictions(quantized, X)]
    with pytest.raises(ValueError, match=r"rounded by quantize\(\) and cannot be trained"):
        quantized.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"rounded by quantize\(\) and cannot be trained"):
        quantized.set_params(warm_start=True).fit(X, y)
    for a, (_, b) in zip(before, predictions(quantized, X), strict=True):
        assert np.array_equal(a, b)
    fit.partial_fit(X, y)
    for a, (_, b) in zip(before, predictions(quantized, X), strict=True):
        assert np.array_equal(a, b), "what the original learns later is not known to the other"
    anew = quantized.set_params(warm_start=False).fit(X, y)
    assert learned(anew) == learned(EmbeddingBagClassifier(**QUICK).fit(X, y))
    assert not hasattr(anew, "quantization_")


def test_measured_loss_of_score():
    X, y = small_data()
    weights = np.arange(60.0)
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    found = fit.quantize(8, X_val=X, y_val=y, sample_weight_val=weights)
    report = found.quantization_
    assert report.score_before == fit.score(X, y, weights)
    assert report.score == found.score(X, y, weights)
    assert report.score_loss == report.score_before - report.score
    assert 0 < report.relative_error < 0.01
    log_loss = fit.set_params(scoring="neg_log_loss").quantize(8, X_val=X, y_val=y).quantization_
    assert log_loss.score < 0 and log_loss.score_loss != 0
    assert "score" not in fit.quantize(16).quantization_


def test_refused():
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="bits must be 8 or 16, got 4"):
        fit.quantize(4)
    with pytest.raises(ValueError, match="rounded to 8 bits before"):
        fit.quantize().quantize(16)
    for options in (dict(X_val=X), dict(y_val=y), dict(sample_weight_val=y)):
        with pytest.raises(ValueError, match="X_val and y_val belong together"):
            fit.quantize(**options)
    with pytest.raises(TypeError, match="score"):
        EmbeddingBag(**QUICK).fit(X, y).quantize(X_val=X, y_val=y)
    with pytest.raises(AttributeError, match=r"that quantize\(\) returned"):
        _ = fit.quantization_


# ---------------------------------------------------------------- vectors of other tools
@pytest.mark.parametrize("cls", BAGS)
@pytest.mark.parametrize("end", [".vec", ".bin", ".npz", ".safetensors"])
def test_vectors_there_and_back(tmp_path, cls, end):
    X, y = small_data(n_features=30, dtype=np.float32)
    X = sp.csr_array(X[:, :20])
    X.resize((60, 30))  # ten columns are never seen
    fit = cls(**QUICK).fit(X, y)
    path = tmp_path / f"vectors{end}"
    fit.export_vectors(path)
    start = load_vectors(path, 30, seed=3)
    active = fit.active_features_
    assert np.array_equal(start[active].astype(np.float32), fit.active_embedding_)
    rest = np.delete(start, active, axis=0)
    assert len(rest) and (np.abs(rest) <= 1 / 3).all() and np.ptp(rest) > 0.3
    again = cls(**{**QUICK, "init": start, "frozen_features": "all"}).fit(X, y)
    assert np.array_equal(again.active_embedding_, fit.active_embedding_)


def test_drawn_vectors_are_those_of_uniform(tmp_path):
    X, y = small_data()
    kept = dict(frozen_features="all", **QUICK)
    uniform = EmbeddingBag(**kept).fit(X, y)
    uniform.export_vectors(tmp_path / "a.npz")
    other = load_vectors(tmp_path / "a.npz", ["0", *"abcdefghijk"], seed=uniform._state.seed)
    assert np.allclose(other, uniform.embedding_, rtol=1e-12)


def test_names(tmp_path):
    X, y = small_data()
    fit, path = EmbeddingBag(**QUICK).fit(X, y), tmp_path / "a.vec"
    names = [f"w{j}" for j in range(12)]
    fit.export_vectors(path, names=np.array(names, object))
    assert path.read_text().splitlines()[0] == "12 3"
    assert np.array_equal(load_vectors(path, names[::-1])[::-1], fit.embedding_)
    with pytest.raises(ValueError, match="names must hold one for each of 12 features, got 3"):
        fit.export_vectors(path, names=names[:3])
    with pytest.raises(ValueError, match="has the vector of none of 2 features"):
        load_vectors(path, ["x", "y"])


def test_names_of_a_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = small_data()
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=[f"a={j}" for j in range(12)])
    EmbeddingBag(**QUICK).fit(frame, y).export_vectors(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text().splitlines()[1].startswith("a=0 ")


@pytest.mark.parametrize("cls", FACTORIZATIONS)
def test_machines_export_the_vectors_of_all_fields(tmp_path, cls):
    X, y = small_data()
    fit = cls(interaction="ffm", fields=[0, 1, 2] * 4, **QUICK).fit(X, y)
    fit.export_vectors(tmp_path / "a.npz")
    start = load_vectors(tmp_path / "a.npz", 12)
    assert start.shape == (12, 9) and np.array_equal(start, fit.embedding_.reshape(12, 9))
    fit.quantize().export_vectors(tmp_path / "b.npz")
    assert np.allclose(load_vectors(tmp_path / "b.npz", 12), start, atol=1e-3)
