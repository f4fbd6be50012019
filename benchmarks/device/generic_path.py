"""The generic interface path against torch.cuda by name, with the same plan.

For every workload the plan is decided once on torch.cuda. Then, in turns within one
process, the same plan is measured through three roads: ``by-name`` (plain torch.cuda
code, written out here), ``full`` (every public name in another module) and ``bare`` (no
generators, no ``graph``, another graph class). Printed: the median over the rounds of
road / flagkit-on-torch.cuda - 1, in per cent. Run on a machine with one NVIDIA GPU::

    python benchmarks/device/generic_path.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import interfaces
import workloads

from flagkit.agent.budget import WINDOW_MS
from flagkit.agent.device import HOST_CALLS, PROBE_REPLAYS, DeviceTimer
from flagkit.agent.graphs import find_graph_class
from flagkit.agent.streams import test_stream
from flagkit.agent.timing import TimedCall
from flagkit.faults import mentions

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.model import Plan

ROADS = ("by-name", "full", "bare")


def by_name(fn: Callable[[], Any], plan: Plan) -> float:
    """What the plan says, in torch.cuda's own names: the reference."""
    import torch

    for _ in range(HOST_CALLS):
        fn()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for _ in range(plan.unroll):
            fn()
    for _ in range((plan.warmup - HOST_CALLS - PROBE_REPLAYS) // plan.unroll):
        graph.replay()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(plan.windows + 1)]
    marks[0].record()
    for mark in marks[1:]:
        for _ in range(plan.replays):
            graph.replay()
        mark.record()
    torch.cuda.synchronize()
    lengths = [a.elapsed_time(b) for a, b in itertools.pairwise(marks)]
    return statistics.median(lengths) / plan.replays / plan.unroll


def timer(name: str) -> DeviceTimer:
    """flagkit's timer on the interface called *name*."""
    interface = interfaces.named(name)
    return DeviceTimer(interface, find_graph_class(interface), is_fatal=mentions, emit=print)


def compare(fn: Callable[[], Any], timers: dict[str, DeviceTimer], rounds: int) -> dict[str, Any]:
    """One workload: its latency and how far each road is off, in per cent."""
    call = TimedCall(fn=fn)
    decided = timers["cuda"].measure(call, None)
    if decided.plan is None:
        return {"status": decided.status, "reason": decided.regime.fallback_reason}
    plan = decided.plan
    ways: dict[str, Callable[[], float]] = {"by-name": lambda: by_name(fn, plan)}
    for name, each in timers.items():
        ways[name] = lambda each=each: each.measure(call, plan).latency_ms or float("nan")
    ratios: dict[str, list[float]] = {road: [] for road in ROADS}
    latencies = []
    for number in range(rounds):
        order = list(ways) if number % 2 == 0 else list(ways)[::-1]
        took = {name: ways[name]() for name in order}
        latencies.append(took["cuda"])
        for road in ROADS:
            ratios[road].append((took[road] / took["cuda"] - 1) * 100)
    return {
        "status": "ok",
        "latency_us": statistics.median(latencies) * 1e3,
        "plan": plan.to_json(),
        **{road: statistics.median(values) for road, values in ratios.items()},
    }


def main() -> None:
    """Print a table; exit 1 where a road is off by more than 1 per cent."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    import torch

    timers = {name: timer(name) for name in ("cuda", "full", "bare")}
    rows = {}
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, windows {WINDOW_MS} ms")
    print(f"{'workload':34s} {'us':>9s} " + " ".join(f"{road:>8s}" for road in ROADS))
    with test_stream(torch.cuda):
        for name, fn in workloads.build().items():
            row = rows[name] = compare(fn, timers, given.rounds)
            if row["status"] != "ok":
                print(f"{name:34s} {row['status']} {row['reason']}")
                continue
            off = " ".join(f"{row[road]:+8.2f}" for road in ROADS)
            print(f"{name:34s} {row['latency_us']:9.2f} {off}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    good = [row for row in rows.values() if row["status"] == "ok"]
    worst = {road: max(abs(row[road]) for row in good) for road in ROADS}
    print(f"{len(good)} workloads; worst |%|: {worst}")
    raise SystemExit(max(worst["full"], worst["bare"]) > 1.0)


if __name__ == "__main__":
    main()
