"""Builds CUDA C++ for the CPU and launches it by CuPy's rules, strictly, with every access checked.

`RawModule` has the interface of `cupy.RawModule`. A launch that breaks a rule, or in which the
runtime finds a fault, raises; `launches` keeps what the last ones moved.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GXX = shutil.which("g++")
WHY_NOT = "needs g++, which compiles the kernels for the CPU" if GXX is None else None
# Where the tests must not be left out for want of a compiler, as in continuous integration.
REQUIRED = bool(os.environ.get("SKEMBED_REQUIRE_GPP"))

SCALARS = {
    "int": "i4", "u32": "u4", "unsigned int": "u4", "i64": "i8", "long long": "i8", "u64": "u8",
    "float": "f4", "double": "f8",
}  # fmt: skip
ELEMENTS = {**SCALARS, "byte": "u1", "unsigned char": "u1", "ivec": "i4", "float4": "f4"}
SIGNATURE = re.compile(
    r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)'
)


class LaunchError(RuntimeError):
    """A kernel did what it must not do."""


@dataclass(frozen=True)
class Schedule:
    """How the threads of a launch take turns.

    Attributes
    ----------
    seed : int
        Draws the order of blocks and threads; 0 runs them in order.
    break_one_in : int
        A thread gives way after one in so many accesses; 0 for never.
    resident : int
        Blocks in flight.
    checked : bool
        Whether accesses are checked.
    """

    seed: int = 1
    break_one_in: int = 4
    resident: int = 3
    checked: bool = True


schedule = Schedule()
launches = deque(maxlen=64)


@contextmanager
def scheduled(**changes):
    """Use another schedule for the launches inside."""
    global schedule
    before, schedule = schedule, replace(schedule, **changes)
    try:
        yield
    finally:
        schedule = before


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, as its signature declares it."""

    name: str
    kind: str
    pointer: bool
    const: bool
    restrict: bool
    dtype: np.dtype

    @classmethod
    def parse(cls, text, options):
        """Read one declaration."""
        words = text.replace("*", " * ").split()
        marks = {"const", "*", "__restrict__"}
        kind = " ".join(word for word in words[:-1] if word not in marks)
        pointer, real = "*" in words, "f8" if "-DDOUBLE" in options else "f4"
        known = ELEMENTS if pointer else SCALARS
        code = real if kind in ("real", "vec") else known[kind]
        return cls(
            words[-1], kind, pointer, "const" in words, "__restrict__" in words, np.dtype(code)
        )

    def pack(self, value, where):
        """Return the eight bytes or less of the argument; raise where CuPy would read garbage."""
        if not self.pointer:
            if not isinstance(value, np.generic):
                raise TypeError(
                    f"{where}: pass numpy.{self.dtype.name}, not {type(value).__name__}, which "
                    "CuPy packs as 8 bytes"
                )
            if value.dtype != self.dtype:
                raise TypeError(f"{where}: declared {self.dtype}, got {value.dtype}")
            return np.frombuffer(value.tobytes().ljust(8, b"\0"), np.uint8).copy()
        if not hasattr(value, "__cuda_array_interface__"):
            raise TypeError(f"{where}: needs an array on the device, got {type(value).__name__}")
        if value.dtype != self.dtype:
            raise TypeError(f"{where}: declared {self.kind}*, got {value.dtype}")
        if not value.flags.c_contiguous:
            raise TypeError(f"{where}: the array is not contiguous")
        return np.array([address_of(value)], np.uint64).view(np.uint8)


def address_of(array):
    """First byte of an array on the device."""
    return array.__cuda_array_interface__["data"][0]


def _cache_folder():
    folder = Path(tempfile.gettempdir()) / f"skembed-emulator-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _compile(*arguments, **options):
    done = subprocess.run([GXX, "-std=c++17", *arguments], capture_output=True, **options)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def _stored(suffix, parts, make):
    """Return a file of the cache folder that depends on `parts`, made once for each content."""
    key = hashlib.sha256(repr(parts).encode())
    for name in ("shim.h", "runtime.cpp", "emulator.py"):
        key.update((HERE / name).read_bytes())
    path = _cache_folder() / f"{key.hexdigest()[:24]}{suffix}"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=_cache_folder()) as folder:
            made = Path(folder) / path.name
            make(Path(folder), made)
            os.replace(made, path)
    return path


@cache
def build(code, options, checked):
    """Return (library, signatures, path) of a source file, compiled once for each content."""
    if GXX is None:
        raise RuntimeError(WHY_NOT)
    flags = [o for o in options if o.startswith("-D")]

    def expand(folder, out):
        text = _compile(*flags, "-E", "-P", "-x", "c++", "-", input=code.encode()).decode()
        out.write_text("\n".join(" ".join(f"{n} {p}".split()) for n, p in SIGNATURE.findall(text)))

    listing = _stored(".txt", (code, flags), expand)
    signatures = {}
    for line in listing.read_text().splitlines():
        name, parameters = line.split(" ", 1)
        signatures[name] = [Parameter.parse(part, flags) for part in parameters.split(",")]

    def compile_runtime(folder, out):
        _compile("-O2", "-fPIC", "-c", str(HERE / "runtime.cpp"), "-o", str(out))

    def compile_kernels(folder, out):
        calls = "".join(_entry(*item) for item in signatures.items())
        source, kernels = folder / "kernel.cpp", folder / "kernel.o"
        source.write_text(f'#include "{HERE / "shim.h"}"\n#line 1 "kernel.cu"\n{code}\n{calls}')
        how = ["-O1", "-fsanitize=thread"] if checked else ["-O2"]
        common = ["-g1", "-fPIC", "-ffp-contract=off", "-c"]
        _compile(*flags, *how, *common, str(source), "-o", str(kernels))
        # A kernel may have the name of a function of the C library.
        link = ["-shared", "-Wl,-Bsymbolic", str(kernels), str(runtime), "-ldl"]
        _compile(*link, "-o", str(out))

    runtime = _stored(".o", "runtime", compile_runtime)
    path = _stored(".so", (code, flags, checked), compile_kernels)
    return ctypes.CDLL(str(path)), signatures, path


