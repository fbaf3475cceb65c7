"""What the CUDA compiler makes of the kernels; it needs no driver and no device."""

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from skembed.kernels.gpu._kernels import FAMILIES, RULES, options, source

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason='needs the extra "test-gpu"')
nvidia = pytest.importorskip("nvidia", reason='needs the extra "test-gpu"')

OLDEST, USUAL, NEWEST = 75, 90, 120
BUILDS = [
    *((family, "f4", USUAL) for family in ("bag", "group", "topk", "keep", "adagrad")),
    *((family, "f4", arch) for family in ("bag", "sgd") for arch in (OLDEST, NEWEST)),
    ("bag", "f8", USUAL),
]
ALL_BUILDS = [
    (family, dtype, arch)
    for family in (*FAMILIES, *RULES)
    for dtype in ("f4", "f8")
    for arch in (OLDEST, 80, 86, 89, USUAL, 100, NEWEST)
]
every_build = pytest.mark.parametrize(
    "family, dtype, arch",
    [
        *BUILDS,
        *(pytest.param(*build, marks=pytest.mark.nightly)
          for build in ALL_BUILDS if build not in BUILDS),
    ],
)  # fmt: skip
REGISTERS = {"bag_forward": 56, "times": 56, "sgd_bag": 64, "adagrad_bag": 72, "keep_bag": 64}
MOST_REGISTERS = 128


def tool():
    """Path of cuobjdump, which comes as a package."""
    found = [p for root in nvidia.__path__ for p in Path(root).rglob("bin/cuobjdump")]
    return found[0] if found else pytest.skip('needs the extra "test-gpu"')


def check(result):
    error, *values = result
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, error
    return values[0] if values else None


@cache
def compiled(family, dtype, arch, padded=True):
    """Return (resource usage, instructions) of each kernel of a family."""
    flags = [*options(np.dtype(dtype), padded), f"--gpu-architecture=sm_{arch}", "-ftz=true"]
    program = check(nvrtc.nvrtcCreateProgram(source(family).encode(), b"kernels.cu", 0, [], []))
    done = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
    if done[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        check(nvrtc.nvrtcGetProgramLog(program, log))
        raise AssertionError(log.decode())
    code = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, code))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cubin"
        path.write_bytes(code)
        usage, listing = (
            subprocess.run([tool(), flag, path], check=True, capture_output=True, text=True).stdout
            for flag in ("--dump-resource-usage", "--dump-sass")
        )
    used = {
        name: dict((key, int(n)) for key, n in re.findall(r"(\w+):(\d+)", rest))
        for name, rest in re.findall(r"Function (\w+):\s*\n\s*(.*)", usage)
    }
    parts = re.split(r"Function : (\w+)", listing)
    return used, dict(zip(parts[1::2], parts[2::2], strict=True))


@every_build
def test_code(family, dtype, arch):
    used, instructions = compiled(family, dtype, arch)
    assert used.keys() == instructions.keys()
    assert used
    for name, resources in used.items():
        text = instructions[name]
        assert resources["STACK"] == resources["LOCAL"] == 0, f"{name} spills"
        assert not re.search(r"\b(LDL|STL)\b", text), f"{name} spills"
        assert not re.search(r"\b(ATOM|ATOMG|ATOMS|RED|REDG)\b", text), f"{name} has atomics"
        cap = REGISTERS.get(name) if (dtype, arch) == ("f4", USUAL) else None
        assert resources["REG"] <= (cap or MOST_REGISTERS), name


@pytest.mark.parametrize(
    "family, name, loads, stores",
    [("bag", "bag_forward", 5, 1), ("adagrad", "adagrad_bag", 7, 2), ("bag", "times", 6, 1)],
)
@pytest.mark.parametrize("dtype", ["f4", pytest.param("f8", marks=pytest.mark.nightly)])
def test_rows_move_sixteen_bytes_at_a_time(family, name, loads, stores, dtype):
    text = compiled(family, dtype, USUAL)[1][name]
    assert len(re.findall(r"LDG\.E\.128", text)) >= loads
    assert len(re.findall(r"STG\.E\.128", text)) >= stores


@pytest.mark.nightly
@pytest.mark.parametrize("family", RULES)
def test_rows_that_are_not_padded(family):
    used, _ = compiled(family, "f4", USUAL, padded=False)
    assert all(resources["LOCAL"] == 0 for resources in used.values())
