"""What "only the switch differs" claims, shown on a device by the real command.

::

    python benchmarks/device/switch_proof.py OUT --gems-root DIR [--parts mm,layer_norm,...]

Each part runs ``flagkit ab`` on FlagGems or on the stand-in for FlagTree's RLC pass
(tests/gpu/rlc_standin) and holds what came out against what has to. A part that fails or
runs out of its time does not stop the next. Logs and reports go to OUT, and the last thing
printed is a table of checks, kept as OUT/summary.txt. Exit 1 where a check failed.

Seconds on one H200, about: mm 125, layer_norm 80, aa 75, env 95, standin 150, unkeyed 110, gems 110.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proof_runs import Part, lines, reports, run_parts, said_range, timed_rows, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STANDIN = Path(__file__).resolve().parents[2] / "tests" / "gpu" / "rlc_standin"
RLC = ("--switch", "rlc", "--rlc-vendor", "nvidia")
NOTHING = "AMDGCN_USE_BUFFER_OPS"
"""Read by Triton and part of its compile key, for AMD's devices alone."""


def certified(part: Part, what: str, report: dict[str, Any]) -> None:
    """All rows must be certified."""
    summary = report["certificate"] or {}
    rows = {name: count for name, count in (summary.get("rows") or {}).items() if count}
    ok = set(rows) == {"certified"} and not summary.get("uncertain")
    counts = ", ".join(f"{summary.get(n)} {n}" for n in ("recorded", "replayed", "missed"))
    part.check(ok, f"{what}: all rows certified", f"{rows}, decisions {counts}")


def replay(part: Part, op: str, *bench: str) -> None:
    """Record and replay a tuned operator, then take one decision out of the record."""
    gems = ("--gems-root", part.given.gems_root, "--dtype", "float16", "--ops", op)
    told = {"TRITON_PRINT_AUTOTUNING": "1"}
    began = time.monotonic()
    code, _, run = part.ab("replay", "--switch", "aa", *gems, *bench, **told)
    before, after = run / op / "before", run / op / "after"
    (report,) = reports(run)
    part.check(code == 0, f"{op}: exit 0", f"{code}, {time.monotonic() - began:.0f} s")
    counts = (tried(before), tried(after))
    part.check(
        counts[0] > 0 and counts[1] == 0, f"{op}: configs tried", f"{counts[0]}, then {counts[1]}"
    )
    certified(part, op, report)
    total = len(report["rows"])

    journal = lines(before, "tuning.jsonl")
    gone = next(x for x in journal if x["kind"] == "decision")
    same = ("tuner", "kernel", "key")
    users = {
        x["call"] for x in journal if x["kind"] == "use" and all(x[k] == gone[k] for k in same)
    }
    expected = Counter(row for call, row in timed_rows(before).items() if call in users)
    kept = [
        x for x in journal if x["kind"] != "decision" or any(x[name] != gone[name] for name in same)
    ]
    (before / "tuning.jsonl").write_text("".join(json.dumps(x) + "\n" for x in kept))
    (after / "receipt.json").unlink()
    began = time.monotonic()
    code, _ = part.flagkit("ab", "--resume", run, "--fail-on", "incomplete", **told)
    part.keep(run, "drift")
    part.check(code == 4, f"{op}: an entry removed, --fail-on incomplete", f"exit {code}")
    (report,) = reports(run)
    drifted = Counter(
        (x["dtype"], x["size_detail"])
        for x in report["unpaired"]
        if x["reason"] == "config-drift" and x["side"] == "after"
    )
    part.check(
        bool(expected) and drifted == expected and len(report["rows"]) == total - expected.total(),
        f"{op}: exactly its rows drift",
        f"{drifted.total()} of {total}: {[size for _, size in drifted]}, "
        f"{tried(after)} configs tried, {time.monotonic() - began:.0f} s",
    )


def part_mm(part: Part) -> None:
    """FlagGems' mm at core level. Its second test, of ``a @ a.t()``, would double the time."""
    replay(part, "mm", "--bench-arg=-k", "--bench-arg=not self_transpose")


