"""How fast logs are read: ``python benchmarks/parse_speed.py``.

Makes two logs of 10,000 rows, two of ten times as many, and one of 1,000,000 foreign lines
among 1,000 rows, and prints whole-process times as ratios, since machines differ:

- comparing the two logs against ``python -c "import click"`` (at most 6),
- its peak memory (under 150 MB),
- comparing the two large logs against the two small ones (under 12; what comparing alone
  costs, without reading and printing, is told by ``benchmarks/pairing.py``),
- reading the noise in this process against a loop over its lines that only looks at each
  line's start (at least 0.4 of that speed), and its peak memory as a whole process.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.parsers.flaggems_table import flagkit_parser
from flagkit.parsers.reading import read_log

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROWS = 10_000
NOISE, NOISE_ROWS = 1_000_000, 1_000
TITLE = "\nOperator: {op}  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
HEADER = (
    "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          "
    "Size Detail\n" + "-" * 95 + "\n"
)


def table(op: str, rows: Sequence[tuple[float, float, str]]) -> str:
    """One printed table."""
    lines = [
        f"{'SUCCESS':<10}{torch:>20.6f}{gems:>20.6f}{torch / gems:>20.3f}{'':10}{detail}\n"
        for torch, gems, detail in rows
    ]
    return TITLE.format(op=op) + HEADER + "".join(lines) + "\n"


def log(path: Path, seed: int, rows_in_all: int = ROWS) -> None:
    """Operators of 100 rows each, every size another."""
    pick = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for op in range(rows_in_all // 100):
            rows = []
            for row in range(100):
                torch = 0.01 + row * 0.003
                gems = torch * pick.uniform(0.5, 2.0)
                detail = f"[torch.Size([{row + 1}, {op + 1}]), torch.Size([{op + 1}, 64]), 1, 0]"
                rows.append((torch, gems, detail))
            file.write(table(f"operator_{op}", rows))


def noise(path: Path) -> None:
    """A tuner's chatter with a table of ten rows here and there."""
    every = NOISE // NOISE_ROWS * 10
    with path.open("w", encoding="utf-8") as file:
        for number in range(NOISE):
            file.write(
                f"Autotuning kernel mm_kernel with config BLOCK_M: {number % 512}, BLOCK_N: 32, "
                "num_warps: 8, num_ctas: 1, num_stages: 3\n"
            )
            if number % every == 0:
                rows = [(0.5, 0.25, f"[torch.Size([{number + n}, 64])]") for n in range(10)]
                file.write(table("mm", rows))


def loop(path: Path) -> None:
    """The least that any reader of lines does."""
    with path.open("rb") as file:
        for line in file:
            line.startswith(b"SUCCESS")


def seconds(works: Mapping[str, Callable[[], object]], times: int) -> dict[str, float]:
    """The median time of each of *works*, run in turns: a machine is not as fast all the time."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(times):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            spent[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in spent.items()}


def child(args: Sequence[str]) -> int:
    """Run Python with *args* to its end; gives its peak memory in bytes.

    Bytecode is kept, as of any installed package: click's has been.
    """
    unset = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    process = subprocess.Popen([sys.executable, *args], stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(args)} failed")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=5, help="repetitions of each measurement")
    times: int = options.parse_args().times
    with tempfile.TemporaryDirectory() as name:
        before, after, loud = (Path(name) / f for f in ("before.log", "after.log", "noise.log"))
        log(before, 1)
        log(after, 2)
        large = [Path(name) / f for f in ("large-before.log", "large-after.log")]
        for seed, path in enumerate(large, 1):
            log(path, seed, 10 * ROWS)
        noise(loud)
        compare = ["-m", "flagkit", "compare", str(before), str(after), "--reporter"]
        reporters = ("csv", "json", "terminal")
        peaks = {reporter: child([*compare, reporter]) / 1e6 for reporter in reporters}
        works: dict[str, Callable[[], object]] = {
            reporter: partial(child, [*compare, reporter]) for reporter in reporters
        }
        works["import click"] = partial(child, ["-c", "import click"])
        spent = seconds(works, times)
        base = spent["import click"]
        print(f"import click: {base * 1e3:.0f} ms")
        for reporter in reporters:
            print(
                f"compare 2 x {ROWS} rows ({reporter}): {spent[reporter] / base:.1f} x "
                f"import click, peak {peaks[reporter]:.0f} MB"
            )
        many = ["-m", "flagkit", "compare", *map(str, large), "--reporter", "csv"]
        spent = seconds({"csv": works["csv"], "large": lambda: child(many)}, times)
        print(
            f"compare 2 x {10 * ROWS} rows (csv): {spent['large'] / spent['csv']:.1f} x 2 x {ROWS} rows"
        )
        parser = flagkit_parser()
        spent = seconds(
            {"loop": lambda: loop(loud), "read": lambda: read_log(loud, [parser])}, times
        )
        assert len(read_log(loud, [parser]).rows) == NOISE_ROWS
        peak = child(["-m", "flagkit", "compare", str(loud), str(loud), "--reporter", "csv"]) / 1e6
        size = loud.stat().st_size / 1e6
        print(
            f"{NOISE} foreign lines ({size:.0f} MB): {spent['loop'] / spent['read']:.2f} of a bare loop's speed, "
            f"peak {peak:.0f} MB as a process"
        )


if __name__ == "__main__":
    main()
