"""Vectors from files, for embeddings to start from."""

from numbers import Integral

import numpy as np

from skembed.core import hashed_uniform
from skembed.persistence import read_vectors

DRAWN = 1 << 16  # rows drawn at a time


def load_vectors(path, features, *, format=None, seed=0):
    """Read the vectors of some features from a file, as an array for `init`.

    Features that the file lacks get vectors that are uniform in ±1 / n_components, as those of
    ``init="uniform"`` are, and as fastText does for pretrained vectors.

    Parameters
    ----------
    path : str or path-like
        What `export_vectors`, word2vec, fastText (``.vec``) or gensim has written. Of a text file
        only vectors that are asked for are kept in memory.
    features : int or array-like of shape (n_features,)
        Names of all features in the order of the columns, such as the `get_feature_names_out()` of
        a vectorizer; or their number, where the file names features by the number of their column.
    format : {"word2vec", "word2vec-binary", "npz", "safetensors"}, default=None
        None goes by the end of the name: ``.txt``, ``.vec``, ``.bin``, ``.npz``, ``.safetensors``.
    seed : int, default=0
        Seed of the vectors that the file lacks.

    Returns
    -------
    vectors : ndarray of shape (n_features, n_components)
        One row a feature, float32 or float64 as in the file; those of a text are float64.

    Raises
    ------
    ValueError
        "... is not a valid ... file: ..."; also if the file has the vector of no feature.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from skembed import EmbeddingBag, load_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words.vec")
    ...     with open(path, "w") as file:
    ...         _ = file.write("2 3\\ncat 0.5 0 1\\ndog 0.5 0.25 1\\n")
    ...     start = load_vectors(path, ["bird", "cat", "dog"])
    >>> start[1:]
    array([[0.5 , 0.  , 1.  ],
           [0.5 , 0.25, 1.  ]])
    >>> bag = EmbeddingBag(n_components=3, init=start)
    """
    features = range(features) if isinstance(features, Integral) else features
    names = [str(name) for name in features]
    places, found = read_vectors(path, names, format)
    if not len(places):
        raise ValueError(
            f"{str(path)!r} has the vector of none of {len(names)} features. Their names begin "
            f"with {names[:3]}."
        )
    d = found.shape[1]
    vectors = np.empty((len(names), d), found.dtype)
    for lo in range(0, len(names), DRAWN):
        columns = np.arange(lo, min(lo + DRAWN, len(names)))
        vectors[columns] = (2 * hashed_uniform(seed, columns, d) - 1) / d
    vectors[places] = found
    return vectors
