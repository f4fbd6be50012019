"""One benchmark process: what is under way, and the road every timed call takes."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from flagkit.agent.inputs import Generators, inspect_call, seed_all
from flagkit.agent.outcomes import only_refused, told
from flagkit.agent.plan import PlanBook
from flagkit.agent.timing import HostTimer, Latency, Measurement, TimedCall
from flagkit.model import Inputs, Regime, is_latency

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from flagkit.agent.config import AgentConfig
    from flagkit.agent.inputs import Inspection
    from flagkit.agent.journal import Journal
    from flagkit.agent.outputs import OutputCheck
    from flagkit.agent.timing import Timer
    from flagkit.model import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a timed call measures, as far as it is known when it is timed."""

    op: str = ""
    dtype: str = ""
    size_detail: str = ""


@dataclass(slots=True, kw_only=True)
class Current:
    """The test under way: how many calls it has timed, and what its next call measures."""

    node: str = ""
    calls: int = 0
    label: Label = field(default_factory=Label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A timed call's id and what came of it."""

    call: str
    measurement: Measurement

    @property
    def latency(self) -> Latency:
        """The number the benchmark gets; nan where nothing could be timed."""
        value = self.measurement.latency_ms
        return Latency(float("nan") if value is None else value, self.call)


class Session:
    """Times calls for the benchmark and journals each one.

    :param make_timer: gives the timer of each call: a benchmark may import what its device
        needs after some calls that do without.
    :param is_fatal: whether an exception says that the device is dead.
    :param plain_run: runs a call before it is measured and notes what it launched.
    :param check: keeps each call's outputs for the host, before anything is measured.
    """

    def __init__(
        self,
        config: AgentConfig,
        journal: Journal,
        plans: PlanBook,
        *,
        make_timer: Callable[[], Timer] = HostTimer,
        is_fatal: Callable[[BaseException], bool] = lambda exc: False,
        plain_run: Callable[[str, Callable[[], None]], None] = lambda call, run: run(),
        check: OutputCheck | None = None,
    ) -> None:
        self.config = config
        self.journal = journal
        self.current = Current()
        self.fatal = ""
        self.interface: ModuleType | None = None
        self.fallback: Callable[[Callable[[], Any], Sequence[Any]], Sequence[float]] | None = None
        """Times a call as Triton does, in ms a sample, for a benchmark without its own timer."""
        self._plans = plans
        self._make_timer = make_timer
        self._is_fatal = is_fatal
        self._plain_run = plain_run
        self._check = check
        self._ids = 0
        self._pid = os.getpid()
        self._busy = False
        self._changed: set[str] = set()
        self._regimes: dict[str, Regime] = {}

    @property
    def busy(self) -> bool:
        """Whether a call is being timed; a timer asked for meanwhile is a tuner's."""
        return self._busy

    @property
    def next_call(self) -> str:
        """The id of the timed call under way, else of the next one."""
        return f"c{self._ids if self._busy else self._ids + 1}"

    def begin(self, node: str) -> None:
        """A test starts: the same seed for each, on both sides."""
        self.current = Current(node=node)
        self._regimes.clear()
        self.seed()

    def seed(self) -> None:
        """Seed every generator that is loaded."""
        seed_all(self.config.seed, self.interface)

    def emit(self, text: str) -> None:
        """Say a line in the benchmark's own log."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        with suppress(OSError, ValueError):  # a closed or full log must not end the test
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            sys.stdout.flush()

    def regime_line(self, call: str | None, op: str) -> str:
        """How *call* of this test was timed, as the log tells it before a table."""
        foreign = Regime(requested=self.config.timing, resolved="foreign")
        regime = self._regimes.get(call, foreign) if call else foreign
        return (
            f"[flagkit] regime: requested={regime.requested} resolved={regime.resolved} "
            f"cache={regime.cache} protocol={regime.protocol or 'unknown'} op={op}"
        )

    def note(self, code: str, text: str) -> None:
        """Journal a remark and say it in the log."""
        self.journal.write({"kind": "note", "code": code, "text": text, "node": self.current.node})
        self.emit(f"[flagkit] {code}: {text}")

    def time(
        self,
        fn: Callable[[], Any],
        *,
        label: Label | None = None,
        role: str = "op",
        grad_to_none: Sequence[Any] = (),
        original_all: Callable[[], Sequence[float]] | None = None,
    ) -> Timed:
        """Time *fn* as the plan says, with every generator kept; journal what came of it.

        Raises what *fn* itself raises, after journalling the call as failed.
        """
        gc.collect()  # garbage goes at the same points on both sides, so memory is laid out alike
        self._ids += 1
        call, number = f"c{self._ids}", self.current.calls
        self.current.calls += 1
        label = label or self.current.label
        inspection = inspect_call(fn)
        # A forked process counts on from its parent: the plans are its parent's calls'.
        plans = self._plans if os.getpid() == self._pid else PlanBook()
        advice = plans.advise(self.current.node, number, inspection.fingerprint)
        line: dict[str, Any] = {
            "kind": "call",
            "id": call,
            "node": self.current.node,
            "call": number,
            **asdict(label),
            "role": role,
            "flags": [*advice.flags, *self._watched(call)],
        }
        request = TimedCall(
            fn=fn,
            op=label.op or self.config.op,
            node=self.current.node,
            grad_to_none=tuple(grad_to_none),
            original_all=original_all,
        )
        started = time.monotonic()
        try:
            settled, measurement, took = self._measure(call, request, advice.plan, inspection)
        except BaseException as error:
            self._failed(line, error, started)
            raise
        again = self._watched(call)  # the call itself may have changed them
        short = ["short-windows"] if measurement.short_windows else []
        line["flags"] = list(dict.fromkeys([*line["flags"], *again, *short]))
        line["timing_seconds"] = round(took, 4)
        self._journal_call(line, measurement, inspection, settled, started)
        self._regimes[call] = measurement.regime
        return Timed(call=call, measurement=measurement)

    def _measure(
        self, call: str, request: TimedCall, plan: Plan | None, inspection: Inspection
    ) -> tuple[str, Measurement, float]:
        """Run the call once, then time it; every generator ends as it was before.

        The last is the seconds of timing alone: what compiles or tunes does so in the run before.
        """
        timer = self._make_timer()
        generators = Generators(self.interface)
        state = generators.save()
        self._busy = True
        try:
            if self._check is not None:
                outputs = self._check.run(
                    call,
                    request.fn,
                    inspection.arrays,
                    grads=request.grad_to_none,
                    reset=lambda: generators.restore(state),
                )
                self.journal.write(
                    {"kind": "outputs", "call": call, "node": self.current.node, **outputs}
                )
            self._plain_run(call, request.run)
            settled, started = inspection.settled(), time.monotonic()
            measurement = timer.measure(request, plan)
            return settled, measurement, time.monotonic() - started
        finally:
            self._busy = False
            generators.restore(state)

    def _journal_call(
        self,
        line: dict[str, Any],
        measurement: Measurement,
        inspection: Inspection,
        settled: str,
        started: float,
    ) -> None:
        inputs = Inputs(
            fingerprint=inspection.fingerprint,
            digest=inspection.digest,
            settled=settled,
            mutated=inspection.changed(),
            unseen=inspection.unseen,
        )
        self.journal.write(
            {**line, **_facts(measurement), "inputs": asdict(inputs)}
            | {"seconds": round(time.monotonic() - started, 4)}
        )

    def _watched(self, call: str) -> list[str]:
        """Flag a call at which the switch's variables are not what the host set."""
        wrong = [n for n, value in self.config.watch.items() if os.environ.get(n) != value]
        for name in wrong:
            if name not in self._changed:
                self._changed.add(name)
                self.note(
                    "switch-variable-changed",
                    f"{name} was {self.config.watch[name]!r} for this side and is "
                    f"{os.environ.get(name)!r} at call {call}: the benchmark changed it",
                )
        return ["switch-changed"] if wrong else []

    def _failed(self, line: dict[str, Any], error: BaseException, started: float) -> None:
        if self._is_fatal(error) and not only_refused(error, self.interface):
            self.fatal = told(error)
        self.journal.write(
            {
                **line,
                "status": "failed",
                "latency_ms": None,
                "samples_ms": [],
                "plan": None,
                "regime": None,
                "inputs": None,
                "reason": told(error),
                "seconds": round(time.monotonic() - started, 4),
            }
        )


def _facts(measurement: Measurement) -> dict[str, Any]:
    latency = measurement.latency_ms
    status = measurement.status
    if status == "ok" and not is_latency(latency):
        status = "invalid"
    return {
        "latency_ms": latency,
        "status": status,
        "reason": measurement.reason,
        "samples_ms": list(measurement.samples_ms),
        "plan": measurement.plan.to_json() if measurement.plan else None,
        "regime": asdict(measurement.regime),
    }
