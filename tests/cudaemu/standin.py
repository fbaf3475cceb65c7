"""The part of CuPy that the package may use, over NumPy: strict, and it counts what costs time.

`tests/cudaemu/test_standin.py` compares it with CuPy itself. Nothing is converted between host and
device in silence, new memory is poisoned, and arrays have guard zones, so that an index beyond one
does not hit its neighbour. `counts` has launches, bytes each way and implicit synchronisations.
"""

import types

import numpy as np

from . import emulator

ALIGN, GUARD = 256, 4096
__version__ = "stand-in"
counts = dict.fromkeys(("launches", "to_device", "to_host", "synchronised"), 0)


class OutOfMemoryError(MemoryError):
    """Raised where an allocation is above `memory.limit`."""


memory = types.SimpleNamespace(limit=None)


def _allocate(shape, dtype):
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if memory.limit is not None and size > memory.limit:
        raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
    raw = np.full(size + ALIGN + 2 * GUARD, 0xFF, np.uint8)
    start = GUARD + -(raw.ctypes.data + GUARD) % ALIGN
    return ndarray(raw[start : start + size].view(dtype).reshape(shape))


def _host(value):
    """The NumPy array behind an operand, which may be an array here or a scalar."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, tuple):
        return tuple(map(_host, value))
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def _new(result):
    """An array of its own that holds a result."""
    result = np.asarray(result)
    out = _allocate(result.shape, result.dtype)
    out._host[...] = result
    return out


class ndarray:
    """Stand-in for `cupy.ndarray`."""

    __array_ufunc__ = None

    def __init__(self, host):
        self._host = host

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    size = property(lambda self: self._host.size)
    ndim = property(lambda self: self._host.ndim)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    flags = property(lambda self: self._host.flags)
    T = property(lambda self: ndarray(self._host.T))

    @property
    def __cuda_array_interface__(self):
        return {"data": (self._host.ctypes.data, False), "version": 3}

    def __array__(self, *args, **kwargs):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to "
            "construct a NumPy array explicitly."
        )

    def __len__(self):
        return len(self._host)

    def get(self):
        counts["to_host"] += self.nbytes
        counts["synchronised"] += 1
        return self._host.copy()

    def _scalar(self, kind):
        counts["synchronised"] += 1
        return kind(self._host)

    def __bool__(self):
        return self._scalar(bool)

    def __int__(self):
        return self._scalar(int)

    def __float__(self):
        return self._scalar(float)

    def __getitem__(self, key):
        result = self._host[_host(key)]
        shared = isinstance(result, np.ndarray) and np.shares_memory(result, self._host)
        return ndarray(result) if shared else _new(result)

    def __setitem__(self, key, value):
        self._host[_host(key)] = _host(value)

    def astype(self, dtype, copy=True):
        same = not copy and self.dtype == dtype
        return self if same else _new(self._host.astype(dtype))

    def reshape(self, *shape):
        return ndarray(self._host.reshape(*shape))

    def view(self, dtype):
        return ndarray(self._host.view(dtype))

    def fill(self, value):
        self._host.fill(value)


def _operator(name):
    def operate(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        return _new(getattr(self._host, name)(_host(other)))

    return operate


def _in_place(name):
    def operate(self, other):
        getattr(self._host, name)(_host(other))
        return self

    return operate


for _name in "add radd sub rsub mul rmul truediv matmul lt le gt ge eq ne and or".split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in "iadd isub imul itruediv".split():
    setattr(ndarray, f"__{_name}__", _in_place(f"__{_name}__"))


def asarray(a, dtype=None):
    if isinstance(a, ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    host = np.asarray(a, dtype)
    counts["to_device"] += host.nbytes
    return _new(host)


def asnumpy(a):
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


def empty(shape, dtype=float):
    return _allocate(shape, dtype)


def zeros(shape, dtype=float):
    out = _allocate(shape, dtype)
    out.fill(0)
    return out


def ones(shape, dtype=float):
    out = _allocate(shape, dtype)
    out.fill(1)
    return out


def arange(start, stop=None, dtype=None):
    return _new(np.arange(*(start,) if stop is None else (start, stop), dtype=dtype))


def cumsum(a, axis=None, dtype=None):
    return _new(np.cumsum(_host(a), axis=axis, dtype=dtype))


def argsort(a, axis=-1):
    return _new(np.argsort(_host(a), axis=axis, kind="stable"))


class RawModule(emulator.RawModule):
    """`cupy.RawModule` whose launches are counted."""

    def get_function(self, name):
        kernel = super().get_function(name)

        def launch(grid, block, args, *, shared_mem=0):
            counts["launches"] += 1
            kernel(grid, block, args, shared_mem=shared_mem)

        return launch
