"""What stands in for CuPy has its names and signatures; CuPy imports without a device."""

import inspect

import numpy as np
import pytest

from cudaemu import emulator, standin

OWN = {"counts", "memory", "ndarray", "types", "np", "emulator", "ALIGN", "GUARD"}
NAMES = sorted(
    name
    for name in vars(standin)
    if not name.startswith("_") and name not in OWN and name != "OutOfMemoryError"
)
ARRAY = sorted(
    name
    for name in vars(standin.ndarray)
    if name
    not in (
        "__module__",
        "__doc__",
        "__dict__",
        "__weakref__",
        "_scalar",
        "__static_attributes__",
        "__firstlineno__",
    )
)


def test_it_stays_small():
    assert len(NAMES) <= 40


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    cupy = pytest.importorskip("cupy", reason="needs CuPy, without a device")
    real, own = getattr(cupy, name), getattr(standin, name)
    if not inspect.isfunction(own):
        return
    parameters = inspect.signature(real).parameters
    for parameter in inspect.signature(own).parameters.values():
        assert parameter.name in parameters
        if parameter.default is not inspect.Parameter.empty:
            assert parameters[parameter.name].default == parameter.default


@pytest.mark.parametrize("name", ARRAY)
def test_names_of_arrays(name):
    cupy = pytest.importorskip("cupy", reason="needs CuPy, without a device")
    assert hasattr(cupy.ndarray, name)


def test_devices():
    cupy = pytest.importorskip("cupy", reason="needs CuPy, without a device")
    for part in ("Device", "nvrtc.getVersion", "runtime.driverGetVersion", "runtime.getDeviceCount",
                 "runtime.CUDARuntimeError"):  # fmt: skip
        found = cupy.cuda
        for name in part.split("."):
            found = getattr(found, name)
    assert hasattr(cupy.cuda.Device, "use")
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)
    assert issubclass(standin.OutOfMemoryError, MemoryError)


def test_nothing_is_converted_in_silence():
    a, host = standin.ones(3, np.float32), np.ones(3, np.float32)
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(a)
    for mixed in (lambda: a + host, lambda: host + a, lambda: a[host.astype(int)]):
        with pytest.raises(TypeError):
            mixed()
    with pytest.raises(TypeError):
        a[:] = host


def test_what_costs_time_is_counted():
    before = dict(standin.counts)
    a = standin.asarray(np.ones(4, np.float32))
    int(a[0])
    a.get()
    assert standin.counts["to_device"] - before["to_device"] == 16
    assert standin.counts["to_host"] - before["to_host"] == 16
    assert standin.counts["synchronised"] - before["synchronised"] == 2


def test_memory_can_run_out(monkeypatch):
    monkeypatch.setattr(standin.memory, "limit", 100)
    standin.zeros(25, np.float32)
    with pytest.raises(standin.OutOfMemoryError, match="104 bytes"):
        standin.zeros(26, np.float32)


def test_a_compiler_is_there_where_it_must_be():
    assert emulator.GXX or not emulator.REQUIRED, emulator.WHY_NOT
