"""The session in the place of Triton's timers."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest

from flagkit.agent.config import AgentConfig
from flagkit.agent.patches import patch_triton_testing
from flagkit.agent.plan import PlanBook
from flagkit.agent.plugin import Bench
from flagkit.agent.session import Session
from flagkit.agent.timing import Latency, Measurement, TimedCall
from flagkit.model import Plan, Regime


class FallingBack:
    """A timer on which nothing can be captured."""

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        assert call.original_all is not None
        regime = Regime(requested="graph", resolved="event", cache="cold")
        return Measurement(regime=regime, samples_ms=tuple(call.original_all()))


def made_module(modes: tuple[str, ...]) -> tuple[ModuleType, list[dict[str, Any]]]:
    asked: list[dict[str, Any]] = []

    def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
        assert return_mode in modes
        asked.append({"warmup": warmup, "rep": rep, "mode": return_mode, "quantiles": quantiles})
        return [1.0, 2.0, 6.0] if return_mode == "all" else 2.0

    def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
        raise NotImplementedError

    module = ModuleType("triton.testing")
    module.do_bench, module.do_bench_cudagraph = do_bench, do_bench_cudagraph  # type: ignore[attr-defined]
    return module, asked


@pytest.fixture
def session() -> Session:
    class Lines:
        def write(self, line: Any) -> None:
            pass

    return Session(AgentConfig(), Lines(), PlanBook(), make_timer=FallingBack)


NEW, OLD = ("min", "max", "mean", "median", "all"), ("min", "max", "mean", "median")


def test_the_original_gives_all_its_samples_and_keeps_its_signature(session: Session) -> None:
    module, asked = made_module(NEW)
    signature = inspect.signature(module.do_bench)
    patch_triton_testing(module, session, lambda: False)
    assert inspect.signature(module.do_bench) == signature
    got = module.do_bench(lambda: None, warmup=7, rep=9, return_mode="median")
    assert got == 2.0 and isinstance(got, Latency)
    assert asked == [{"warmup": 7, "rep": 9, "mode": "all", "quantiles": None}]


def test_an_old_original_gives_its_median(session: Session) -> None:
    module, asked = made_module(OLD)
    patch_triton_testing(module, session, lambda: False)
    assert module.do_bench(lambda: None) == 2.0
    assert asked[-1]["mode"] == "median"


def test_the_graph_timer_falls_back_to_the_plain_one(session: Session) -> None:
    module, asked = made_module(NEW)
    patch_triton_testing(module, session, lambda: False)
    assert module.do_bench_cudagraph(lambda: None, rep=33) == 3.0
    assert asked == [{"warmup": 25, "rep": 33, "mode": "all", "quantiles": None}]


def test_the_fixture_falls_back_to_the_plain_one_too(session: Session) -> None:
    module, asked = made_module(NEW)
    patch_triton_testing(module, session, lambda: False)
    got = Bench(session, "gelu")(lambda: None, dtype="float16")
    assert got == 2.0 and isinstance(got, Latency)
    assert asked == [{"warmup": 25, "rep": 100, "mode": "all", "quantiles": None}]


def test_a_tuner_and_a_call_inside_a_timed_call_get_the_original(session: Session) -> None:
    module, asked = made_module(NEW)
    in_tuner = True
    patch_triton_testing(module, session, lambda: in_tuner)
    assert not isinstance(module.do_bench(lambda: None, return_mode="median"), Latency)
    in_tuner = False
    inner: list[Any] = []
    module.do_bench(lambda: inner.append(module.do_bench(lambda: None, quantiles=[0.5])))
    assert inner and not isinstance(inner[0], Latency)
    assert asked[1]["quantiles"] == [0.5]


def test_what_the_original_would_refuse_is_refused_before_timing(session: Session) -> None:
    module, asked = made_module(NEW)
    patch_triton_testing(module, session, lambda: False)
    with pytest.raises(AssertionError, match="return_mode"):
        module.do_bench(lambda: None, return_mode="bogus")
    with pytest.raises(ValueError, match="between 0 and 1"):
        module.do_bench(lambda: None, quantiles=[0.5, 1.5])
    assert asked == []


def test_a_single_quantile_is_a_number_that_carries_its_call(session: Session) -> None:
    module, _ = made_module(NEW)
    patch_triton_testing(module, session, lambda: False)
    got = module.do_bench(lambda: None, quantiles=[0.5])
    assert isinstance(got, Latency) and got == 2.0
