"""``--rlc-trace`` on a suite that prints as a FlagTree build does, by the real command."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

SUITE = """
    import os

    import pytest


    @pytest.mark.traced
    def test_traced(flagkit_bench):
        on = os.environ["FLAGTREE_MUSA_RLC_ENHANCE"] == "1"
        if on and os.environ.get("FLAGTREE_RLC_TRACE_REJECTS") == "1":
            line = b"FLAGTREE_RLC_TRACE phase=1b outcome=reject reason=made-up op=ttg.convert_layout"
            os.write(2, b"%s\\n%s \\x1b[31m\\n" % (line, line))
        flagkit_bench(lambda: sum(range(100)), dtype="int64", size_detail="[1]")
"""


@pytest.fixture
def ab(flagkit: Callable[..., Done], tmp_path: Path) -> Callable[..., Done]:
    suite = tmp_path / "test_traced.py"
    suite.write_text(textwrap.dedent(SUITE))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    traced: made\n")

    def run(*args: str) -> Done:
        return flagkit(
            *("ab", "--switch", "rlc", "--rlc-vendor", "musa", "--backend", "cpu"),
            *("--suite", suite, "--no-verify", *args),
        )

    return run


def test_the_trace_is_kept_counted_and_said(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("--rlc-trace")
    assert done.code == 0, done.err
    said = "RLC trace before: none; after: 2 lines, 2 reject made-up (phase 1b)"
    assert f"- {said}" in done.out
    (run,) = (tmp_path / "runs").iterdir()
    sides = {name: run / "traced" / name for name in ("before", "after")}
    assert not (sides["before"] / "switch.log").exists()
    lines = (sides["after"] / "switch.log").read_text().splitlines()
    assert len(lines) == 2 and lines[1].endswith("op=ttg.convert_layout \\x1b[31m")
    receipt = json.loads((sides["after"] / "receipt.json").read_text())
    assert receipt["excerpt"]["facts"]["trace: reject made-up (phase 1b)"] == "2"
    assert said in flagkit("report", run).out
    assert flagkit("verify", run).code == 0
    with (sides["after"] / "switch.log").open("a") as file:
        file.write("more\n")
    changed = flagkit("verify", run)
    assert changed.code == 1 and "traced/after/switch.log: changed" in changed.err


def test_it_is_said_where_the_build_printed_none(ab: Callable[..., Done], tmp_path: Path) -> None:
    suite = tmp_path / "test_traced.py"
    suite.write_text(suite.read_text().replace("FLAGTREE_RLC_TRACE phase", "OTHER phase"))
    done = ab("--rlc-trace")
    assert done.code == 0, done.err
    assert "! the build printed no RLC trace on either side" in done.out


def test_without_the_option_nothing_is_set_or_said(ab: Callable[..., Done]) -> None:
    done = ab()
    assert done.code == 0 and "RLC trace" not in done.out
