from __future__ import annotations

from typing import Any

from flagkit.model import Pair, RangeReport, Row, RowKey
from flagkit.reporters.kernels import KernelsReporter


def row(call: str) -> Row:
    key = RowKey(op="gelu", dtype="f16", size_key="[1]")
    return Row(key=key, status="ok", size_detail="[1]", latency_ms=1.0, call=call)


def record(**more: Any) -> dict[str, Any]:
    return {
        "name": "k|<b>",
        "options": {"num_warps": 4, "num_stages": 3},
        "constexprs": '{"B":64}',
        "signature": "*fp16",
        "shared": 0,
        "ttgir": "0123456789abcdef",
        "code": "fedcba9876543210",
        "calls": ["c1", "c9"],
        **more,
    }


def render(receipts: dict[str, Any]) -> str:
    pairs = (Pair(before=row("c1"), after=row("c2")), Pair(before=row("c3"), after=row("c4")))
    return KernelsReporter().render([RangeReport(label="gelu", pairs=pairs, receipts=receipts)], {})


def test_a_line_a_side() -> None:
    kernels = [
        {"verdict": "changed", "before": record(), "after": record(calls=["c4"], reason="cut")},
        {"verdict": "only-after", "before": None, "after": record(options={})},
    ]
    counts = {"before": 9, "after": 2}
    proof = {"text": "1 of 1 kernels changed", "conversions": counts, "kernels": kernels}
    shown = render({"kernels": proof})
    assert "layout conversions in the TTGIR of both sides' kernels: 9 before, 2 after" in shown
    table, shapes = (block.splitlines() for block in shown.split("\n\n") if block[0] == "|")
    lines = table
    cells = [[cell.strip() for cell in line.replace("\\|", "?").split("|")] for line in lines]
    assert len(lines) == 5 and {len(one) for one in cells} == {16}
    assert cells[2][1:4] == ["k?&lt;b&gt;", "1", "before"]
    assert cells[2][6:11] == ["4", "3", "0", "-", "-"]
    assert cells[2][12:15] == ["0123456789ab", "fedcba987654", "changed"]
    assert cells[3][2:4] == ["2", "after"] and "cut" in cells[3][14]
    assert cells[4][6:8] == ["-", "-"]
    assert shapes[0] == "| shape index | operator | dtype | size |"
    assert shapes[2:] == ["| 1 | gelu | f16 | [1] |", "| 2 | gelu | f16 | [1] |"]


def test_it_has_what_the_field_publishes() -> None:
    shown = render({"kernels": {"kernels": [{"before": record(), "after": record()}]}})
    header = next(line for line in shown.splitlines() if line.startswith("| kernel"))
    for column in ("shape index", "side", "constexprs", "signature", "warps", "stages"):
        assert f"| {column} |" in header
    for column in ("shared (bytes)", "registers", "spills", "TTGIR", "code", "verdict"):
        assert f"| {column} |" in header


def test_nothing_known() -> None:
    assert "No compiled kernel is known." in render({})
    assert "No compiled kernel is known." in render({"kernels": {"kernels": []}})
