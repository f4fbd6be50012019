"""Triton's real autotuner, recorded in one process and replayed in another.

The interpreter runs the kernels, so no device is needed; the tuner times with a function
of ours that counts its calls and says what each config costs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "triton")),
    reason="needs torch and triton",
)

ROOT = Path(__file__).parents[2]

PREAMBLE = """
import json, random, sys
from pathlib import Path

import torch
import triton
import triton.language as tl
import triton.runtime.autotuner as autotuner

from flagkit.agent.tuning import TuningJournal
from flagkit.tuners.triton import TritonTuner

out, before = Path(sys.argv[1]), sys.argv[2]
costs = json.loads(sys.argv[3])
seen = {"timed": 0, "in_tuner": [], "hooks": [], "launched": [], "notes": []}
call = ["test", "c1"]


def note(code, text):
    seen["notes"].append([code, text])


def write(line):
    with out.open("a") as file:
        file.write(json.dumps(line) + "\\n")


class Generators:
    def save(self):
        return random.getstate()

    def restore(self, state):
        random.setstate(state)


log = TuningJournal(
    write,
    lambda: tuple(call),
    note,
    replay=Path(before) if before else None,
    generators=Generators,
)


def do_bench(kernel_call, quantiles):
    seen["timed"] += 1
    seen["in_tuner"].append(log.in_tuner)
    random.random()
    kernel_call()
    cost = costs.get(str(last_block[0]), 9.0)
    return [cost] * 3


last_block = [0]


def hook(args):
    last_block[0] = args["BLOCK"]
    seen["hooks"].append(args["BLOCK"])


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(y + offsets, values + 1, mask=offsets < n)


def tuned(blocks, kernel=copy_kernel, key=("n",), **more):
    configs = [triton.Config({"BLOCK": b}, num_warps=2, pre_hook=hook) for b in blocks]
    more.setdefault("do_bench", do_bench)
    return triton.autotune(configs=configs, key=list(key), **more)(kernel)


def launch(kernel, n, dtype=torch.float32):
    x, y = torch.zeros(n, dtype=dtype), torch.zeros(n, dtype=dtype)
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    assert torch.equal(y, x + 1)
    seen["launched"].append([n, str(dtype), kernel.best_config.kwargs["BLOCK"]])


def finish(**more):
    print(json.dumps({**seen, **more}))
"""

PLAIN = """
made_before = tuned([16, 32, 64])
TritonTuner().install(autotuner, log)
made_after = tuned([16, 32, 64], key=("n",), reset_to_zero=["y"])
random.seed(5)
for n, dtype in ((100, torch.float32), (200, torch.float32), (100, torch.float16)):
    launch(made_before, n, dtype)
    call[1] = "c2"
    launch(made_before, n, dtype)
    launch(made_before, n, dtype)
