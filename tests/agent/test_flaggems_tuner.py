"""FlagGems' tuner and dispatcher, on a stand-in with a database of winners."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "triton")),
    reason="needs torch and triton",
)

ROOT = Path(__file__).parents[2]
FAKE = ROOT / "tests" / "data" / "fake_flag_gems"

SCRIPT = """
import json, sys
from pathlib import Path

import torch
import triton
import triton.language as tl
import triton.runtime.autotuner as autotuner
from flag_gems.utils import libentry

from flagkit.agent.tuning import TuningJournal
from flagkit.tuners.flaggems import FlagGemsTuner
from flagkit.tuners.triton import TritonTuner

out, before, cheapest = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
timed, hooks, notes, call, last = [], [], [], ["test", "c0"], [0]


def write(line):
    with out.open("a") as file:
        file.write(json.dumps(line) + "\\n")


log = TuningJournal(
    write,
    lambda: tuple(call),
    lambda code, text: notes.append([code, text]),
    replay=Path(before) if before else None,
)
TritonTuner().install(autotuner, log)
FlagGemsTuner().install(libentry, log)


def hook(args):
    hooks.append(args["BLOCK"])
    last[0] = args["BLOCK"]


def do_bench(kernel_call, quantiles):
    assert log.in_tuner
    timed.append(1)
    kernel_call()
    return [0.1 if last[0] == cheapest else 1.0 + last[0] / 1000] * 3


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


def config(block):
    return triton.Config({"BLOCK": block}, num_warps=2, pre_hook=hook)


def entry(blocks, **more):
    tuner = libentry.LibTuner(copy_kernel, [config(b) for b in blocks], ["n"], do_bench, **more)
    return libentry.LibEntry(tuner)


def launch(kernel, n, times=1):
    call[1] = f"c{int(call[1][1:]) + 1}"
    for _ in range(times):
        x, y = torch.zeros(n), torch.zeros(n)
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        assert torch.equal(y, x + 1)


"""

PLAIN = """
kernel = entry([16, 32, 64])
launch(kernel, 100, 3)
launch(kernel, 100, 2)
launch(kernel, 200)
launch(kernel, 100)
launch(entry([64]), 100, 2)
print(json.dumps({"timed": len(timed), "hooks": hooks, "notes": notes, "direct": kernel.direct}))
"""

COST_MODEL = """
kernel = entry([16, 32, 64], made=config(128), made_hook=hook)
launch(kernel, 100, 2)
print(json.dumps({"timed": len(timed), "hooks": hooks, "notes": notes}))
"""


def child(
    folder: Path, script: str, cheapest: int, before: Path | None = None, **environ: str
) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    folder.mkdir()
    (folder / "child.py").write_text(SCRIPT + script)
    out = folder / "tuning.jsonl"
    done = subprocess.run(
        [sys.executable, str(folder / "child.py"), str(out), str(before or ""), str(cheapest)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(FAKE))),
            "TRITON_INTERPRET": "1",
            "FLAGGEMS_CACHE_DIR": str(folder / "gems"),
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), [json.loads(line) for line in out.read_text().splitlines()], out


def told(lines: list[dict[str, Any]], kind: str) -> list[tuple[Any, ...]]:
    return [
        (line["call"], line["tuner"], line["key"], line["config"]["BLOCK"], line["state"])
        for line in lines
        if line["kind"] == kind
    ]


def test_record_and_replay_winners_and_cached_dispatches(tmp_path: Path) -> None:
    said, lines, record = child(tmp_path / "before", PLAIN, 32)
    assert told(lines, "decision") == [
        ("c1", "flaggems", "[100]", 32, "recorded"),
        ("c3", "flaggems", "[200]", 32, "recorded"),
    ]
    assert told(lines, "use") == [
        ("c1", "flaggems", "[100]", 32, "recorded"),
        ("c2", "flaggems", "[100]", 32, "recorded"),
        ("c3", "flaggems", "[200]", 32, "recorded"),
        ("c4", "flaggems", "[100]", 32, "recorded"),
        ("c5", "flaggems", "null", 64, ""),
    ]
    assert said["timed"] == 6 and said["direct"] == 5

    again, after, _ = child(tmp_path / "after", PLAIN, 64, record)
    assert [state for *_, state in told(after, "decision")] == ["replayed", "replayed"]
    assert again["timed"] == 0 and again["notes"] == []
    assert again["hooks"] == [32] * 7 + [64, 64]
    assert [u[:4] for u in told(after, "use")] == [u[:4] for u in told(lines, "use")]


def test_one_missing_winner(tmp_path: Path) -> None:
    _, lines, record = child(tmp_path / "before", PLAIN, 32)
    kept = [line for line in lines if line["key"] != "[100]"]
    record.write_text("".join(json.dumps(line) + "\n" for line in kept))
    _, after, _ = child(tmp_path / "after", PLAIN, 64, record)
    assert [u[0] for u in told(after, "use") if u[4] == "missed"] == ["c1", "c2", "c4"]


def test_a_winner_outside_the_candidates_is_rebuilt(tmp_path: Path) -> None:
    said, lines, record = child(tmp_path / "before", COST_MODEL, 128, USE_FLAGTUNE="1")
    notes = [text for code, text in said["notes"] if code == "flagtune-modes"]
    assert notes[0] == "USE_FLAGTUNE=1" and notes[1].endswith("copy_kernel: cost_model")
    again, after, _ = child(tmp_path / "after", COST_MODEL, 64, record)
    assert [state for *_, state in told(after, "decision")] == ["rebuilt"]
    assert [u[3] for u in told(after, "use")] == [u[3] for u in told(lines, "use")] == [128]
    uses = [[line["config"] for line in side if line["kind"] == "use"] for side in (lines, after)]
    assert uses[0] == uses[1]
    assert again["timed"] == 0


def test_a_database_that_already_knows_is_recorded_from(tmp_path: Path) -> None:
    folder = {"FLAGGEMS_CACHE_DIR": str(tmp_path / "warm")}
    child(tmp_path / "first", PLAIN, 32, **folder)
    said, lines, record = child(tmp_path / "second", PLAIN, 64, **folder)
    assert said["timed"] == 0
    decisions = [line for line in lines if line["kind"] == "decision"]
    assert [d["state"] for d in decisions] == ["recorded"] * 2
    assert all(d["config"]["pre_hook"] == "__main__.hook" for d in decisions)
    _, after, _ = child(tmp_path / "after", PLAIN, 64, record)
    assert [state for *_, state in told(after, "decision")] == ["replayed", "replayed"]
