"""Compile the CUDA sources when they are first needed, and launch their kernels."""

from functools import cache
from pathlib import Path

import numpy as np

SECTOR = 32  # bytes that memory moves at least; rows are padded to them
VECTOR = 16  # bytes that a thread reads or writes at once
WARP = 32
OPTIONS = ("-std=c++17", "-fmad=false")  # fused sums have other bits than those of the CPU
I32, I64, U32 = np.int32, np.int64, np.uint32
FAMILIES = ("bag", "group", "fm", "listed", "columns", "topk", "hash")
RULES = ("keep", "sgd", "momentum", "adagrad", "rowwise_adagrad", "adam", "ftrl")


@cache
def source(family):
    """Return the text of a family of kernels, or of a rule, behind what all of them share."""
    folder, names = Path(__file__).parent, ("lines", *("rows",) * (family in RULES), family)
    return "".join((folder / f"{name}.cu").read_text("utf-8") for name in names)


def options(dtype, padded=True):
    """Return the compiler options for a work dtype, and for rows that may not be padded."""
    double = ("-DDOUBLE",) if np.dtype(dtype) == np.float64 else ()
    return (*OPTIONS, *double, *(() if padded else ("-DLANES=1",)))


def group_size(vecs):
    """Return the lanes that share a row: the power of two that covers it, at most a warp."""
    return min(WARP, 1 << max(0, vecs - 1).bit_length())


class Kernels:
    """The kernels as functions on arrays of one device.

    Parameters
    ----------
    xp : module
        CuPy.
    """

    threads = 256  # of a block
    most_blocks = 2048  # of a grid; results do not depend on it

    def __init__(self, xp):
        self.xp, self._modules = xp, {}

    def blocks(self, n_threads):
        """Return the blocks of a grid for so many threads; threads take turns beyond the most."""
        return max(1, min(-(-n_threads // self.threads), self.most_blocks))

    def launch(
        self, family, name, dtype, args, *, threads, shared=0, padded=True, blocks=None, block=None
    ):
        """Launch a kernel.

        Parameters
        ----------
        family, name : str
            File and function.
        dtype : dtype
            Work dtype.
        args : tuple
            Arrays, and numbers in the type that the kernel declares.
        threads : int
            Threads that have something to do.
        shared : int
            Bytes of shared memory of a block.
        padded : bool
            Whether rows are whole vectors.
        blocks : int or None
            Blocks of the grid, where not as many as the threads need.
        block : int or None
            Threads of a block, where the kernel says how many.
        """
        key = family, np.dtype(dtype), padded
        if key not in self._modules:
            module = self.xp.RawModule(code=source(family), options=options(dtype, padded))
            self._modules[key] = module, {}
        module, functions = self._modules[key]
        if name not in functions:
            functions[name] = module.get_function(name)
        blocks = self.blocks(threads) if blocks is None else blocks
        functions[name]((blocks,), (block or self.threads,), args, shared_mem=shared)

    def rule(self, name, source, n, rows, before, after, *, padded=True):
        """Launch a rule over n items of a source of gradients, see rows.cu."""
        shared = 0
        if name == "rowwise_adagrad":  # a vector a thread
            shared = self.threads * (VECTOR if padded else rows.itemsize)
        how, family = dict(shared=shared, padded=padded), "adam" if name == "lazy_adam" else name
        self.over_rows(family, f"{name}_{source}", n, rows, before, after, **how)

    def over_rows(self, family, name, n, rows, before, after=(), *, shared=0, padded=True):
        """Launch a kernel that takes n rows as wide as `rows`, a group of lanes each."""
        vecs = rows.shape[1] if not padded else rows.shape[1] * rows.itemsize // VECTOR
        size = group_size(vecs)
        args = (*before, I32(n), I32(vecs), I32(size), *after)
        how = dict(threads=n * size, shared=shared, padded=padded)
        self.launch(family, name, rows.dtype, args, **how)
