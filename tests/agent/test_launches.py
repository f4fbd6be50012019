"""Launches of a call's first run, on made compiled kernels."""

from __future__ import annotations

import sys
from collections import namedtuple
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from flagkit.agent.launches import MODULE, Launches


class CompiledKernel:
    """Like Triton's, as far as a launch goes."""

    def __init__(self, name: str, **config: Any) -> None:
        fields = {"name": name, "hash": "abc", "target": "t", "num_warps": 4, **config}
        self.metadata = namedtuple("KernelMetadata", sorted(fields))(**fields)
        self.name, self.hash, self.n_regs, self.n_spills = name, "abc", 0, 0
        self.src = SimpleNamespace(
            fn=SimpleNamespace(arg_names=["x", "n", "BLOCK", "OP"]),
            signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"},
            constants={(2,): 64, (3,): len, ("x", 0): None},
            attrs={(0,): [["tt.divisibility", 16]]},
        )

    def launch_metadata(self, grid: Any, stream: Any, *args: Any) -> str:
        self.n_regs = 24
        return "own"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    module = ModuleType(MODULE)
    module.CompiledKernel = CompiledKernel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    return []


def test_distinct_launches_in_order(lines: list[Any]) -> None:
    original = CompiledKernel.launch_metadata
    skipping = [False]
    launches = Launches(lines.append, lambda: "test", lambda: skipping[0])
    one, two = CompiledKernel("one", shared=128), CompiledKernel("two", opts={"no": "scalar"})
    one.launch_metadata((9,), 0)

    def call() -> None:
        assert one.launch_metadata((4,), 0) == "own"
        two.launch_metadata([2, 3, 4], 0)
        one.launch_metadata((4, 1, 1), 0)
        one.launch_metadata((5,), 0)
        skipping[0] = True
        two.launch_metadata((7,), 0)
        launches.run("c2", lambda: two.launch_metadata((8,), 0))

    launches.run("c1", call)
    assert CompiledKernel.launch_metadata is original
    told = [(line["kernel"], line["grid"], line["order"], line["count"]) for line in lines]
    assert told == [("one", [4, 1, 1], 0, 2), ("two", [2, 3, 4], 1, 1), ("one", [5, 1, 1], 2, 1)]
    assert lines[0]["config"] == {"num_warps": 4, "shared": 128}
    assert lines[0]["constexprs"] == {"BLOCK": 64, "OP": "len", "x.0": None}
    assert lines[0]["signature"]["x"] == "*fp32"
    assert lines[0]["attributes"] == {"x": [["tt.divisibility", 16]]}
    assert (lines[0]["registers"], lines[0]["spills"]) == (24, 0)
    assert {line["call"] for line in lines} == {"c1"} and lines[0]["node"] == "test"


def test_a_call_that_raises_is_told_and_put_back(lines: list[Any]) -> None:
    original = CompiledKernel.launch_metadata
    launches = Launches(lines.append, lambda: "test")

    def call() -> None:
        CompiledKernel("one").launch_metadata((1,), 0)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        launches.run("c1", call)
    assert CompiledKernel.launch_metadata is original and len(lines) == 1


def test_without_triton_nothing_is_told(lines: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, ModuleType(MODULE))
    Launches(lines.append, lambda: "test").run("c1", lambda: None)
    assert lines == []


def test_numbers_among_the_arguments_are_told_and_addresses_are_not(
    lines: list[Any],
) -> None:
    kernel = CompiledKernel("one")

    def call() -> None:
        kernel.launch_metadata((1,), 0, object(), 20, 0.5, True, 1 << 46)
        kernel.launch_metadata((1,), 0, object(), 21, 0.5, True, 1 << 46)

    Launches(lines.append, lambda: "test").run("c1", call)
    assert [line["scalars"] for line in lines] == [["20", "0.5", "True"], ["21", "0.5", "True"]]


def launched(lines: list[Any], names: str, **given: Any) -> list[dict[str, Any]]:
    kernels = {name: CompiledKernel(name) for name in set(names)}
    found: list[dict[str, Any]] = []

    def call() -> None:
        for name in names:
            kernels[name].launch_metadata((1,), 0)

    Launches(found.append, lambda: "test", **given).run("c1", call)
    return found


def test_another_order_of_the_same_launches_shows(lines: list[Any]) -> None:
    turns, blocks = launched(lines, "ABAB"), launched(lines, "AABB")
    assert [line["count"] for line in turns] == [line["count"] for line in blocks] == [2, 2]
    assert turns[0]["sequence"] == turns[1]["sequence"] != blocks[0]["sequence"]
    assert launched(lines, "ABAB")[0]["sequence"] == turns[0]["sequence"]
    assert not turns[0]["cut"]


def test_more_launches_than_are_kept_say_so(
    lines: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flagkit.agent.launches.MOST_KERNELS", 2)
    found = launched(lines, "ABCA")
    assert [(line["kernel"], line["cut"]) for line in found] == [("A", True), ("B", True)]


def test_a_run_in_which_a_tuner_decided_is_run_again_and_that_run_is_told(
    lines: list[Any],
) -> None:
    decisions = [0]
    kernels = {name: CompiledKernel(name) for name in ("reset", "work")}

    def call() -> None:
        if not decisions[0]:
            decisions[0] = 1
            kernels["reset"].launch_metadata((1,), 0)
        kernels["work"].launch_metadata((1,), 0)

    launches = Launches(lines.append, lambda: "test", decisions=lambda: decisions[0])
    launches.run("c1", call)
    launches.run("c2", call)
    assert [(line["call"], line["kernel"]) for line in lines] == [("c1", "work"), ("c2", "work")]
