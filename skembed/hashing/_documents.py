"""From what users keep documents in to bytes that kernels read, some at a time."""

import numpy as np

SLICE = 4096  # elements of an array that become Python objects at a time
DOCUMENT = 16  # characters that the work on an empty document is worth


def documents_of(X):
    """Iterate over documents; arrays and columns of frames pass in slices, which is faster.

    Parameters
    ----------
    X : iterable
        The documents. Of pandas, polars, Arrow and NumPy: one dimension.

    Returns
    -------
    iterator
        The documents as Python objects.
    """
    if isinstance(X, str | bytes):
        kind = "string" if isinstance(X, str) else "bytes"
        raise ValueError(f"Iterable over raw text documents expected, {kind} object received.")
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(
            f"Iterable over raw text documents expected, {type(X).__name__} of shape "
            f"{tuple(shape)} received. Pass one of its columns."
        )
    X = getattr(X, "array", X) if hasattr(X, "iloc") else X
    convert = next((name for name in ("to_pylist", "to_list", "tolist") if hasattr(X, name)), None)
    return iter(X) if convert is None else _in_slices(X, convert)


def _in_slices(X, convert):
    for lo in range(0, len(X), SLICE):
        yield from getattr(X[lo : lo + SLICE], convert)()


def in_chunks(documents, read, size):
    """Yield lists of documents of about `size` characters.

    Parameters
    ----------
    documents : iterator
        Strings, or what `read` makes strings of.
    read : callable
        Takes what is not a string and its number, from 0 on, and returns a string.
    size : int
        Characters that make a list complete.
    """
    chunk, length, done = [], 0, 0
    for document in documents:
        if type(document) is not str:
            document = read(document, done + len(chunk))
        chunk.append(document)
        length += len(document) + DOCUMENT
        if length >= size:
            yield chunk
            done += len(chunk)
            chunk, length = [], 0
    if chunk:
        yield chunk


def encode_documents(documents, lowercase, preprocess, errors):
    """Return documents one behind the other as UTF-8, and their offsets.

    Parameters
    ----------
    documents : list of str
        The documents.
    lowercase : bool
        All that preprocessing does to ASCII.
    preprocess : callable
        Preprocesses a document that is not ASCII.
    errors : {"strict", "surrogatepass"}
        What happens to half a surrogate pair.

    Returns
    -------
    text : ndarray of uint8
        Their bytes.
    offsets : ndarray of shape (n + 1,), int64
        Where each of them begins; the last entry is their end.
    """
    joined = "".join(documents)
    if joined.isascii():
        text = (joined.lower() if lowercase else joined).encode()
    else:
        documents = [preprocess(document).encode("utf-8", errors) for document in documents]
        text = b"".join(documents)
    offsets = np.zeros(len(documents) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, documents), np.int64, len(documents)), out=offsets[1:])
    return np.frombuffer(text, np.uint8), offsets
