"""What the device timing claims, shown on a device by the real command.

::

    python benchmarks/device/timing_proof.py OUT --gems-root DIR [--parts one,views,...]

``one`` and ``two`` are the same code on both sides, three rounds of half of the operators
each, so that two cards can share the work; ``--parts one`` on the first and ``two`` on the
second. ``kernel_one``, ``kernel_two`` and ``cudagraph_one``, ``cudagraph_two`` time the same
tests twice without flagkit, in FlagGems' kernel mode (the second process with its torch
column, for the cost) and with upstream's ``do_bench_cudagraph``. The operators of a half run
in one process, from a file that is written beside the results and takes FlagGems' own tests.
FlagGems has to be importable: put ``DIR/src`` on PYTHONPATH. Checks are printed last and
kept as OUT/summary.txt. Exit 1 where one failed.

Seconds on one H200, about: one and two 400 each, a kernel part 220, a cudagraph part 80,
views 45, effect 100, core and comprehensive 60 each. comprehensive_var_mean takes 420 to 600: one of
FlagGems' kernels compiles for 180 to 250 s on either side. With ``--work DIR`` a second call goes on
where the first one was cut.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flaggems_aa import SIDE_STREAM
from proof_runs import Part, lines, reports, run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

EFFECT = Path(__file__).resolve().parents[2] / "tests" / "gpu" / "known_effect"
HALVES = {
    "one": {
        "gelu": ["gelu", "gelu_inplace", "gelu_backward"],
        "softmax": ["softmax", "softmax_backward", "softmax_backward_out", "softmax_out"],
        "layer_norm": ["layer_norm", "native_layer_norm", "layer_norm_backward"],
        "var_mean": ["var_mean"],
    },
    "two": {
        "cumsum": ["cumsum", "cumsum_out"],
        "dropout": ["dropout", "native_dropout_backward"],
        "topk": ["topk"],
        "abs": ["abs"],
        "exp": ["exp"],
        "sigmoid": ["sigmoid", "sigmoid_backward"],
    },
}
"""FlagGems' test files and the tests taken from each: 109 rows in all at core level."""

FLAGGEMS = ("-p", "benchmark.conftest", "--level", "core", "--dtypes", "float16")
LATENCY = ("--metrics", "latency")
WORST, WITHIN_ONE = 4.0, 0.9
"""Per cent for any row, and the share of rows within 1 per cent: medians of three rounds."""


def suite(part: Part, half: str) -> Path:
    """A folder whose one file takes FlagGems' tests under the mark of *half*."""
    folder = part.work / part.name
    folder.mkdir(exist_ok=True)
    names = "".join(
        f"from benchmark.test_{file} import {', '.join(f'test_{test}' for test in tests)}\n"
        for file, tests in HALVES[half].items()
    )
    (folder / "test_taken.py").write_text(
        f"import pytest\n{names}\npytestmark = pytest.mark.{half}\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings =\n    ignore\n")
    return folder


def gems_path(part: Part) -> dict[str, str]:
    """FlagGems' benchmark and sources importable from anywhere."""
    found = [str(part.given.gems_root), str(part.given.gems_root / "src")]
    return {"PYTHONPATH": os.pathsep.join([*found, os.environ.get("PYTHONPATH", "")])}


def spread(rows: Sequence[Mapping[str, Any]]) -> str:
    """How far the rows of a report are off, the same code on both sides."""
    off = sorted(abs(row["speedup_percent"]) for row in rows)
    within = sum(value <= 1 for value in off)
    return (
        f"worst {off[-1]:.2f} %, 90 % within {off[int(len(off) * 0.9)]:.2f} %, "
        f"median {statistics.median(off):.2f} %, {within} of {len(off)} rows within 1 %"
    )


def part_half(half: str) -> Callable[[Part], None]:
    """The part that measures one half, the same code on both sides."""

    def body(part: Part) -> None:
        extra = [f"--bench-arg={argument}" for argument in (*FLAGGEMS, *LATENCY)]
        options = ("--switch", "aa", "--suite", suite(part, half), "--rounds", "3")
        _, _, run = part.ab("aa", *options, "--ops", half, *extra, **gems_path(part))
        (report,) = reports(run)
        rows = report["rows"]
        off = [abs(row["speedup_percent"]) for row in rows]
        share = sum(value <= 1 for value in off) / len(off)
        ok = max(off) <= WORST and share >= WITHIN_ONE
        part.check(ok, f"{half}: the same code, medians of 3", spread(rows))
        fallbacks = sum("fallback" in row["flags"] for row in rows)
        part.check(not fallbacks, f"{half}: fallbacks", fallbacks)
        part.check(not report["unpaired"], f"{half}: unpaired", len(report["unpaired"]))
        equal, of = equal_digests(run / half)
        part.check(equal, f"{half}: equal input digests", of)
        names = [f"{side}{again}" for side in ("before", "after") for again in ("", ".replayed")]
        sides = [run / half / name for name in names]
        sides = [side for side in sides if side.is_dir()]
        for what, of in (("timing", timing), ("the tests", tests)):
            took = {side.name: round(of(side), 1) for side in sides}
            part.check(True, f"{half}: seconds of {what}", f"{took} for {len(rows)} rows")

    return body


def equal_digests(operator: Path) -> tuple[bool, str]:
    """Whether every call of the first round worked on equal values."""
    sides: list[dict[Any, Any]] = []
    for side in ("before", "after"):
        calls = (x for x in lines(operator / side, "measurements.jsonl") if x["kind"] == "call")
        sides.append({(c["node"], c["call"]): (c["inputs"] or {}).get("digest") for c in calls})
    equal = sum(sides[0].get(key) == digest for key, digest in sides[1].items())
    return equal == len(sides[0]) == len(sides[1]), f"{equal} of {len(sides[0])}"


