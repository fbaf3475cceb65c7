"""Model files: what is saved comes back with the same bits, and what is damaged is refused."""

import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD as SklearnSVD
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import skembed
from fitted import BAGS, ESTIMATORS, FACTORIZATIONS, learned, predictions, small_data
from model_files import joined, parts, signed
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
    load_model,
    save_model,
)
from skembed.losses import LOSSES, Huber, LogLoss, NegativeSampling, Quantile
from skembed.partition import JoblibEngine
from skembed.solvers import SGD, SOLVERS, LazyAdam

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TESTS = Path(__file__).parent.parent
QUICK = dict(n_components=3, max_iter=3, batch_size=16, random_state=0)
INVALID = r"is not a valid skembed file: ."


def reloaded(estimator, path, **options):
    save_model(estimator, path, **options)
    return load_model(path)


def assert_same(a, b, X):
    a_text, b_text = (re.sub("at 0x[0-9A-F]+", "", repr(e)) for e in (a, b))
    assert a_text == b_text and type(a) is type(b)
    for (name, x), (_, y) in zip(predictions(a, X), predictions(b, X), strict=True):
        if sp.issparse(x):
            assert (x != y).nnz == 0 and x.dtype == y.dtype, name
        else:
            assert x.dtype == y.dtype and np.array_equal(x, y), name


# ---------------------------------------------------------------- there and back
@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_with_its_state_an_estimator_goes_on_with_the_same_bits(tmp_path, cls, solver):
    X, y = small_data(dtype=np.float32 if solver == "lazy_adam" else np.float64)
    options = dict(solver=SOLVERS[solver](), learning_rate_init=0.05, frozen_features=[2])
    fit = cls(**options, **QUICK).fit(X[:30], y[:30])
    before = learned(fit)
    other = reloaded(fit, tmp_path / "model", include_state=True)
    assert learned(fit) == before == learned(other)
    assert_same(fit, other, X)
    assert learned(other.partial_fit(X, y)) == learned(fit.partial_fit(X, y))
    a, b = (e.set_params(warm_start=True).fit(X, y) for e in (fit, other))
    assert learned(a) == learned(b)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_without_its_state_an_estimator_predicts_the_same_bits(tmp_path, cls):
    X, y = small_data(300, 40)
    fit = cls(**QUICK, solver="lazy_adam").fit(X, y)
    other = reloaded(fit, tmp_path / "model")
    assert_same(fit, other, X)
    assert np.array_equal(fit.n_updates_, other.n_updates_)
    assert fit.loss_curve_ == other.loss_curve_
    small = (tmp_path / "model").stat().st_size
    with pytest.raises(ValueError, match=r"save_model without include_state=True"):
        other.partial_fit(X, y)
    save_model(fit, tmp_path / "model", include_state=True)
    assert (tmp_path / "model").stat().st_size > 1.5 * small
    assert fit.partial_fit(X, y), "the one that was saved keeps its state"


Y3 = np.array(["a", "b", "é"])[np.arange(60) % 3]
LABELS = np.random.default_rng(0).integers(0, 2, (60, 4))
VARIANTS = {
    "three classes": (EmbeddingBagClassifier, {}, Y3),
    "labels": (EmbeddingBagClassifier, {}, LABELS),
    "sparse labels": (EmbeddingBagClassifier, dict(linear_term=True), sp.csr_array(LABELS)),
    "sampled": (
        EmbeddingBagClassifier,
        dict(loss=NegativeSampling(n_negatives=5), hidden_layer_sizes=(4,)),
        Y3,
    ),
    "layers": (
        EmbeddingBagRegressor,
        dict(hidden_layer_sizes=[5, 4], numeric_features=[0, 3], loss=Quantile(0.3)),
        LABELS[:, :2].astype(float),
    ),
    "huber": (EmbeddingBagRegressor, dict(loss=Huber(), solver=SGD(momentum=0.9)), Y3 == "a"),
    "mask": (EmbeddingBag, dict(padding_features=np.arange(12) == 3, pooling="max"), Y3),
    "weights": (EmbeddingBagClassifier, dict(class_weight={"a": 2.0, "b": 1, "é": 0.5}), Y3),
    "bool": (EmbeddingBagClassifier, dict(class_weight={False: 1, True: 2.5}), Y3 == "a"),
    "objects": (EmbeddingBagClassifier, {}, Y3.astype(object)),
    "wide": (EmbeddingBagClassifier, dict(min_count=2, loss=LogLoss()), Y3),
    "fields": (
        FactorizationMachineClassifier,
        dict(interaction="ffm", fields=["x", "y", "z"] * 4),
        Y3,
    ),
    "no direct weights": (
        FactorizationMachineRegressor,
        dict(linear_term=False, loss="poisson"),
        LABELS[:, 0],
    ),
    "random state": (EmbeddingBag, dict(random_state=np.random.RandomState(3)), Y3),
    "from an array": (EmbeddingBag, dict(init=np.full((12, 3), 0.25, np.float32)), Y3),
    "from an SVD": (EmbeddingBag, dict(init=TruncatedSVD(3, random_state=0)), Y3),
}


