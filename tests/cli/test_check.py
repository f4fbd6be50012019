"""`flagkit ab --check` on a made suite: wrong, rounded, random, in place, by backward."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

pytest.importorskip("torch")

MARKS = ["wrong", "rounded", "random", "inplace", "unfilled", "backward", "unstable", "nothing"]

SUITE = """
    import os
    import random

    import numpy as np
    import pytest
    import torch

    AFTER = os.environ["MADE"] == "1"


    @pytest.mark.wrong
    def test_wrong(flagkit_bench):
        a = np.arange(64, dtype="float32").reshape(8, 8)
        for n in (4, 8):
            x = a[:n]

            def fn(x=x, n=n):
                y = x * 2
                if AFTER and n == 8:
                    y[7, 3] += 1
                return y

            flagkit_bench(fn, dtype="float32", size_detail=f"[{n}, 8]")


    @pytest.mark.rounded
    def test_rounded(flagkit_bench):
        x = torch.randn(256)
        scale = 1 + 2e-7 if AFTER else 1.0
        flagkit_bench(lambda: x * scale, dtype="float32", size_detail="[256]")
        flagkit_bench(lambda: x + 1, dtype="float32", size_detail="[256]")


    @pytest.mark.random
    def test_random(flagkit_bench):
        x = torch.empty(64)
        flagkit_bench(lambda: torch.rand(64), dtype="float32", size_detail="[1]")
        flagkit_bench(lambda: np.random.rand(64), dtype="float64", size_detail="[2]")
        flagkit_bench(lambda: random.random(), dtype="float64", size_detail="[3]")
        flagkit_bench(lambda: x.normal_(), dtype="float32", size_detail="[4]")
        flagkit_bench(
            lambda: torch.nn.functional.dropout(torch.ones(64), 0.5),
            dtype="float32",
            size_detail="[5]",
        )


    @pytest.mark.inplace
    def test_inplace(flagkit_bench):
        x, y = torch.ones(64), np.ones(64)

        def double():
            np.multiply(y, 2, out=y)

        flagkit_bench(lambda: x.mul_(1.0001), dtype="float32", size_detail="[1]")
        flagkit_bench(double, dtype="float64", size_detail="[2]")


    @pytest.mark.unfilled
    def test_unfilled(flagkit_bench):
        x, out = torch.randn(64), torch.empty(64)
        flagkit_bench(lambda: torch.mul(x, 3, out=out), dtype="float32", size_detail="[1]")


    @pytest.mark.backward
    def test_backward(flagkit_bench):
        x = torch.randn(64, requires_grad=True)
        y = torch.tanh(x)
        g = torch.ones(64)
        flagkit_bench(
            lambda: torch.autograd.grad(y, x, g, retain_graph=True),
            dtype="float32",
            size_detail="[1]",
        )
        flagkit_bench(
            lambda: y.backward(g, retain_graph=True),
            dtype="float32",
            size_detail="[2]",
            grad_to_none=[x],
        )


    @pytest.mark.unstable
    def test_unstable(flagkit_bench):
        flagkit_bench(lambda: os.urandom(1)[0] + os.getpid() * 256, size_detail="[1]")


    @pytest.mark.nothing
    def test_nothing(flagkit_bench):
        flagkit_bench(lambda: None, size_detail="[1]")
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_checked.py").write_text(textwrap.dedent(SUITE))
    marks = "\n".join(f"    {mark}: made" for mark in MARKS)
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n{marks}\n")
    return folder


def only_run(tmp_path: Path) -> Path:
    (run,) = (tmp_path / "runs").iterdir()
    return run


def notes(report: Any, code: str) -> list[Any]:
    return [note for note in report["notes"] if note["code"] == code]


def test_a_wrong_result_is_exit_1_and_said_first(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("wrong", "--check", "--fail-on", "regression:0.0001")
    assert done.code == 1
    assert "flagkit: wrong: wrong result in 1 row" in done.err
    assert done.out.index("wrong result in 1 row") < done.out.index("2 rows paired")
    run = only_run(tmp_path)
    report = json.loads((run / "report.json").read_text())
    flags = [set(row["flags"]) - {"unsteady"} for row in report["rows"]]
    assert flags == [set(), {"wrong-result"}]
    assert report["notes"][0]["code"] == "wrong-result"
    found = report["notes"][0]["data"]
    assert (found["output"], found["place"], found["difference"]) == ("returned", [7, 3], 1.0)
    assert found["row"]["size_key"] == "[8,8]"
    (said,) = notes(report, "checked")
    assert said["data"]["equal"] == 1 and said["data"]["wrong"] == 1
    assert (run / "report.md").read_text().count("wrong result") >= 2
    again = flagkit("report", run)
    assert again.code == 1 and "wrong result" in again.out
    assert flagkit("verify", run).code == 0
    (kept, *_) = (run / "wrong" / "after" / "outputs").iterdir()
    kept.write_bytes(b"")
    assert f"wrong/after/outputs/{kept.name}: changed" in flagkit("verify", run).err


def test_without_check_nothing_is_kept_or_said(ab: Callable[..., Done], tmp_path: Path) -> None:
    done = ab("wrong")
    assert done.code == 0
    assert not (only_run(tmp_path) / "wrong" / "after" / "outputs").exists()
    report = json.loads((only_run(tmp_path) / "report.json").read_text())
    assert not {"checked", "unchecked", "wrong-result"} & {n["code"] for n in report["notes"]}


def test_rounding_passes_and_its_tolerance_is_said(ab: Callable[..., Done], tmp_path: Path) -> None:
    done = ab("rounded", "--check")
    assert done.code == 0, done.err
    text = "2 rows checked: 1 bitwise equal, 1 within tolerance (float32 rtol 1.3e-06 atol 1e-05)"
    assert text in " ".join(done.out.split())
    report = json.loads((only_run(tmp_path) / "report.json").read_text())
    assert notes(report, "checked")[0]["data"]["tolerances"] == {
        "float32": {"rtol": 1.3e-6, "atol": 1e-5}
    }


def test_random_in_place_and_backward_calls_give_no_alarm(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    ops = {"random": 5, "inplace": 2, "unfilled": 1, "backward": 2}
    done = ab(" ".join(ops), "--check")
    assert done.code == 0, done.err
    reports = json.loads((only_run(tmp_path) / "report.json").read_text())["reports"]
    found = {report["label"]: report for report in reports}
    for op, rows in ops.items():
        (said,) = notes(found[op], "checked")
        assert said["data"]["equal"] == said["data"]["rows"] == rows, (op, found[op]["notes"])
        assert not notes(found[op], "unchecked")


def test_what_cannot_be_compared_is_said_with_its_reason(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("unstable nothing", "--check")
    assert done.code == 0, done.err
    reports = json.loads((only_run(tmp_path) / "report.json").read_text())["reports"]
    texts = [notes(report, "unchecked")[0]["text"] for report in reports]
    assert "differs from itself" in texts[0]
    assert "returned no array" in texts[1]
