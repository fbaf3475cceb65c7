"""Files of one vector a name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skembed.persistence import FORMATS, read_vectors, write_vectors

NAMES = ["cat", "dog", "Größe", "猫", "e:mail=1", "\u00a0x"]
every_format = pytest.mark.parametrize("format", sorted(set(FORMATS.values())))


def some_vectors(dtype=np.float32, d=3):
    return np.random.default_rng(0).normal(size=(len(NAMES), d)).astype(dtype)


@every_format
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_trip(tmp_path, format, dtype):
    path, vectors = tmp_path / "file", some_vectors(dtype)
    write_vectors(path, NAMES, np.arange(6), vectors, format)
    asked = ["none", "猫", "dog", "猫", "cat"]
    places, found = read_vectors(path, asked, format)
    assert places.tolist() == [1, 2, 3, 4]
    expected = vectors[[3, 1, 3, 0]]
    if format == "word2vec-binary":
        assert found.dtype == np.float32
        expected = expected.astype(np.float32)
    assert np.array_equal(found.astype(dtype), expected), "no digit is lost"


@pytest.mark.parametrize("end", FORMATS)
def test_the_end_of_the_name_tells_the_format(tmp_path, end):
    path = tmp_path / f"file{end.upper()}"
    write_vectors(path, NAMES, np.arange(6), some_vectors())
    assert len(read_vectors(path, NAMES, FORMATS[end])[0]) == 6
    with pytest.raises(ValueError, match="ends in none of"):
        write_vectors(tmp_path / "file.csv", NAMES, np.arange(6), some_vectors())
    with pytest.raises(ValueError, match="format must be one of"):
        read_vectors(path, NAMES, "csv")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1), unique=True, min_size=1), st.sampled_from(["npz", "word2vec"]))
def test_any_names(tmp_path_factory, names, format):
    path, vectors = tmp_path_factory.mktemp("any") / "file", np.arange(len(names) * 2.0)
    try:
        write_vectors(path, names, np.arange(len(names)), vectors.reshape(-1, 2), format)
    except ValueError as error:  # refused, never changed
        odd = any(set(n) & set(" \t\n\r\v\f\0") or n != n.encode(errors="replace").decode()
                  for n in names)  # fmt: skip
        assert odd, error
        return
    places, found = read_vectors(path, names, format)
    assert len(places) == len(names)
    assert np.array_equal(found.ravel(), vectors)


@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary"])
@pytest.mark.parametrize("name", ["new york", "a\tb", "a\n", ""])
def test_names_that_word2vec_does_not_have(tmp_path, format, name):
    with pytest.raises(ValueError, match="cannot stand in a word2vec file"):
        write_vectors(tmp_path / "file", ["a", name], [0, 1], np.ones((2, 1)), format)
    assert not list(tmp_path.iterdir())


def test_names_that_come_twice(tmp_path):
    with pytest.raises(ValueError, match="'b' is that of several"):
        write_vectors(tmp_path / "a.npz", ["a", "b", "b"], [0, 1, 2], np.ones((3, 1)))


def test_gensim_reads_and_writes_the_same(tmp_path):
    gensim = pytest.importorskip("gensim.models")
    for end in (".vec", ".bin"):
        path, vectors = str(tmp_path / f"file{end}"), some_vectors()
        write_vectors(path, NAMES, np.arange(6), vectors)
        theirs = gensim.KeyedVectors.load_word2vec_format(path, binary=end == ".bin")
        assert theirs.index_to_key == NAMES and np.array_equal(theirs.vectors, vectors)
        theirs.save_word2vec_format(path, binary=end == ".bin")
        assert np.array_equal(read_vectors(path, NAMES)[1].astype(np.float32), vectors)


def test_what_others_write(tmp_path):
    path = tmp_path / "a.vec"  # fastText leaves a space at the end of a line
    path.write_bytes(b"2 2\n</s> 0.5 1e-3 \ncat -1 2 \n")
    assert read_vectors(path, ["cat", "</s>"])[1].tolist() == [[-1, 2], [0.5, 1e-3]]
    path = tmp_path / "a.bin"  # gensim writes no line ends
    path.write_bytes(b"2 1\na " + np.float32(3).tobytes() + b"b " + np.float32(4).tobytes())
    assert read_vectors(path, ["b", "a"])[1].tolist() == [[4], [3]]


MALFORMED = {
    "empty.vec": (b"", "first line"),
    "header.vec": (b"2\n", "first line"),
    "letters.vec": (b"two 2\n", "invalid literal"),
    "huge.vec": (b"1000000000 300\na 1\n", "too short for 1000000000 vectors"),
    "short.vec": (b"2 2\na 1 2\n", "ends within line 3"),
    "width.vec": (b"1 2\na 1 2 3\n", "line 2 has 3 numbers, expected 2"),
    "word.vec": (b"1 2\na 1 x\n", "could not convert"),
    "nan.vec": (b"1 2\na 1 nan\n", "not finite"),
    "more.vec": (b"1 1\na 1\nb 2\n", "more than 1 vectors"),
    "utf.vec": (b"1 1\n\xff 1\n", "utf-8"),
    "short.bin": (b"1 2\na \0\0\0\0\0\0", "ends within vector 1 of 1"),
    "name.bin": (b"1 1\naaaaaa", "a name without end"),
    "nan.bin": (b"1 1\na " + np.float32(np.nan).tobytes(), "not finite"),
    "no.npz": (b"PK nothing", "."),
    "no.safetensors": (b"nothing", "ends before"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(tmp_path, name):
    raw, message = MALFORMED[name]
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(ValueError, match=r"is not a valid .* file: ") as error:
        read_vectors(tmp_path / name, ["a"])
    error.match(message)


def test_npz_that_holds_objects(tmp_path):
    np.savez(tmp_path / "a.npz", names=np.array(["a"], object), vectors=np.ones((1, 2)))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_vectors(tmp_path / "a.npz", ["a"])


@every_format
def test_cut_off_anywhere(tmp_path, format):
    path = tmp_path / "file"
    write_vectors(path, NAMES, np.arange(6), some_vectors(), format)
    raw = path.read_bytes()
    for n in range(0, len(raw) - 1, 7):
        path.write_bytes(raw[:n])
        with pytest.raises(ValueError, match="is not a valid"):
            read_vectors(path, NAMES, format)
