"""What is missing on the way to a device, each with the cure."""

import sys
import types

import pytest

from skembed.kernels import get_backend


class RuntimeFailure(RuntimeError):
    """Stands for CUDARuntimeError."""


class CuPy(types.ModuleType):
    """A CuPy that finds so much."""

    def __init__(self, *, nvrtc=True, driver=13000, devices=1, failure=None):
        super().__init__("cupy")
        self.used = []

        def version():
            if not nvrtc:
                raise RuntimeError("libnvrtc.so.13: cannot open shared object file")
            return 13, 0

        def count():
            if failure:
                raise RuntimeFailure(failure)
            return devices

        runtime = types.SimpleNamespace(
            driverGetVersion=lambda: driver, getDeviceCount=count, CUDARuntimeError=RuntimeFailure
        )
        self.cuda = types.SimpleNamespace(
            nvrtc=types.SimpleNamespace(getVersion=version), runtime=runtime, Device=self.Device
        )

    def Device(self, number):
        return types.SimpleNamespace(use=lambda: self.used.append(number))


MISSING = {
    "cupy": (None, "needs CuPy.*pip install"),
    "toolkit": (CuPy(nvrtc=False), "NVRTC could not be loaded.*pip install"),
    "driver": (CuPy(driver=0), "needs the NVIDIA driver.*device='cpu'"),
    "old driver": (
        CuPy(failure="cudaErrorInsufficientDriver: version 35"), "driver does not work.*Update",
    ),
    "device": (CuPy(failure="cudaErrorNoDevice: none"), "CUDA finds 0 device.*VISIBLE_DEVICES"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISSING)
def test_messages(what, monkeypatch):
    cupy, message = MISSING[what]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(RuntimeError, match=f"device='cuda'.*{message}"):
        get_backend(device="cuda")


def test_messages_differ(monkeypatch):
    texts = set()
    for cupy, _ in MISSING.values():
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        with pytest.raises(RuntimeError) as caught:
            get_backend(device="cuda")
        texts.add(str(caught.value)[:60])
    assert len(texts) == len(MISSING)


@pytest.mark.parametrize("device, number", [("cuda", 0), ("cuda:0", 0), ("cuda:1", 1)])
def test_devices(device, number, monkeypatch):
    cupy = CuPy(devices=2)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with get_backend(device=device) as backend:
        assert backend.xp is cupy
    assert cupy.used == [number]


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", CuPy(devices=2))
    with pytest.raises(RuntimeError, match="finds 2 device"):
        get_backend(device="cuda:2")


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0"])
def test_names_of_devices(device):
    with pytest.raises(ValueError, match="'cuda' or 'cuda:N'"):
        get_backend(device=device)


def test_this_machine():
    """Real CuPy, where it is installed, gives a device or one of the messages."""
    pytest.importorskip("cupy", reason="needs CuPy, with or without a device")
    try:
        get_backend(device="cuda").close()
    except RuntimeError as error:
        assert "device='cuda'" in str(error)
