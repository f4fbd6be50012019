"""What ``flagkit --help`` costs, as a ratio to ``python -c "import click"``, side by side.

Run it with the Python that has flagkit installed: ``python benchmarks/startup.py``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 30
COMMANDS = {
    "import click": [sys.executable, "-c", "import click"],
    "flagkit --help": [sys.executable, "-m", "flagkit", "--help"],
    "flagkit --version": [sys.executable, "-m", "flagkit", "--version"],
}


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Take turns, so that a slow moment of the machine hits all of them."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    base = statistics.median(taken["import click"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:20} {median * 1000:7.1f} ms  {median / base:5.2f} times import click")


if __name__ == "__main__":
    main()
