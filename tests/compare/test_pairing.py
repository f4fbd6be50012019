from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flagkit.compare.ranges import compare
from flagkit.model import Damaged, Inputs, RangeReport, RunLog, Source


def reasons(report: RangeReport, side: str) -> list[str]:
    return [entry.reason for entry in report.unpaired if entry.side == side]


def test_rows_pair_by_key_and_not_by_position(make: Any) -> None:
    before = make.log(make.row("[1]", 1.0), make.row("[2]", 2.0))
    after = make.log(make.row("[2]", 1.0), make.row("[1]", 4.0))
    report = compare(before, after, label="gelu")
    assert [pair.before.key.size_key for pair in report.pairs] == ["[1]", "[2]"]
    assert [pair.speedup_percent for pair in report.pairs] == [-75.0, 100.0]
    assert report.range is not None
    assert (report.range.min_row, report.range.max_row, report.range.rows) == (0, 1, 2)


def test_another_op_or_dtype_is_another_row(make: Any) -> None:
    before = make.log(make.row(op="gelu"), make.row(dtype="torch.float32"))
    after = make.log(make.row(op="relu"), make.row(dtype="torch.float32"))
    report = compare(before, after, label="x")
    assert len(report.pairs) == 1
    assert reasons(report, "before") == ["missing-after"]
    assert reasons(report, "after") == ["missing-before"]
    assert report.ledger.before.only == report.ledger.after.only == 1


def test_equal_keys_pair_in_their_order_when_equally_many(make: Any) -> None:
    before = make.log(make.row(ms=1.0), make.row(ms=2.0))
    after = make.log(make.row(ms=0.8), make.row(ms=2.0))
    report = compare(before, after, label="x")
    assert [round(pair.speedup_percent, 6) for pair in report.pairs] == [25.0, 0.0]
    assert [pair.after.key.occurrence for pair in report.pairs] == [0, 1]


def test_a_key_shown_more_often_on_one_side_is_ambiguous_on_both(make: Any) -> None:
    report = compare(make.log(make.row(), make.row()), make.log(make.row()), label="x")
    assert not report.pairs
    assert reasons(report, "before") == ["ambiguous", "ambiguous"]
    assert reasons(report, "after") == ["ambiguous"]
    assert report.unpaired[0].detail == "twice before, once after"
    assert report.range is None


def test_failed_and_invalid_rows_count_as_shown(make: Any) -> None:
    before = make.log(make.row(ms=2.0), make.row(ms=None, status="failed", reason="boom"))
    after = make.log(make.row(ms=1.0), make.row(ms=3.0))
    report = compare(before, after, label="x")
    assert [pair.speedup_percent for pair in report.pairs] == [100.0]
    assert reasons(report, "before") == ["failed"]
    assert reasons(report, "after") == ["missing-before"]
    assert report.unpaired[1].detail == "its before row: failed (boom)"

    after = make.log(make.row(ms=1.0))
    report = compare(before, after, label="x")
    assert reasons(report, "before") == ["ambiguous", "ambiguous"]
    assert "this row: failed (boom)" in report.unpaired[1].detail


@pytest.mark.parametrize(
    ("status", "bucket"),
    [("failed", "failed"), ("invalid", "invalid"), ("no-device-work", "no_device_work")],
)
def test_a_row_in_trouble_has_its_own_reason(make: Any, status: str, bucket: str) -> None:
    bad = make.row(ms=None, status=status)
    report = compare(make.log(make.row()), make.log(bad), label="x")
    assert reasons(report, "before") == ["missing-after"]
    assert reasons(report, "after") == [status]
    assert getattr(report.ledger.after, bucket) == 1
    both = compare(make.log(bad), make.log(bad), label="x")
    assert reasons(both, "before") == reasons(both, "after") == [status]
    alone = compare(make.log(bad), make.log(), label="x")
    assert reasons(alone, "before") == [status]


def test_damaged_lines_are_seen_and_damaged(make: Any) -> None:
    line = Damaged(text="SUCC", reason="cut", source=Source(file="a.log", line=3))
    before = replace(make.log(make.row()), damaged=(line,))
    report = compare(before, make.log(make.row()), label="x")
    assert report.ledger.before.seen == 2
    assert report.ledger.before.damaged == 1
    assert report.unpaired[0].damaged is line


def test_the_node_is_part_of_the_key_only_between_journals(make: Any) -> None:
    rows = [make.row(ms=1.0, node="a"), make.row(ms=2.0, node="b")]
    journal = make.log(*rows, journalled=True)
    turned = make.log(*reversed(rows), journalled=True)
    report = compare(journal, turned, label="x")
    assert [pair.speedup_percent for pair in report.pairs] == [0.0, 0.0]
    plain = make.log(make.row(ms=1.0), make.row(ms=2.0))
    report = compare(journal, plain, label="x")
    assert [pair.speedup_percent for pair in report.pairs] == [0.0, 0.0]
    assert [pair.before.key.occurrence for pair in report.pairs] == [0, 1]


