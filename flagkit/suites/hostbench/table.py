"""FlagGems' table, as its benchmark prints it since December 2024 (format T5)."""

from __future__ import annotations

from dataclasses import dataclass, field

_COLUMNS = (
    f"{'Status':<10} {'Torch Latency (ms)':>20} {'Gems Latency (ms)':>20} "
    f"{'Gems Speedup':>20} {'Size Detail':>20}"
)


@dataclass(kw_only=True)
class Table:
    """The rows of one operator and dtype, in the order they were measured."""

    op: str
    dtype: str
    mode: str = "host"
    level: str = "core"
    rows: list[str] = field(default_factory=list)

    def add(self, latency_ms: float, size_detail: str) -> None:
        """A row that was measured. There is no torch beside it."""
        self.rows.append(_row("SUCCESS", f"{latency_ms:.6f}", size_detail))

    def fail(self, size_detail: str) -> None:
        """A row that could not be measured."""
        self.rows.append(_row("FAILED", "N/A", size_detail))

    def text(self) -> str:
        """The whole table; the rule is one longer than the columns, as FlagGems' is."""
        title = (
            f"\nOperator: {self.op}  Performance Test "
            f"(dtype={self.dtype}, mode={self.mode},level={self.level})"
        )
        return "\n".join([title, _COLUMNS, "-" * (len(_COLUMNS) + 1), *self.rows, ""])


def _row(status: str, latency: str, size_detail: str) -> str:
    return f"{status:<10}{'N/A':>20}{latency:>20}{'N/A':>20}{' ' * 10}{size_detail}"
