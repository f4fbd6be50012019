"""A/A of three timers on the same rows: how far equal code in two processes is apart.

``do_bench`` as FlagGems' kernel mode calls it, ``do_bench_cudagraph`` under a side
stream, and flagkit, whose second process replays the first one's plans. Every process
is fresh; the two processes of a round follow each other::

    python benchmarks/device/timers_aa.py [--rounds 3] [--timers do_bench,flagkit] [--gems]

``--gems`` runs the rows inside ``flag_gems.use_gems()``. Printed per timer: rows, median,
90th percentile and worst of |A/A| (the median over the rounds, per row), the share of
rows within 1 per cent, and the seconds that measuring took per row on both sides.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TIMERS = ("do_bench", "do_bench_cudagraph", "flagkit")


def measure(timer: str, plans: dict[str, Any], gems: bool) -> dict[str, Any]:
    """Time every workload in this process by *timer*; *plans* are for flagkit."""
    import torch
    import workloads

    from flagkit.agent.streams import test_stream

    side = contextlib.nullcontext() if timer == "do_bench" else test_stream(torch.cuda)
    rows: dict[str, Any] = {}
    with side, _gems(gems):
        calls = workloads.build()
        time_one = _timer(timer, plans)
        for name, fn in calls.items():
            started = time.perf_counter()
            try:
                rows[name] = time_one(name, fn)
            except Exception as exc:
                rows[name] = {"ms": None, "error": f"{type(exc).__name__}: {exc}"}
            rows[name]["seconds"] = time.perf_counter() - started
    return rows


def _gems(wanted: bool) -> Any:
    if not wanted:
        return contextlib.nullcontext()
    import flag_gems

    return flag_gems.use_gems(exclude=["zero_"])


def _timer(timer: str, plans: dict[str, Any]) -> Callable[[str, Any], dict[str, Any]]:
    import torch
    from triton import testing

    if timer == "do_bench":
        return lambda name, fn: {
            "ms": testing.do_bench(fn, warmup=1000, rep=100, return_mode="median")
        }
    if timer == "do_bench_cudagraph":
        return lambda name, fn: {
            "ms": testing.do_bench_cudagraph(fn, rep=100, return_mode="median")
        }
    from flagkit.agent.device import DeviceTimer
    from flagkit.agent.graphs import find_graph_class
    from flagkit.agent.timing import TimedCall
    from flagkit.faults import mentions
    from flagkit.model import Plan

    ours = DeviceTimer(
        torch.cuda, find_graph_class(torch.cuda), is_fatal=mentions, emit=lambda text: None
    )

    def flagkit(name: str, fn: Any) -> dict[str, Any]:
        plan = Plan.from_json(plans[name]) if plans.get(name) else None
        call = TimedCall(fn=fn, original_all=lambda: testing.do_bench(fn, return_mode="all"))
        got = ours.measure(call, plan)
        return {
            "ms": got.latency_ms,
            "plan": got.plan.to_json() if got.plan else None,
            "regime": got.regime.label,
            "reason": got.regime.fallback_reason,
        }

    return flagkit


def child(timer: str, plans: dict[str, Any], gems: bool) -> dict[str, Any]:
    """The rows of a fresh process."""
    command = [sys.executable, __file__, "--child", timer, *(["--gems"] if gems else [])]
    done = subprocess.run(
        command, input=json.dumps(plans), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    rows: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return rows


def one_timer(timer: str, rounds: int, gems: bool) -> dict[str, Any]:
    """All rounds of *timer*, and its line of the table."""
    off: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    reasons: dict[str, str] = {}
    for _ in range(rounds):
        one = child(timer, {}, gems)
        other = child(timer, {name: row.get("plan") for name, row in one.items()}, gems)
        for name, row in one.items():
            if row.get("reason") or row.get("error"):
                reasons[name] = row.get("reason") or row["error"]
            if row["ms"] and other[name]["ms"]:
                off.setdefault(name, []).append((row["ms"] / other[name]["ms"] - 1) * 100)
                both = row["seconds"] + other[name]["seconds"]
                seconds.setdefault(name, []).append(both)
    medians = {name: statistics.median(values) for name, values in off.items()}
    size = sorted(abs(value) for value in medians.values())
    share = sum(value <= 1 for value in size) / len(size) * 100
    cost = statistics.mean(statistics.median(values) for values in seconds.values())
    print(
        f"{timer:20s} rows {len(size):3d}  |A/A| median {statistics.median(size):6.2f} "
        f"p90 {size[int(len(size) * 0.9)]:6.2f} worst {size[-1]:6.2f} %  "
        f"within 1 %: {share:5.1f} %  {cost:.3f} s a row (both sides)",
        flush=True,
    )
    return {"rounds": off, "seconds": seconds, "reasons": reasons}


def main() -> None:
    """Parent: run all; child: measure once and print JSON."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--timers", default=",".join(TIMERS))
    arguments.add_argument("--gems", action="store_true")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        print(json.dumps(measure(given.child, json.load(sys.stdin), given.gems)))
        return
    found = {name: one_timer(name, given.rounds, given.gems) for name in given.timers.split(",")}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
