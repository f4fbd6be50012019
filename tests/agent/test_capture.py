"""Capturing: which class does it, and what is left behind when it goes wrong."""

from __future__ import annotations

import gc
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.agent.budget import (
    MAX_ALLOCATIONS,
    UNROLL,
    Footprint,
    choose_unroll,
    grows,
    looks_empty,
    replays_for,
    window_limits,
)
from flagkit.agent.capture import Capturer, device_generator
from flagkit.agent.graphs import GraphClassError, find_graph_class, flagkit_graph_class
from flagkit.agent.memory import footprint
from flagkit.agent.streams import on_side_stream, open_stream
from flagkit.agent.streams import test_stream as under_stream
from flagkit.testing.fakes import CAPTURING, POISONED, FakeDeviceError, cuda_like, musa_like

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.testing.fakes import FakeDevice

SHAPES = {"cuda": cuda_like, "musa": musa_like}


class Base:
    def capture_begin(self) -> None: ...

    def capture_end(self) -> None: ...

    def replay(self) -> None: ...


class Face(Base):
    pass


class Other:
    capture_begin = capture_end = replay = lambda self: None


@pytest.fixture(params=sorted(SHAPES))
def pair(request: pytest.FixtureRequest) -> tuple[ModuleType, FakeDevice]:
    return SHAPES[request.param]()


def _captured(pair: tuple[ModuleType, FakeDevice], calls: Callable[[], object]) -> Any:
    capturer = Capturer(pair[0], find_graph_class(pair[0]))
    with capturer.side_stream():
        return capturer.capture(calls)


def test_the_one_class_with_the_three_methods(pair: tuple[ModuleType, FakeDevice]) -> None:
    found = find_graph_class(pair[0])
    assert found is not None
    assert found.__name__ in ("CUDAGraph", "MUSAGraph")


def test_a_class_and_its_base_are_one() -> None:
    assert find_graph_class(SimpleNamespace(_G=Base, G=Face, alias=Face, x=1)) is Face


def test_no_class_is_none() -> None:
    assert find_graph_class(SimpleNamespace(Stream=int)) is None


def test_several_classes_name_the_hook() -> None:
    with pytest.raises(GraphClassError, match=r"Face, Other.*'acme'.*flagkit_graph_class"):
        flagkit_graph_class("acme", SimpleNamespace(A=Face, B=Other))  # type: ignore[arg-type]


