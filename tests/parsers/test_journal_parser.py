"""The agent's journal: rows out of calls, whatever is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flagkit.model import Damaged, Inputs, Note, Plan, Row
from flagkit.parsers.flagkit_journal import flagkit_parser

START = {"kind": "start", "schema": 1, "side": "before", "op": "gelu"}
END = {"kind": "end", "exit": 0, "time": "2026-11-30T17:00:00+00:00"}
GRAPH = {
    "requested": "graph",
    "resolved": "graph",
    "cache": "hot",
    "fallback_reason": "",
    "phase": "",
    "protocol": "flagkit-device-1",
}


def call(name: str, **given: Any) -> dict[str, Any]:
    return {
        "kind": "call",
        "id": name,
        "node": "t.py::gelu",
        "call": 0,
        "op": "gelu",
        "dtype": "torch.float16",
        "size_detail": "[torch.Size([64, 64])]",
        "role": "op",
        "latency_ms": 0.25,
        "status": "ok",
        "reason": "",
        "samples_ms": [0.25, 0.26],
        "plan": {"warmup": 5, "unroll": 2, "replays": 10, "windows": 2},
        "regime": GRAPH,
        "inputs": {"fingerprint": "f", "digest": "d", "mutated": False, "unseen": 1},
        "flags": [],
        "seconds": 0.2,
        **given,
    }


def row(name: str | None, **given: Any) -> dict[str, Any]:
    return {
        "kind": "row",
        "id": name,
        "baseline_id": None,
        "node": "t.py::gelu",
        "op": "gelu",
        "dtype": "torch.float16",
        "size_detail": "[torch.Size([64, 64])]",
        "latency_ms": 0.25,
        "baseline_ms": 0.5,
        "tflops": None,
        "gbps": None,
        "baseline_gbps": None,
        "status": "ok",
        "reason": "",
        "mode": "kernel",
        "level": "core",
        **given,
    }


def text(*entries: object) -> str:
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def facts(data: str) -> list[Row | Damaged | Note]:
    return list(flagkit_parser().parse(data.encode().splitlines(keepends=True), "m.jsonl"))


def rows(data: str) -> list[Row]:
    return [fact for fact in facts(data) if isinstance(fact, Row)]


def incomplete(data: str) -> list[str]:
    return [f.text for f in facts(data) if isinstance(f, Note) and f.code == "incomplete"]


def test_a_row_is_joined_to_its_call() -> None:
    data = text(START, call("c0", role="baseline"), call("c1", flags=["x"]), row("c1"), END)
    (only,) = rows(data)
    assert only.key.text() == "gelu torch.float16 [[64,64]]"
    assert only.key.node == "t.py::gelu"
    assert (only.latency_ms, only.baseline_ms, only.call) == (0.25, 0.5, "c1")
    assert only.samples_ms == (0.25, 0.26)
    assert only.plan == Plan(warmup=5, unroll=2, replays=10, windows=2)
    assert only.inputs == Inputs(fingerprint="f", digest="d", unseen=1)
    assert (only.regime.label, only.regime.protocol) == ("graph/hot", "flagkit-device-1")
    assert (only.flags, only.mode, only.level) == (("x",), "kernel", "core")
    assert incomplete(data) == []


def test_a_later_line_replaces_an_earlier_one() -> None:
    data = text(
        call("c1"),
        row("c1", gbps=None),
        row("c1", gbps=20.0),
        row(None, serial=1, latency_ms=0.1),
        row(None, serial=1, latency_ms=0.2),
        row(None, serial=2, latency_ms=0.3),
        END,
    )
    assert [(r.gbps, r.latency_ms) for r in rows(data)] == [(20.0, 0.25), (None, 0.2), (None, 0.3)]


def test_a_number_that_came_from_no_call_is_foreign() -> None:
    (only,) = rows(text(row(None), END))
    assert only.regime.label == "foreign"


def test_a_call_meant_as_a_row() -> None:
    data = text(
        call("c1", role="row", op="", dtype="", size_detail=""),
        call("c2", role="row"),
        row("c2"),
        call("c3"),
        END,
    )
    assert [r.key.text() for r in rows(data)] == [
        "unknown unknown ",
        "gelu torch.float16 [[64,64]]",
    ]


def test_rows_come_in_the_order_of_their_calls() -> None:
    data = text(
        call("c1", size_detail="[1]"),
        call("c2", size_detail="[2]"),
        row("c2", size_detail="[2]"),
        row("c1", size_detail="[1]"),
        END,
    )
    assert [r.key.size_key for r in rows(data)] == ["[1]", "[2]"]


def test_a_row_is_never_better_than_its_call() -> None:
    states = ("failed", "invalid", "no-device-work")
    for status in states:
        (only,) = rows(text(call("c1", status=status, reason="so"), row("c1"), END))
        assert (only.status, only.reason) == (status, "so")
        (only,) = rows(text(call("c1"), row("c1", status=status, latency_ms=None), END))
        assert only.status == status
    (only,) = rows(text(call("c1", latency_ms=None), row("c1", latency_ms=None), END))
    assert only.status == "invalid"


def test_fallback_is_the_rows_own() -> None:
    event = {
        **GRAPH,
        "resolved": "event",
        "cache": "cold",
        "fallback_reason": "no",
        "phase": "sync",
    }
    (only,) = rows(text(call("c1", regime=event), row("c1"), END))
    assert only.regime.label == "event/cold"
    assert only.regime.fell_back


def test_how_a_run_ended() -> None:
    assert incomplete(text(row(None))) == ["the benchmark's process ended before its session did"]
    failed = {"kind": "test", "node": "t::a", "outcome": "failed", "when": "call", "reason": "a\nb"}
    skipped = {"kind": "test", "node": "t::b", "outcome": "skipped", "reason": ""}
    passed = {"kind": "test", "node": "t::c", "outcome": "passed"}
    end = {**END, "exit": 1}
    assert incomplete(text(failed, skipped, passed, end)) == [
        "t::a failed in call: a b",
        "t::b was skipped",
    ]
    assert incomplete(text(passed, end)) == ["the benchmark's session ended with exit code 1"]


def test_a_last_line_cut_short() -> None:
    whole = text(call("c1"), row("c1"))
    for end in range(len(whole) - 1, whole.index("\n") + 1, -1):
        found = facts(whole[:end])
        assert not [f for f in found if isinstance(f, Damaged)]
        codes = [f.code for f in found if isinstance(f, Note)]
        assert "incomplete" in codes
        assert ("cut-line" in codes) == (end < len(whole) - 1)


def test_lines_of_no_journal() -> None:
    data = 'hello\n[1]\n"x"\nnull\n{"kind": "row", \n\n' + text(END)
    found = facts(data)
    assert len([f for f in found if isinstance(f, Damaged)]) == 1
    assert len([f for f in found if isinstance(f, Note)]) == 4


def test_entries_that_break_the_schema_are_damaged_rows() -> None:
    broken = [
        {"regime": [1]},
        {"plan": {"warmup": 1}},
        {"plan": {"warmup": -1, "unroll": 1, "replays": 1, "windows": 1}},
        {"samples_ms": 3},
        {"inputs": "x"},
        {"flags": 1},
    ]
    for one in broken:
        found = facts(text(call("c1", **one), row("c1"), END))
        assert [type(f) for f in found] == [Damaged], one


def test_notes_and_another_schema() -> None:
    note = {"kind": "note", "code": "stale-guard", "text": "lifted", "node": "t::a"}
    data = text({**START, "schema": 2}, note, {"kind": "facts"}, {"kind": "switch"}, row(None), END)
    found = [(f.code, f.text) for f in facts(data) if isinstance(f, Note)]
    assert found[1] == ("stale-guard", "lifted")
    assert found[0][0] == "schema"


def test_claims() -> None:
    parser = flagkit_parser()
    assert parser.claims(text(START).encode(), Path("x"))
    assert not parser.claims(b'{"abs": {"details": []}}', Path("x"))


def test_calls_of_two_processes_in_one_journal_are_told() -> None:
    lines = [START, call("c1"), call("c1", node="t.py::other"), call("c1"), END]
    data = [json.dumps(line).encode() + b"\n" for line in lines]
    told = [fact for fact in flagkit_parser().parse(data, "j") if isinstance(fact, Note)]
    assert [(note.code, note.source and note.source.line) for note in told] == [("incomplete", 3)]
    assert "more than one process" in told[0].text


FAILED = {"status": "failed", "latency_ms": None, "samples_ms": [], "plan": None, "regime": None}


def test_an_operators_failed_call_is_a_failed_row() -> None:
    """FlagGems ends the test there and prints no table: only the call tells of the row."""
    other = {"size_detail": "[torch.Size([1024, 1024])]"}
    boom = call("c2", call=1, **other, **FAILED, inputs=None, reason="RuntimeError: boom")
    found = rows(text(START, call("c1"), row("c1"), boom, END))
    assert [each.status for each in found] == ["ok", "failed"]
    assert found[1].key.size_key == "[[1024,1024]]"
    assert (found[1].latency_ms, found[1].reason) == (None, "RuntimeError: boom")


def test_a_failed_call_that_was_tried_again_is_no_row() -> None:
    failed = call("c1", **FAILED, inputs=None)
    again = call("c2", call=1)
    assert [each.status for each in rows(text(START, failed, again, row("c2"), END))] == ["ok"]


def test_a_failed_call_of_unknown_size_is_no_row() -> None:
    assert rows(text(START, call("c1", **FAILED, inputs=None, size_detail=""), END)) == []
