"""A/A of FlagGems' own modes on FlagGems' own rows, without flagkit in the process.

Runs ``benchmark/test_<file>.py`` of a FlagGems checkout twice a round in fresh
processes, keeps the logs, and pairs them by ``flagkit compare``::

    python benchmarks/device/flaggems_aa.py GEMS_ROOT OUT_DIR --mode cudagraph \
        --ops "gelu gelu_backward softmax:softmax" [--rounds 3]

``cudagraph`` is upstream ``do_bench_cudagraph``; it runs under a side stream
(``--no-side-stream`` to leave it as it is), without which no backward is captured.
``--baseline`` keeps the torch column, as FlagGems does by default. Printed: worst and 90th
percentile of |A/A|, rows within 1 per cent, and the seconds that pytest took.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIDE_STREAM = """
import pytest, torch
STREAM = torch.cuda.Stream()

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    torch.cuda.synchronize()
    with torch.cuda.stream(STREAM):
        yield
"""
"""For ``do_bench_cudagraph``, which captures no backward of a default stream's forward."""


def run(given: argparse.Namespace, op: str, file: str, log: Path) -> float:
    """One process; the seconds pytest took, start-up included."""
    command = [sys.executable, "-m", "pytest", "-s", f"benchmark/test_{file}.py", "-m", op]
    command += ["--level", "core", "--dtypes", given.dtype, "--mode", given.mode]
    if not given.baseline:
        command += ["--metrics", "latency"]
    environ = dict(os.environ)
    if given.mode == "cudagraph" and given.side_stream:
        (given.out / "side_stream_plugin.py").write_text(SIDE_STREAM)
        command += ["-p", "side_stream_plugin"]
        path = environ.get("PYTHONPATH", "")
        environ["PYTHONPATH"] = f"{given.out.absolute()}{os.pathsep}{path}"
    started = time.monotonic()
    with log.open("wb") as out:
        subprocess.run(
            command, cwd=given.gems_root, env=environ, stdout=out, stderr=out, check=False
        )
    return time.monotonic() - started


def speedups(before: Path, after: Path) -> dict[str, float]:
    """Row -> per cent, by ``flagkit compare``."""
    command = [sys.executable, "-m", "flagkit", "compare", str(before), str(after)]
    done = subprocess.run(
        [*command, "--reporter", "json"], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        print(done.stderr.strip())
        return {}
    data: dict[str, Any] = json.loads(done.stdout)
    reports = data.get("reports", [data])
    return {
        f"{row['op']} {row['dtype']} {row['size_key']} {row['occurrence']}": row["speedup_percent"]
        for report in reports
        for row in report["rows"]
    }


def main() -> None:
    """Run all rounds and print one line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("gems_root", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--mode", default="cudagraph", choices=["kernel", "cudagraph"])
    arguments.add_argument("--ops", required=True, help="OP or OP:FILE, blanks between")
    arguments.add_argument("--dtype", default="float16")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--baseline", action="store_true")
    arguments.add_argument("--no-side-stream", dest="side_stream", action="store_false")
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    off: dict[str, list[float]] = {}
    took = 0.0
    for number in range(given.rounds):
        for each in given.ops.split():
            op, _, file = each.partition(":")
            logs = [given.out / f"{given.mode}-{op}-{number}-{side}.log" for side in "ab"]
            for log in logs:
                took += run(given, op, file or op, log)
            for row, percent in speedups(*logs).items():
                off.setdefault(row, []).append(percent)
    size = sorted(abs(statistics.median(values)) for values in off.values())
    if not size:
        raise SystemExit("no rows paired; see the logs")
    share = sum(value <= 1 for value in size) / len(size) * 100
    print(
        f"FlagGems --mode {given.mode}: rows {len(size)}, |A/A| median of {given.rounds} rounds: "
        f"p90 {size[int(len(size) * 0.9)]:.2f} %, worst {size[-1]:.2f} %, "
        f"within 1 %: {share:.1f} % of rows, {took:.0f} s in all"
    )
    (given.out / f"{given.mode}.json").write_text(json.dumps(off, indent=1))


if __name__ == "__main__":
    main()
