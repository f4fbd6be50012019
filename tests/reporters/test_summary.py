"""The batch summary: stable columns, numbers that stay numbers, harmless text."""

from __future__ import annotations

import csv
import io

from flagkit.model import Damaged, Regime, Row, RowKey, RunLog, Source, status_of
from flagkit.reporters.summary import COLUMNS, summary_csv


def row(latency: float | None, torch: float | None = 0.5, op: str = "gelu", **more: object) -> Row:
    return Row(
        key=RowKey(op=op, dtype="torch.float16", size_key="[[64,64]]"),
        status=status_of(latency),
        size_detail="[torch.Size([64, 64])]",
        latency_ms=latency,
        baseline_ms=torch,
        mode="kernel",
        level="core",
        regime=Regime(requested="graph", resolved="graph", cache="hot"),
        **more,  # type: ignore[arg-type]
    )


def table(*runs: tuple[str, RunLog]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(summary_csv(runs))))


def test_columns_are_stable() -> None:
    assert summary_csv([]) == (
        "run,op,dtype,size_detail,status,torch_ms,gems_ms,speedup,tflops,gbps,mode,level,regime\n"
    )
    assert summary_csv([]).strip() == ",".join(COLUMNS)


def test_a_row() -> None:
    (line,) = table(("a/before", RunLog(rows=(row(0.25, tflops=1.5, gbps=20.0),))))
    assert line == {
        "run": "a/before",
        "op": "gelu",
        "dtype": "torch.float16",
        "size_detail": "[torch.Size([64, 64])]",
        "status": "ok",
        "torch_ms": "0.5",
        "gems_ms": "0.25",
        "speedup": "2.0",
        "tflops": "1.5",
        "gbps": "20.0",
        "mode": "kernel",
        "level": "core",
        "regime": "graph/hot",
    }


def test_missing_and_impossible_numbers_are_empty() -> None:
    log = RunLog(rows=(row(None), row(float("nan")), row(0.0), row(0.25, None)))
    lines = table(("r", log))
    assert [line["speedup"] for line in lines] == [""] * 4
    assert [line["gems_ms"] for line in lines] == ["", "", "0.0", "0.25"]
    assert [line["status"] for line in lines] == ["invalid"] * 3 + ["ok"]


def test_damaged_lines_are_listed() -> None:
    damaged = Damaged(text="SUCCESS   0.5", reason="cut", source=Source(file="x", line=3))
    (line,) = table(("r", RunLog(damaged=(damaged,))))
    assert (line["status"], line["op"], line["size_detail"]) == (
        "damaged",
        "unknown",
        "SUCCESS   0.5",
    )


def test_no_cell_is_a_formula_or_an_escape() -> None:
    (line,) = table(("=cmd()", RunLog(rows=(row(0.25, op="@SUM(A1)\x1b[2J"),))))
    assert line["run"] == "'=cmd()"
    assert line["op"].startswith("'@SUM")
    assert "\x1b" not in line["op"]
