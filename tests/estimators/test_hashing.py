"""FeatureHasher: crosses, several hashes, sparse columns, names, and what a fit keeps."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import murmurhash3_32

from skembed import EmbeddingBagClassifier, FeatureHasher

N_FEATURES = 2**20


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "carrier": r.choice(["AA", "UA", "DL", None], 500),
            "dest": r.choice(["JFK", "LAX"], 500),
            "miles": r.normal(size=500),
        }
    )


def entry(h, value=1.0):
    """Return (column, signed value) of a hash."""
    return abs(h) % N_FEATURES, -value if h < 0 else value


def cell_hashes(row, seed=0):
    """Return [(hash, weight)] of a row of `frame`, in plain Python."""
    out = []
    for name, value in row.items():
        if isinstance(value, float) and not np.isnan(value):
            out.append((murmurhash3_32(name.encode(), seed), value))
        elif isinstance(value, str):
            out.append((murmurhash3_32(f"{name}={value}".encode(), seed), 1.0))
        else:
            out.append((murmurhash3_32(f"{name}=".encode() + b"\xff", seed), 1.0))
    return out


def together(*hashes, seed=0):
    parts = b"".join(int(h).to_bytes(4, "little", signed=True) for h in hashes)
    return murmurhash3_32(parts, seed)


def assert_rows(X, rows):
    for i, row in enumerate(rows):
        want = {}
        for column, value in row:
            want[column] = want.get(column, 0) + value
        s, e = X.indptr[i : i + 2]
        got = dict(zip(X.indices[s:e].tolist(), X.data[s:e].tolist(), strict=True))
        assert got == {c: v for c, v in sorted(want.items()) if v}


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
@pytest.mark.parametrize("n_hashes", [1, 3])
@pytest.mark.parametrize("crosses", [None, [("carrier", "dest"), (2, 0, "dest")]])
def test_matrix_by_the_definition(frame, seed, n_hashes, crosses):
    rows = []
    for row in frame.to_dict("records"):
        cells = cell_hashes(row, seed)
        if crosses:
            (a, _), (b, _), (m, miles) = cells
            cells += [(together(a, b, seed=seed), 1.0), (together(m, a, b, seed=seed), miles)]
        rows.append(
            [
                entry(h if j == 0 else together(h, j, seed=seed), weight)
                for h, weight in cells
                for j in range(n_hashes)
            ]
        )
    params = dict(seed=seed, n_hashes=n_hashes, interactions=crosses, input_type="table")
    X = FeatureHasher(N_FEATURES, **params).transform(frame)
    assert_rows(X, rows)
    threads = FeatureHasher(N_FEATURES, n_jobs=3, **params).transform(frame)
    assert threads.data.tobytes() == X.data.tobytes()
    assert threads.indices.tobytes() == X.indices.tobytes()


def test_skipped_values_are_in_no_cross(frame):
    params = dict(input_type="table", interactions=[("carrier", "dest")])
    X = FeatureHasher(on_missing="skip", **params).transform(frame)
    gone = frame["carrier"].isna().to_numpy()
    assert (np.diff(X.indptr) == np.where(gone, 2, 4)).all()
    assert (np.diff(FeatureHasher(**params).transform(frame).indptr) == 4).all()


@pytest.mark.parametrize(
    "crosses",
    [
        ["carrier"],
        [("carrier",)],
        [("carrier", "carrier")],
        [("carrier", "x")],
        [(0, 3)],
        [(0, -1)],
        [(0, "carrier")],
        "carrier",
    ],
)
def test_bad_interactions(frame, crosses):
    with pytest.raises(ValueError, match="interactions"):
        FeatureHasher(input_type="table", interactions=crosses).fit_transform(frame)


def test_interactions_need_a_table():
    with pytest.raises(ValueError, match='set input_type="table"'):
        FeatureHasher(interactions=[("a", "b")]).fit_transform([{"a": "x"}])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_columns_of_a_sparse_matrix(dtype, container):
    rng = np.random.default_rng(0)
    dense = rng.integers(-1, 2, (60, 90)).astype(dtype)
    X = container(dense)
    hasher = FeatureHasher(16, input_type="csr", dtype=dtype)
    hashes = [murmurhash3_32(int(j).to_bytes(8, "little")) for j in range(90)]
    want = np.zeros((60, 16), dtype)
    for j, h in enumerate(hashes):
        want[:, abs(h) % 16] += dense[:, j] * (1 if h >= 0 else -1)
    got = hasher.fit_transform(X)
    assert got.dtype == dtype
    assert np.array_equal(got.toarray(), want)
    assert (got.data != 0).all()
    assert got.has_canonical_format
    wide = sp.csr_array((np.ones(2), [5, 2**40], [0, 2]), shape=(1, 2**40 + 1))
    assert FeatureHasher(input_type="csr").transform(wide).nnz == 2


def test_sparse_input_of_another_width_is_refused():
    hasher = FeatureHasher(8, input_type="csr").fit(sp.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="expecting 3 features"):
        hasher.transform(sp.csr_array(np.eye(4)))


@pytest.mark.parametrize("dtype", [bool, np.uint8, "float16", str, complex, object])
def test_dtypes_that_have_no_sign_or_no_kernel(dtype):
    with pytest.raises(ValueError, match="dtype must be one of"):
        FeatureHasher(dtype=dtype).transform([{"a": 1}])


def test_names_begin_with_their_column(frame):
    hasher = FeatureHasher(
        2**16, input_type="table", store_names=True, interactions=[("carrier", "dest")]
    )
    X = hasher.fit_transform(frame)
    names = hasher.get_feature_names_out()
    used = set(names[np.unique(X.indices)])
    pairs = {f"carrier={c} & dest={d}" for c in ("AA", "UA", "DL") for d in ("JFK", "LAX")}
    assert used == {"carrier=AA", "carrier=UA", "carrier=DL", "carrier=<missing>", "dest=JFK",
                    "dest=LAX", "miles", "carrier=<missing> & dest=JFK",
                    "carrier=<missing> & dest=LAX"} | pairs  # fmt: skip
    assert len(set(names)) == 2**16
    at = names.tolist().index("carrier=AA")
    ((name, count, sign),) = hasher.inverse_lookup(at)
    assert (name, count) == ("carrier=AA", (frame["carrier"] == "AA").sum())
    assert set(X[:, [at]].data.tolist()) == {sign}


def test_in_a_column_transformer(frame):
    hasher = FeatureHasher(64, input_type="table", store_names=True)
    parts = make_column_transformer((hasher, ["carrier", "dest"]), ("passthrough", ["miles"]))
    X = parts.fit_transform(frame)
    names = parts.get_feature_names_out()
    assert X.shape == (500, 65) == (500, len(names))
    assert "featurehasher__dest=JFK" in names
    y = (frame["dest"] == "JFK").to_numpy()
    bag = EmbeddingBagClassifier(2, max_iter=30, tol=0.1, random_state=0)
    wide, X = clone(hasher).set_params(n_features=2**16), frame[["carrier", "dest"]]
    assert make_pipeline(wide, bag).fit(X, y).score(X, y) == 1


def test_without_names_there_is_nothing_to_look_up(frame):
    hasher = FeatureHasher(4, input_type="table").fit(frame)
    for method in ("inverse_lookup", "collision_report"):
        with pytest.raises(AttributeError):
            getattr(hasher, method)
    assert hasher.get_feature_names_out().tolist() == [f"featurehasher{i}" for i in range(4)]
    with pytest.raises(NotFittedError):
        FeatureHasher(store_names=True).inverse_lookup(0)
    with pytest.raises(ValueError, match="column must be"):
        FeatureHasher(4, store_names=True).fit([{"a": 1}]).inverse_lookup(4)


def counts(hasher):
    _, counts, names = hasher._ledger.arrays()
    return dict(zip(names, counts.tolist(), strict=True))


def test_partial_fit_counts_on_and_fit_starts_anew(frame):
    whole = FeatureHasher(input_type="table", store_names=True).fit(frame)
    parts = FeatureHasher(input_type="table", store_names=True)
    for part in (frame[:100], frame[100:101], frame[101:]):
        assert parts.partial_fit(part) is parts
    assert counts(parts) == counts(whole)
    parts.transform(frame)
    assert counts(parts) == counts(whole)
    column = whole.get_feature_names_out().tolist().index("dest=JFK")
    assert parts.inverse_lookup(column) == whole.inverse_lookup(column)
    ((_, once, _),) = parts.inverse_lookup(column)
    assert parts.partial_fit(frame).inverse_lookup(column)[0][1] == 2 * once
    assert parts.set_params(alternate_sign=False).inverse_lookup(column)[0][2] == 1
    assert counts(parts.fit(frame[:9])) != counts(whole)
    again = clone(whole)
    assert not hasattr(again, "_ledger")
    again.fit_transform(frame)
    assert counts(again) == counts(whole) == counts(pickle.loads(pickle.dumps(whole)))


def test_bad_input_changes_no_counts():
    hasher = FeatureHasher(store_names=True).fit([{"a": 1}])
    before = counts(hasher)
    bad = [{"b": 1}] * 1000 + [{"c": np.nan}]
    for method in ("fit", "partial_fit", "fit_transform"):
        with pytest.raises(ValueError, match="row 1000"):
            getattr(hasher, method)(bad)
        assert counts(hasher) == before


def test_stateless_without_names():
    hasher = FeatureHasher()
    before = dict(vars(hasher))
    X = hasher.transform([{"a": 1}])
    assert vars(hasher.fit().partial_fit([{"b": 1}])) == before
    assert (hasher.transform([{"a": 1}]) != X).nnz == 0


def test_a_generator_is_walked_once():
    rows = ([f"w{i % 7}"] for i in range(2000))
    hasher = FeatureHasher(input_type="string", store_names=True)
    assert hasher.fit_transform(rows).shape[0] == 2000
    assert sum(counts(hasher).values()) == 2000


def test_renamed_columns_are_refused(frame):
    hasher = FeatureHasher(input_type="table").fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        hasher.transform(frame.rename(columns={"dest": "to"}))
    assert hasher.n_features_in_ == 3
    assert hasher.feature_names_in_.tolist() == list(frame.columns)