def part_layer_norm(part: Part) -> None:
    """An operator on Triton's own Autotuner; mm is on FlagGems' LibTuner."""
    replay(part, "layer_norm")


def part_aa(part: Part) -> None:
    """Nothing differs: no kernel may."""
    gems = ("--gems-root", part.given.gems_root, "--dtype", "float16")
    _, _, run = part.ab("aa", "--switch", "aa", *gems, "--ops", "gelu softmax")
    for report in reports(run):
        kernels = report["receipts"]["kernels"]
        ok = kernels["changed"] == 0 < kernels["total"] and kernels["launches_equal"]
        figures = f"{kernels['text']}; {said_range(report)}"
        part.check(ok and kernels["same_code"], f"aa {report['label']}: same code", figures)


def part_env(part: Part) -> None:
    """A variable that changes all code, one that changes none, one that is misspelt."""
    gems = ("--switch", "env", "--env-package", "triton", "--gems-root", part.given.gems_root)
    gems += ("--dtype", "float32", "--ops", "softmax")
    _, _, run = part.ab("ptxas", *gems, "--env-set", "DISABLE_PTXAS_OPT=0,1")
    (report,) = reports(run)
    kernels = report["receipts"]["kernels"]
    ok = 0 < kernels["total"] == kernels["changed"]
    part.check(ok, "DISABLE_PTXAS_OPT: all kernels changed", kernels["text"])
    speedups = [row["speedup_percent"] for row in report["rows"]]
    median = statistics.median(speedups)
    part.check(median < 0, "... and slower", f"median {median:+.1f} %, {said_range(report)}")
    table = part.given.out / "kernels-softmax.md"
    part.flagkit("report", run, "--reporter", "kernels", "-o", table, "--force")
    text = table.read_text()
    part.check(
        " changed |" in text, "... and the kernel table", f"{text.count(' changed |')} lines"
    )
    part.tables.append("\n".join(row[:200] for row in text.splitlines()[:12]))

    _, said, run = part.ab("nothing", *gems, "--env-set", f"{NOTHING}=0,1")
    (report,) = reports(run)
    kernels = report["receipts"]["kernels"]
    ok = kernels["changed"] == 0 < kernels["total"] and kernels["same_code"]
    part.check(ok, f"{NOTHING}: 0 of N changed", f"{kernels['text']}; {said_range(report)}")
    part.check("any difference is noise" in said, "... and the headline says so")

    code, said, _ = part.ab("misspelt", *gems, "--env-set", "DISABLE_PTXAS_OPTS=0,1")
    told = next((row for row in said.splitlines() if "similar names" in row), said[-200:])
    ok = code == 2 and "DISABLE_PTXAS_OPT," in told.replace(";", ",")
    part.check(ok, "a misspelt variable is refused", told)


def standin(part: Part, name: str, *args: object, **environ: str) -> list[dict[str, Any]]:
    """``--switch rlc`` on the stand-in; a line an operator."""
    told = {"PYTEST_PLUGINS": "rlc_standin", "PYTHONPATH": str(STANDIN), **environ}
    if inherited := os.environ.get("PYTHONPATH"):
        told["PYTHONPATH"] += os.pathsep + inherited
    _, _, run = part.ab(name, *RLC, "--no-verify", *args, **told)
    rows = [f"{name:22s} {'changed':>9s} {'conversions':>13s}  certificate, speedup"]
    found = reports(run)
    for report in found:
        kernels = report["receipts"]["kernels"]
        counts = "{before} -> {after}".format(**kernels["conversions"])
        states = {k: v for k, v in (report["certificate"] or {}).get("rows", {}).items() if v}
        rows.append(
            f"{report['label']:22s} {kernels['changed']:>4d} of {kernels['total']:<2d} "
            f"{counts:>12s}  {states}, {said_range(report)}"
        )
    part.tables.append("\n".join(rows))
    table = part.given.out / f"kernels-{part.name}-{name}.md"
    part.flagkit("report", run, "--reporter", "kernels", "-o", table, "--force")
    return found


