"""JSON reports, merged, split, stringified and cut; and what tools make of them."""

from __future__ import annotations

import json
from pathlib import Path

from flagkit.model import Damaged, Note, Row
from flagkit.parsers.flaggems_json import flagkit_parser


def result(
    op: str = "abs", dtype: str = "torch.float16", latency: object = 0.25
) -> dict[str, object]:
    row = {"shape_detail": [[64, 64]], "latency_base": 0.5, "latency": latency, "error_msg": None}
    return {"op_name": op, "dtype": dtype, "mode": "kernel", "level": "core", "result": [row]}


def entry(*details: object, outcome: str | None = "passed", **more: object) -> dict[str, object]:
    told = {"details": [*details], "result": outcome, "reason": "", **more}
    return {name: value for name, value in told.items() if value is not None}


def facts(report: object, indent: int | None = 2) -> list[Row | Damaged | Note]:
    text = report if isinstance(report, str) else json.dumps(report, indent=indent)
    return list(flagkit_parser().parse(text.encode().splitlines(keepends=True), "r.json"))


def rows(report: object, indent: int | None = 2) -> list[Row]:
    return [fact for fact in facts(report, indent) if isinstance(fact, Row)]


def notes(report: object) -> list[tuple[str, str]]:
    return [(f.code, f.text) for f in facts(report) if isinstance(f, Note)]


def test_a_report_in_any_layout() -> None:
    report = {"abs": entry(result(), result(dtype="torch.float32")), "relu": entry(result("relu"))}
    for indent in (2, 4, 1, None, 0):
        keys = [r.key.text() for r in rows(report, indent)]
        assert keys == [
            "abs torch.float16 [[64,64]]",
            "abs torch.float32 [[64,64]]",
            "relu torch.float16 [[64,64]]",
        ], indent
    assert [r.source.line for r in rows(report)][::2] == [2, 46]
    assert rows({}) == []


def test_details_that_are_json_within_a_string() -> None:
    report = {"abs": entry(json.dumps(result()), "no json")}
    assert len(rows(report)) == 1
    assert len([f for f in facts(report) if isinstance(f, Damaged)]) == 1


def test_numbers_that_were_written_as_text() -> None:
    def told(latency: object) -> tuple[object, str, str]:
        (row,) = rows({"abs": entry(result(latency=latency))})
        return row.latency_ms, row.status, row.reason

    assert told("0.2512345678") == (0.2512345678, "ok", "")
    assert told(" 2.5e-01 ") == (0.25, "ok", "")
    assert told("nan")[1:] == ("invalid", "a latency of nan")
    for text in ("tensor(0.2500)", "0.25 ms", "1_000", "", "N/A", "0x1p-2", "１"):
        assert told(text) == (None, "invalid", f"no number: {text!r}")


def test_split_entries() -> None:
    report = {
        "to_copy": {"result": "passed", "test_case": "test_to_copy.py::test_to_copy"},
        "to_copy_a": {"details": [result("to_copy_a")]},
        "null": {"result": None, "details": [result("null")]},
    }
    assert [r.key.op for r in rows(report)] == ["to_copy_a", "null"]
    assert [code for code, _ in notes(report)] == ["no-details"]


def test_failed_and_skipped_tests() -> None:
    report = {
        "abs": entry(result(), outcome="failed", test_case="t.py::abs", reason="Failed:\n oom"),
        "relu": entry(outcome="skipped", reason="no device"),
    }
    assert len(rows(report)) == 1
    assert notes(report) == [
        ("incomplete", "t.py::abs failed: Failed: oom"),
        ("incomplete", "relu was skipped: no device"),
    ]