finish(drawn=random.random(), hooked=made_before.best_config.pre_hook is hook)
"""

CHEAP_32 = {"16": 3.0, "32": 1.0, "64": 2.0}
CHEAP_64 = {"16": 3.0, "32": 2.0, "64": 1.0}


@dataclass
class Child:
    said: dict[str, Any]
    lines: list[dict[str, Any]]
    file: Path

    def kind(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]

    @property
    def states(self) -> list[str]:
        return [line["state"] for line in self.kind("decision")]

    @property
    def reasons(self) -> list[str]:
        return [line["reason"] for line in self.kind("decision")]

    @property
    def blocks(self) -> list[int]:
        return [line["config"]["BLOCK"] for line in self.kind("decision")]


def child(
    folder: Path,
    script: str,
    costs: dict[str, float],
    before: Child | None = None,
    preamble: str = PREAMBLE,
) -> Child:
    """Run *script* in a process of its own, replaying *before* if given."""
    folder.mkdir()
    (folder / "child.py").write_text(preamble + script)
    out = folder / "tuning.jsonl"
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TRITON_INTERPRET": "1",
        "TRITON_CACHE_DIR": str(folder / "cache"),
    }
    done = subprocess.run(
        [
            sys.executable,
            str(folder / "child.py"),
            str(out),
            str(before.file) if before else "",
            json.dumps(costs),
        ],
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return Child(json.loads(done.stdout.splitlines()[-1]), lines, out)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Child:
    return child(tmp_path_factory.mktemp("record") / "before", PLAIN, CHEAP_32)


def test_records_each_key_once(recorded: Child) -> None:
    assert recorded.states == ["recorded"] * 3
    assert recorded.blocks == [32, 32, 32]
    keys = {line["key"] for line in recorded.kind("decision")}
    assert '[100,"torch.float32","torch.float32"]' in keys and len(keys) == 3
    decision = recorded.kind("decision")[0]
    assert decision["kernel"] == "__main__.copy_kernel"
    assert decision["config"]["num_warps"] == 2
    assert decision["config"]["pre_hook"] == "__main__.hook"
    assert len(decision["source_hash"]) == len(decision["candidates_hash"]) == 16
    assert recorded.said["timed"] == 9
    assert set(recorded.said["in_tuner"]) == {True}


def test_uses_are_told_once_a_call(recorded: Child) -> None:
    uses = recorded.kind("use")
    assert [(u["call"], json.loads(u["key"])[0]) for u in uses] == [
        ("c1", 100),
        ("c2", 100),
        ("c2", 200),
        ("c2", 100),
    ]


def test_replay_times_nothing_and_launches_the_same(recorded: Child, tmp_path: Path) -> None:
    after = child(tmp_path / "after", PLAIN, CHEAP_64, recorded)
    assert after.states == ["replayed"] * 3
    assert after.said["timed"] == 0
    assert after.said["launched"] == recorded.said["launched"]
    assert after.kind("use") == [{**u, "state": "replayed"} for u in recorded.kind("use")]
    assert after.said["hooked"] and after.said["hooks"] == [32] * 9
    assert after.said["drawn"] == recorded.said["drawn"]
    assert after.said["notes"] == []


def test_without_the_record_the_tuner_decides_otherwise(recorded: Child, tmp_path: Path) -> None:
    other = child(tmp_path / "alone", PLAIN, CHEAP_64)
    assert other.blocks == [64, 64, 64]


def test_a_deleted_entry_is_missed_and_the_rest_goes_on(recorded: Child, tmp_path: Path) -> None:
    kept = [line for line in recorded.lines if not line["key"].startswith("[200")]
    short = Child({}, [], tmp_path / "short.jsonl")
    short.file.write_text("".join(json.dumps(line) + "\n" for line in kept))
    after = child(tmp_path / "after", PLAIN, CHEAP_64, short)
    assert after.states == ["replayed", "missed", "replayed"]
    assert after.reasons[1] == "no decision was recorded"
    assert after.said["timed"] == 3
    assert [n for _, _, n in after.said["launched"]] == [32] * 3 + [64] * 3 + [32] * 3
    uses = {(u["key"], u["state"]) for u in after.kind("use")}
    assert ('[200,"torch.float32","torch.float32"]', "missed") in uses
    assert [code for code, _ in after.said["notes"]] == ["tuning-missed"]


def test_config_gone_from_the_candidates_is_missed(recorded: Child, tmp_path: Path) -> None:
    script = PLAIN.replace("tuned([16, 32, 64])", "tuned([16, 64])")
    after = child(tmp_path / "after", script, CHEAP_64, recorded)
    assert after.states == ["missed"] * 3
    assert "no longer among the candidates" in after.reasons[0]
    assert after.blocks == [64, 64, 64]


def test_changed_candidates_that_still_hold_it_replay_with_a_note(
    recorded: Child, tmp_path: Path
) -> None:
    script = PLAIN.replace("tuned([16, 32, 64])", "tuned([32, 64])")
    after = child(tmp_path / "after", script, CHEAP_64, recorded)
    assert after.states == ["replayed"] * 3
    assert {code for code, _ in after.said["notes"]} == {"tuning-carried-over"}


def test_another_kernel_version_is_missed(recorded: Child, tmp_path: Path) -> None:
    changed = PREAMBLE.replace("pid = tl.program_id(0)", "pid = tl.program_id(0) + 0")
    after = child(tmp_path / "after", PLAIN, CHEAP_64, recorded, changed)
    assert after.states == ["missed"] * 3
    assert "another version" in after.reasons[0]


def test_another_build_pairs_by_name_key_and_candidates(recorded: Child, tmp_path: Path) -> None:
    changed = PREAMBLE.replace("pid = tl.program_id(0)", "pid = tl.program_id(0) + 0").replace(
        "generators=Generators,", "generators=Generators, across_builds=True,"
    )
    after = child(tmp_path / "after", PLAIN, CHEAP_64, recorded, changed)
    assert after.states == ["replayed"] * 3
    assert "source differs" in after.said["notes"][0][1]


SINGLE = """
TritonTuner().install(autotuner, log)
launch(tuned([64]), 100)
finish()
"""


def test_single_config_is_a_use_without_a_decision(tmp_path: Path) -> None:
    one = child(tmp_path / "one", SINGLE, {})
    assert one.kind("decision") == [] and one.said["timed"] == 0
    (use,) = one.kind("use")
    assert use["config"]["BLOCK"] == 64 and use["key"] == "null"


PRUNED = """
TritonTuner().install(autotuner, log)

