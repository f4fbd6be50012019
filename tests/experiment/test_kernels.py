"""Kernel records from made cache folders, and from Triton's own compiler where it is."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.experiment.kernelproof import compare_kernels, prove
from flagkit.experiment.kernels import read_kernels, strip_locations
from flagkit.experiment.launchproof import launch_sequences

if TYPE_CHECKING:
    from pathlib import Path

TTGIR = """#blocked = #ttg.blocked<{order = [0]}>
#loc = loc("/private/%(where)s.py":6:0)
#loc22 = loc("out"(#loc))
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%%out: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("out"(#loc)), %%n: i32 loc("n)("(#loc))) attributes {noinline = false} {
    %%0 = ttg.convert_layout %%out : x loc(callsite(#loc1 at #loc32))
    %%1 = %(op)s loc(#loc25)
  } loc(#loc)
} loc(#loc)
"""


def fill(
    cache: Path,
    name: str = "k",
    *,
    cache_hash: str = "h",
    where: str = "a",
    op: str = "tt.load",
    code: bytes = b"binary",
    **more: Any,
) -> Path:
    """One kernel in a folder of its own."""
    folder = cache / cache_hash.upper()
    folder.mkdir(parents=True)
    data = {"hash": cache_hash, "num_warps": 4, "num_stages": 3, "shared": 16, "name": name}
    (folder / f"{name}.json").write_text(json.dumps({**data, **more}))
    (folder / f"__grp__{name}.json").write_text('{"child_paths": {}, "num_warps": 4}')
    (folder / f"{name}.ttgir").write_text(TTGIR % {"where": where, "op": op})
    (folder / f"{name}.ptx").write_text(f"// {where}")
    (folder / f"{name}.bin").write_bytes(code)
    return cache


def launch(cache_hash: str = "h", kernel: str = "k", call: str = "c1", **more: Any) -> Any:
    line = {
        "kind": "launch",
        "kernel": kernel,
        "hash": cache_hash,
        "node": "t",
        "call": call,
        "grid": [1, 1, 1],
        "order": 0,
        "count": 1,
        "config": {"num_warps": 4, "num_stages": 3, "shared": 16},
        "signature": {"out": "*fp32"},
        "constexprs": {"B": 64},
        "registers": 20,
        "spills": 0,
    }
    return {**line, **more}


def test_a_record(tmp_path: Path) -> None:
    (record,) = read_kernels(fill(tmp_path))
    assert (record.name, record.cache_hash, record.shared) == ("k", "h", 16)
    assert record.options == {"num_warps": 4, "num_stages": 3}
    assert record.signature == "!tt.ptr<f32> {tt.divisibility = 16 : i32}, i32"
    assert record.conversions == 1 and record.ttgir and record.code and not record.reason
    assert not record.launched and record.registers is None


def test_launches_are_joined_by_triton_s_hash(tmp_path: Path) -> None:
    lines = [launch(), launch(call="c2"), launch("gone", "lost"), "junk", {"kind": "use"}]
    record, lost = read_kernels(fill(tmp_path), lines)
    assert record.calls == ("c1", "c2") and record.registers == 20
    assert record.constexprs == '{"B":64}' and "*fp32" in record.signature
    assert lost.name == "lost" and lost.reason == "not in the side's cache" and lost.shared == 16
    json.dumps(record.to_json())


def test_what_is_missing_or_hostile_has_a_reason(tmp_path: Path) -> None:
    folder = fill(tmp_path) / "H"
    (folder / "k.ttgir").unlink()
    (folder / "k.bin").write_bytes(b"\x7fELF cut")
    (folder / "junk.json").write_text("[" * 100_000)
    (folder / "list.json").write_text("[]")
    (folder / "k.autotune.json").write_text('{"num_warps": 1}')
    (record,) = read_kernels(tmp_path)
    assert "TTGIR: none in the cache" in record.reason and "executable: " in record.reason
    assert record.ttgir == record.code == "" and record.conversions is None
    assert read_kernels(tmp_path / "nowhere") == ()


def test_locations_go_and_nothing_else() -> None:
    bare = strip_locations(TTGIR % {"where": "a", "op": 'f "loc(x)"'})
    assert "#loc" not in bare and "private" not in bare
    assert "%n: i32) attributes" in bare and "convert_layout" in bare
    assert strip_locations("a = dialect.alloc(%x)") == "a = dialect.alloc(%x)"


@given(st.text(alphabet='loc(")#a\\ \n', max_size=60))
def test_any_text_can_be_stripped(text: str) -> None:
    strip_locations(text)


def proof(tmp_path: Path, after: dict[str, Any], lines: Any = ((), ())) -> Any:
    one = fill(tmp_path / "before", cache_hash="b")
    other = fill(tmp_path / "after", cache_hash="a", **{"where": "z", **after})
    sides = [read_kernels(one, lines[0]), read_kernels(other, lines[1])]
    return compare_kernels(*sides, launches=lines)


@pytest.mark.parametrize(
    ("after", "verdict", "text"),
    [
        ({}, "identical", "0 of 1 kernels changed"),
        ({"op": "tt.other"}, "ttgir-only", "0 of 1 kernels changed; 1 differ in TTGIR alone"),
        ({"code": b"other"}, "changed", "1 of 1 kernels changed"),
        (
            {"num_warps": 8},
            "only-before",
            "0 of 0 kernels changed; 1 on the before side alone; 1 on the after side alone",
        ),
        (
            {"code": b"\x7fELF"},
            "unknown",
            (
                "0 of 1 kernels changed; 1 could not be compared "
                "(executable: the file's ELF class or byte order is unknown)"
            ),
        ),
    ],
)
def test_verdicts(tmp_path: Path, after: dict[str, Any], verdict: str, text: str) -> None:
    found = proof(tmp_path, after)
    assert found.pairs[0].verdict == verdict and found.text() == text
    assert found.launches.equal is None and not found.same_code
    json.dumps(found.to_json())


def test_layout_conversions_are_counted_where_both_are_known(tmp_path: Path) -> None:
    found = proof(tmp_path, {})
    assert found.conversions == (1, 1)
    assert found.to_json()["conversions"] == {"before": 1, "after": 1}
    assert compare_kernels((), ()).conversions == (0, 0)


def test_equal_kernels_and_launches_are_the_same_code(tmp_path: Path) -> None:
    lines = ([launch("b")], [launch("a", call="c7")])
    found = proof(tmp_path, {}, lines)
    assert found.same_code and "any difference is noise" in found.text()


def test_launches_alone_may_change(tmp_path: Path) -> None:
    lines = ([launch("b")], [launch("a", grid=[2, 1, 1])])
    found = proof(tmp_path, {}, lines)
    assert not found.same_code and found.text() == "0 of 1 kernels changed; the launches differ"


def test_kernels_that_no_call_launched_do_not_count(tmp_path: Path) -> None:
    fill(tmp_path / "before", "tried", cache_hash="x", num_warps=8)
    found = proof(tmp_path, {"code": b"other"}, ([launch("b")], [launch("a")]))
    assert found.text().startswith("1 of 1 kernels changed")


def test_nothing_known() -> None:
    found = compare_kernels((), ())
    assert "nothing can be said" in found.text() and not found.same_code


def test_launch_sequences_go_by_the_call_s_place_in_its_test() -> None:
    lines = [launch(call="c8"), launch(call="c8", kernel="l", order=1), launch(call="c9")]
    shifted = [{**line, "call": line["call"] + "0"} for line in lines]
    assert launch_sequences(lines) == launch_sequences(shifted)
    assert list(launch_sequences(lines)) == [("t", 0), ("t", 1)]


COMPILE = """
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax_kernel(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + cols, v / tl.sum(v, axis=0), mask=cols < n)


types = {"out": "*fp32", "x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
source = ASTSource(softmax_kernel, types, {"BLOCK": 1024})
triton.compile(source, target=GPUTarget("cuda", 90, 32))
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
def test_triton_s_own_compiler(tmp_path: Path) -> None:
    def compiled(name: str, **environ: str) -> Any:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text("\n" * len(name) + COMPILE)
        done = subprocess.run(
            [sys.executable, str(folder / f"{name}.py")],
            env={**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), **environ},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"triton cannot compile here: {done.stderr.strip()[-200:]}")
        return read_kernels(folder / "cache")

    plain, moved = compiled("one"), compiled("another")
    assert plain[0].cache_hash != moved[0].cache_hash
    assert compare_kernels(plain, moved).text() == "0 of 1 kernels changed"
    slow = compiled("slow", DISABLE_PTXAS_OPT="1")
    assert compare_kernels(plain, slow).text() == "1 of 1 kernels changed"


def test_two_sides_directories(tmp_path: Path) -> None:
    for side, cache_hash in (("before", "b"), ("after", "a")):
        fill(tmp_path / side / "caches" / "triton", cache_hash=cache_hash, where=side)
        line = json.dumps(launch(cache_hash))
        (tmp_path / side / "tuning.jsonl").write_text(f"{line}\n{line[:30]}")
    found = prove(tmp_path / "before", tmp_path / "after")
    assert [note.code for note in found.notes()] == ["proof", "same-code"]
    assert prove(tmp_path / "x", tmp_path / "y").notes() == ()


@pytest.mark.parametrize(
    ("launched", "timed", "equal"),
    [
        (["c1"], ["c1"], True),  # the after side was cut short behind its first call
        (["c1"], ["c1", "c2"], False),  # its second call launched nothing
        (["c2"], ["c1", "c2"], False),  # one launch each, but in another call
    ],
)
def test_launches_are_compared_in_the_calls_that_both_sides_timed(
    tmp_path: Path, launched: list[str], timed: list[str], equal: bool
) -> None:
    both = ["c1", "c2"]
    for side, calls, ran in (("before", both, both), ("after", timed, launched)):
        fill(tmp_path / side / "caches" / "triton")
        journal = [
            {"kind": "call", "id": call, "node": "t", "call": number}
            for number, call in enumerate(calls)
        ]
        tuning = [launch(call=call) for call in ran]
        for name, lines in (("measurements.jsonl", journal), ("tuning.jsonl", tuning)):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            (tmp_path / side / name).write_text(text)
    found = prove(tmp_path / "before", tmp_path / "after")
    assert found.launches.equal is equal
    assert found.same_code is equal


@pytest.mark.parametrize(
    ("after", "equal"),
    [({"sequence": "s"}, True), ({"sequence": "t"}, False), ({"cut": True}, None)],
)
def test_order_and_completeness_of_launches(
    tmp_path: Path, after: dict[str, Any], equal: bool | None
) -> None:
    before = {"sequence": "s", "cut": after.get("cut", False)}
    lines = ([launch("b", **before)], [launch("a", **{**before, **after})])
    found = proof(tmp_path, {}, lines)
    assert found.launches.equal is equal and found.same_code is (equal is True)


def test_a_row_that_launched_nothing_of_triton_s_is_not_the_same_code(tmp_path: Path) -> None:
    """A library's kernels may read the switch: nothing is known of them."""
    journal = [
        {"kind": "call", "id": "c0", "node": "t", "call": 0, "role": "op", "status": "ok"},
        {"kind": "call", "id": "c1", "node": "t", "call": 1, "role": "op", "status": "ok"},
        {"kind": "row", "id": "c1", "baseline_id": "c0"},
        {"kind": "call", "id": "c2", "node": "t", "call": 2, "role": "op", "status": "ok"},
        {"kind": "row", "id": "c2"},
    ]
    for side in ("before", "after"):
        fill(tmp_path / side / "caches" / "triton")
        for name, lines in (("measurements.jsonl", journal), ("tuning.jsonl", [launch()])):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            (tmp_path / side / name).write_text(text)
    found = prove(tmp_path / "before", tmp_path / "after")
    assert found.launches.equal and (found.launches.silent, found.launches.rows) == (1, 2)
    assert not found.same_code
    assert "1 of 2 timed rows launched no kernel of Triton's" in found.text()


def test_the_same_code_with_other_numbers_is_no_equal_launch() -> None:
    lines = [launch(scalars=["20", "0.5"])]
    assert launch_sequences(lines) == launch_sequences([launch(scalars=["20", "0.5"])])
    assert launch_sequences(lines) != launch_sequences([launch(scalars=["21", "0.5"])])


def test_candidates_that_nothing_launched_are_not_read(tmp_path: Path) -> None:
    cache = fill(tmp_path / "side", cache_hash="h")
    fill(tmp_path / "side", cache_hash="other")
    assert {r.cache_hash for r in read_kernels(cache, [launch("h")])} == {"h", "other"}
    (only,) = read_kernels(cache, [launch("h")], only_launched=True)
    assert only.cache_hash == "h" and only.code
