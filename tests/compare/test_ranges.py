from __future__ import annotations

from typing import Any

import pytest

from flagkit.compare.ranges import WITHOUT_ONE_TICK, compare, compare_rounds
from flagkit.errors import UsageError
from flagkit.model import Note, RangeReport


def codes(report: RangeReport) -> list[str]:
    return [note.code for note in report.notes]


def test_one_range_a_regime_most_rows_first(make: Any) -> None:
    event = make.regime("event", "cold")
    before = make.log(
        make.row("[1]", 9.0, regime=event), make.row("[2]", 2.0), make.row("[3]", 1.0)
    )
    after = make.log(make.row("[1]", 1.0, regime=event), make.row("[2]", 1.0), make.row("[3]", 2.0))
    report = compare(before, after, label="x")
    assert [(one.regime, one.rows) for one in report.ranges] == [
        ("graph/hot", 2),
        ("event/cold", 1),
    ]
    main = report.ranges[0]
    assert (main.min_percent, main.min_row, main.max_percent, main.max_row) == (-50.0, 2, 100.0, 1)


def test_nothing_paired_has_no_range(make: Any) -> None:
    report = compare(make.log(), make.log(make.row()), label="x")
    assert report.ranges == ()
    assert report.range is None


def test_control_and_receipts_and_incomplete_runs_are_said(make: Any) -> None:
    before = make.log(make.row(), receipt={"exit": 0}, notes=(Note(code="n", text="t"),))
    after = make.log(make.row(), incomplete=("test_a failed", "test_a failed"))
    report = compare(before, after, label="x", control=True)
    assert codes(report)[0] == "control"
    assert report.incomplete == ("after: test_a failed (2 times)",)
    assert report.receipts == {"before": {"exit": 0}}
    assert report.notes[-1].side == "before"


def test_rows_timed_otherwise_than_asked_are_said(make: Any) -> None:
    fell = make.regime("event", "cold", requested="graph", fallback_reason="no", phase="capture")
    rows = make.log(make.row("[1]", regime=fell), make.row("[2]", regime=fell))
    (note,) = [note for note in compare(rows, rows, label="x").notes if note.code == "fallback"]
    assert note.text == "2 rows timed as event/cold instead of graph at capture: no"


def test_the_torch_column_is_a_control(make: Any) -> None:
    before = make.log(*(make.row(f"[{n}]", 2.0, baseline_ms=1.0) for n in range(3)))
    after = make.log(
        make.row("[0]", 1.0, baseline_ms=1.01),
        make.row("[1]", 1.0, baseline_ms=0.5),
        make.row("[2]", 1.0),
    )
    report = compare(before, after, label="x")
    (note,) = [note for note in report.notes if note.code == "torch-control"]
    assert note.text.startswith("torch column, the same code on both sides: -0.99% ~ +100.00%")
    assert "1 of 2 rows off by more than 5%" in note.text
    assert note.data["large"] is True
    assert note.data["max_percent"] == 100.0
    assert note.data["rows"] == 2


def test_rounds_report_the_median_and_keep_every_speedup(make: Any) -> None:
    def both(before: float, after: float) -> Any:
        return make.log(make.row(ms=before)), make.log(make.row(ms=after))

    report = compare_rounds([both(1, 1), both(3, 1), both(2, 1)], label="x")
    assert "rounds-even" not in codes(report)
    (pair,) = report.pairs
    assert pair.rounds == (0.0, 200.0, 100.0)
    assert (pair.before.latency_ms, pair.after.latency_ms) == (2, 1)
    report = compare_rounds([both(1, 1), both(3, 1)], label="x")
    assert report.pairs[0].speedup_percent == 0.0
    assert "rounds-even" in codes(report)
    assert compare_rounds([both(3, 1)], label="x").pairs[0].rounds == (200.0,)


def test_a_row_lost_in_a_later_round_is_in_no_range(make: Any) -> None:
    whole = make.log(make.row("[1]"), make.row("[2]"))
    half = make.log(make.row("[1]"))
    failed = make.log(make.row("[1]"), make.row("[2]", None, status="failed", reason="boom"))
    report = compare_rounds([(whole, whole), (whole, half)], label="x")
    assert [pair.before.key.size_key for pair in report.pairs] == ["[1]"]
    assert [(e.side, e.reason) for e in report.unpaired] == [
        ("before", "missing-after"),
        ("after", "missing-after"),
    ]
    assert report.unpaired[0].detail.startswith("round 2: ")
    assert report.unpaired[1].detail == "round 2: the after side does not show it"
    report = compare_rounds([(whole, whole), (whole, failed)], label="x")
    assert [(e.side, e.reason) for e in report.unpaired] == [
        ("before", "missing-after"),
        ("after", "failed"),
    ]
    assert report.unpaired[1].detail == "round 2: boom"
    report = compare_rounds([(whole, whole), (failed, half)], label="x")
    assert [(e.side, e.reason, e.detail) for e in report.unpaired] == [
        ("before", "failed", "round 2: boom"),
        ("after", "missing-before", "round 2: its before row: boom"),
    ]
    report = compare_rounds([(half, half), (whole, whole)], label="x")
    assert len(report.pairs) == 1
    assert "rounds-differ" in codes(report)
    report = compare_rounds([(whole, whole), (half, half)], label="x")
    assert report.ledger.before.only == 1


def test_incomplete_rounds_say_which(make: Any) -> None:
    whole = make.log(make.row())
    broken = make.log(make.row(), incomplete=("died",))
    report = compare_rounds([(whole, whole), (whole, broken)], label="x")
    assert report.incomplete == ("after (round 2): died",)


def test_no_round_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        compare_rounds([], label="x")


def test_a_second_range_leaves_out_rows_within_one_tick(make: Any) -> None:
    ticks = [(4, 5), (13, 11), (29, 20), (31, 31), (57, 50), (91, 90)]
    before = make.log(*(make.row(f"[{n}]", n * 0.001024) for n, _ in ticks))
    after = make.log(*(make.row(f"[{n}]", m * 0.001024) for n, m in ticks))
    report = compare(before, after, label="x")
    flagged = [pair.before.key.size_key for pair in report.pairs if "one-tick" in pair.flags]
    assert flagged == ["[4]", "[31]", "[91]"]
    main, derived = report.ranges
    assert (main.rows, main.name) == (6, "")
    assert (derived.rows, derived.name, derived.regime) == (3, WITHOUT_ONE_TICK, "graph/hot")
    assert derived.min_percent == pytest.approx(100 * (57 / 50 - 1))
    assert derived.min_row == 4
    (note,) = [note for note in report.notes if note.code == "one-tick"]
    assert note.text == "the timer steps by 1024 ns; 3 rows differ by no more than one step"
    assert note.data["tick_ns"] == {"before": 1024, "after": 1024}


def test_rows_of_several_samples_have_no_ticks(make: Any) -> None:
    rows = make.log(*(make.row(f"[{n}]", n * 0.001, samples_ms=(1.0, 1.0)) for n in range(1, 20)))
    report = compare(rows, rows, label="x")
    assert not any(pair.flags for pair in report.pairs)
    assert len(report.ranges) == 1