def early(configs, named_args, **kwargs):
    made = triton.Config({"BLOCK": 128}, num_warps=8, pre_hook=hook)
    return [*configs[:2], made]

launch(tuned([16, 32, 64], prune_configs_by={"early_config_prune": early}), 100)

def model(BLOCK, **kwargs):
    return BLOCK

launch(tuned([16, 32, 64], prune_configs_by={"perf_model": model, "top_k": 2}), 200)
launch(tuned([16, 32, 64], restore_value=["x"]), 300)
finish()
"""


def test_pruning_and_a_config_made_by_it(tmp_path: Path) -> None:
    before = child(tmp_path / "before", PRUNED, {"128": 0.5, **CHEAP_32})
    assert before.blocks == [128, 32, 32]
    after = child(tmp_path / "after", PRUNED, CHEAP_64, before)
    assert after.states == ["rebuilt", "replayed", "replayed"]
    assert after.said["timed"] == 0
    assert after.said["launched"] == before.said["launched"]
    assert after.kind("use")[0]["config"] == before.kind("use")[0]["config"]
    assert after.said["hooks"][0] == 128


SAME_NAME = """
TritonTuner().install(autotuner, log)

def make(one):
    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)
    return copy

launch(tuned([16, 32], make(1)), 100)
launch(tuned([64, 128], make(2)), 100)
again = tuned([16, 32, 64], make(3))
launch(again, 100)
costs.update({"16": 0.1})
again.cache.clear()
launch(again, 100)
finish()
"""


def test_tuners_of_one_name_and_tuning_again(tmp_path: Path) -> None:
    before = child(tmp_path / "before", SAME_NAME, {"128": 0.5, **CHEAP_32})
    assert before.blocks == [32, 128, 32, 16]
    after = child(tmp_path / "after", SAME_NAME, CHEAP_64, before)
    assert after.states == ["replayed"] * 4
    assert after.blocks == before.blocks
    assert [code for code, _ in after.said["notes"]] == ["tuning-duplicate"]


SUBCLASS = """
class OwnTuner(autotuner.Autotuner):
    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        key = (len(args),)
        if key not in self.cache:
            timings = {c: self._bench(*args, config=c, **kwargs) for c in self.configs}
            self.cache[key] = min(timings, key=timings.get)
        self.best_config = config = self.cache[key]
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

TritonTuner().install(autotuner, log)
configs = [triton.Config({"BLOCK": b}, pre_hook=hook) for b in (16, 32, 64)]
own = OwnTuner(copy_kernel, copy_kernel.arg_names, configs, ["n"], None, None, do_bench=do_bench)
launch(own, 100)
import copy, pickle
twin = copy.copy(own)
launch(twin, 100)
finish(cache=len(own.cache), pickled=type(pickle.loads(pickle.dumps(own.cache))).__name__)
"""


def test_a_subclass_with_a_run_of_its_own(tmp_path: Path) -> None:
    before = child(tmp_path / "before", SUBCLASS, CHEAP_32)
    assert before.blocks[0] == 32 and before.said["cache"] == 1
    after = child(tmp_path / "after", SUBCLASS, CHEAP_64, before)
    assert set(after.states) == {"replayed"} and after.said["timed"] == 0
    assert after.said["launched"] == before.said["launched"]


HALF = """
TritonTuner().install(autotuner, log)
launch(tuned([16, 32, 64]), 100)
finish()
"""


def test_a_record_cut_short(tmp_path: Path) -> None:
    before = child(tmp_path / "before", HALF, CHEAP_32)
    text = before.file.read_text()
    before.file.write_text("not json\n" + text + text.splitlines()[0][:40])
    after = child(tmp_path / "after", HALF, CHEAP_64, before)
    assert after.states == ["replayed"]
    assert sorted(code for code, _ in after.said["notes"]) == ["tuning-cut-short", "tuning-foreign"]