@pytest.mark.parametrize("include_state", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(tmp_path, variant, include_state):
    cls, options, y = VARIANTS[variant]
    X, _ = small_data()
    fit = cls(**{**QUICK, **options}).fit(X, y)
    other = reloaded(fit, tmp_path / "model", include_state=include_state)
    assert_same(fit, other, X)
    if cls in (EmbeddingBagClassifier, FactorizationMachineClassifier):
        assert other.classes_.dtype == fit.classes_.dtype
        assert np.array_equal(other.classes_, fit.classes_)
    if include_state:
        assert learned(fit) == learned(other)
        assert learned(other.partial_fit(X, y)) == learned(fit.partial_fit(X, y))


def test_start_that_was_fitted(tmp_path):
    X, y = small_data()
    start = FrozenEstimator(EmbeddingBag(**QUICK).fit(X, y))
    fit = EmbeddingBag(**{**QUICK, "init": start, "frozen_features": "all"}).fit(X, y)
    other = reloaded(fit, tmp_path / "model")
    assert_same(fit, other, X)
    assert learned(other.fit(X, y)) == learned(fit.fit(X, y))


@pytest.mark.parametrize("n_features", [13, 2**30, 2**40])
def test_many_columns_grown_later(tmp_path, n_features):
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr), (60, n_features))
    fit.partial_fit(wide, y, grow=True)
    other = reloaded(fit, tmp_path / "model", include_state=True)
    assert learned(other) == learned(fit)
    assert_same(fit, other, wide)


