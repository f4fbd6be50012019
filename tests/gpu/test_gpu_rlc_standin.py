"""``flagkit ab --switch rlc`` end to end on the stand-in, on a device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

STANDIN = Path(__file__).parent / "rlc_standin"


@pytest.fixture
def reports(tmp_path: Path) -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")

    def run(ops: str, **environ: str) -> list[dict[str, Any]]:
        command = ["ab", "--switch", "rlc", "--backend", "cuda", "--suite", STANDIN, "--no-verify"]
        done = subprocess.run(
            [sys.executable, "-m", "flagkit", *map(str, command), "--ops", ops],
            cwd=tmp_path,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (made,) = (tmp_path / "runs").iterdir()
        data = json.loads((made / "report.json").read_text())
        found: list[dict[str, Any]] = data.get("reports", [data])
        return found

    return run


def test_kernels_changed_configs_replayed_range_reported(reports: Any) -> None:
    for report in reports("standin_softmax standin_gather"):
        proof = report["receipts"]["kernels"]
        assert 0 < proof["total"] == proof["changed"]
        assert proof["conversions"]["before"] > proof["conversions"]["after"]
        assert report["range"]["rows"] == len(report["rows"]) > 0
        assert report["unpaired"] == []
        tuned = report["label"] == "standin_softmax"
        assert {row["certificate"] for row in report["rows"]} == {
            "certified" if tuned else "no-tuner"
        }
        kernel = proof["kernels"][0]["before"]
        assert kernel["registers"] > 0 and kernel["spills"] is not None and kernel["shared"] > 0


def test_a_key_without_the_switch_is_caught(reports: Any) -> None:
    (report,) = reports("standin_gather", RLC_STANDIN_KEY="0")
    proof = report["receipts"]["kernels"]
    assert 0 < proof["total"] == proof["changed"]


def test_one_cache_for_both_sides_proves_nothing(reports: Any, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    (report,) = reports("standin_gather", RLC_STANDIN_KEY="0", RLC_STANDIN_CACHE=cache)
    proof = report["receipts"]["kernels"]
    assert not proof["same_code"] and "not in the side's cache" in proof["text"]
