"""On an accelerator: real launches are seen, and FlagGems replays without trying a config."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flagkit.experiment.kernelproof import prove

ROOT = Path(__file__).parents[2]


def _device() -> bool:
    if not Path("/dev/nvidiactl").exists():  # asking torch takes seconds
        return False
    if any(importlib.util.find_spec(name) is None for name in ("torch", "triton")):
        return False
    code = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    return not subprocess.run([sys.executable, "-c", code], check=False).returncode


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not _device(), reason="needs torch, triton and a CUDA device"),
]

PREAMBLE = """
import contextlib, json, sys
from pathlib import Path

import torch
import triton
import triton.language as tl
import triton.runtime.autotuner as autotuner

from flagkit.agent.launches import Launches
from flagkit.agent.tuning import TuningJournal
from flagkit.tuners.flaggems import FlagGemsTuner
from flagkit.tuners.triton import TritonTuner

folder, before = Path(sys.argv[1]), sys.argv[2]
tried, notes, call = [], [], ["test", "c1"]


def write(line):
    with (folder / "tuning.jsonl").open("a") as file:
        file.write(json.dumps(line, default=str) + "\\n")


class Counted(TuningJournal):
    def tuning(self, tuner):
        tried.append(tuner)
        return super().tuning(tuner)


log = Counted(
    write,
    lambda: tuple(call),
    lambda code, text: notes.append([code, text]),
    replay=Path(before) if before else None,
)
launches = Launches(write, lambda: "test", lambda: log.in_tuner, lambda: log.decisions)
TritonTuner().install(autotuner, log)


def timed(name, fn):
    call[1] = name
    launches.run(name, fn)
    torch.cuda.synchronize()


def finish(**more):
    print(json.dumps({"tried": len(tried), "notes": notes, **more}))
"""

TRITON = """
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 1024) for w in (2, 4)],
    key=["n"],
)
@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


x = torch.zeros(100_000, device="cuda")
y = torch.empty_like(x)


def launch():
    add_one[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())


timed("c1", launch)
timed("c2", launch)
assert torch.equal(y, x + 1)
finish()
"""

GEMS = """
import importlib

libentry = importlib.import_module("flag_gems.utils.libentry")
FlagGemsTuner().install(libentry, log)
import flag_gems

a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
timed("c1", lambda: flag_gems.mm(a, b))
timed("c2", lambda: flag_gems.mm(a, b))
finish()
"""


def side(folder: Path, script: str, before: Path | None = None) -> tuple[Any, list[Any]]:
    """Run *script* with private caches; what it said and its tuning lines."""
    folder.mkdir()
    (folder / "child.py").write_text(PREAMBLE + script)
    record = str(before / "tuning.jsonl") if before else ""
    done = subprocess.run(
        [sys.executable, str(folder / "child.py"), str(folder), record],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
            "TRITON_CACHE_DIR": str(folder / "caches" / "triton"),
            "FLAGGEMS_CACHE_DIR": str(folder / "caches" / "flaggems"),
        },
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (folder / "tuning.jsonl").read_text().splitlines()
    return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in lines]


def check(tmp_path: Path, script: str) -> list[Any]:
    """Record, replay, and compare what was launched; the replayed lines."""
    before, after = tmp_path / "before", tmp_path / "after"
    recorded, lines = side(before, script)
    replayed, again = side(after, script, before)
    assert recorded["tried"] > 0 and replayed["tried"] == 0, replayed
    decided = [line["state"] for line in again if line["kind"] == "decision"]
    assert decided and set(decided) <= {"replayed", "rebuilt"}
    uses = [
        [(u["call"], u["kernel"], u["key"], u["config"]) for u in some if u["kind"] == "use"]
        for some in (lines, again)
    ]
    assert uses[0] == uses[1] and {call for call, *_ in uses[1]} == {"c1", "c2"}
    found = prove(before, after)
    assert found.total > 0 and found.same_code, found.text()
    return again


def test_triton(tmp_path: Path) -> None:
    first, second = (line for line in check(tmp_path, TRITON) if line["kind"] == "launch")
    assert first["kernel"] == "add_one" and first["count"] == 1
    assert first["grid"][0] in (98, 782) and first["grid"][1:] == [1, 1]
    assert first["registers"] > 0 and first["spills"] == 0
    assert {**first, "call": "c2"} == second


@pytest.mark.skipif(importlib.util.find_spec("flag_gems") is None, reason="needs flag_gems")
def test_flaggems_mm(tmp_path: Path) -> None:
    again = check(tmp_path, GEMS)
    assert {line["tuner"] for line in again if line["kind"] == "decision"} == {"flaggems"}
