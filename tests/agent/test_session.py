"""The road every timed call takes: ids, plans, generators, journal lines."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import statistics
import time
from types import SimpleNamespace
from typing import Any

import pytest

from flagkit.agent.config import AgentConfig
from flagkit.agent.journal import FileJournal
from flagkit.agent.patches import answer, quantile
from flagkit.agent.plan import PlanBook, Recorded
from flagkit.agent.session import Label, Session
from flagkit.agent.timing import HostTimer, Latency, Measurement, TimedCall, steady
from flagkit.model import Plan, Regime


class Lines:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, line: Any) -> None:
        self.lines.append(dict(line))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]


class Clock:
    """A scripted host clock: each reading is *step* ns after the last."""

    def __init__(self, step: int = 1_000_000) -> None:
        self.now, self.step = 0, step

    def __call__(self) -> int:
        self.now += self.step
        return self.now


class FixedTimer:
    def __init__(self, *samples: float) -> None:
        self.samples = samples or (2.0,)
        self.plans: list[Plan | None] = []

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        self.plans.append(plan)
        call.fn()
        return Measurement(
            regime=Regime(requested="host", resolved="host", cache="hot"),
            samples_ms=self.samples,
            plan=plan or Plan(warmup=1, unroll=1, replays=2, windows=3),
        )


def make(config: AgentConfig | None = None, **kwargs: Any) -> tuple[Session, Lines]:
    lines = Lines()
    plans = kwargs.pop("plans", PlanBook())
    session = Session(config or AgentConfig(), lines, plans, **kwargs)
    session.begin("test_x.py::test_gelu")
    return session, lines


def test_a_call_is_journalled_with_its_id_and_label() -> None:
    session, lines = make(make_timer=FixedTimer)
    label = Label(op="gelu", dtype="torch.float16", size_detail="[4]")
    timed = session.time(lambda: None, label=label, role="row")
    (line,) = lines.of("call")
    assert (line["id"], line["op"], line["size_detail"]) == (timed.call, "gelu", "[4]")
    assert line["latency_ms"] == 2.0 and line["status"] == "ok"
    assert line["plan"] == {"warmup": 1, "unroll": 1, "replays": 2, "windows": 3}
    assert timed.latency == 2.0 and timed.latency.call == timed.call


def test_the_seconds_of_timing_leave_out_the_run_that_compiles() -> None:
    session, lines = make(make_timer=FixedTimer, plain_run=lambda call, run: time.sleep(0.05))
    session.time(lambda: None)
    (line,) = lines.of("call")
    assert 0 <= line["timing_seconds"] <= line["seconds"] - 0.049


def test_calls_are_counted_per_test_and_ids_are_not_reused() -> None:
    session, lines = make(make_timer=FixedTimer)
    first = session.time(lambda: None)
    session.begin("test_x.py::test_other")
    second = session.time(lambda: None)
    assert first.call != second.call
    assert [(line["node"][-5:], line["call"]) for line in lines.of("call")] == [
        ("_gelu", 0),
        ("other", 0),
    ]


def test_generators_are_as_before_after_a_timed_call() -> None:
    session, _ = make(make_timer=FixedTimer)
    random.seed(3)
    expected = random.Random(3).random()
    session.time(random.random)
    assert random.random() == expected


def test_every_test_draws_the_same_numbers() -> None:
    session, _ = make(make_timer=FixedTimer)
    one = random.random()
    session.begin("other")
    assert random.random() == one


def test_the_after_side_replays_the_plan() -> None:
    session, lines = make(make_timer=FixedTimer)
    session.time(lambda: None)
    fingerprint = lines.of("call")[0]["inputs"]["fingerprint"]
    plan = Plan(warmup=7, unroll=8, replays=9, windows=10)
    recorded = Recorded(plan=plan, fingerprint=fingerprint, resolved="host")
    timer = FixedTimer()
    session, lines = make(
        make_timer=lambda: timer, plans=PlanBook({("test_x.py::test_gelu", 0): recorded})
    )
    session.time(lambda: None)
    session.time(lambda: None)
    assert timer.plans == [plan, None]
    assert [line["flags"] for line in lines.of("call")] == [[], ["plan-missing"]]


def test_other_tensors_are_never_measured_as_if_equal() -> None:
    recorded = Recorded(
        plan=Plan(warmup=1, unroll=1, replays=1, windows=1), fingerprint="other", resolved="host"
    )
    timer = FixedTimer()
    session, lines = make(
        make_timer=lambda: timer, plans=PlanBook({("test_x.py::test_gelu", 0): recorded})
    )
    session.time(lambda: None)
    assert lines.of("call")[0]["flags"] == ["inputs-differ"]
    assert timer.plans == [None]


@pytest.mark.parametrize(
    "told",
    [
        '"call":Infinity',
        '"call":0,"regime":"x"',
        '"call":0,"inputs":[1]',
        '"call":0,"plan":{"warmup":Infinity,"unroll":1,"replays":1,"windows":1}',
    ],
)
def test_lines_that_cannot_be_read_are_no_plans(tmp_path: Any, told: str) -> None:
    line = f'{{"kind":"call","node":"n",{told}}}\n'
    (tmp_path / "measurements.jsonl").write_text(line, encoding="utf-8")
    assert PlanBook.load(tmp_path).advise("n", 0, "").flags == ("plan-missing",)


def test_a_call_that_failed_on_the_before_side_had_no_other_inputs(tmp_path: Any) -> None:
    journal = FileJournal(tmp_path / "measurements.jsonl", lambda text: None)
    before = Session(AgentConfig(), journal, PlanBook(), make_timer=FixedTimer)
    before.begin("test_x.py::test_gelu")

    x = pytest.importorskip("numpy").ones(3)

    def fail() -> None:
        raise ValueError(f"not {x}")

    with pytest.raises(ValueError, match="not"):
        before.time(fail)
    journal.close()
    session, lines = make(make_timer=FixedTimer, plans=PlanBook.load(tmp_path))
    session.time(lambda: x)
    assert lines.of("call")[0]["flags"] == []


def test_a_raising_call_is_journalled_and_raised() -> None:
    session, lines = make(make_timer=FixedTimer)

    def fail() -> None:
        raise ValueError("no\nshared memory")

    with pytest.raises(ValueError, match="shared"):
        session.time(fail)
    (line,) = lines.of("call")
    assert line["status"] == "failed" and line["reason"] == "ValueError: no shared memory"
    assert not session.busy and not session.fatal


def test_a_dead_device_is_remembered() -> None:
    session, _ = make(make_timer=FixedTimer, is_fatal=lambda exc: "illegal" in str(exc))

    def fail() -> None:
        raise RuntimeError("illegal address")

    with pytest.raises(RuntimeError):
        session.time(fail)
    assert "illegal address" in session.fatal


@pytest.mark.parametrize(("ms", "flags"), [(1.0, []), (0.012, ["short-windows"])])
def test_windows_far_shorter_than_planned_are_told(ms: float, flags: list[str]) -> None:
    """A replayed plan keeps its number of calls, however fast the other side's are."""
    session, lines = make(make_timer=lambda: FixedTimer(ms))  # a plan of two calls a window
    session.time(lambda: None)
    assert lines.of("call")[0]["flags"] == flags


