"""The device's timer against fakes of both shapes; the same rules on hardware in tests/gpu."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent import device as device_module
from flagkit.agent.device import FALLBACK_MARK, DeviceTimer
from flagkit.agent.graphs import find_graph_class
from flagkit.agent.timing import TimedCall
from flagkit.faults import mentions
from flagkit.model import Plan
from flagkit.testing.fakes import (
    CAPTURING,
    FakeDevice,
    FakeDeviceError,
    Script,
    cuda_like,
    is_dead,
    musa_like,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SHAPES = {"cuda": cuda_like, "musa": musa_like}


@dataclass
class Rig:
    """A timer on a fake device, and what it said."""

    interface: ModuleType
    device: FakeDevice
    timer: DeviceTimer
    lines: list[str] = field(default_factory=list)

    def time(self, fn: Callable[[], Any], plan: Plan | None = None, **call: Any) -> Any:
        call.setdefault("original_all", lambda: [0.5, 0.6, 0.7])
        return self.timer.measure(TimedCall(fn=fn, op="gelu", **call), plan)


def rig(shape: str = "cuda", requested: str = "graph", **script: Any) -> Rig:
    build = SHAPES[shape]
    if shape == "musa":
        script.setdefault("tells_empty", False)
    interface, device = build(Script(**script))
    lines: list[str] = []
    timer = DeviceTimer(
        interface,
        find_graph_class(interface),
        requested=requested,
        is_fatal=is_dead,
        emit=lines.append,
    )
    return Rig(interface, device, timer, lines)


@pytest.fixture(params=sorted(SHAPES))
def any_rig(request: pytest.FixtureRequest) -> Rig:
    return rig(request.param)


@pytest.mark.parametrize("length_us", [1.3, 20.0, 900.0])
def test_a_kernel_is_timed_by_replays(any_rig: Rig, length_us: float) -> None:
    got = any_rig.time(lambda: any_rig.device.kernel(length_us))
    per_call = length_us + any_rig.device.script.empty_us / got.plan.unroll
    assert got.status == "ok"
    assert got.regime.label == "graph/hot"
    assert got.regime.protocol == "flagkit-device-1"
    assert got.latency_ms == pytest.approx(per_call / 1e3, rel=1e-3)
    assert any_rig.lines == []


def test_windows_last_at_least_ten_ms(any_rig: Rig) -> None:
    got = any_rig.time(lambda: any_rig.device.kernel(20.0))
    assert got.latency_ms * got.plan.unroll * got.plan.replays >= 10.0
    assert len(got.samples_ms) == got.plan.windows


def test_the_plan_is_replayed_exactly(any_rig: Rig) -> None:
    def fn() -> None:
        any_rig.device.kernel(20.0)

    first = any_rig.time(fn)
    before = any_rig.device.replays
    calls: list[int] = []
    again = any_rig.time(lambda: (calls.append(1), fn()), plan=first.plan)
    assert again.plan == first.plan
    assert len(again.samples_ms) == first.plan.windows
    graph_replays = any_rig.device.replays - before
    plain = device_module.HOST_CALLS
    probed = device_module.PROBE_REPLAYS
    assert plain + probed + (graph_replays - probed) * first.plan.unroll == first.plan.calls


def test_both_sides_run_the_call_equally_often() -> None:
    counts, plan = [], None
    for _ in range(2):
        one = rig()
        plan = one.time(lambda one=one: one.device.kernel(20.0), plan=plan).plan
        # The empty graph of the first call in a process is replayed on both sides too.
        counts.append((one.device.replays, one.device.launches))
    assert counts[0] == counts[1]


def test_latency_depends_on_the_unroll_so_that_it_is_one_number() -> None:
    one = rig(growth=lambda nodes: 1 + nodes / 400)
    plans = {one.time(lambda us=us: one.device.kernel(us)).plan.unroll for us in (1.3, 5, 60, 290)}
    assert plans == {32}


@pytest.mark.parametrize(("length_us", "unroll"), [(600.0, 16), (4000.0, 2), (25000.0, 1)])
def test_slow_calls_unroll_less(any_rig: Rig, length_us: float, unroll: int) -> None:
    got = any_rig.time(lambda: any_rig.device.kernel(length_us))
    assert got.plan.unroll == unroll


def test_a_very_slow_call_is_bounded_in_time() -> None:
    one = rig()
    got = one.time(lambda: one.device.kernel(1.5e6))
    assert got.plan == Plan(warmup=got.plan.warmup, unroll=1, replays=1, windows=3)
    assert one.device.host_us < 25e6


def test_memory_bounds_the_unroll() -> None:
    one = rig(memory=1 << 30)

    def fn() -> None:
        one.device.allocate(1 << 26)
        one.device.kernel(10.0)

    got = one.time(fn)
    assert got.plan.unroll == 8
    assert got.status == "ok"


def test_many_allocations_bound_the_unroll() -> None:
    one = rig()

    def fn() -> None:
        for _ in range(1000):
            one.device.allocate(512)
        one.device.kernel(10.0)

    assert one.time(fn).plan.unroll == 4


@pytest.mark.parametrize("launch_us", [1.0, 5.0, 40.0])
def test_an_empty_graph_is_no_device_work(any_rig: Rig, launch_us: float) -> None:
    any_rig.device.script.replay_us = launch_us
    got = any_rig.time(lambda: None)
    assert got.status == "no-device-work"
    assert got.latency_ms is None
    assert got.plan is None
    assert any_rig.lines == []


@pytest.mark.parametrize("launch_us", [1.0, 5.0, 40.0])
def test_a_tiny_kernel_is_never_taken_for_nothing(any_rig: Rig, launch_us: float) -> None:
    any_rig.device.script.replay_us = launch_us
    got = any_rig.time(lambda: any_rig.device.kernel(0.7))
    assert got.status == "ok"


def test_a_tiny_kernel_is_seen_in_the_plan_of_a_slow_one(any_rig: Rig) -> None:
    any_rig.device.script.replay_us = 40.0
    plan = any_rig.time(lambda: any_rig.device.kernel(9000.0)).plan
    assert plan.unroll == 1
    assert any_rig.time(lambda: any_rig.device.kernel(3.0), plan=plan).status == "ok"


def test_emptiness_is_judged_on_a_replayed_plan_too(any_rig: Rig) -> None:
    plan = any_rig.time(lambda: any_rig.device.kernel(5.0)).plan
    assert any_rig.time(lambda: None, plan=plan).status == "no-device-work"


def test_a_call_that_synchronises_falls_back(any_rig: Rig) -> None:
    def fn() -> None:
        any_rig.device.kernel(5.0)
        any_rig.device.synchronize()

    got = any_rig.time(fn)
    assert got.samples_ms == (0.5, 0.6, 0.7)
    assert got.latency_ms == 0.6
    assert got.regime.label == "event/cold"
    assert got.regime.requested == "graph"
    assert got.regime.protocol == "triton-do_bench"
    assert got.regime.phase == "capture"
    assert CAPTURING in got.regime.fallback_reason
    (line,) = any_rig.lines
    assert line.startswith(f"{FALLBACK_MARK} op=gelu phase=capture reason=")
    assert CAPTURING in line
    assert "\n" not in line


def test_after_an_aborted_capture_everything_works_again() -> None:
    one = rig("cuda")
    one.device.generator.set_state((7, 40))
    one.time(lambda: (one.device.random(), one.device.synchronize()))
    assert one.device.current == one.device.default
    one.device.random()
    # Three plain calls and the draw just now; the capture itself counted elsewhere.
    assert one.device.generator.get_state() == (7, 40 + 4 * 4)
    assert one.time(lambda: one.device.random()).status == "ok"


def test_replays_leave_the_seeds_alone() -> None:
    one = rig("cuda")
    state = one.device.generator.state
    one.time(lambda: one.device.random())
    assert one.device.generator.state is state
    assert state.offset == 4 * device_module.HOST_CALLS


def test_a_backward_of_the_default_stream_falls_back(any_rig: Rig) -> None:
    made_on = any_rig.device.current
    got = any_rig.time(lambda: any_rig.device.kernel(5.0, stream=made_on))
    assert got.regime.phase == "capture"


def test_a_backward_captures_under_the_tests_own_stream(any_rig: Rig) -> None:
    with device_module.test_stream(any_rig.interface) as reason:
        assert reason == ""
        made_on = any_rig.device.current
        got = any_rig.time(lambda: any_rig.device.kernel(5.0, stream=made_on))
        assert any_rig.device.current == made_on
    assert got.regime.label == "graph/hot"
    assert any_rig.device.current == any_rig.device.default


def test_the_first_runs_error_is_the_benchmarks(any_rig: Rig) -> None:
    def fn() -> None:
        raise ValueError("bad shape")

    with pytest.raises(ValueError, match="bad shape"):
        any_rig.time(fn)
    assert any_rig.lines == []


def test_an_error_while_warming_up_falls_back(any_rig: Rig) -> None:
    calls: list[int] = []

    def fn() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("only\nonce")

    got = any_rig.time(fn)
    assert (got.regime.phase, got.regime.fallback_reason) == ("warmup", "RuntimeError: only once")


@pytest.mark.parametrize("when", ["first", "warmup", "capture"])
def test_a_dead_device_is_raised(any_rig: Rig, when: str) -> None:
    calls: list[int] = []
    dies_at = {"first": 1, "warmup": 2, "capture": 4}[when]

    def fn() -> None:
        calls.append(1)
        if len(calls) == dies_at:
            any_rig.device.kill()
        any_rig.device.kernel(3.0)

    with pytest.raises(FakeDeviceError, match="illegal memory access"):
        any_rig.time(fn)
    assert any_rig.lines == []


def test_a_device_that_dies_in_replay_is_raised(any_rig: Rig) -> None:
    class Dying(find_graph_class(any_rig.interface)):  # type: ignore[misc]
        def replay(self) -> None:
            if self.nodes:
                self.device.kill()
            super().replay()

    timer = DeviceTimer(any_rig.interface, Dying, is_fatal=is_dead, emit=any_rig.lines.append)
    with pytest.raises(FakeDeviceError, match="illegal memory access"):
        timer.measure(TimedCall(fn=lambda: any_rig.device.kernel(5.0)), None)


def test_every_graph_is_released(any_rig: Rig) -> None:
    any_rig.device.script.graph_limit = 2
    for _ in range(10):
        assert any_rig.time(lambda: any_rig.device.kernel(100.0)).status == "ok"
    assert any_rig.device.live_graphs == 0


def test_running_out_of_graphs_falls_back(any_rig: Rig) -> None:
    any_rig.device.script.graph_limit = 0
    got = any_rig.time(lambda: any_rig.device.kernel(5.0))
    assert "too many graph executables" in got.regime.fallback_reason


@pytest.mark.parametrize("lacking", ["Event", "Stream", "stream", "synchronize"])
def test_what_the_interface_lacks_is_a_reason(any_rig: Rig, lacking: str) -> None:
    delattr(any_rig.interface, lacking)
    got = any_rig.time(lambda: any_rig.device.kernel(5.0))
    assert lacking in got.regime.fallback_reason
    assert got.latency_ms == 0.6


def test_no_graph_class_is_a_reason() -> None:
    interface, device = cuda_like()
    timer = DeviceTimer(interface, None, is_fatal=is_dead, emit=lambda text: None)
    call = TimedCall(fn=lambda: device.kernel(5.0), original_all=lambda: [1.0])
    assert "no graph class" in timer.measure(call, None).regime.fallback_reason


@pytest.mark.parametrize(
    "without", ["graph", "set_stream", "current_stream", "default_stream", "memory_stats"]
)
def test_what_can_be_done_without_is_done_without(any_rig: Rig, without: str) -> None:
    vars(any_rig.interface).pop(without, None)
    got = any_rig.time(lambda: any_rig.device.kernel(50.0))
    assert got.regime.label == "graph/hot"


def test_the_event_regime_is_the_original_timer(any_rig: Rig) -> None:
    one = rig("cuda", requested="event")
    got = one.time(lambda: one.device.kernel(5.0))
    assert got.regime.label == "event/cold"
    assert not got.regime.fell_back
    assert got.plan is None
    assert one.device.launches == 0
    assert one.lines == []


def test_no_original_timer_is_a_failed_row() -> None:
    one = rig("cuda", requested="event")
    got = one.time(lambda: None, original_all=None)
    assert got.status == "failed" and "triton.testing.do_bench" in got.reason


def test_without_an_original_timer_the_reason_is_what_stood_in_the_graphs_way() -> None:
    one = rig()
    got = one.time(one.interface.synchronize, original_all=None)
    assert got.status == "failed"
    assert got.reason.startswith("capture: ") and CAPTURING in got.reason


def test_gradients_are_dropped_before_every_call(any_rig: Rig) -> None:
    class Tensor:
        grad: Any = None

    tensor = Tensor()

    def fn() -> None:
        assert tensor.grad is None
        tensor.grad = 1
        any_rig.device.kernel(5.0)

    assert any_rig.time(fn, grad_to_none=(tensor,)).status == "ok"


def test_a_drifting_device_gets_more_windows() -> None:
    one = rig()
    clock = {"n": 0}

    def growth(nodes: int) -> float:
        clock["n"] += 1
        return 1 + clock["n"] / 2000

    one.device.script.growth = growth
    got = one.time(lambda: one.device.kernel(20.0))
    assert got.plan.windows == 15


def test_a_steady_device_gets_few_windows(any_rig: Rig) -> None:
    assert any_rig.time(lambda: any_rig.device.kernel(20.0)).plan.windows == 5


def test_samples_have_no_outliers_from_the_host(any_rig: Rig) -> None:
    samples = any_rig.time(lambda: any_rig.device.kernel(20.0)).samples_ms
    assert max(samples) == pytest.approx(statistics.median(samples), rel=2e-3)


def test_an_op_with_blanks_keeps_the_line_readable(any_rig: Rig) -> None:
    call = TimedCall(fn=any_rig.device.synchronize, op="two words\n", original_all=lambda: [1.0])
    any_rig.timer.measure(call, None)
    assert f"{FALLBACK_MARK} op=two_words phase=capture " in any_rig.lines[0]


class OutOfMemoryError(FakeDeviceError):
    """As torch's allocator raises; its class is the only one of that name."""


