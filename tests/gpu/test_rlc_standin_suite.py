"""The stand-in for FlagTree's RLC pass, as far as it goes without a device: it compiles.

What is proven of flagkit: private caches and the comparison of compiled code show what the
switch did, also where the build's compile key does not hold the switch.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.experiment.kernelproof import prove
from flagkit.suites.marks import marks_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.experiment.kernelproof import KernelProof

    Compiled = Callable[..., Path]

SUITE = Path(__file__).parent / "rlc_standin"
NAMES = {"transpose_stats", "softmax_rows", "cumsum_both", "dot_swish", "gather_both"}

COMPILE = """
import json, os, sys
import rlc_standin
rlc_standin.install()
from standin_kernels import compile_all
from flagkit.agent.launches import describe

with open(sys.argv[1], "w") as file:
    for order, kernel in enumerate(compile_all()):
        facts = {"grid": [1, 1, 1], "node": "t", "call": "c1", "order": order, "count": 1}
        print(json.dumps({"kind": "launch", **describe(kernel), **facts}), file=file)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """A side's directory, compiled in a process of its own; each distinct one once."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs triton, which the test extra has on Linux")
    done: dict[Any, Path] = {}

    def side(switch: str, *, nth: int = 1, **environ: str) -> Path:
        made = (switch, nth, *sorted(environ.items()))
        if made not in done:
            folder = tmp_path_factory.mktemp("side")
            child = subprocess.run(
                [sys.executable, "-c", COMPILE, str(folder / "tuning.jsonl")],
                env={
                    **os.environ,
                    "PYTHONPATH": str(SUITE),
                    "TRITON_CACHE_DIR": str(folder / "caches" / "triton"),
                    "FLAGTREE_RLC_ENHANCE": switch,
                    **environ,
                },
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert child.returncode == 0, child.stderr[-2000:]
            done[made] = folder
        return done[made]

    return side


def conversions(proof: KernelProof) -> list[tuple[int | None, int | None]]:
    assert {pair.before.name for pair in proof.pairs if pair.before} == NAMES
    sides = [(pair.before, pair.after) for pair in proof.pairs]
    return [(b.conversions, a.conversions) for b, a in sides if b is not None and a is not None]


def hashes(proof: KernelProof) -> list[tuple[str, str]]:
    sides = [(pair.before, pair.after) for pair in proof.pairs]
    return [(b.cache_hash, a.cache_hash) for b, a in sides if b is not None and a is not None]


def test_on_removes_conversions_from_every_kernel(compiled: Compiled) -> None:
    proof = prove(compiled("0"), compiled("1"))
    assert proof.text().startswith("5 of 5 kernels changed")
    counted = conversions(proof)
    assert len(counted) == 5
    assert all(off and on is not None and off > on for off, on in counted)
    assert all(one != other for one, other in hashes(proof))
    assert not proof.same_code


def test_a_key_without_the_switch_is_harmless_in_private_caches(compiled: Compiled) -> None:
    proof = prove(compiled("0", RLC_STANDIN_KEY="0"), compiled("1", RLC_STANDIN_KEY="0"))
    assert all(one == other for one, other in hashes(proof))
    assert proof.text().startswith("5 of 5 kernels changed")


def test_in_one_cache_such_a_key_gives_no_effect_and_is_no_proof(
    compiled: Compiled, tmp_path: Path
) -> None:
    shared = {"RLC_STANDIN_KEY": "0", "RLC_STANDIN_CACHE": str(tmp_path)}
    before, after = compiled("0", **shared), compiled("1", **shared)
    assert len(list(tmp_path.glob("*/*.cubin"))) == 5  # on was served off's code
    proof = prove(before, after)
    assert not proof.same_code
    assert "5 could not be compared" in proof.text()
    assert "not in the side's cache" in proof.text()


def test_in_one_cache_a_key_with_the_switch_tells_them_apart(
    compiled: Compiled, tmp_path: Path
) -> None:
    for switch in ("0", "1"):
        compiled(switch, RLC_STANDIN_CACHE=str(tmp_path))
    assert len(list(tmp_path.glob("*/*.cubin"))) == 10


def test_twice_the_same_is_the_same_code(compiled: Compiled) -> None:
    proof = prove(compiled("1"), compiled("1", nth=2))
    assert proof.same_code
    assert [off == on for off, on in conversions(proof)] == [True] * 5


def test_the_hook_answers_a_triton_that_asks_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("rlc_standin", SUITE / "rlc_standin.py")
    assert spec is not None and spec.loader is not None
    standin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(standin)
    answers = []
    for switch, key in (("0", "1"), ("1", "1"), ("0", "0"), ("1", "0")):
        monkeypatch.setenv("FLAGTREE_RLC_ENHANCE", switch)
        monkeypatch.setenv("RLC_STANDIN_KEY", key)
        answers.append(standin.inspect_stages())
    assert answers[0] != answers[1] and answers[2] == answers[3]


@pytest.mark.parametrize("agent", [[], ["-p", "flagkit.agent.plugin"]])
def test_the_suite_skips_without_a_device(agent: list[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device: run it by flagkit ab")
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *agent, "."]
    done = subprocess.run(command, cwd=SUITE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch sees no CUDA device" in done.stdout
    assert "11 skipped" in done.stdout


def test_its_operators_are_found_by_mark() -> None:
    names = ("transpose", "softmax", "cumsum", "dot", "gather")
    source = (SUITE / "test_rlc_standin.py").read_bytes()
    assert marks_in(source) == {f"standin_{name}" for name in names}
