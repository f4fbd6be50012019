from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flagkit.compare.ranges import compare, compare_rounds
from flagkit.model import (
    Damaged,
    Note,
    RangeReport,
    Regime,
    Row,
    RowKey,
    RunLog,
    Source,
    number_rows,
)
from flagkit.reporters.csv import CsvReporter
from flagkit.reporters.json import JsonReporter
from flagkit.reporters.markdown import MarkdownReporter
from flagkit.reporters.terminal import TerminalReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GRAPH = Regime(requested="graph", resolved="graph", cache="hot", protocol="flagkit-graph 1")
FELL = Regime(
    requested="graph",
    resolved="event",
    cache="cold",
    phase="capture",
    fallback_reason="stream capture invalidated",
)
EVIL = "=1+1|<b>`x`\x1b[2J\u202e\n[a](http://x)"


def row(op: str, size: str, ms: float | None, **more: Any) -> Row:
    more.setdefault("status", "ok" if ms else "failed")
    more.setdefault("regime", GRAPH)
    return Row(
        key=RowKey(op=op, dtype=more.pop("dtype", "torch.float16"), size_key=size),
        size_detail=size.replace("[[", "[torch.Size([").replace("]]", "])]"),
        latency_ms=ms,
        mode="kernel",
        level="core",
        samples_ms=(ms, ms) if ms else (),
        **more,
    )


def log(*rows: Row, **more: Any) -> RunLog:
    return RunLog(rows=number_rows(rows), **more)


def plain() -> RangeReport:
    before = (0.001974, 0.010321, 0.080112, 0.244432, 0.701088)
    after = (0.001979, 0.010316, 0.080456, 0.244212, 0.701003)
    sizes = ("[[64,64]]", "[[256,256]]", "[[4096,4096]]", "[[64,512,512]]", "[[1024,1024,1024]]")
    sides = [
        log(*(row("gelu_backward", size, ms) for size, ms in zip(sizes, one, strict=True)))
        for one in (before, after)
    ]
    return compare(*sides, label="gelu_backward")


def everything() -> RangeReport:
    def side(factor: float, *more: Row, **facts: Any) -> RunLog:
        return log(
            row("softmax", "[[64,64]]", 0.0125 * factor, baseline_ms=0.01),
            row("softmax", "[[4096,4096]]", 0.25, baseline_ms=0.25 * factor),
            row("softmax", "[[1024,65536]]", 1.5 / factor, dtype="torch.float32"),
            row("softmax", "[[9]]", 0.3, regime=FELL),
            *more,
            **facts,
        )

    before = side(
        1.0,
        row("softmax", "[[7]]", 0.4),
        row("softmax", "[[7]]", 0.5),
        row("softmax", "[[1]]", None, reason="out of memory"),
        damaged=(
            Damaged(
                text="SUCCESS   0.0125   [torch.Size([4",
                reason="the line is cut short",
                source=Source(file="before/run.log", line=41),
            ),
        ),
        notes=(Note(code="parser", text="pasted without a header"),),
    )
    after = side(
        0.8,
        row("softmax", "[[7]]", 0.4),
        row("softmax", "[[1]]", 0.6),
        row("other", "[[5]]", 0.7),
        incomplete=("test_softmax[float32] failed: out of memory",),
    )
    return compare(before, after, label="softmax")


def rounds() -> RangeReport:
    def both(*speeds: float) -> tuple[RunLog, RunLog]:
        sizes = [f"[[{2**n}]]" for n in range(6, 6 + len(speeds))]
        before = log(*(row("tanh", size, 1.0) for size in sizes))
        after = log(*(row("tanh", size, 1.0 / s) for size, s in zip(sizes, speeds, strict=True)))
        return before, after

    return compare_rounds([both(1.01, 0.7), both(1.0, 0.75), both(0.99, 0.72)], label="tanh")


def control() -> RangeReport:
    one = log(row("relu", "[[64]]", 0.01))
    return compare(one, one, label="relu", control=True)


def nothing() -> RangeReport:
    return compare(log(row("topk", "[[64]]", 0.01)), log(), label="topk")


def evil() -> RangeReport:
    shown = row(EVIL, EVIL, 0.01, dtype=EVIL)
    strange = row("y", EVIL, None, reason=EVIL)
    noted = log(shown, strange, notes=(Note(code="n", text=EVIL),), incomplete=(EVIL,))
    return compare(noted, noted, label=EVIL)


REPORTS: dict[str, Callable[[], Sequence[RangeReport]]] = {
    "plain": lambda: [plain()],
    "everything": lambda: [everything()],
    "rounds": lambda: [rounds()],
    "control": lambda: [control()],
    "nothing": lambda: [nothing()],
    "evil": lambda: [evil()],
    "campaign": lambda: [plain(), everything(), control(), nothing()],
}
REPORTERS = [TerminalReporter(), JsonReporter(), CsvReporter(), MarkdownReporter()]


@pytest.mark.parametrize("reporter", REPORTERS, ids=lambda reporter: str(reporter.name))
@pytest.mark.parametrize("name", REPORTS)
def test_report(reporter: Any, name: str, golden: Callable[[str, str], None]) -> None:
    text = reporter.render(REPORTS[name](), {})
    golden(f"{name}{reporter.suffix}", text)


def test_terminal_narrow(golden: Callable[[str, str], None]) -> None:
    golden("everything.narrow.txt", TerminalReporter().render([everything()], {"width": 80}))


def test_terminal_in_colour(golden: Callable[[str, str], None]) -> None:
    golden("everything.colour.txt", TerminalReporter().render([everything()], {"color": True}))