def all_changed(part: Part, what: str, found: Sequence[dict[str, Any]], number: int) -> None:
    """Every operator's kernels must have changed, with fewer conversions."""
    proofs = [report["receipts"]["kernels"] for report in found]
    changed = [f"{proof['changed']}/{proof['total']}" for proof in proofs]
    ok = len(proofs) == number and all(0 < proof["total"] == proof["changed"] for proof in proofs)
    part.check(ok, f"{what}: all kernels changed", " ".join(changed))
    fewer = [proof["conversions"] for proof in proofs]
    ok = bool(fewer) and all(count["before"] > count["after"] for count in fewer)
    part.check(ok, f"{what}: fewer conversions", [tuple(count.values()) for count in fewer])
    drifted = [row for report in found for row in report["unpaired"]]
    paired = sum(len(report["rows"]) for report in found)
    part.check(
        paired and not drifted, f"{what}: configs replayed", f"{paired} rows, {len(drifted)} out"
    )


def part_standin(part: Part) -> None:
    """The made suite, with the switch in the compile key."""
    suite = ("--suite", STANDIN)
    code, said, _ = part.ab("refused", *RLC, *suite)
    refused = code == 2 and "reads FLAGTREE_RLC_ENHANCE" in said
    part.check(refused, "without --no-verify the variable is refused", f"exit {code}")
    all_changed(part, "keyed", standin(part, "keyed", *suite), 5)


def part_unkeyed(part: Part) -> None:
    """The switch not in the compile key: with private caches, then in one cache."""
    few = ("--suite", STANDIN, "--ops", "standin_transpose standin_dot")
    all_changed(part, "unkeyed", standin(part, "unkeyed", *few, RLC_STANDIN_KEY="0"), 2)
    broken = {"RLC_STANDIN_KEY": "0", "RLC_STANDIN_CACHE": str(part.work / "one-cache")}
    found = standin(part, "unkeyed-one-cache", *few, **broken)
    part.check(len(found) == 2, "one cache: reports", len(found))
    for report in found:
        proof = report["receipts"]["kernels"]
        ok = not proof["same_code"] and "not in the side's cache" in proof["text"]
        figures = f"{proof['text']}; {said_range(report)}"
        part.check(ok, f"one cache, {report['label']}: no proof", figures)


def part_gems(part: Part) -> None:
    """FlagGems' own operators on the stand-in."""
    gems = ("--gems-root", part.given.gems_root, "--dtype", "float16")
    found = standin(part, "gems", *gems, "--ops", "softmax layer_norm cumsum")
    proofs = [report["receipts"]["kernels"] for report in found]
    ok = len(proofs) == 3 and all(proof["changed"] for proof in proofs)
    part.check(ok, "FlagGems: kernels changed", "; ".join(proof["text"] for proof in proofs))
    counts = [tuple(proof["conversions"].values()) for proof in proofs]
    part.check(all(b > a for b, a in counts), "FlagGems: fewer conversions", counts)


PARTS: dict[str, tuple[float, Callable[[Part], None]]] = {
    "mm": (300, part_mm),
    "layer_norm": (120, part_layer_norm),
    "aa": (120, part_aa),
    "env": (150, part_env),
    "standin": (200, part_standin),
    "unkeyed": (200, part_unkeyed),
    "gems": (180, part_gems),
}
"""Each part with the seconds it may take."""


def main() -> None:
    """Run the parts and print what came out, checks last."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--gems-root", type=Path, required=True)
    arguments.add_argument("--backend", default="cuda")
    arguments.add_argument("--parts", default=",".join(PARTS))
    arguments.add_argument("--limit", type=float, default=350, help="seconds for all parts")
    arguments.add_argument("--work", type=Path, help="keep run directories here, and resume them")
    given = arguments.parse_args()
    given.out = given.out.absolute()
    given.gems_root = given.gems_root.absolute()
    run_parts(PARTS, given)


if __name__ == "__main__":
    main()