def timing(side: Path) -> float:
    """Seconds of timing, all calls: without inputs, compiling, tuning."""
    calls = (x for x in lines(side, "measurements.jsonl") if x["kind"] == "call")
    return sum(call.get("timing_seconds", 0.0) for call in calls)


def tests(side: Path) -> float:
    """Seconds of all tests, without the process's start: inputs, compiling, timing."""
    return sum(x["seconds"] for x in lines(side, "measurements.jsonl") if x["kind"] == "test")


def part_views(part: Part) -> None:
    """View operators are in no range."""
    gems = ("--gems-root", part.given.gems_root, "--dtype", "float16", "--ops", "alias chunk")
    code, _, run = part.ab("views", "--switch", "aa", *gems)
    part.check(code == 5, "alias, chunk: nothing paired", f"exit {code}")
    reasons = {u["reason"] for report in reports(run) for u in report["unpaired"]}
    part.check(reasons == {"no-device-work"}, "alias, chunk: why", reasons)


def part_level(level: str, ops: str) -> Callable[[Part], None]:
    """The part that runs *ops* at a level; the comprehensive one keeps the torch column."""

    def body(part: Part) -> None:
        gems = ("--gems-root", part.given.gems_root, "--dtype", "float16", "--level", level)
        code, _, run = part.ab(level, "--switch", "aa", *gems, "--ops", ops)
        for report in reports(run):
            rows, out = report["rows"], len(report["unpaired"])
            what = f"{report['label']} at level {level}"
            part.check(code == 0 and rows and not out, what, f"{spread(rows)}; {out} unpaired")

    return body


def part_effect(part: Part) -> None:
    """A known effect comes back with its sign and its size."""
    for scale, expected in (("1.05", 5.0), ("1.02", 2.0)):
        switch = ("--switch", "env", "--env-set", f"KNOWN_EFFECT_SCALE={scale},1")
        _, _, run = part.ab(scale, *switch, "--suite", EFFECT)
        found = [row["speedup_percent"] for report in reports(run) for row in report["rows"]]
        off = max(abs(value - expected) for value in found)
        part.check(off <= 1, f"{expected} % known", f"{len(found)} rows, off by {off:.2f} points")


def part_without(mode: str, half: str) -> Callable[[Part], None]:
    """The part that times a half twice in *mode* of FlagGems, without flagkit."""

    def body(part: Part) -> None:
        folder = suite(part, half)
        if mode == "cudagraph":
            (folder / "conftest.py").write_text(SIDE_STREAM)
        logs = []
        for number in range(2):
            # The second process finds the first one's compiled code and decisions, so that
            # its seconds are those of measuring; only it has the torch column.
            baseline = mode == "kernel" and number == 1
            log = part.given.out / f"{mode}-{half}-{number}.log"
            caches = {
                variable: str(part.work / f"{mode}-{half}-{variable}")
                for variable in ("TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR")
            }
            command = [sys.executable, "-m", "pytest", str(folder), "-s", "--durations=0", "-vv"]
            command += [*FLAGGEMS, "--mode", mode, *(() if baseline else LATENCY)]
            with log.open("wb") as out:
                subprocess.run(
                    command,
                    env={**os.environ, **gems_path(part), **caches},
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=max(1.0, part.limit - (time.monotonic() - part.started)),
                    check=False,
                )
            took = sum(
                map(float, re.findall(rb"^ *([0-9.]+)s call ", log.read_bytes(), re.MULTILINE))
            )
            what = f"{mode} {half}: seconds of the tests"
            what += ", caches warm" * (number == 1) + ", torch column" * baseline
            part.check(took, what, f"{took:.1f}")
            logs.append(log)
        report = part.given.out / f"{mode}-{half}.json"
        part.flagkit("compare", *logs, "--reporter", "json", "-o", report, "--force")
        data = json.loads(report.read_text())
        rows = [row for each in data.get("reports", [data]) for row in each["rows"]]
        part.check(rows, f"{mode} {half}: the same code, one pair", spread(rows))

    return body


PARTS: dict[str, tuple[float, Callable[[Part], None]]] = {
    "one": (560, part_half("one")),
    "two": (560, part_half("two")),
    "views": (120, part_views),
    "core": (120, part_level("core", "softmax var_mean")),
    "comprehensive": (120, part_level("comprehensive", "softmax")),
    "comprehensive_var_mean": (560, part_level("comprehensive", "var_mean")),
    "effect": (240, part_effect),
    **{f"kernel_{half}": (400, part_without("kernel", half)) for half in HALVES},
    **{f"cudagraph_{half}": (200, part_without("cudagraph", half)) for half in HALVES},
}
"""Each part with the seconds it may take."""


def main() -> None:
    """Run the parts and print what came out, checks last."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--gems-root", type=Path, required=True)
    arguments.add_argument("--backend", default="cuda")
    arguments.add_argument("--parts", default="views,effect,core,comprehensive,one,two")
    arguments.add_argument("--limit", type=float, default=590, help="seconds for all parts")
    arguments.add_argument("--work", type=Path, help="keep run directories here, and resume them")
    given = arguments.parse_args()
    given.out, given.gems_root = given.out.absolute(), given.gems_root.absolute()
    run_parts(PARTS, given)


if __name__ == "__main__":
    main()
