"""What the built-in backends say of themselves and of this machine."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

from flagkit.interfaces import StaleGuard
from flagkit.probing import run_probe
from flagkit_cpu import CpuBackend
from flagkit_cuda import PROBE as CUDA_PROBE
from flagkit_cuda import CudaBackend
from flagkit_cuda import flagkit_graph_class as cuda_graph_class
from flagkit_musa import PROBE as MUSA_PROBE
from flagkit_musa import MusaBackend
from flagkit_musa import flagkit_graph_class as musa_graph_class

HERE = Path(sys.executable)


def test_names():
    assert (CpuBackend().flagtree_prefix, CpuBackend().gems_vendor) == (None, None)
    assert (CudaBackend().flagtree_prefix, CudaBackend().gems_vendor) == ("", "nvidia")
    assert (MusaBackend().flagtree_prefix, MusaBackend().gems_vendor) == ("MUSA", "mthreads")


def test_cpu_runs_anywhere():
    answer = CpuBackend().probe(HERE)
    assert answer.ok
    assert "machine" in answer.facts
    assert CpuBackend().environ(0) == {}
    assert CpuBackend().device_interface() is None


@pytest.mark.parametrize(
    ("backend", "variable"),
    [(CudaBackend(), "CUDA_VISIBLE_DEVICES"), (MusaBackend(), "MUSA_VISIBLE_DEVICES")],
)
def test_the_visible_device(backend, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    assert backend.environ(1) == {variable: "1"}
    monkeypatch.setenv(variable, "4,6")
    assert backend.environ(1) == {variable: "6"}


def test_graph_classes():
    class CUDAGraph: ...

    class MUSAGraph: ...

    interface = types.SimpleNamespace(CUDAGraph=CUDAGraph, MUSAGraph=MUSAGraph)
    assert cuda_graph_class("cuda", interface) is CUDAGraph
    assert musa_graph_class("musa", interface) is MUSAGraph
    assert cuda_graph_class("musa", interface) is None
    assert musa_graph_class("cuda", interface) is None
    assert cuda_graph_class("cuda", types.SimpleNamespace()) is None


def test_stale_guards():
    assert CudaBackend().stale_guards() == CpuBackend().stale_guards() == ()
    guards = MusaBackend().stale_guards()
    assert (
        StaleGuard(file="test_fft.py", reason="CUDA is not available", test="test_perf_fft")
        in guards
    )
    assert {g.file for g in guards} == {
        "test_fft.py",
        "test_top_k_per_row_decode.py",
        "test_top_k_per_row_prefill.py",
    }


def test_cpu_has_no_context_to_lose():
    assert CpuBackend().is_fatal(RuntimeError("illegal memory access")) is False


class Fake:
    """Made modules in place of a vendor's stack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, modules: dict[str, str]) -> dict[str, str]:
        for name, text in modules.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environ = {k: v for k, v in os.environ.items() if not k.endswith("_VISIBLE_DEVICES")}
        return {**environ, "PYTHONPATH": str(self.folder)}


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


TORCH = """
import types
__version__ = "9.0"
version = types.SimpleNamespace(cuda={cuda})
card = types.SimpleNamespace(name="Card", uuid="GPU-1")
def devices(count):
    return types.SimpleNamespace(
        __name__="torch.made", is_available=lambda: count > 0, device_count=lambda: count,
        get_device_properties=lambda number: card)
cuda = devices({count})
{more}
"""
DRIVER = """
import torch, types
driver = types.SimpleNamespace(
    active=types.SimpleNamespace(get_device_interface=lambda: torch.{name}))
"""


def torch(*, cuda: str | None = None, count: int = 0, more: str = "") -> dict[str, str]:
    return {"torch.py": TORCH.format(cuda=repr(cuda), count=count, more=more)}


def triton(name: str) -> dict[str, str]:
    return {
        "triton/__init__.py": '__version__ = "3.6"',
        "triton/runtime.py": DRIVER.format(name=name),
    }


TORCH_MUSA = {"torch_musa.py": '__version__ = "2.5"'}


class TestCudaProbe:
    def test_torch_is_missing(self):
        code = "importlib.util.find_spec = lambda name: None\n" + CUDA_PROBE
        assert run_probe(HERE, code).reason == "torch is not installed"

    def test_built_without(self, fake):
        answer = run_probe(HERE, CUDA_PROBE, environ=fake(torch()))
        assert answer.reason == "torch sees no CUDA device (torch 9.0 is built without CUDA)"

    @pytest.mark.parametrize(
        ("visible", "why"),
        [("", "CUDA_VISIBLE_DEVICES is empty"), ("0", "torch 9.0, built for CUDA 12.8")],
    )
    def test_no_device(self, fake, visible, why):
        environ = {**fake(torch(cuda="12.8")), "CUDA_VISIBLE_DEVICES": visible}
        answer = run_probe(HERE, CUDA_PROBE, environ=environ)
        assert answer.reason == f"torch sees no CUDA device ({why})"

    def test_a_device(self, fake):
        environ = fake({**torch(cuda="12.8", count=2), **triton("cuda")})
        answer = run_probe(HERE, CUDA_PROBE, environ=environ)
        assert answer.ok, answer.reason
        assert answer.facts["torch"] == "9.0"
        assert answer.facts["cuda"] == "12.8"
        assert answer.facts["devices"] == "2"
        assert answer.facts["device 1"] == "Card (uuid GPU-1)"
        assert answer.facts["device interface"] == "torch.made"

    def test_triton_without_a_driver(self, fake):
        modules = {**torch(cuda="12.8", count=1), **triton("cuda")}
        modules["triton/runtime.py"] = (
            "class Driver:\n"
            "    @property\n"
            "    def active(self): raise RuntimeError('0 active drivers ([]).')\n"
            "driver = Driver()\n"
        )
        answer = run_probe(HERE, CUDA_PROBE, environ=fake(modules))
        assert answer.reason == "triton 3.6 gives no device interface: 0 active drivers ([])."


class TestMusaProbe:
    def test_torch_musa_is_missing(self):
        assert MusaBackend().probe(HERE).reason == "torch_musa is not installed"

    def test_no_device(self, fake):
        environ = fake({**torch(count=1, more="musa = devices(0)"), **TORCH_MUSA})
        answer = run_probe(HERE, MUSA_PROBE, environ=environ)
        assert answer.reason == "torch sees no MUSA device (torch_musa 2.5)"

    def test_a_device(self, fake):
        environ = fake({**torch(more="musa = devices(1)"), **TORCH_MUSA, **triton("musa")})
        answer = run_probe(HERE, MUSA_PROBE, environ=environ)
        assert answer.ok, answer.reason
        assert answer.facts["torch_musa"] == "2.5"
        assert answer.facts["device 0"] == "Card (uuid GPU-1)"


@pytest.mark.parametrize("backend", [CudaBackend(), MusaBackend()])
def test_the_interface_is_triton_s(backend, monkeypatch):
    interface = types.SimpleNamespace()
    active = types.SimpleNamespace(get_device_interface=lambda: interface)
    runtime = types.SimpleNamespace(driver=types.SimpleNamespace(active=active))
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "triton.runtime", runtime)
    assert backend.device_interface() is interface