class OutOfMemoryError(RuntimeError):
    """As torch's allocator raises."""


@pytest.mark.parametrize(
    ("kind", "says", "dead"),
    [(OutOfMemoryError, "", False), (OutOfMemoryError, "dead", True), (RuntimeError, "", True)],
)
def test_memory_that_is_refused_kills_no_device(
    kind: type[Exception], says: str, dead: bool
) -> None:
    def synchronize() -> None:
        if says:
            raise RuntimeError(says)

    session, lines = make(make_timer=FixedTimer, is_fatal=lambda exc: "out of memory" in str(exc))
    session.interface = SimpleNamespace(synchronize=synchronize)  # type: ignore[assignment]

    def fail() -> None:
        raise kind("out of memory. Tried to allocate 1 TiB")

    with pytest.raises(kind):
        session.time(fail)
    assert [line["status"] for line in lines.of("call")] == ["failed"]
    assert bool(session.fatal) is dead


def test_a_switch_variable_the_benchmark_changes_is_noted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLAGTREE_RLC_ENHANCE", "1")
    session, lines = make(
        AgentConfig(watch={"FLAGTREE_RLC_ENHANCE": "1", "OTHER_UNSET": None}),
        make_timer=FixedTimer,
    )
    session.time(lambda: None)
    del os.environ["FLAGTREE_RLC_ENHANCE"]
    session.time(lambda: None)
    session.time(lambda: None)
    flags = [line["flags"] for line in lines.of("call")]
    assert flags == [[], ["switch-changed"], ["switch-changed"]]
    (note,) = lines.of("note")
    assert note["code"] == "switch-variable-changed" and "FLAGTREE_RLC_ENHANCE" in note["text"]


