"""What the sparsity of a matrix means for learning from it."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.validation import _get_feature_names

from skembed.core import FeatureIndex, SparseRows
from skembed.kernels import get_backend

from ._features import check_names, groups_by_frequency, named
from ._report import Report, Table, count, data_frame, number, percent, size, some

WORK_DTYPES = [np.float64, np.float32]
EXACT_WORK = 50_000_000  # multiplications of X Xᵀ up to which all pairs of rows are looked at
BLOCK_WORK = 4_000_000
PAIRS_AT_A_TIME = 20_000
Z = 1.959964  # of a 95 % interval
MANY_FEATURES = 1 << 20
WIDTH = 64  # the default of the bags


@dataclass(frozen=True, repr=False)
class SparsityReport(Report):
    """What `sparsity_report` finds.

    Parameters
    ----------
    shape : tuple of two int
        Rows and columns.
    n_nonzero : int
        Values other than zero; values stored for one place are added first.
    row_sizes : ndarray of shape (n_samples,)
        Values other than zero in each row.
    columns : ndarray of shape (n_active,)
        Columns that occur, ascending.
    counts : ndarray of shape (n_active,)
        Rows in which each occurs: the updates that its vector gets in an epoch of batches of one
        row, and its share of the gradient's flow.
    names : ndarray of shape (n_active,)
        Their names, or the column numbers.
    dtype : dtype
        Type of the values in which the matrix would be fitted, float64 or float32.
    csr_bytes : int
        Memory of the matrix as CSR, with values of this type.
    rare_below : int
        Features that occur in fewer rows are called rare.
    duplicates : ndarray of shape (m, 2)
        Columns that hold the same values in the same rows as an earlier one, and the first such
        column; ascending. They are compared by hashes of 64 bits.
    zero_cosine : float
        Share of the pairs of two rows whose cosine similarity is zero; NaN for one row.
    zero_cosine_interval : tuple of two float
        Where it lies with a confidence of 95 % (Wilson's interval) if pairs were drawn.
    n_pairs : int
        Pairs that were looked at.
    exact : bool
        Whether these were all pairs.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skembed.inspection import sparsity_report
    >>> report = sparsity_report(sp.eye_array(4, format="csr"))
    >>> report.density, report.zero_cosine, report.rare.tolist()
    (0.25, 1.0, [0, 1, 2, 3])
    """

    shape: tuple
    n_nonzero: int
    row_sizes: np.ndarray
    columns: np.ndarray
    counts: np.ndarray
    names: np.ndarray
    dtype: np.dtype
    csr_bytes: int
    rare_below: int
    duplicates: np.ndarray
    zero_cosine: float
    zero_cosine_interval: tuple
    n_pairs: int
    exact: bool

    _title = "Sparsity"

    @property
    def density(self):
        """Share of the places that hold a value other than zero."""
        return self.n_nonzero / (self.shape[0] * self.shape[1])

    @property
    def dense_bytes(self):
        """Memory of the matrix as an array."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def rare(self):
        """Columns that occur in fewer than `rare_below` rows, ascending."""
        return self.columns[self.counts < self.rare_below]

    @property
    def deciles(self):
        """Tenths of the features by frequency, the most frequent first.

        A dict of arrays with one entry a tenth: ``"n_features"``, ``"most"`` and ``"least"`` (rows
        in which one of them occurs), and ``"share"`` of the updates.
        """
        parts = [self.counts[g] for g in groups_by_frequency(self.counts)]
        total = max(self.n_nonzero, 1)
        return {
            "n_features": np.array([len(p) for p in parts], int),
            "most": np.array([p[0] for p in parts], int),
            "least": np.array([p[-1] for p in parts], int),
            "share": np.array([p.sum() / total for p in parts], float),
        }

    def to_frame(self):
        """Return `deciles` as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each tenth of the features.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        deciles = self.deciles
        index = np.arange(1, len(deciles["share"]) + 1)
        return data_frame(deciles, index, "SparsityReport.to_frame")

    @property
    def advice(self):
        """Sentences on what to do with such a matrix."""
        found, n_active, rare = [], len(self.columns), self.counts < self.rare_below
        if self.csr_bytes >= self.dense_bytes:
            found.append(
                "As an array the matrix is smaller than as CSR: it is not sparse, and a model for "
                "dense data will do."
            )
        table = n_active * WIDTH * self.dtype.itemsize
        if n_active > MANY_FEATURES:
            columns = 1 << max(int(np.ceil(np.log2(n_active))) - 2, 18)
            found.append(
                f"{count(n_active)} features at {WIDTH} components take {size(table)}. Hash them "
                f"into {count(columns)} columns (FeatureHasher) or drop rare ones."
            )
        if n_active and rare.mean() > 0.2:
            found.append(
                f"{percent(rare.mean())} of the features occur in fewer than {self.rare_below} "
                f"rows and get {percent(self.counts[rare].sum() / self.n_nonzero)} of the updates. "
                f"Compare min_count={self.rare_below}, which drops them, by cross-validation."
            )
        if self.zero_cosine > 0.5:
            found.append(
                f"{percent(self.zero_cosine)} of the pairs of rows have no similarity at all, so "
                "that distances say little. Embed the features: vectors can be near without "
                "meeting in a row."
            )
        if len(self.duplicates):
            found.append(
                f"{count(len(self.duplicates))} features occur exactly where another one does: "
                "no model can tell their effects apart."
            )
        return found

    def _tables(self):
        rare, sizes, n_active = self.counts < self.rare_below, self.row_sizes, len(self.columns)
        low, high = self.zero_cosine_interval
        pairs = "all pairs" if self.exact else f"{percent(low)} to {percent(high)}"
        shares = [
            ("rows x columns", f"{count(self.shape[0])} x {count(self.shape[1])}"),
            ("density", percent(self.density)),
            ("memory as CSR", size(self.csr_bytes)),
            ("memory as an array", size(self.dense_bytes)),
            ("values in a row, median", number(np.median(sizes))),
            ("values in a row, most", count(sizes.max())),
            ("empty rows", count((sizes == 0).sum())),
            ("columns that occur", count(n_active)),
            (f"in fewer than {self.rare_below} rows", count(rare.sum())),
            ("the same as another one", count(len(self.duplicates))),
            (f"pairs of rows without similarity ({pairs})", percent(self.zero_cosine)),
        ]
        deciles = self.deciles
        rows = [
            (f"tenth {i}", count(n), f"{count(most)} to {count(least)}", percent(share))
            for i, (n, most, least, share) in enumerate(zip(*deciles.values(), strict=True), 1)
        ]
        header = ("features by frequency", "features", "rows with one", "share of updates")
        return [Table("The matrix", (), shares), Table("Who gets the updates", header, rows)]

    def _notes(self):
        names = self.names[self.counts < self.rare_below]
        rare = [f"Rare features: {some(names)}."] if len(names) else []
        return [*rare, *self.advice]


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "rare_below": [Interval(Integral, 1, None, closed="left")],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "feature_names": ["array-like", None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def sparsity_report(X, *, rare_below=5, n_pairs=100_000, feature_names=None, random_state=0):
    """Tell what the sparsity of a matrix means for learning from it.

    How much memory the matrix takes, which features the updates of an embedding go to, which are
    too rare to learn, and how many pairs of rows have nothing in common. Nothing is densified.

    Parameters
    ----------
    X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
        The rows. Stored zeros count as absent, values stored for one place are added.
    rare_below : int, default=5
        Features that occur in fewer rows are called rare.
    n_pairs : int, default=100000
        Pairs of rows to draw where all are too many. All are looked at where X times its transpose
        takes at most 50 million multiplications.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns; None takes those of a data frame.
    random_state : int, RandomState instance or None, default=0
        Draws the pairs.

    Returns
    -------
    SparsityReport
        The numbers; printed, or shown by a notebook, as tables.

    Raises
    ------
    ValueError
        If X is no finite matrix of numbers.

    See Also
    --------
    embedding_report : Whether the vectors of a fitted estimator have learned.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skembed.inspection import sparsity_report
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(["red hat", "red shoe", "blue shoe", "no"])
    >>> names = words.get_feature_names_out()
    >>> report = sparsity_report(X, rare_below=2, feature_names=names)
    >>> report.names[report.counts < 2].tolist()
    ['blue', 'hat', 'no']
    >>> round(report.zero_cosine, 3)
    0.667
    """
    names = _get_feature_names(X) if feature_names is None else feature_names
    X = _canonical(X)
    names = check_names(names, X.shape[1])
    stored = X.indptr.astype(np.int64, copy=False), X.indices, X.data
    with get_backend() as backend:
        columns, counts = backend.count(*stored, np.arange(X.shape[0]), X.shape[1])
        index = FeatureIndex(X.shape[1]).observe(columns, counts)
        duplicates = _duplicates(backend.map_columns(*stored, index), index, backend)
    share, interval, looked, exact = _zero_cosine(X, counts, n_pairs, random_state)
    return SparsityReport(
        shape=X.shape,
        n_nonzero=X.nnz,
        row_sizes=np.diff(X.indptr),
        columns=columns,
        counts=counts,
        names=named(names, columns),
        dtype=X.dtype,
        csr_bytes=X.data.nbytes + X.indices.nbytes + X.indptr.nbytes,
        rare_below=rare_below,
        duplicates=duplicates,
        zero_cosine=share,
        zero_cosine_interval=interval,
        n_pairs=looked,
        exact=exact,
    )


def _canonical(X):
    """Return X as a checked CSR array without duplicates and stored zeros; X is not changed."""
    if sp.issparse(X) and X.format in ("csr", "csc", "bsr"):
        shell = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        shell.check_format(full_check=True)  # conversions trust the indices
    X = check_array(X, accept_sparse="csr", dtype=WORK_DTYPES, input_name="X")
    own = sp.csr_array(X) if sp.issparse(X) else sp.csr_array(np.atleast_2d(X))
    own = sp.csr_array((own.data, own.indices, own.indptr), shape=own.shape)  # flags anew
    if not own.has_canonical_format or not np.all(own.data):
        own = own.copy()
        own.sum_duplicates()
        own.eliminate_zeros()
    return own


def _duplicates(stored, index, backend):
    """Return columns that equal an earlier one, and the first of them, shape (m, 2)."""
    rows = SparseRows(*stored, index.n_rows)
    of_row = index.row_columns()
    order = np.argsort(of_row)
    hashes = backend.hash_rows(*backend.transpose(rows, index.n_rows), 0)[order]
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    later = np.flatnonzero(first[group] != np.arange(len(hashes)))
    return of_row[order][np.column_stack([later, first[group[later]]])]


def _zero_cosine(X, counts, n_pairs, random_state):
    """Return the share of pairs without similarity, its interval, their number, whether all."""
    n = X.shape[0]
    total = n * (n - 1) // 2
    if total == 0:
        return np.nan, (np.nan, np.nan), 0, True
    if (counts.astype(np.float64) ** 2).sum() <= EXACT_WORK:
        share = (total - _similar_pairs(X.astype(np.float64))) / total
        return share, (share, share), total, True
    rng, zero = check_random_state(random_state), 0
    first = rng.randint(n, size=n_pairs)
    pairs = first, (first + 1 + rng.randint(n - 1, size=n_pairs)) % n
    for s in range(0, n_pairs, PAIRS_AT_A_TIME):
        left, right = (X[rows[s : s + PAIRS_AT_A_TIME]].astype(np.float64) for rows in pairs)
        zero += int((left.multiply(right).sum(axis=1) == 0).sum())
    share = zero / n_pairs
    return share, _wilson(share, n_pairs), n_pairs, False


def _similar_pairs(X):
    """Return the number of pairs of rows whose product is not zero."""
    T, found, n = X.T.tocsr(), 0, X.shape[0]
    work = np.append(0, np.cumsum(np.diff(T.indptr)[X.indices]))[X.indptr]
    lo = 0
    while lo < n:
        hi = max(int(np.searchsorted(work, work[lo] + BLOCK_WORK, side="right")) - 1, lo + 1)
        product = (X[lo:hi] @ T).tocoo()
        found += int(((product.row + lo < product.col) & (product.data != 0)).sum())
        lo = hi
    return found


def _wilson(share, n):
    """Return the bounds of Wilson's 95 % interval for a share of n draws."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
