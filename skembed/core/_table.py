"""Arrays of rows that start on a cache line and can grow; and the table of embeddings."""

import numpy as np

LINE = 64  # bytes


def padded_width(d, dtype):
    """Return `d` rounded up to whole cache lines."""
    lanes = LINE // np.dtype(dtype).itemsize
    return -(-d // lanes) * lanes


def _aligned(n_rows, width, dtype):
    size = n_rows * width * dtype.itemsize
    raw = np.zeros(size + LINE, np.uint8)
    offset = -raw.ctypes.data % LINE
    return raw[offset : offset + size].view(dtype).reshape(n_rows, width)


class RowArray:
    """Zeros of shape (n_rows, d) that can grow, with rows padded to cache lines.

    `values` is the (n_rows, width) array that kernels write; ``values[:, d:]`` is always zero. It
    is another array after the rows have grown or shrunk.
    Pickles and copies hold the (n_rows, d) numbers only. One number a row may go unpadded.
    """

    def __init__(self, n_rows, d, dtype, padded=True):
        self.n_rows, self.d, self.dtype = n_rows, d, np.dtype(dtype)
        self.width = padded_width(d, dtype) if padded else d
        self._allocate(n_rows)
        self._show()

    def _allocate(self, capacity):
        try:
            self._buffer = _aligned(capacity, self.width, self.dtype)
        except MemoryError:
            size = capacity * self.width * self.dtype.itemsize
            raise MemoryError(
                f"A table of {capacity} rows and {self.d} components needs {size / 2**30:.1f} GiB."
                " Lower n_components, raise min_count, or hash the features into fewer columns."
            ) from None

    def _show(self):
        self.values = self._buffer[: self.n_rows]

    def insert(self, at, n):
        """Insert n rows of zeros before row `at`; rows from there on move up."""
        tail, total = self._buffer[at : self.n_rows].copy(), self.n_rows + n
        if total > len(self._buffer):
            head = self._buffer[:at]
            self._allocate(total + total // 2 if self.n_rows else total)
            self._buffer[:at] = head
        else:
            self._buffer[at : at + n] = 0
        self._buffer[at + n : total] = tail
        self.n_rows = total
        self._show()

    def remove(self, at, n):
        """Remove n rows from row `at` on; rows behind them move down."""
        self._buffer[at : self.n_rows - n] = self._buffer[at + n : self.n_rows].copy()
        self.n_rows -= n
        self._show()

    def copy(self):
        """Return an independent copy without spare rows."""
        other = self.__class__.__new__(self.__class__)
        other.__setstate__(self.__getstate__())
        return other

    def __deepcopy__(self, memo):
        return self.copy()

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k not in ("_buffer", "values")}
        rows = self.values[:, : self.d]
        return {**state, "rows": rows}

    def __setstate__(self, state):
        rows = state["rows"]
        self.__dict__.update({k: v for k, v in state.items() if k != "rows"})
        self._allocate(self.n_rows)
        self._buffer[:, : self.d] = rows
        self._show()


class ParamTable(RowArray):
    """One row for each active feature; the first `n_trainable` train, the others are frozen.

    Parameters
    ----------
    d : int
        Components of an embedding.
    dtype : dtype
        Work dtype.
    n_linear : int
        Direct weights of the feature, one an output, behind its embedding in the row.
    """

    def __init__(self, d, dtype, n_linear=0):
        super().__init__(0, d + n_linear, dtype)
        self.n_trainable, self.n_linear = 0, n_linear

    def take(self, rows):
        """Return copies of some rows, padded."""
        return self.values[rows]

    @property
    def d_embedding(self):
        """Components of an embedding."""
        return self.d - self.n_linear

    @property
    def shape(self):
        """Number of rows and components."""
        return self.n_rows, self.d