@pytest.mark.parametrize("kind", [OutOfMemoryError, FakeDeviceError])
def test_memory_that_a_graph_is_refused_is_a_reason_and_a_drivers_word_is_death(
    any_rig: Rig, kind: type[Exception]
) -> None:
    def fn() -> None:
        any_rig.device.kernel(5.0)
        if any_rig.device.capture is not None:
            raise kind("CUDA out of memory. Tried to allocate 40.00 GiB.")

    timer = DeviceTimer(
        any_rig.interface,
        find_graph_class(any_rig.interface),
        is_fatal=mentions,
        emit=any_rig.lines.append,
    )
    call = TimedCall(fn=fn, op="gelu", original_all=lambda: [0.5])
    if kind is FakeDeviceError:
        with pytest.raises(FakeDeviceError, match="out of memory"):
            timer.measure(call, None)
        assert any_rig.lines == []
    else:
        assert timer.measure(call, None).regime.phase == "capture"
        assert "reason=OutOfMemoryError: CUDA out of memory." in any_rig.lines[0]


def test_a_dead_cause_behind_another_error_is_found() -> None:
    one = rig()

    def fn() -> None:
        if one.device.capture is not None:
            try:
                raise FakeDeviceError("device-side assert triggered")
            except FakeDeviceError as exc:
                raise KeyError("wrapper") from exc
        one.device.kernel(5.0)

    with pytest.raises(FakeDeviceError, match="device-side assert"):
        one.time(fn)
