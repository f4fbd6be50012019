"""Real pairs of logs with their right values, where the shared cases are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flagkit.compare.ranges import compare
from flagkit.plugins import Kind, Registry

if TYPE_CHECKING:
    from flagkit.model import RangeReport

reading = pytest.importorskip("flagkit.parsers.reading")

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
PAIRS = sorted((CASES / "pairs").glob("*/expected.json"))

pytestmark = pytest.mark.skipif(not PAIRS, reason="the shared cases are not beside the checkout")


def compared(before: Path, after: Path) -> RangeReport:
    registry = Registry()
    parsers = [
        registry.parser(name)
        for name in registry.names(Kind.PARSER)
        if name in ("flaggems-table", "flaggems-record")
    ]
    sides = (reading.read_log(path, parsers) for path in (before, after))
    return compare(*sides, label=before.parent.name)


def extent(report: RangeReport) -> tuple[str, str]:
    assert report.range is not None
    return f"{report.range.min_percent:+.2f}", f"{report.range.max_percent:+.2f}"


@pytest.mark.parametrize("expected", PAIRS, ids=lambda path: str(path.parent.name))
def test_pair(expected: Path) -> None:
    right = json.loads(expected.read_text())
    report = compared(expected.parent / "a.log", expected.parent / "b.log")
    assert len(report.pairs) == right["paired"]
    assert not report.unpaired
    key = {
        (pair.before.key.op, pair.before.key.dtype, pair.before.key.size_key, pair.before.key.occurrence): pair
        for pair in report.pairs
    }  # fmt: skip
    for row in right["rows"]:
        pair = key[row["op"], row["dtype"], row["detail"], row["nth"]]
        assert pair.before.latency_ms == pytest.approx(row["gems_a"], rel=1e-12)
        assert pair.speedup_percent == pytest.approx((row["ratio"] - 1) * 100, abs=1e-9)
    assert report.range is not None
    assert report.range.min_percent == pytest.approx((right["ratio_min"] - 1) * 100, abs=1e-3)
    assert report.range.max_percent == pytest.approx((right["ratio_max"] - 1) * 100, abs=1e-3)


def test_the_same_code_twice_on_a_real_device() -> None:
    h200 = CASES / "h200"
    report = compared(h200 / "gelu_bwd_kernel.log", h200 / "gelu_bwd_kernel_aa.log")
    assert extent(report) == ("-25.01", "+94.76")
    assert len(report.pairs) == 5
    report = compared(h200 / "softmax_ptxas0.log", h200 / "softmax_ptxas1.log")
    assert (len(report.pairs), *extent(report)) == (20, "-87.69", "+83.43")


def test_timer_steps_of_real_devices() -> None:
    def steps(*names: str) -> dict[str, int]:
        notes = compared(*(CASES / name for name in names)).notes
        return next((note.data["tick_ns"] for note in notes if note.code == "one-tick"), {})

    log10 = "pairs/03_real_ab_log10"
    assert steps(f"{log10}/a.log", f"{log10}/b.log") == {"before": 1024, "after": 1024}
    softmax = "h200/softmax_ptxas0.log"
    assert steps(softmax, softmax) == {"before": 32, "after": 32}
    slice_scatter = "pairs/01_real_ab_slice_scatter"
    assert steps(f"{slice_scatter}/a.log", f"{slice_scatter}/a.log") == {}