def test_journal_lines_are_strict_json(tmp_path: Any) -> None:
    complaints: list[str] = []
    journal = FileJournal(tmp_path / "j.jsonl", complaints.append)
    journal.write({"kind": "call", "latency_ms": float("nan"), "odd": {1: (float("inf"), object)}})
    journal.close()
    (text,) = (tmp_path / "j.jsonl").read_text().splitlines()
    assert json.loads(text)["latency_ms"] is None
    assert not complaints


def test_a_journal_that_cannot_be_written_complains_once(tmp_path: Any) -> None:
    complaints: list[str] = []
    journal = FileJournal(tmp_path / "no" / "j.jsonl", complaints.append)
    journal.write({"kind": "call"})
    journal.write({"kind": "call"})
    assert len(complaints) == 1 and "not written" in complaints[0]


def test_a_latency_survives_copies_but_not_arithmetic() -> None:
    latency = Latency(1.5, "c7")
    assert copy.deepcopy(latency).call == "c7"
    assert f"{latency:.6f}" == "1.500000" and json.dumps(latency) == "1.5"
    assert not isinstance(latency * 2, Latency)


def test_latencies_can_be_averaged_by_the_standard_library() -> None:
    got = statistics.mean([Latency(1.0, "c1"), Latency(2.0, "c2")])
    assert got == 1.5 and type(got) is float
    assert type(Latency(1.0, "c1")).fromhex("0x1p0") == 1.0


def test_answers_are_what_do_bench_gives() -> None:
    session, _ = make(make_timer=lambda: FixedTimer(1.0, 2.0, 6.0))
    timed = session.time(lambda: None)
    assert answer(timed, None, "median") == 2.0
    assert answer(timed, None, "mean") == 3.0
    assert answer(timed, None, "min") == 1.0 and answer(timed, None, "max") == 6.0
    assert answer(timed, None, "all") == [1.0, 2.0, 6.0]
    assert answer(timed, [0.5, 0.0, 1.0], "mean") == [2.0, 1.0, 6.0]
    assert answer(timed, [0.5], "mean") == 2.0
    assert answer(timed, None, "mean").call == timed.call


def test_quantiles_interpolate() -> None:
    assert quantile([1.0, 2.0], 0.5) == 1.5
    assert quantile([5.0], 0.2) == 5.0


def test_the_host_timer_decides_a_plan_and_replays_it() -> None:
    clock = Clock()
    calls = 0

    def fn() -> None:
        nonlocal calls
        calls += 1
        clock.now += 1_000_000

    timer = HostTimer(clock)
    first = timer.measure(TimedCall(fn=fn), None)
    assert first.plan is not None and first.plan.unroll == 1
    assert len(first.samples_ms) == first.plan.windows >= 10
    assert first.regime.label == "host/hot"
    decided, calls = calls, 0
    again = timer.measure(TimedCall(fn=fn), first.plan)
    assert again.plan == first.plan and calls == decided == first.plan.calls


