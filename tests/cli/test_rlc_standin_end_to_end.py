"""``--switch rlc`` on the stand-in, by the real command. Compiling needs no device."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Done

pytest.importorskip("triton", reason="needs triton, which the test extra has on Linux")

STANDIN = Path(__file__).parents[1] / "gpu" / "rlc_standin"
SUITE = """
    import functools

    import pytest
    import triton
    from standin_kernels import compile_all


    @pytest.mark.compiling
    def test_compiling(flagkit_bench):
        compiled = functools.cache(lambda: list(compile_all()))
        flagkit_bench(lambda: len(compiled()), dtype="float32", size_detail="[5]")
"""


@pytest.fixture
def ab(flagkit: Callable[..., Done], tmp_path: Path) -> Callable[..., Any]:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_compiling.py").write_text(textwrap.dedent(SUITE))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    compiling: made\n")

    def run(*args: str, **environ: str) -> Done:
        return flagkit(
            *("ab", "--switch", "rlc", "--rlc-vendor", "nvidia", "--backend", "cpu"),
            *("--suite", folder, *args),
            PYTEST_PLUGINS="rlc_standin",
            PYTHONPATH=str(STANDIN),
            **environ,
        )

    return run


@pytest.mark.parametrize("key", ["1", "0"])
def test_the_switch_is_proven_with_any_compile_key(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path, key: str
) -> None:
    done = ab("--no-verify", RLC_STANDIN_KEY=key)
    assert done.code == 0, done.err + done.out
    (run,) = (tmp_path / "runs").iterdir()
    proof = json.loads((run / "report.json").read_text())["receipts"]["kernels"]
    assert (proof["changed"], proof["total"]) == (5, 5)
    counts = proof["conversions"]
    assert counts["before"] > 50 > counts["after"]
    table = flagkit("report", run, "--reporter", "kernels").out
    said = f"conversions in the TTGIR of both sides' kernels: {counts['before']} before, "
    assert said in table and table.count("| before | ") == 5 and table.count("changed |") == 10


def test_a_build_that_does_not_read_the_switch_is_refused(ab: Callable[..., Done]) -> None:
    done = ab()
    assert done.code == 2
    assert "nothing in the installed 'triton' reads FLAGTREE_RLC_ENHANCE" in done.err
