"""What a reporter has to keep to: pure, and nobody's text can do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flagkit.model import (
    Ledger,
    Note,
    Pair,
    Range,
    RangeReport,
    Regime,
    Row,
    RowKey,
    SideLedger,
    Source,
    Unpaired,
    speedup_percent,
)
from flagkit.plugins import Kind
from flagkit.testing.common import OptionsContract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagkit.interfaces import Reporter

EVIL = "\x1b]0;gotcha\x07\x1b[2J"
"""Sets a terminal's title and clears it, if it gets there as it is."""


class ReporterContract(OptionsContract):
    """Needs nothing else."""

    kind = Kind.REPORTER

    def test_suffix(self, plugin: Reporter) -> None:
        """Of a file name."""
        assert plugin.suffix.startswith(".")
        assert len(plugin.suffix) > 1
        assert "/" not in plugin.suffix

    @pytest.mark.parametrize("count", [1, 2])
    def test_render(self, plugin: Reporter, options: Mapping[str, Any], count: int) -> None:
        """Text that ends in a line end and names what was measured."""
        text = plugin.render([some_report()] * count, options)
        assert isinstance(text, str)
        assert text.endswith("\n")
        assert "gelu" in text
        text.encode("utf-8")

    def test_render_without_options(self, plugin: Reporter) -> None:
        """Reports of a run are written without a command line."""
        assert plugin.render([some_report()], {})

    def test_render_is_pure(self, plugin: Reporter, options: Mapping[str, Any]) -> None:
        """Equal reports give equal text."""
        assert plugin.render([some_report()], options) == plugin.render([some_report()], options)

    def test_nothing_paired(self, plugin: Reporter, options: Mapping[str, Any]) -> None:
        """Something is said, and it is not a range."""
        empty = RangeReport(label="gelu", incomplete=("the benchmark ended early",))
        assert plugin.render([empty], options).strip()

    def test_text_from_logs_is_harmless(self, plugin: Reporter, options: Mapping[str, Any]) -> None:
        """No escape sequence of a log reaches the reader's terminal."""
        text = plugin.render([some_report(op=f"gelu{EVIL}[red]|<b>", text=EVIL)], options)
        assert "\x1b" not in text
        assert "\x07" not in text


def some_report(op: str = "gelu", text: str = "") -> RangeReport:
    """One pair, one row without a partner, one note, one reason to be incomplete."""
    regime = Regime(requested="graph", resolved="graph", cache="hot")

    def row(size: int, latency: float, file: str) -> Row:
        detail = f"[[{size}]]{text}"
        return Row(
            key=RowKey(op=op, dtype=f"torch.float16{text}", size_key=detail),
            status="ok",
            size_detail=detail,
            latency_ms=latency,
            regime=regime,
            source=Source(file=f"{file}{text}", line=3),
        )

    percent = speedup_percent(0.012, 0.011)
    pair = Pair(
        before=row(64, 0.012, "before.log"),
        after=row(64, 0.011, "after.log"),
        rounds=(percent,),
    )
    return RangeReport(
        label=op,
        pairs=(pair,),
        unpaired=(
            Unpaired(
                side="before",
                reason="missing-after",
                row=row(128, 0.02, "before.log"),
                detail=text,
            ),
        ),
        ledger=Ledger(
            before=SideLedger(seen=2, paired=1, only=1), after=SideLedger(seen=1, paired=1)
        ),
        ranges=(
            Range(
                regime=regime.label,
                rows=1,
                min_percent=percent,
                max_percent=percent,
                min_row=0,
                max_row=0,
            ),
        ),
        notes=(Note(code="fallback", text=f"one row fell back{text}"),),
        incomplete=(f"a test failed{text}",),
    )
