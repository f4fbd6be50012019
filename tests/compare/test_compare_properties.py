from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.ranges import compare, compare_rounds
from flagkit.model import (
    Damaged,
    Inputs,
    Regime,
    Row,
    RowKey,
    RunLog,
    SideLedger,
    Source,
    number_rows,
)

if TYPE_CHECKING:
    import random

REGIMES = (
    Regime(requested="graph", resolved="graph", cache="hot"),
    Regime(requested="graph", resolved="event", cache="cold", fallback_reason="no capture"),
    Regime(),
    Regime(requested="foreign", resolved="foreign"),
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    status = draw(st.sampled_from(["ok"] * 6 + ["failed", "invalid", "no-device-work"]))
    latency = draw(st.floats(1e-6, 1e6)) if status == "ok" else draw(st.none() | st.just(0.0))
    size = draw(st.sampled_from(["[1]", "[2]", "[3]", "[4]"]))
    return Row(
        key=RowKey(
            op=draw(st.sampled_from(["gelu", "mm"])),
            dtype="torch.float16",
            size_key=size,
            node=draw(st.sampled_from(["", "a", "b"])),
        ),
        status=status,
        size_detail=size,
        latency_ms=latency,
        baseline_ms=draw(st.none() | st.floats(1e-6, 10)),
        mode=draw(st.sampled_from(["kernel", "kernel", "operator", "unknown"])),
        regime=draw(st.sampled_from(REGIMES)),
        samples_ms=draw(st.sampled_from([(), (1.0, 2.0)])),
        inputs=draw(st.none() | st.builds(Inputs, digest=st.sampled_from(["", "d", "e"]))),
        certificate=draw(st.sampled_from([None, None, "certified", "config-drift", "rebuilt"])),
    )


@st.composite
def logs(draw: st.DrawFn) -> RunLog:
    damaged = draw(st.integers(0, 2))
    return RunLog(
        rows=number_rows(draw(st.lists(rows(), max_size=12))),
        damaged=(Damaged(text="x", reason="cut", source=Source(file="a")),) * damaged,
        journalled=draw(st.booleans()),
        incomplete=draw(st.sampled_from([(), ("died",)])),
    )


def counted(ledger: SideLedger) -> int:
    return sum(getattr(ledger, f.name) for f in fields(ledger) if f.name != "seen")


@given(st.lists(st.tuples(logs(), logs()), min_size=1, max_size=3))
def test_every_row_seen_ends_in_one_place(rounds: list[tuple[RunLog, RunLog]]) -> None:
    report = compare_rounds(rounds, label="x")
    for side, log in zip(("before", "after"), rounds[0], strict=True):
        ledger = getattr(report.ledger, side)
        assert ledger.seen == log.seen == counted(ledger)
        left = [entry for entry in report.unpaired if entry.side == side]
        assert len(left) + len(report.pairs) == log.seen
    assert all(len(pair.rounds) == len(rounds) for pair in report.pairs)
    assert all(0 <= one.min_row < len(report.pairs) for one in report.ranges)
    assert sum(one.rows for one in report.ranges if not one.name) == len(report.pairs)


@given(logs())
def test_a_log_against_itself_is_all_zero(log: RunLog) -> None:
    report = compare(log, log, label="x")
    sound = [row for row in log.rows if row.status == "ok" and row.certificate != "config-drift"]
    assert len(report.pairs) == len(sound)
    assert all(pair.speedup_percent == 0.0 for pair in report.pairs)
    assert all(one.min_percent == one.max_percent == 0.0 for one in report.ranges)


@given(logs(), logs(), st.randoms(use_true_random=False))
def test_pairing_does_not_depend_on_the_order(
    before: RunLog, after: RunLog, chance: random.Random
) -> None:
    def shuffled(log: RunLog) -> RunLog:
        moved = list(log.rows)
        chance.shuffle(moved)
        return RunLog(rows=tuple(moved), damaged=log.damaged, journalled=True)

    def facts(one: RunLog, other: RunLog) -> Any:
        report = compare(one, other, label="x")
        pairs = {(p.before.key, p.after.key, p.speedup_percent, p.flags) for p in report.pairs}
        left = {(e.side, e.reason, e.row.key, e.detail) for e in report.unpaired if e.row}
        ends = {(one.regime, one.name, one.min_percent, one.max_percent) for one in report.ranges}
        return pairs, left, ends, report.ledger

    before, after = (RunLog(rows=log.rows, journalled=True) for log in (before, after))
    plain = facts(before, after)
    assert facts(shuffled(before), shuffled(after)) == plain


@given(logs(), logs(), st.lists(rows(), max_size=5))
def test_no_unpaired_row_touches_a_range(before: RunLog, after: RunLog, more: list[Row]) -> None:
    """Rows of an operator that only one side shows change no pair and no range."""
    stray = [
        Row(
            key=RowKey(op="stray", dtype="d", size_key=str(n)),
            status=row.status,
            size_detail="",
            latency_ms=row.latency_ms,
            regime=row.regime,
            samples_ms=(1.0, 2.0),
        )
        for n, row in enumerate(more)
    ]
    wider = RunLog(
        rows=(*before.rows, *stray), damaged=before.damaged, journalled=before.journalled
    )
    report, wide = compare(before, after, label="x"), compare(wider, after, label="x")
    assert wide.pairs == report.pairs
    assert wide.ranges == report.ranges
    assert len(wide.unpaired) == len(report.unpaired) + len(stray)
