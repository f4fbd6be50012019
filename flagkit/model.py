"""The facts: what was measured, how it pairs, what came of it.

Frozen, slotted and keyword-only; an invalid fact cannot be built. Latencies are
milliseconds, speedups per cent. Only the standard library is imported here, since
the agent uses these inside the benchmark's own process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")

UNKNOWN = "unknown"
"""Stands for an op, dtype, mode or regime that a log does not tell."""

RowStatus = Literal["ok", "failed", "invalid", "no-device-work"]
SEVERAL_TABLES = "several-tables"
"""Flag of a row whose key several tables of its text show, so that it pairs with none."""

Certificate = Literal["certified", "rebuilt", "no-tuner", "config-drift"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact was read: a file as it was named and a line from 1 (0: the whole file)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKey:
    """What makes two rows the same measurement.

    ``size_key`` is the size detail in canonical form (``flagkit.compare.sizes``).
    ``occurrence`` counts equal (op, dtype, size_key, node) within one log, from 0.
    ``node`` is the test that made the row, empty where the log does not tell.
    """

    op: str
    dtype: str
    size_key: str
    occurrence: int = 0
    node: str = ""

    def __post_init__(self) -> None:
        if not self.op or not self.dtype:
            raise ValueError("a row key needs an op and a dtype; use UNKNOWN where not told")
        if self.occurrence < 0:
            raise ValueError(f"occurrence must be 0 or more, not {self.occurrence}")

    def text(self) -> str:
        """The key for people, on one line."""
        nth = f" #{self.occurrence + 1}" if self.occurrence else ""
        return f"{self.op} {self.dtype} {self.size_key}{nth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How a row was timed: what was asked for, what was done, and why they differ.

    ``requested`` and ``resolved`` are ``graph`` (replays of a captured graph),
    ``event`` (launches between device events), ``host`` (the host's clock),
    ``foreign`` (a timer flagkit did not see) or ``unknown``. ``cache`` is the state of
    the L2 before each call: ``hot``, ``cold`` or ``unknown``. ``phase`` names where a
    fallback happened: ``sync``, ``warmup``, ``capture``, ``replay``. ``protocol`` names
    the timer and its version where known: other protocols are not comparable.
    """

    requested: str = UNKNOWN
    resolved: str = UNKNOWN
    cache: str = UNKNOWN
    fallback_reason: str = ""
    phase: str = ""
    protocol: str = ""

    def __post_init__(self) -> None:
        allowed = ("graph", "event", "host", "foreign", UNKNOWN)
        if self.requested not in allowed or self.resolved not in allowed:
            raise ValueError(f"no such regime: {self.requested!r}/{self.resolved!r}")
        if self.cache not in ("hot", "cold", UNKNOWN):
            raise ValueError(f"no such cache state: {self.cache!r}")

    @property
    def label(self) -> str:
        """``graph/hot`` and the like; ``foreign`` and ``unknown`` stand alone."""
        if self.resolved in ("foreign", UNKNOWN):
            return self.resolved
        return f"{self.resolved}/{self.cache}"

    @property
    def fell_back(self) -> bool:
        """Whether the row was timed otherwise than asked."""
        return bool(self.fallback_reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one timed call is measured; decided on the before side, replayed on the after.

    ``warmup`` calls come first. A window is ``replays`` replays of ``unroll`` calls
    between one pair of clock readings (on the host ``unroll`` is 1), so one sample is
    the window's length divided by ``replays * unroll``. ``windows`` samples are taken.
    """

    warmup: int
    unroll: int
    replays: int
    windows: int

    def __post_init__(self) -> None:
        if self.warmup < 0 or min(self.unroll, self.replays, self.windows) < 1:
            raise ValueError(f"a plan needs at least one call, replay and window: {self}")

    @property
    def calls(self) -> int:
        """How often the measured function runs in all."""
        return self.warmup + self.unroll * self.replays * self.windows

    def to_json(self) -> dict[str, int]:
        """The plan as the journal keeps it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else than a plan."""
        return cls(**{f.name: int(data[f.name]) for f in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a timed call worked on, as far as the agent could reach it.

    ``fingerprint`` hashes shapes, dtypes and strides; ``digest`` hashes a bounded sample
    of the values before warm-up and ``settled`` one after the first run, when an output
    that was made without filling holds the operator's result; ``mutated`` says the values
    differed after the call; ``unseen`` counts arguments that could not be looked into.
    """

    fingerprint: str = ""
    digest: str = ""
    settled: str = ""
    mutated: bool = False
    unseen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured row of one side.

    ``latency_ms`` is the operator under test, ``baseline_ms`` the reference column
    (torch) where there is one. ``status`` is ``ok`` exactly if ``latency_ms`` is a
    finite number above 0. ``call`` is the journal's id of the timed call.
    """

    key: RowKey
    status: RowStatus
    size_detail: str
    latency_ms: float | None = None
    baseline_ms: float | None = None
    tflops: float | None = None
    gbps: float | None = None
    baseline_gbps: float | None = None
    mode: str = UNKNOWN
    level: str = UNKNOWN
    regime: Regime = Regime()
    samples_ms: tuple[float, ...] = ()
    plan: Plan | None = None
    call: str = ""
    inputs: Inputs | None = None
    certificate: Certificate | None = None
    flags: tuple[str, ...] = ()
    reason: str = ""
    source: Source = Source(file="")

    def __post_init__(self) -> None:
        if self.status == "ok" and not is_latency(self.latency_ms):
            raise ValueError(f"an ok row needs a latency above 0, not {self.latency_ms!r}")

    def numbered(self, occurrence: int) -> Row:
        """The same row as the *occurrence*-th of its key."""
        return replace(self, key=replace(self.key, occurrence=occurrence))


def is_latency(value: float | None) -> bool:
    """Whether *value* can be divided by: finite and above 0."""
    return value is not None and math.isfinite(value) and value > 0


def status_of(latency_ms: float | None, failed: bool = False) -> RowStatus:
    """The status of a row that reports *latency_ms*."""
    if failed:
        return "failed"
    return "ok" if is_latency(latency_ms) else "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A line that was meant to be a row and cannot be read as one. Never half-read.

    ``op`` is the operator of the table that it stands in; empty where none is told.
    """

    text: str
    reason: str
    source: Source
    op: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A warning or remark that travels with the result.

    ``code`` is for scripts, ``data`` holds the numbers that ``text`` speaks of.
    """

    code: str
    text: str
    side: Side | None = None
    source: Source | None = None
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """Everything one side's log says.

    ``incomplete`` is empty for a run that ended well, else the reasons it did not: its
    rows stand, but more were meant to come. ``journalled`` says the rows come from a
    flagkit journal, so that the test node is part of every key. ``receipt`` is the
    side's receipt, where there is one.
    """

    rows: tuple[Row, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()
    journalled: bool = False
    source: str = ""
    receipt: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Whether the run ended without a failed, skipped or unfinished test."""
        return not self.incomplete

    @property
    def seen(self) -> int:
        """How many rows the side shows, damaged ones included."""
        return len(self.rows) + len(self.damaged)


def number_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Count equal keys in the order they came; failed and invalid rows count too."""
    counts: dict[tuple[str, str, str, str], int] = {}
    numbered = []
    for row in rows:
        same = (row.key.op, row.key.dtype, row.key.size_key, row.key.node)
        nth = counts.get(same, 0)
        counts[same] = nth + 1
        numbered.append(row if row.key.occurrence == nth else row.numbered(nth))
    return tuple(numbered)


def speedup_percent(before_ms: float, after_ms: float) -> float:
    """How much faster the after side is: ``(before / after - 1) * 100``, the field's rule."""
    return (before_ms / after_ms - 1.0) * 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two rows of one key. ``rounds`` holds the speedup of every round, this one included."""

    before: Row
    after: Row
    flags: tuple[str, ...] = ()
    rounds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.before.status != "ok" or self.after.status != "ok":
            raise ValueError("only ok rows pair")

    @property
    def speedup_percent(self) -> float:
        """``(before / after - 1) * 100``."""
        assert self.before.latency_ms is not None and self.after.latency_ms is not None
        return speedup_percent(self.before.latency_ms, self.after.latency_ms)

    @property
    def regime(self) -> str:
        """The regime both rows were timed under."""
        return self.before.regime.label


REASONS = (
    "missing-after",
    "missing-before",
    "ambiguous",
    "failed",
    "invalid",
    "damaged",
    "mixed-regime",
    "config-drift",
    "inputs-differ",
    "no-device-work",
)

BUCKETS = {
    "missing-after": "only",
    "missing-before": "only",
    "ambiguous": "ambiguous",
    "failed": "failed",
    "invalid": "invalid",
    "damaged": "damaged",
    "mixed-regime": "mixed",
    "config-drift": "drifted",
    "inputs-differ": "inputs_differ",
    "no-device-work": "no_device_work",
}
"""Where a row that did not pair for a reason stands in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    """A row, or a damaged line, that is in no range, and why."""

    side: Side
    reason: str
    row: Row | None = None
    damaged: Damaged | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"no such reason: {self.reason!r}")
        if (self.row is None) == (self.damaged is None):
            raise ValueError("an unpaired entry is either a row or a damaged line")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideLedger:
    """Where every row seen on one side ended. The sum is checked."""

    seen: int = 0
    paired: int = 0
    only: int = 0
    ambiguous: int = 0
    failed: int = 0
    invalid: int = 0
    damaged: int = 0
    mixed: int = 0
    drifted: int = 0
    inputs_differ: int = 0
    no_device_work: int = 0

    def __post_init__(self) -> None:
        ended = sum(getattr(self, f.name) for f in fields(self) if f.name != "seen")
        if ended != self.seen:
            raise ValueError(f"the ledger does not balance: {self.seen} seen, {ended} ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Both sides' books."""

    before: SideLedger = SideLedger()
    after: SideLedger = SideLedger()

    @property
    def incomplete(self) -> bool:
        """Whether any row of either side is in no range for a reason that may hide an effect."""
        excused = ("seen", "paired", "invalid", "no_device_work")
        return any(
            getattr(side, f.name)
            for side in (self.before, self.after)
            for f in fields(SideLedger)
            if f.name not in excused
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The extent of the speedups of one regime's rows.

    ``min_row`` and ``max_row`` index :attr:`RangeReport.pairs`. ``name`` is empty for a
    regime's own range, else says which rows it leaves out.
    """

    regime: str
    rows: int
    min_percent: float
    max_percent: float
    min_row: int
    max_row: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeReport:
    """The result of one comparison. ``ranges`` holds one range a regime, most rows first."""

    label: str
    pairs: tuple[Pair, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    ledger: Ledger = Ledger()
    ranges: tuple[Range, ...] = ()
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()
    receipts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def range(self) -> Range | None:
        """The range of the regime with most rows; None if nothing paired."""
        return self.ranges[0] if self.ranges else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one tuner chose for one key.

    ``key`` is the tuning key as canonical JSON, ``config`` the chosen configuration as
    plain values; ``source_hash`` identifies the kernel's source and ``candidates_hash``
    the list it was chosen from, empty where the tuner has none.
    """

    tuner: str
    kernel: str
    key: str
    config: Mapping[str, Any]
    source_hash: str = ""
    candidates_hash: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What a replay looks it up by."""
        return (self.tuner, self.kernel, self.key)
