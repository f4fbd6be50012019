"""The real Triton autotuner, in interpreter mode on the CPU, recorded and replayed by ``ab``."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

pytest.importorskip("triton", reason="needs triton, which the test extra has on Linux")
pytest.importorskip("torch", reason="needs torch, which the test extra has on Linux")

SUITE = '''
    import os
    import pathlib

    import pytest
    import torch
    import triton
    import triton.language as tl

    TIMED = pathlib.Path(os.environ["TRITON_CACHE_DIR"]).parent / "timed.txt"
    HOOKED = TIMED.with_name("hooked.txt")


    def say(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text + "\\n")


    def hook(nargs):
        say(HOOKED, str(nargs["BLOCK"]))


    def own_bench(call, quantiles):
        """A lottery: each side alone would pick another winner."""
        call()
        say(TIMED, "timed")
        order = len(TIMED.read_text().splitlines())
        winner = int(os.environ["WINNER"])
        return [1.0 + (order - 1 - winner) % 3] * 3


    @triton.autotune(
        configs=[triton.Config({"BLOCK": b}, pre_hook=hook) for b in (16, 32, 64)],
        key=["n"],
        do_bench=own_bench,
    )
    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offset < n
        tl.store(y + offset, 2 * tl.load(x + offset, mask=mask), mask=mask)


    @pytest.mark.double
    def test_double(flagkit_bench):
        for n in (64, 96, 128):
            x = torch.arange(n, dtype=torch.float32)
            y = torch.empty_like(x)
            run = lambda: double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
            flagkit_bench(run, dtype="torch.float32", size_detail=f"[torch.Size([{n}])]")
            assert torch.equal(y, 2 * x)
'''


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_double.py").write_text(textwrap.dedent(SUITE))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    double: made\n")
    return folder


@pytest.fixture
def ab(flagkit: Callable[..., Done], suite: Path) -> Callable[..., Done]:
    def run(*args: object) -> Done:
        return flagkit(
            *("ab", "--switch", "env", "--env-set", "WINNER=0,1", "--backend", "cpu"),
            *("--suite", suite, "--ops", "double", *args),
            TRITON_INTERPRET="1",
        )

    return run


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    return [x for x in map(json.loads, path.read_text().splitlines()) if x["kind"] == kind]


def test_the_lottery_is_recorded_once_and_replayed(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab()
    assert done.code == 0, done.err + done.out
    (run,) = (tmp_path / "runs").iterdir()
    before, after = run / "double" / "before", run / "double" / "after"
    assert len((before / "caches" / "timed.txt").read_text().splitlines()) == 9
    assert not (after / "caches" / "timed.txt").exists()
    decided = [lines(side / "tuning.jsonl", "decision") for side in (before, after)]
    assert [d["state"] for d in decided[0]] == ["recorded"] * 3
    assert [d["state"] for d in decided[1]] == ["replayed"] * 3
    used = [
        [
            (
                u["call"],
                u["config"]["BLOCK"] if "BLOCK" in u["config"] else u["config"]["kwargs"]["BLOCK"],
            )
            for u in lines(side / "tuning.jsonl", "use")
        ]
        for side in (before, after)
    ]
    assert used[0] == used[1] and len(used[0]) == 3
    hooked = [set((side / "caches" / "hooked.txt").read_text().split()) for side in (before, after)]
    assert hooked[1] == {str(block) for _, block in used[1]}
    report = json.loads((run / "report.json").read_text())
    assert report["range"]["rows"] == 3
    (certificate,) = [n for n in report["notes"] if n["code"] == "certificate"]
    assert "3 decisions recorded, 3 replayed, 0 missed, 0 unused" in certificate["text"]


def test_a_deleted_entry_costs_its_row_alone(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    assert ab().code == 0
    (run,) = (tmp_path / "runs").iterdir()
    tuning = run / "double" / "before" / "tuning.jsonl"
    kept = [
        line
        for line in tuning.read_text().splitlines()
        if not (json.loads(line)["kind"] == "decision" and json.loads(line)["call"] == "c2")
    ]
    tuning.write_text("\n".join(kept) + "\n")
    refused = flagkit("ab", "--resume", run, TRITON_INTERPRET="1")
    assert refused.code == 1 and "double/before/tuning.jsonl: changed" in refused.err
    (run / "double" / "after" / "receipt.json").unlink()
    done = flagkit("ab", "--resume", run, "--fail-on", "incomplete", TRITON_INTERPRET="1")
    assert done.code == 4, done.err
    report = json.loads((run / "report.json").read_text())
    assert [row["size_key"] for row in report["rows"]] == ["[[64]]", "[[128]]"]
    assert {(u["size_key"], u["reason"]) for u in report["unpaired"]} == {
        ("[[96]]", "config-drift")
    }
    assert report["incomplete"] == []
    (said,) = [n for n in report["notes"] if n["code"] == "resumed-differs"]
    assert "double/before/tuning.jsonl had changed" in said["text"]
    states = [d["state"] for d in lines(run / "double" / "after" / "tuning.jsonl", "decision")]
    assert states == ["replayed", "missed", "replayed"]