def test_an_attribute_that_cannot_be_read_is_no_class() -> None:
    class Lazy(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if name == "broken":
                raise ImportError(name)
            return super().__getattribute__(name)

    module = Lazy("lazy")
    vars(module).update(broken=1, G=Face)
    assert find_graph_class(module) is Face


def test_torch_cuda_itself() -> None:
    torch = pytest.importorskip("torch")
    assert find_graph_class(torch.cuda) is torch.cuda.CUDAGraph


def test_the_generator_is_usable_after_an_abort() -> None:
    interface, device = cuda_like()
    with pytest.raises(FakeDeviceError, match=CAPTURING):
        _captured((interface, device), lambda: (device.random(), device.synchronize()))
    device.random()


def test_the_fake_punishes_a_capture_without_a_scratch_generator() -> None:
    """The same abort done the plain way, to show that the rule above proves something."""
    interface, device = cuda_like()
    with (
        pytest.raises(FakeDeviceError),
        interface.stream(interface.Stream()),
        interface.graph(interface.CUDAGraph()),
    ):
        device.synchronize()
    with pytest.raises(FakeDeviceError, match=POISONED):
        device.random()


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_the_first_error_is_the_one_raised(
    pair: tuple[ModuleType, FakeDevice], error: BaseException
) -> None:
    def calls() -> None:
        pair[1].capture.broken = True  # type: ignore[union-attr]
        raise error

    with pytest.raises(type(error)):
        _captured(pair, calls)
    assert pair[1].current == pair[1].default
    assert pair[1].capture is None


def test_a_call_that_raises_and_breaks_nothing_leaves_no_executable(
    pair: tuple[ModuleType, FakeDevice],
) -> None:
    def calls() -> None:
        pair[1].kernel(1.0)
        raise ValueError("not while capturing")

    for _ in range(3):
        with pytest.raises(ValueError, match="not while capturing"):
            _captured(pair, calls)
    assert pair[1].live_graphs == 0


def test_a_broken_end_alone_is_raised(pair: tuple[ModuleType, FakeDevice]) -> None:
    def calls() -> None:
        pair[1].capture.broken = True  # type: ignore[union-attr]

    with pytest.raises(FakeDeviceError, match="previous error during capture"):
        _captured(pair, calls)
    assert pair[1].current == pair[1].default


def test_nothing_is_collected_while_capturing(pair: tuple[ModuleType, FakeDevice]) -> None:
    seen: list[bool] = []
    _captured(pair, lambda: seen.append(gc.isenabled()))
    assert seen == [False]
    assert gc.isenabled()


def test_torchs_word_that_a_graph_is_empty_is_heard() -> None:
    told = cuda_like()
    assert _captured(told, lambda: None).told_empty
    assert not _captured(told, lambda: told[1].kernel(1.0)).told_empty
    assert not _captured(musa_like(), lambda: None).told_empty


def test_a_released_graph_is_gone(pair: tuple[ModuleType, FakeDevice]) -> None:
    graph = _captured(pair, lambda: pair[1].kernel(1.0))
    assert pair[1].live_graphs == 1
    graph.release()
    graph.release()
    assert pair[1].live_graphs == 0


def test_a_generator_without_clone_state_is_copied() -> None:
    class Generator:
        device = "fake:0"

        def __init__(self, device: str = "") -> None:
            self.state, self.handle = 7, self

        def get_state(self) -> int:
            return self.state

        def set_state(self, state: int) -> None:
            self.state = state

        def graphsafe_get_state(self) -> Any:
            return self.handle

        def graphsafe_set_state(self, other: Any) -> None:
            self.handle = other

    interface, device = cuda_like()
    generator = Generator()
    vars(interface)["default_generators"] = (generator,)
    seen: list[Any] = []
    _captured((interface, device), lambda: seen.append(generator.handle))
    assert seen[0] is not generator
    assert seen[0].state == 7
    assert generator.handle is generator


class Refusing:
    """torch gives the generators of every device the names."""

    def graphsafe_get_state(self) -> Any:
        raise NotImplementedError

    def graphsafe_set_state(self, state: Any) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("generators", [(), None, (object(),), (Refusing(),)])
def test_generators_that_cannot_be_swapped_are_left(generators: Any) -> None:
    interface, _ = cuda_like()
    vars(interface)["default_generators"] = generators
    assert device_generator(interface) is None


def test_streams_are_asked_for(pair: tuple[ModuleType, FakeDevice]) -> None:
    interface, device = pair
    stream = open_stream(interface)
    assert not on_side_stream(interface)
    for _ in range(2):
        with under_stream(interface, stream) as reason:
            assert reason == ""
            assert device.current == stream
            assert on_side_stream(interface)
    assert device.current == device.default


def test_an_interface_without_streams_is_a_reason() -> None:
    bare = ModuleType("bare")
    assert open_stream(bare) is None
    with under_stream(bare) as reason:
        assert reason == "bare has no Stream, stream, synchronize"
    with under_stream(None) as reason:
        assert reason


def test_memory_that_is_not_told_bounds_nothing() -> None:
    assert footprint(ModuleType("bare"), None) == Footprint()


@given(
    call_ms=st.floats(0, 1e4),
    per_call=st.integers(0, 1 << 40),
    allocations=st.integers(0, 10**6),
    free=st.integers(0, 1 << 40),
)
def test_the_unroll_keeps_every_bound(
    call_ms: float, per_call: int, allocations: int, free: int
) -> None:
    unroll = choose_unroll(
        call_ms, Footprint(per_call=per_call, allocations=allocations, free=free)
    )
    assert unroll in (1, 2, 4, 8, 16, UNROLL)
    if unroll > 1:
        assert unroll * call_ms <= 10.0
        assert unroll * allocations <= MAX_ALLOCATIONS
        assert not (per_call and free) or unroll * per_call <= free / 2


@given(length=st.floats(0, 1e4), replay=st.floats(0, 1e4))
def test_replays_fill_a_window(length: float, replay: float) -> None:
    replays = replays_for(length, replay) if replay == 0 or replay > 1e-6 else 1
    assert replays >= 1
    if replay > 1e-6:
        assert replays * replay >= length * (1 - 1e-9)


@given(window=st.floats(0, 1e5))
def test_windows_stay_in_bounds(window: float) -> None:
    least, most = window_limits(window)
    assert 3 <= least <= most <= 15


@given(
    floor_us=st.floats(0.5, 60),
    kernel_us=st.floats(0.7, 1e4),
    unroll=st.sampled_from([1, 2, 8, 32]),
)
def test_no_kernel_passes_for_an_empty_graph(
    floor_us: float, kernel_us: float, unroll: int
) -> None:
    short = (floor_us + unroll * kernel_us) / 1e3
    longer = (floor_us + 8 * unroll * kernel_us) / 1e3
    assert not looks_empty(short, unroll, floor_us / 1e3) or grows(short, longer, 7 * unroll)


@given(floor_us=st.floats(0.5, 60), noise=st.floats(0.7, 2.0), unroll=st.sampled_from([1, 8, 32]))
def test_an_empty_graph_is_seen_through_noise(floor_us: float, noise: float, unroll: int) -> None:
    floor = floor_us / 1e3
    assert looks_empty(floor * noise, unroll, floor)
