"""A device that dies between the timed calls is noticed, and only such a one."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent.assembly import Assembly
from flagkit.agent.config import AgentConfig, Plugin
from flagkit.agent.plugin import AgentPlugin
from flagkit.testing.fakes import cuda_like
from flagkit_cuda import CudaBackend

if TYPE_CHECKING:
    from pathlib import Path

DEAD = "CUDA error: an illegal memory access was encountered"


def assembled(said: str) -> Assembly:
    """An assembly whose device answers *said* when it is waited for; empty: it is well."""
    assembly = Assembly(AgentConfig())
    interface: Any = ModuleType("made_device")

    def synchronize() -> None:
        if said:
            raise RuntimeError(said)

    interface.synchronize = synchronize
    assembly._backend = CudaBackend()
    assembly.session.interface = interface
    return assembly


@pytest.mark.parametrize(
    ("raised", "said", "dead"),
    [(DEAD, DEAD, True), ("CUDA out of memory", "", False), ("no such shape", DEAD, False)],
)
def test_a_device_is_dead_when_it_says_so_again(raised: str, said: str, dead: bool) -> None:
    assembly = assembled(said)
    assembly.survived(RuntimeError(raised))
    assert bool(assembly.session.fatal) is dead


def test_no_further_test_runs_on_a_device_that_died_between_calls() -> None:
    class Item:
        nodeid = "t"
        session = ModuleType("made_session")

    item: Any = Item()
    body = AgentPlugin(assembled(DEAD)).pytest_runtest_call(item)
    next(body)
    with pytest.raises(BaseException, match="illegal memory access"):
        body.throw(pytest.fail.Exception(f"err=<<<{DEAD}>>>"))
    assert item.session.shouldstop.startswith("the device is dead: RuntimeError: CUDA error")


def test_a_benchmark_that_imports_torch_late_is_timed_on_its_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interface, _ = cuda_like()
    assembly = Assembly(AgentConfig())
    assembly._backend = CudaBackend()
    monkeypatch.setattr(CudaBackend, "device_interface", lambda self: interface)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert assembly.session.time(lambda: None).measurement.regime.resolved == "host"
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    assert assembly.session.time(lambda: None).measurement.regime.resolved == "graph"


def test_the_hosts_clock_does_not_stand_in_for_a_backend_that_failed_to_load() -> None:
    assembly = Assembly(AgentConfig(backend=Plugin(name="acme", module="acme_is_not_here")))
    assembly.start()
    try:
        measurement = assembly.session.time(lambda: None).measurement
    finally:
        assembly.close()
    assert measurement.regime.resolved == "event"
    assert "no_device_interface" in measurement.regime.fallback_reason


def test_a_backend_that_fails_hides_no_error_of_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assembly = Assembly(AgentConfig(directory=tmp_path))
    assembly._backend = CudaBackend()

    def broken(*given: object) -> Any:
        raise TypeError("of the backend")

    monkeypatch.setattr(CudaBackend, "is_fatal", broken)
    monkeypatch.setattr(CudaBackend, "stale_guards", broken)
    gems: Any = ModuleType("flag_gems")
    gems.vendor_name = CudaBackend.gems_vendor
    monkeypatch.setitem(sys.modules, "flag_gems", gems)
    assert assembly.stale_guards() == ()

    def call() -> None:
        raise ValueError("of the benchmark")

    with pytest.raises(ValueError, match="of the benchmark"):
        assembly.session.time(call)
    assembly.close()
    text = (tmp_path / "measurements.jsonl").read_text()
    lines = [json.loads(one) for one in text.splitlines()]
    notes = [line["text"] for line in lines if line.get("code") == "backend-failed"]
    assert [note.split("()")[0] for note in notes] == ["stale_guards", "is_fatal"]
    (journalled,) = [line for line in lines if line["kind"] == "call"]
    assert journalled["reason"] == "ValueError: of the benchmark"