def test_a_slow_call_is_one_call_a_window() -> None:
    clock = Clock()

    def fn() -> None:
        clock.now += 500_000_000

    plan = HostTimer(clock).measure(TimedCall(fn=fn), None).plan
    assert plan is not None and plan.replays == 1 and plan.warmup == 1


def test_reading_the_clock_is_no_part_of_a_call() -> None:
    clock = Clock(step=1_000_000)  # a reading costs as much as a thousand calls

    def fn() -> None:
        clock.now += 1_000

    got = HostTimer(clock).measure(TimedCall(fn=fn), None)
    assert got.plan is not None and min(got.samples_ms) * got.plan.replays >= 10.0
    assert got.plan.replays >= 9_000


def test_calls_that_become_faster_after_the_warm_up_get_longer_windows() -> None:
    clock, calls = Clock(step=0), 0

    def fn() -> None:
        nonlocal calls
        calls += 1
        clock.now += 60_000_000 if calls == 1 else 10_000

    timer = HostTimer(clock)
    first = timer.measure(TimedCall(fn=fn), None)
    assert first.plan is not None and min(first.samples_ms) * first.plan.replays >= 10.0
    assert calls == first.plan.calls


def test_steady_looks_at_both_halves() -> None:
    assert steady([1.0, 1.001, 1.0, 1.0])
    assert not steady([1.0, 1.0, 1.1, 1.1])


def test_a_forked_process_writes_into_no_journal(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []
    path = tmp_path / "j.jsonl"
    journal, childs = (FileJournal(path, complaints.append) for _ in range(2))
    journal.write({"kind": "call", "id": "c1"})
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        childs.write({"kind": "call", "id": "c2"})
        childs.write({"kind": "end"})
    journal.write({"kind": "call", "id": "c2"})
    journal.close()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["c1", "c2"]
    assert len(complaints) == 1 and "forked" in complaints[0]


def test_a_forked_process_follows_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    session, lines = make(plans=PlanBook({}))
    session.time(lambda: None)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    session.time(lambda: None)
    assert [line["flags"] for line in lines.of("call")] == [["plan-missing"], []]


@pytest.mark.parametrize(("dist", "ended"), [("load", True), ("no", False), (None, False)])
def test_xdist_is_kept_from_running_tests_in_workers(dist: str | None, ended: bool) -> None:
    from flagkit.agent.plugin import _end_distribution

    option = SimpleNamespace() if dist is None else SimpleNamespace(dist=dist, tx=["2*popen"])
    assert _end_distribution(SimpleNamespace(option=option)) is ended  # type: ignore[arg-type]
    if ended:
        assert (option.dist, option.tx) == ("no", [])


def test_a_switch_variable_that_the_call_itself_changes_is_flagged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLAGTREE_RLC_ENHANCE", "1")
    session, lines = make(AgentConfig(watch={"FLAGTREE_RLC_ENHANCE": "1"}), make_timer=FixedTimer)
    session.time(lambda: os.environ.update(FLAGTREE_RLC_ENHANCE="0"))
    assert [line["flags"] for line in lines.of("call")] == [["switch-changed"]]


def test_text_that_the_log_cannot_hold_ends_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)
    session, _ = make()
    session.emit("é错")
    out.flush()
    assert out.buffer.getvalue() == b"\\xe9\\u9519\n"  # type: ignore[attr-defined]
    out.close()
    session.emit("nobody hears it")


def test_gradients_are_dropped_before_every_call_on_the_host() -> None:
    class Tensor:
        grad: int | None = None

    tensor, seen = Tensor(), set()

    def backward() -> None:
        seen.add(tensor.grad)
        tensor.grad = 1

    session, _ = make(make_timer=lambda: HostTimer(warmup_ms=0.1, window_ms=0.1))
    session.time(backward, grad_to_none=(tensor,))
    assert seen == {None}
