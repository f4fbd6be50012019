"""Print how much longer pairing 100,000 rows takes than pairing 10,000.

Run as ``python benchmarks/pairing.py``. No step is more than linear, which gives about 10, and
what is more is memory: 10,000 rows (some 10 MB) stay in a processor's cache, 100,000 do not.
Whole processes, reading and printing included, are compared by ``benchmarks/parse_speed.py``.
Each size is compared once in a process of its own, as ``flagkit compare`` does, without the
cycle collector: a second comparison in one process finds its memory mapped already, the
small one all of it and the large one little.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time

from flagkit.compare.ranges import compare
from flagkit.model import Regime, Row, RowKey, RunLog, number_rows

REGIME = Regime(requested="graph", resolved="graph", cache="hot")
REPEATS = 7


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
    """One comparison of two logs of *rows* rows, the first of this process."""
    before, after = made(rows, 1.0), made(rows, 0.9)
    gc.disable()
    start = time.perf_counter()
    report = compare(before, after, label="mm")
    spent = time.perf_counter() - start
    assert len(report.pairs) == rows - rows // 100
    return spent


def child(rows: int) -> float:
    """What :func:`seconds` gives in a fresh process."""
    command = [sys.executable, __file__, str(rows)]
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def main() -> int:
    """Print both times and their ratio, taking turns."""
    if len(sys.argv) > 1:
        print(seconds(int(sys.argv[1])))
        return 0
    times = [(child(10_000), child(100_000)) for _ in range(REPEATS)]
    small, large = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"10,000 rows   {small * 1000:8.1f} ms")
    print(f"100,000 rows  {large * 1000:8.1f} ms")
    print(f"ratio         {large / small:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