def test_merged_older_results_are_told_by_their_stamps() -> None:
    def stamped(when: object) -> dict[str, object]:
        return {"abs": entry(result(), timestamp="2026-05-01T10:00:00"), "b": entry(timestamp=when)}

    codes = [code for code, _ in notes(stamped("2026-05-20 11:00:00"))]
    assert "merged" in codes
    assert "merged" in [code for code, _ in notes(stamped(1779271200.5))]
    assert "merged" in [code for code, _ in notes(stamped("2026-05-01T17:00:00"))]
    assert "merged" not in [code for code, _ in notes(stamped("2026-05-01T12:00:00+00:00"))]
    long = {f"op{n}": entry(timestamp=f"2026-05-01T{n:02}:30:00") for n in range(24)}
    assert "merged" not in [code for code, _ in notes(long)]
    assert "merged" not in [code for code, _ in notes(stamped("yesterday"))]


def test_a_report_cut_short() -> None:
    text = json.dumps({"abs": entry(result()), "relu": entry(result("relu"))}, indent=2)
    for end in range(60, len(text) - 2):
        found = facts(text[:end])
        assert len([f for f in found if isinstance(f, Row)]) < 2
        assert [f for f in found if isinstance(f, Note) and f.code == "incomplete"], end


def test_nan_and_infinity() -> None:
    report = {"abs": entry(result(latency=float("nan")), result(latency=float("inf")))}
    assert [r.status for r in rows(report)] == ["invalid", "invalid"]


def test_anything_else_within() -> None:
    report = {
        "a": 1,
        "b": [1, {"c": None}],
        "d": {"details": [1, None], "result": 3},
        "e": {"x": {}},
    }
    assert rows(report) == []
    for text in ("[]", "[1, 2]", "3", '"x"', "{", "}", "[", "{]", '{"a": }'):
        facts(text)


def test_the_test_runners_summary() -> None:
    details = {"[torch.Size([64, 64])]": {"base": 0.5, "gems": 0.25, "speedup": 2.0}}
    data = {"fp16": {"result": "passed", "details": details, "speedup": 2.0}}
    report = {
        "timestamp": "2026-05-01",
        "result": {
            "abs": {"performance": {"status": "OK", "data": data}},
            "relu": {"performance": {"status": "TIMEOUT"}, "accuracy": {}},
        },
    }
    assert [(r.key.text(), r.baseline_ms, r.latency_ms) for r in rows(report)] == [
        ("abs torch.float16 [[64,64]]", 0.5, 0.25)
    ]
    assert notes(report) == [("incomplete", "relu: the benchmark ended with TIMEOUT")]


def test_microseconds_of_a_fork() -> None:
    one = {"shape": [64, 64], "dtype": "bfloat16", "ref_us": 12.5, "triton_us": 10.0}
    for report in ({"op": "silu", "results": [one]}, {"silu": [one]}, [{**one, "op": "silu"}]):
        assert [(r.key.text(), r.baseline_ms, r.latency_ms) for r in rows(report)] == [
            ("silu torch.bfloat16 [64,64]", 0.0125, 0.01)
        ], report


def test_claims() -> None:
    parser = flagkit_parser()
    text = json.dumps({"abs": entry(result())}, indent=2).encode()
    assert parser.claims(text, Path("x"))
    assert parser.claims(b"# source: x\n" + text, Path("x"))
    assert not parser.claims(b'{"kind": "start", "reason": ""}\n', Path("x"))
    assert not parser.claims(b'[INFO] {"op_name": "abs"}\n', Path("x"))
    assert not parser.claims(b'{"a": 1}', Path("x"))


def test_reports_one_behind_another() -> None:
    reports = {"abs": entry(result())}, {"relu": entry(result("relu"))}
    for indent in (2, None):
        text = "\n".join(json.dumps(report, indent=indent) for report in reports) + "\n$ exit\n"
        found = facts(text)
        assert [f.key.op for f in found if isinstance(f, Row)] == ["abs", "relu"], indent
        assert len(found) == 2
    cut = json.dumps(reports[0]) + "\n" + json.dumps(reports[1])[:60]
    assert [type(fact) for fact in facts(cut)] == [Row, Damaged, Note]