def _entry(name, parameters):
    """C++ that unpacks the arguments of a kernel and calls it."""
    casts = ", ".join(
        f"*({'const ' * p.const}{p.kind}{'*' * p.pointer}*)a[{i}]" for i, p in enumerate(parameters)
    )
    plain = '__attribute__((no_sanitize("thread")))'
    return f'extern "C" {plain} void call_{name}(void** a) {{ {name}({casts}); }}\n'


class RawModule:
    """Stand-in for `cupy.RawModule`."""

    def __init__(self, *, code=None, options=(), backend="nvrtc", name_expressions=None):
        self.code, self.options = code, tuple(options)

    def get_function(self, name):
        """Return a kernel, compiled when it is first launched."""
        return Kernel(self, name)


class Kernel:
    """A kernel that is called as ``kernel(grid, block, args, shared_mem=0)``."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, grid, block, args, *, shared_mem=0):
        how = schedule
        lib, signatures, path = build(self.module.code, self.module.options, how.checked)
        if self.name not in signatures:
            raise LaunchError(f"CUDA_ERROR_NOT_FOUND: named symbol not found: {self.name}")
        parameters = signatures[self.name]
        if len(args) != len(parameters):
            raise TypeError(f"{self.name}: {len(args)} arguments for {len(parameters)} parameters")
        threads = _extent(block)
        if not 1 <= threads <= 1024 or shared_mem > 48 << 10:
            raise LaunchError(f"{self.name}: {threads} threads, {shared_mem} bytes shared")
        packed = [
            p.pack(value, f"{self.name}({p.name})")
            for p, value in zip(parameters, args, strict=True)
        ]
        _refuse_overlaps(self.name, parameters, args)
        lib.emu_reset()
        arrays = [pair for pair in zip(parameters, args, strict=True) if pair[0].pointer]
        for p, value in sorted(arrays, key=lambda pair: pair[0].const):  # if given twice, writable
            size = ctypes.c_size_t(value.nbytes)
            lib.emu_argument(ctypes.c_void_p(address_of(value)), size, int(not p.const))
        slots = (ctypes.c_void_p * (len(packed) + 1))(*[part.ctypes.data for part in packed])
        call = ctypes.cast(getattr(lib, f"call_{self.name}"), ctypes.c_void_p)
        lib.emu_launch(
            call, slots, max(1, _extent(grid)), threads, ctypes.c_size_t(shared_mem),
            ctypes.c_uint64(how.seed), how.break_one_in, how.resident, int(how.checked),
        )  # fmt: skip
        self._report(lib, path)

    def _report(self, lib, path):
        out, text = (ctypes.c_long * 5)(), ctypes.create_string_buffer(1 << 15)
        lib.emu_traffic(out)
        names = "bytes_read", "bytes_written", "wide", "accesses", "switches"
        launches.append({"kernel": self.name, **dict(zip(names, out, strict=True))})
        if lib.emu_findings(text, len(text)):
            raise LaunchError(f"{self.name}:\n{_with_lines(text.value.decode(), path)}")


def _extent(shape):
    """Threads or blocks of a launch, which has one dimension."""
    if not isinstance(shape, tuple) or len(shape) != 1:
        raise TypeError(f"Expected a tuple of one number, got {shape!r}")
    return int(shape[0])


def _refuse_overlaps(name, parameters, args):
    """Two pointers to one array, one of them written and one __restrict__, are undefined in C."""
    spans = [
        (address_of(value), address_of(value) + value.nbytes, p)
        for p, value in zip(parameters, args, strict=True)
        if p.pointer and value.nbytes
    ]
    for i, (low, high, p) in enumerate(spans):
        for other_low, other_high, q in spans[:i]:
            apart = high <= other_low or other_high <= low
            if not apart and not (p.const and q.const) and (p.restrict or q.restrict):
                raise TypeError(f"{name}: {q.name} and {p.name} overlap, and one is __restrict__")


def _with_lines(text, path):
    """Replace offsets in the library by lines of the source."""
    tool = shutil.which("addr2line")
    offsets = sorted(set(re.findall(r"<([0-9a-f]+)>", text)))
    if tool is None or not offsets:
        return text
    found = subprocess.run([tool, "-e", path, *offsets], capture_output=True, text=True).stdout
    for offset, line in zip(offsets, found.splitlines(), strict=True):
        text = text.replace(f"<{offset}>", line.rsplit("/", 1)[-1])
    return text