def test_names_and_output_of_frames(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = small_data()
    frame = pd.DataFrame(X @ np.eye(12), columns=[f"a{j}" for j in range(12)])
    fit = EmbeddingBag(numeric_features=frame.columns[:2], **QUICK).fit(frame, y)
    fit.set_output(transform="pandas")
    other = reloaded(fit, tmp_path / "model")
    assert np.array_equal(other.feature_names_in_, fit.feature_names_in_)
    assert other.feature_names_in_.dtype == object
    pd.testing.assert_frame_equal(other.transform(frame), fit.transform(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        other.transform(frame[frame.columns[::-1]])


def test_truncated_svd_goes_on_with_the_same_bits(tmp_path):
    X, _ = small_data(200, 150)
    for fit in (TruncatedSVD(4, random_state=0).fit(X), TruncatedSVD(4).partial_fit(X)):
        other = reloaded(fit.set_params(random_state=0), tmp_path / "model")
        assert repr(other) == repr(fit)
        for _ in range(2):
            assert np.array_equal(other.transform(X), fit.transform(X))
            assert np.array_equal(other.components_, fit.components_)
            assert np.array_equal(other.explained_variance_ratio_, fit.explained_variance_ratio_)
            assert (other.n_iter_, other.n_samples_seen_) == (fit.n_iter_, fit.n_samples_seen_)
            fit.partial_fit(X[:50])
            other.partial_fit(X[:50])


def test_hashers(tmp_path):
    words = [["a", "b", "ü"], ["a"], ["\ud800"]]
    hasher = FeatureHasher(2**10, input_type="string", store_names=True, dtype=np.float32)
    other = reloaded(hasher.fit(words[:2]), tmp_path / "model")
    assert repr(other) == repr(hasher) and other.dtype is np.float32
    assert (other.transform(words[:2]) != hasher.transform(words[:2])).nnz == 0
    assert other.collision_report() == hasher.collision_report()
    hasher.partial_fit(words[1:2])
    other.partial_fit(words[1:2])
    assert list(other._ledger.entries.items()) == list(hasher._ledger.entries.items())
    vectorizer = HashingVectorizer(n_features=2**8, ngram_range=(1, 2), stop_words=["the"])
    other = reloaded(vectorizer, tmp_path / "model")
    assert repr(other) == repr(vectorizer)
    assert (other.transform(["the a cat"]) != vectorizer.transform(["the a cat"])).nnz == 0


def test_pipeline(tmp_path):
    texts, y = ["good film", "bad film", "good play", "bad play"] * 5, ["yes", "no"] * 10
    model = make_pipeline(HashingVectorizer(), EmbeddingBagClassifier(**QUICK)).fit(texts, y)
    other = reloaded(model, tmp_path / "model")
    assert np.array_equal(other.predict_proba(texts), model.predict_proba(texts))
    with pytest.raises(TypeError, match=r"Pipeline\.params\.steps\[0\]\[1\] is .* LogisticRegr"):
        save_model(make_pipeline(LogisticRegression()).fit(*small_data()), tmp_path / "model")


def test_every_public_estimator_can_be_saved():
    from skembed.estimators._saving import ESTIMATORS as SAVED

    public = (getattr(skembed, name) for name in skembed.__all__)
    ours = {obj.__name__ for obj in public if isinstance(obj, type) and hasattr(obj, "fit")}
    assert {*SAVED, "PartitionedFit"} == ours  # of the last its estimator_ is saved


# ---------------------------------------------------------------- what is not saved
class OwnSolver(LazyAdam):
    """A solver that no file can name."""


REFUSED = {
    "function": (dict(scoring=lambda *a: 0.0), r"Classifier\.params\.scoring is a function"),
    "own solver": (dict(solver=OwnSolver()), r"params\.solver is of the class OwnSolver"),
    "other estimator": (
        dict(init=FrozenEstimator(SklearnSVD(2))),
        r"params\.init\.params\.estimator is of the class TruncatedSVD",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path, case):
    options, message = REFUSED[case]
    X, y = small_data()
    fit = EmbeddingBagClassifier(**QUICK).fit(X, y).set_params(**options)
    with pytest.raises(TypeError, match=message):
        save_model(fit, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_refused_for_other_reasons(tmp_path):
    X, y = small_data()
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        save_model(EmbeddingBag(), path)
    with pytest.raises(TypeError, match=r"tokenizer is a function.*never code"):
        save_model(HashingVectorizer(tokenizer=str.split, token_pattern=None), path)
    with pytest.raises(TypeError, match="LogisticRegression is of the class"):
        save_model(LogisticRegression().fit(X, y), path)
    fit = EmbeddingBag(**QUICK).fit(X, y)
    fit.more = 1
    with pytest.raises(TypeError, match="This EmbeddingBag has more, which"):
        save_model(fit, path)
    with pytest.raises(ValueError, match="The 'n_components' parameter"):
        save_model(EmbeddingBag(**QUICK).fit(X, y).set_params(n_components=-1), path)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- files that are unsound
@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """The bytes of a model file with its state, most of them in its header."""
    X, y = small_data()
    path = tmp_path_factory.mktemp("sound") / "model"
    fit = EmbeddingBagClassifier(3, max_iter=2, random_state=0, linear_term=True).fit(X, y)
    save_model(fit, path, include_state=True)
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    """Return what loads a model from bytes."""

    def load(raw):
        path = tmp_path / "model"
        path.write_bytes(raw)
        return load_model(path)

    return load


@pytest.fixture
def refused(load):
    """Return what checks that bytes are refused without taking more than twice their memory."""
    tracemalloc.start()

    def refused(raw, message=INVALID, more=8_192):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            load(raw)
            pytest.fail("it was taken for a sound file")
        except ValueError as error:
            text = str(error)
        taken = tracemalloc.get_traced_memory()[1] - before
        assert taken <= 2 * len(raw) + more, f"{taken} bytes for a file of {len(raw)}"
        assert re.search(INVALID, text) and re.search(message, text), text

    yield refused
    tracemalloc.stop()


def header_length(raw):
    return 8 + int.from_bytes(raw[:8], "little")


def test_every_byte_of_the_header_counts(raw, refused):
    for i in range(header_length(raw)):
        changed = bytearray(raw)
        changed[i] ^= 1 << i % 8
        refused(bytes(changed))


def test_cut_off_at_every_section(raw, refused):
    header, _ = parts(raw)
    start = header_length(raw)
    ends = {
        start + end for name in header if name[0] != "_" for end in header[name]["data_offsets"]
    }
    for n in {0, 1, 7, 8, 9, 33, 40, 41, start - 1, *ends, len(raw) - 1} - {len(raw)}:
        refused(raw[:n])
    refused(raw + b"\0")


def test_ten_thousand_fuzzed_files(raw, refused):
    r = np.random.default_rng(0)
    start = header_length(raw)
    for case in range(10_000):
        changed = bytearray(raw)
        kind = case % 4
        if kind == 0:  # bytes anywhere
            for i in r.integers(0, len(raw), r.integers(1, 20)):
                changed[i] ^= int(r.integers(1, 256))
        elif kind == 1:  # bytes of the header
            for i in r.integers(0, start, r.integers(1, 20)):
                changed[i] ^= int(r.integers(1, 256))
        elif kind == 2:  # bytes that are missing
            lo = int(r.integers(0, len(raw)))
            del changed[lo : lo + int(r.integers(1, 200))]
        else:  # bytes that are there twice
            lo = int(r.integers(0, len(raw)))
            changed[lo:lo] = changed[lo : lo + int(r.integers(1, 200))] or b"\0"
        refused(bytes(changed))


def test_fuzzed_files_with_the_right_checksum_are_refused_or_can_be_used(raw, load):
    X, _ = small_data()
    r = np.random.default_rng(0)
    start, loaded = header_length(raw), 0
    for _ in range(600):
        changed = bytearray(raw)
        at = int(r.integers(41, start if r.random() < 0.8 else len(raw)))
        digit = changed[at] in b"0123456789" and r.random() < 0.9
        changed[at] = int(r.integers(48, 58)) if digit else int(r.integers(0, 256))
        try:
            fit = load(signed(bytes(changed)))
        except ValueError as error:
            assert "is not a valid skembed file: " in str(error)
            continue
        loaded += 1
        if fit.n_features_in_ == 12:
            fit.predict(X)
    assert loaded > 5, "some changes are those of a number"


def test_code_is_not_run(load, refused, tmp_path):
    class Bad:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    refused(pickle.dumps(Bad()))
    payload = pickle.dumps(Bad())
    refused(len(payload).to_bytes(8, "little") + payload)
    refused(b"\x93NUMPY\x01\0" + payload * 10)
    assert not (tmp_path / "made").exists()


def changed_model(raw, old, new):
    header, data = parts(raw)
    text = header["__metadata__"]["model"]
    assert text.count(old) == 1, text
    header["__metadata__"]["model"] = text.replace(old, new)
    return joined(header, data)


def set_numbers(raw, name, change):
    """Return a model file with numbers of an array changed in place."""
    header, data = parts(raw)
    (full,) = [n for n in header if n.endswith(name)]
    lo, hi = header[full]["data_offsets"]
    dtype = {"F64": "<f8", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2"}
    array = np.frombuffer(data[lo:hi], dtype[header[full]["dtype"]]).copy()
    change(array)
    return joined(header, data[:lo] + array.tobytes() + data[hi:])


def swap(array):
    array[[0, 1]] = array[[1, 0]]


UNSOUND = {
    "unknown class": (
        lambda raw: changed_model(raw, '["EmbeddingBagClassifier"', '["os.system"'), "unknown class"
    ),
    "class of Python": (
        lambda raw: changed_model(raw, '["EmbeddingBagClassifier"', '["str"'), "unknown class"
    ),
    "unknown loss": (lambda raw: changed_model(raw, '"name":"log_loss"', '"name":"x"'), "no loss"),
    "unknown parameter": (
        lambda raw: changed_model(raw, '["batch_size","auto"]', '["x",1]'), "unexpected"
    ),
    "invalid parameter": (
        lambda raw: changed_model(raw, '["max_iter",2]', '["max_iter",-2]'), "'max_iter' parameter"
    ),
    "unknown attribute": (lambda raw: changed_model(raw, '["_target"', '["predict"'), "attributes"),
    "other features": (
        lambda raw: changed_model(raw, '["n_features_in_",12]', '["n_features_in_",13]'),
        "features are other ones",
    ),
    "other pooling": (
        lambda raw: changed_model(raw, '"pooling":"sqrtn"', '"pooling":"all"'), "pooling is unknown"
    ),
    "more direct weights": (
        lambda raw: changed_model(raw, '"n_linear":1', '"n_linear":3'), "coef_0 has shape"
    ),
    "state of another stride": (
        lambda raw: changed_model(raw, '"padded":true', '"padded":false'), "padded in another way"
    ),
    "attribute of a state": (
        lambda raw: changed_model(raw, '"best_epoch":2', '"best_epoch":2,"copy":1'), "it has copy"
    ),
    "column out of range": (
        lambda raw: set_numbers(raw, "index.columns", lambda a: a.__setitem__(-1, 12)),
        "column is out of range",
    ),
    "columns that do not ascend": (lambda raw: set_numbers(raw, "index.columns", swap), "ascend"),
    "row out of range": (
        lambda raw: set_numbers(raw, "index.rows", lambda a: a.__setitem__(0, 50)), "out of range"
    ),
    "row twice": (
        lambda raw: set_numbers(raw, "index.rows", lambda a: a.__setitem__(0, a[1])), "there twice"
    ),
    "NaN in the table": (
        lambda raw: set_numbers(raw, "table.rows", lambda a: a.__setitem__(5, np.nan)), "not finite"
    ),
    "infinity in the head": (
        lambda raw: set_numbers(raw, "params.coef_0", lambda a: a.__setitem__(0, np.inf)),
        "not finite",
    ),
    "NaN in the state": (
        lambda raw: set_numbers(raw, "table.sum_sq.rows", lambda a: a.__setitem__(0, np.nan)),
        "not finite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSOUND)
def test_unsound_but_with_the_right_checksum(raw, refused, case):
    change, message = UNSOUND[case]
    refused(change(raw), message, more=100_000)


def described(raw, change):
    """Return a model file whose description of the table is changed, with the right checksum."""
    header, data = parts(raw)
    (name,) = [name for name in header if name.endswith("params.table.rows")]
    change(header[name], header)
    return joined(header, data)


PLACES = {
    "negative offset": lambda e, h: e["data_offsets"].__setitem__(0, -8),
    "overlap": lambda e, h: e["data_offsets"].__setitem__(0, e["data_offsets"][0] - 8),
    "beyond the end": lambda e, h: e["data_offsets"].__setitem__(1, 10**15),
    "huge shape": lambda e, h: e["shape"].__setitem__(0, 10**15),
    "turned shape": lambda e, h: e.__setitem__("shape", e["shape"][::-1]),
    "flat": lambda e, h: e.__setitem__("shape", [int(np.prod(e["shape"]))]),
    "other dtype": lambda e, h: e.__setitem__("dtype", "I64"),
    "missing": lambda e, h: h.pop(next(n for n in h if n.endswith("params.coef_0"))),
    "not ours": lambda e, h: h["__metadata__"].__setitem__("format", "pt"),
    "no version": lambda e, h: h["__metadata__"].pop("format_version"),
    "newer": lambda e, h: h["__metadata__"].__setitem__("format_version", "2"),
}


@pytest.mark.parametrize("case", PLACES)
def test_other_places_and_shapes(raw, refused, case):
    message = {"newer": r"it has format 2, of skembed .*Upgrade skembed", "not ours": "written by"}
    refused(described(raw, PLACES[case]), message.get(case, "."), more=100_000)


def test_an_array_is_used_once(raw, refused):
    header, data = parts(raw)
    text = header["__metadata__"]["model"]
    (name,) = [name for name in header if name.endswith("index.counts")]
    (other,) = [name for name in header if name.endswith("index.rows")]
    header["__metadata__"]["model"] = text.replace(f'"{name}"', f'"{other}"')
    refused(joined(header, data), "uses it twice", more=100_000)


# ---------------------------------------------------------------- trouble while saving
def test_a_full_disk_keeps_the_old_model(tmp_path):
    resource = pytest.importorskip("resource")
    X, y = small_data(200, 2_000)
    path = tmp_path / "model"
    save_model(EmbeddingBag(2, max_iter=1).fit(X, y), path)
    old = path.read_bytes()
    large = EmbeddingBag(64, max_iter=1).fit(X, y)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError):
            save_model(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model"]


KILLED = """
import os, random, signal, sys, time
from fitted import learned, small_data
from skembed import EmbeddingBag, load_model, save_model
X, y = small_data(300, 5_000)
path, fits = sys.argv[1], [EmbeddingBag(32, max_iter=1, random_state=i).fit(X, y) for i in (0, 1)]
known = [learned(fit) for fit in fits]
start = time.perf_counter()
save_model(fits[0], path, include_state=True)
taken, sound = time.perf_counter() - start, 0
random.seed(0)
for _ in range(12):
    child = os.fork()
    if child == 0:
        while True:
            for fit in fits:
                save_model(fit, path, include_state=True)
    time.sleep(random.uniform(0, 4 * taken))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sound += learned(load_model(path)) in known
print(sound)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_it_saves(tmp_path):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path / "model")]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["12"]


def test_all_losses_can_be_named():
    from skembed.estimators._saving import fields_of

    for name, cls in LOSSES.items():
        kind, fields = fields_of(cls(), False)
        assert kind == "loss" and LOSSES[fields["name"]] is cls, name
    assert {cls.__name__ for cls in [*BAGS, *FACTORIZATIONS]} <= set(skembed.__all__)


@pytest.mark.parametrize("model", [
    EmbeddingBag(loss="cooccurrence", **QUICK),
    EmbeddingBag(loss="cooccurrence", **{**QUICK, "random_state": 1}, solver="adamw"),
    EmbeddingBagRegressor(
        solver=SGD(decay_toward="start", decay_scope="all"), weight_decay=0.1, **QUICK
    ),
], ids=["features", "features-adamw", "start"])  # fmt: skip
def test_what_more_a_fit_keeps_comes_back(tmp_path, model):
    X, y = small_data()
    model.fit(X[:40], y[:40])
    other = reloaded(model, tmp_path / "model", include_state=True)
    assert_same(model, other, X)
    assert learned(other.partial_fit(X, y)) == learned(model.partial_fit(X, y))


def test_of_a_fit_over_partitions_the_model_is_saved(tmp_path):
    X, y = small_data(200)
    fit = PartitionedFit(EmbeddingBagRegressor(**QUICK), max_iter=2, engine=JoblibEngine("threads"))
    fit.fit(X, y)
    with pytest.raises(TypeError, match="estimator_"):
        save_model(fit, tmp_path / "model")
    other = reloaded(fit.estimator_, tmp_path / "model")
    assert np.array_equal(other.predict(X), fit.predict(X))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("cls", [EmbeddingBagRegressor, FactorizationMachineRegressor])
def test_unseen_features_meet_rounded_vectors(tmp_path, cls, bits):
    X, y = small_data()
    known = X.toarray()
    known[:, 8:] = 0
    fit = cls(unseen="rare_mean", **QUICK).fit(sp.csr_array(known), y).quantize(bits)
    np.testing.assert_allclose(fit.predict(X), fit.predict(X.toarray()[::-1])[::-1], rtol=1e-12)
    plain = reloaded(fit, tmp_path / "model").set_params(unseen="zero")
    assert not np.allclose(fit.predict(X), plain.predict(X))
