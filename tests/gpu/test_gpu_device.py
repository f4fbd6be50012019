"""The device timer on real hardware: the rules that tests/agent checks against fakes.

Nothing here judges a latency; figures come from benchmarks/device.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent.capture import Capturer
from flagkit.agent.device import FALLBACK_MARK, DeviceTimer
from flagkit.agent.facts import device_facts
from flagkit.agent.graphs import find_graph_class
from flagkit.agent.inputs import Generators, inspect_call
from flagkit.agent.streams import test_stream as under_stream
from flagkit.agent.timing import TimedCall
from flagkit.faults import mentions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flagkit.model import Plan

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def torch() -> Any:
    module = pytest.importorskip("torch", reason="torch is not installed")
    if not module.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return module


def proxy(real: Any) -> ModuleType:
    """A device interface that is not torch.cuda: its public names, in a module of its own."""
    real.init()  # default_generators is an empty tuple before
    module = ModuleType("proxy_device")
    vars(module).update({n: getattr(real, n) for n in dir(real) if not n.startswith("__")})
    return module


@pytest.fixture(params=["torch.cuda", "proxy"])
def interface(request: pytest.FixtureRequest, torch: Any) -> Any:
    return torch.cuda if request.param == "torch.cuda" else proxy(torch.cuda)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def measure(interface: Any, lines: list[str]) -> Iterator[Callable[..., Any]]:
    timer = DeviceTimer(
        interface, find_graph_class(interface), is_fatal=mentions, emit=lines.append
    )

    def time(fn: Callable[[], Any], plan: Plan | None = None, **call: Any) -> Any:
        call.setdefault("original_all", lambda: [1.0])
        return timer.measure(TimedCall(fn=fn, op="op", **call), plan)

    with under_stream(interface) as reason:
        assert reason == ""
        yield time


def test_a_kernel(torch: Any, measure: Any, lines: list[str]) -> None:
    x = torch.randn(64, 64, device="cuda")
    got = measure(lambda: torch.exp(x))
    assert (got.status, got.regime.label, got.plan.unroll) == ("ok", "graph/hot", 32)
    again = measure(lambda: torch.exp(x), plan=got.plan)
    assert again.plan == got.plan
    assert len(again.samples_ms) == got.plan.windows
    assert lines == []


@pytest.mark.parametrize("view", ["expand", "alias", "chunk", "view"])
def test_views_do_no_device_work(torch: Any, measure: Any, view: str) -> None:
    x = torch.randn(8, 1, device="cuda")
    calls = {
        "expand": lambda: x.expand(8, 4),
        "alias": lambda: torch.ops.aten.alias(x),
        "chunk": lambda: torch.chunk(x, 2),
        "view": lambda: x.view(-1),
    }
    assert measure(calls[view]).status == "no-device-work"


def test_the_timing_rule_where_the_stack_does_not_tell(torch: Any, interface: Any) -> None:
    class Silent(torch.cuda.CUDAGraph):  # type: ignore[misc]
        def capture_end(self) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                super().capture_end()

    timer = DeviceTimer(interface, Silent, is_fatal=mentions, emit=lambda text: None)
    x = torch.randn(8, 1, device="cuda")
    with under_stream(interface):
        assert timer.measure(TimedCall(fn=lambda: x.expand(8, 4)), None).status == "no-device-work"
        assert timer.measure(TimedCall(fn=x.exp), None).status == "ok"


def test_an_aborted_capture_leaves_random_numbers(
    torch: Any, measure: Any, lines: list[str]
) -> None:
    x = torch.zeros(8, device="cuda")
    torch.manual_seed(3)
    expected = torch.rand(4, device="cuda")
    torch.manual_seed(3)
    got = measure(lambda: x.sum().item())
    assert got.regime.phase == "capture"
    assert got.regime.label == "event/cold"
    assert lines[0].startswith(f"{FALLBACK_MARK} op=op phase=capture reason=")
    assert "captur" in got.regime.fallback_reason
    assert torch.equal(torch.rand(4, device="cuda"), expected)
    assert measure(lambda: torch.rand(4, device="cuda")).regime.label == "graph/hot"


def test_an_aborted_capture_of_a_random_call(torch: Any, measure: Any) -> None:
    measure(lambda: torch.rand(4, device="cuda").sum().item())
    torch.rand(4, device="cuda")
    assert measure(lambda: torch.rand(4, device="cuda")).status == "ok"


def test_replays_leave_the_seeds_alone(torch: Any, interface: Any, measure: Any) -> None:
    x = torch.ones(64, 64, device="cuda")
    generators = Generators(interface)
    torch.manual_seed(5)
    state = generators.save()
    expected = torch.rand(4, device="cuda")
    generators.restore(state)
    assert measure(lambda: torch.nn.functional.dropout(x)).regime.label == "graph/hot"
    generators.restore(state)
    assert torch.equal(torch.rand(4, device="cuda"), expected)


def test_a_backward_captures_on_the_tests_stream(torch: Any, measure: Any, lines: Any) -> None:
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    y = torch.nn.functional.gelu(x)
    dy = torch.randn_like(y)

    def fn() -> Any:
        return torch.autograd.grad((y,), (x,), grad_outputs=(dy,), retain_graph=True)

    assert measure(fn, grad_to_none=(x,)).regime.label == "graph/hot"
    assert lines == []


def test_a_backward_of_the_default_stream_falls_back(torch: Any, interface: Any) -> None:
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    y = torch.nn.functional.gelu(x)
    dy = torch.randn_like(y)
    timer = DeviceTimer(
        interface, find_graph_class(interface), is_fatal=mentions, emit=lambda text: None
    )
    call = TimedCall(
        fn=lambda: torch.autograd.grad((y,), (x,), grad_outputs=(dy,), retain_graph=True),
        original_all=lambda: [1.0],
    )
    got = timer.measure(call, None)
    assert got.regime.resolved in ("event", "graph")
    assert interface.current_stream() == interface.default_stream()
    torch.rand(4, device="cuda")


def test_a_slow_call_is_alone_in_its_graph(torch: Any, measure: Any) -> None:
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.float64)
    got = measure(lambda: x @ x)
    assert got.plan.unroll == 1


def test_graphs_are_released(torch: Any, interface: Any) -> None:
    capturer = Capturer(interface, find_graph_class(interface))
    x = torch.ones(1024, device="cuda")
    with capturer.side_stream():
        used = []
        for _ in range(60):
            graph = capturer.capture(lambda: x + 1)
            graph.replay()
            interface.synchronize()
            graph.release()
            used.append(torch.cuda.memory_reserved())
    assert max(used[30:]) <= max(used[:30])


def test_inspecting_launches_nothing(torch: Any) -> None:
    x = torch.randn(1000, 1000, device="cuda", dtype=torch.float16)
    y = x.t()[::3]

    def fn() -> Any:
        return x, y

    inspect_call(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of events between cycles
        profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        profile.start()
    try:
        inspection = inspect_call(fn)
        assert not inspection.changed()
        torch.cuda.synchronize()
    finally:
        profile.stop()
    names = {event.name for event in profile.events()}
    assert not {name for name in names if "kernel" in name.lower() and "launch" not in name.lower()}
    assert not {name for name in names if "LaunchKernel" in name}
    assert inspection.unseen == 0


def test_the_digest_sees_device_values_and_skips_registered_operators(torch: Any) -> None:
    x = torch.zeros(100_000, device="cuda", dtype=torch.bfloat16)
    before = inspect_call(lambda: x)
    called: list[str] = []
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in ("copy_", "_to_copy", "clone"):
                library.impl(name, lambda *a, name=name, **k: called.append(name), "CUDA")
        assert inspect_call(lambda: x).digest == before.digest
    finally:
        library._destroy()
    assert called == []
    x[50_000] = 2
    assert before.changed()
    assert inspect_call(lambda: x).digest != before.digest


def test_facts_of_the_device(torch: Any) -> None:
    got = device_facts("cuda", torch.cuda, 0)
    assert got["name"] == torch.cuda.get_device_name(0)
    assert got["versions"]["torch"] == torch.__version__
    assert "state" in got or got["notes"]


def test_an_allocation_that_fails_is_raised_and_the_next_call_works(
    torch: Any, measure: Any
) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        measure(lambda: torch.empty(1 << 44, device="cuda"))
    x = torch.ones(64, device="cuda")
    assert measure(lambda: x + 1).status == "ok"


DYING = """
    import torch
    from flagkit.agent.device import DeviceTimer
    from flagkit.agent.graphs import find_graph_class
    from flagkit.agent.timing import TimedCall
    from flagkit.faults import mentions
    import os

    said = []
    timer = DeviceTimer(torch.cuda, find_graph_class(torch.cuda), is_fatal=mentions,
                        emit=said.append)
    x = torch.zeros(8, device="cuda")
    bad = torch.full((8,), 1 << 20, device="cuda")
    try:
        timer.measure(TimedCall(fn=lambda: x[bad], original_all=lambda: [1.0]), None)
    except RuntimeError as exc:
        print("RAISED", said, " ".join(str(exc).split())[:80], flush=True)
    os._exit(0)  # a dead context must not be cleaned up
"""


def test_a_device_assert_is_raised(torch: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DYING)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "RAISED [] " in done.stdout, done.stdout + done.stderr[-2000:]
    assert "assert" in done.stdout
