"""Print how much longer pairing 100,000 rows takes than pairing 10,000.

Run as ``python benchmarks/pairing.py``. Linear work gives about 10; the aim is under 12.
"""

from __future__ import annotations

import gc
import sys
import time

from flagkit.compare.ranges import compare
from flagkit.model import Regime, Row, RowKey, RunLog, number_rows

REGIME = Regime(requested="graph", resolved="graph", cache="hot")
REPEATS = 5


def made(rows: int, factor: float) -> RunLog:
    """A log of *rows* rows; each key stands twice, every hundredth row failed."""
    return RunLog(
        rows=number_rows(
            Row(
                key=RowKey(op="mm", dtype="torch.float16", size_key=f"[[{n // 2},64]]"),
                status="failed" if n % 100 == 0 else "ok",
                size_detail=f"[torch.Size([{n // 2}, 64])]",
                latency_ms=None if n % 100 == 0 else 0.001 * (n % 977 + 1) * factor,
                baseline_ms=0.002,
                mode="kernel",
                level="core",
                regime=REGIME,
            )
            for n in range(rows)
        )
    )


def seconds(rows: int) -> float:
    """The best of some comparisons of two logs of *rows* rows."""
    before, after = made(rows, 1.0), made(rows, 0.9)
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        start = time.perf_counter()
        report = compare(before, after, label="mm")
        best = min(best, time.perf_counter() - start)
        assert len(report.pairs) == rows - rows // 100
    return best


def main() -> int:
    """Print both times and their ratio."""
    small, large = seconds(10_000), seconds(100_000)
    print(f"10,000 rows   {small * 1000:8.1f} ms")
    print(f"100,000 rows  {large * 1000:8.1f} ms")
    print(f"ratio         {large / small:8.2f}  (aim: under 12)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