def test_an_unnumbered_log_is_numbered_in_its_order(make: Any) -> None:
    rows = (make.row(ms=1.0), make.row(ms=2.0))
    report = compare(RunLog(rows=rows), RunLog(rows=rows), label="x")
    assert [pair.before.key.occurrence for pair in report.pairs] == [0, 1]


@pytest.mark.parametrize(
    ("before", "after", "detail"),
    [
        ({"mode": "kernel"}, {"mode": "operator"}, "mode kernel against operator"),
        ({"level": "core"}, {"level": "comprehensive"}, "level core against comprehensive"),
        ({}, {"resolved": "event", "cache": "cold"}, "graph/hot against event/cold"),
        (
            {},
            {"resolved": "event", "cache": "cold", "fallback_reason": "no", "phase": "capture"},
            "graph/hot against event/cold (after: capture: no)",
        ),
        ({"protocol": "a 1"}, {"protocol": "a 2"}, "protocol a 1 against a 2"),
        ({}, {"resolved": "unknown"}, "graph/hot against unknown"),
        ({}, {"resolved": "foreign"}, "graph/hot against foreign"),
    ],
)
def test_other_conditions_are_never_divided(
    make: Any, before: dict[str, str], after: dict[str, str], detail: str
) -> None:
    def log(given: dict[str, str]) -> RunLog:
        row = {name: given[name] for name in given if name in ("mode", "level")}
        regime = {name: given[name] for name in given if name not in row}
        return make.log(make.row(regime=make.regime(**regime), **row))  # type: ignore[no-any-return]

    report = compare(log(before), log(after), label="x")
    assert not report.pairs
    assert [entry.reason for entry in report.unpaired] == ["mixed-regime"] * 2
    assert {entry.detail for entry in report.unpaired} == {detail}
    assert report.ledger.before.mixed == report.ledger.after.mixed == 1


def test_what_one_side_does_not_tell_is_no_difference(make: Any) -> None:
    told = make.row(mode="operator", level="core", regime=make.regime("unknown"))
    untold = make.row(mode="unknown", level="unknown", regime=make.regime("unknown"))
    report = compare(make.log(told), make.log(untold), label="x")
    assert len(report.pairs) == 1
    assert "regime-unknown" in {note.code for note in report.notes}
    known = make.row(mode="operator", regime=make.regime("host"))
    assert len(compare(make.log(known), make.log(told), label="x").pairs) == 1


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        (Inputs(fingerprint="a", digest="d"), Inputs(fingerprint="b", digest="d"), 0),
        (Inputs(fingerprint="a", digest="d"), Inputs(fingerprint="a", digest="e"), 0),
        (Inputs(fingerprint="a", digest="d"), Inputs(fingerprint="a", digest=""), 1),
        (Inputs(fingerprint="a"), None, 1),
    ],
)
def test_other_inputs_are_no_pair(make: Any, one: Inputs, other: Inputs | None, pairs: int) -> None:
    report = compare(make.log(make.row(inputs=one)), make.log(make.row(inputs=other)), label="x")
    assert len(report.pairs) == pairs
    assert report.ledger.after.inputs_differ == 1 - pairs


def test_a_flag_of_the_journal_says_that_inputs_differ(make: Any) -> None:
    flagged = make.log(make.row(flags=("inputs-differ",)))
    report = compare(make.log(make.row()), flagged, label="x")
    assert [entry.reason for entry in report.unpaired] == ["inputs-differ"] * 2


def test_a_broken_certificate_drifts_both_sides(make: Any) -> None:
    drifted = make.row(certificate="config-drift", reason="mm: missed")
    report = compare(make.log(make.row()), make.log(drifted), label="x")
    assert [entry.reason for entry in report.unpaired] == ["config-drift"] * 2
    assert report.unpaired[0].detail == "mm: missed"
    assert report.ledger.before.drifted == 1
    failed = make.row(ms=None, status="failed")
    report = compare(make.log(failed), make.log(drifted), label="x")
    assert [entry.reason for entry in report.unpaired] == ["failed", "config-drift"]
    assert reasons(compare(make.log(), make.log(drifted), label="x"), "after") == ["config-drift"]


def test_what_a_reader_has_to_know_is_flagged(make: Any) -> None:
    seen = Inputs(mutated=True, unseen=2)
    fell = make.regime("event", "cold", requested="graph", fallback_reason="no capture")
    rows = make.log(make.row(inputs=seen, certificate="rebuilt", regime=fell, flags=("own",)))
    (pair,) = compare(rows, rows, label="x").pairs
    assert pair.flags == ("own", "rebuilt", "mutated-inputs", "unseen-inputs", "fallback")
