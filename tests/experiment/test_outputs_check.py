"""--check on the host: what is equal, close, wrong, and what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.agent.outputs import OutputCheck
from flagkit.compare.ranges import compare_rounds
from flagkit.compare.verdicts import wrong_results
from flagkit.experiment.keptoutputs import CallOutputs, read_outputs, reader
from flagkit.experiment.outputs import Ruling, check_outputs, rule
from flagkit.experiment.outputtext import unravel
from flagkit.model import Regime, Row, RowKey, RunLog
from flagkit.reporters import wording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Side:
    """A made side: calls run through the agent's own check, and rows for them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        path.mkdir()
        (path / "agent.json").write_text('{"schema": 1, "check": true}')

    def call(self, fn: Callable[[], Any], arrays: Any = (), **changes: Any) -> None:
        call = f"c{len(self.rows) + 1}"
        line = {"kind": "outputs", "call": call, "node": "t"}
        line |= OutputCheck(self.path).run(call, fn, arrays)
        line.update(changes)
        with (self.path / "measurements.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        key = RowKey(op="gelu", dtype="float32", size_key=f"[{len(self.rows)}]", node="t")
        regime = Regime(requested="host", resolved="host", cache="hot")
        row = Row(key=key, status="ok", size_detail="", latency_ms=1.0, call=call, regime=regime)
        self.rows.append(row)

    @property
    def log(self) -> RunLog:
        return RunLog(rows=tuple(self.rows), journalled=True)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Side, Side]:
    return Side(tmp_path / "before"), Side(tmp_path / "after")


def ruled(before: Side, after: Side) -> Ruling:
    kept = [read_outputs(side.path)["c1"] for side in (before, after)]
    return rule(*kept, readers=(reader(before.path), reader(after.path)))


def checked(*rounds: tuple[Side, Side]) -> Any:
    logs = [(before.log, after.log) for before, after in rounds]
    report = compare_rounds(logs, label="gelu")
    return check_outputs(report, [(b.path, a.path) for b, a in rounds], logs)


def result(before: Any, after: Any, sides: tuple[Side, Side]) -> Ruling:
    sides[0].call(lambda: before)
    sides[1].call(lambda: after)
    return ruled(*sides)


ONES = np.ones(8, "float32")


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (ONES, "equal"),
        (ONES * np.float32(1 + 1e-6), "close"),
        (ONES * np.float32(1.001), "wrong"),
        (ONES.astype("float16"), "wrong"),
        (ONES[:4], "wrong"),
        ([ONES, ONES], "wrong"),
        (None, "wrong"),
    ],
)
def test_a_row_is_what_its_outputs_are(after: Any, state: str, sides: tuple[Side, Side]) -> None:
    found = result(ONES, after, sides)
    assert found.state == state
    assert found.types == ({"float32"} if state == "close" else frozenset())


def test_the_worst_difference_is_named(sides: tuple[Side, Side]) -> None:
    before = np.zeros((2, 3))
    after = before.copy()
    after[1, 2], after[0, 1] = 0.5, 0.25
    found = result(before, after, sides)
    assert "returned[1, 2] is 0 before and 0.5 after, off by 0.5" in found.detail
    assert "rtol 1e-07 atol 1e-07" in found.detail and "2 of 6 values are off" in found.detail
    assert found.data["place"] == [1, 2] and found.data["off"] == 2


def test_whole_numbers_are_shown_in_full(sides: tuple[Side, Side]) -> None:
    found = result(123456789, 123456790, sides)
    assert "returned is 123456789 before and 123456790 after, off by 1 where 0" in found.detail


def test_nan_is_equal_to_nan_and_to_nothing_else(sides: tuple[Side, Side]) -> None:
    nan = np.array([np.nan, -0.0])
    other = np.frombuffer(np.array([0xFFF8000000000001, 0], "uint64").tobytes(), "float64")
    assert result(nan, other, sides).state == "close"
    sides[0].call(lambda: np.array([np.nan]))
    sides[1].call(lambda: np.array([1.0]))
    (note, *_) = checked(sides).notes
    assert note.code == "wrong-result" and "is nan before and 1 after (float64" in note.text


def test_a_sampled_output_is_named_in_its_own_places(sides: tuple[Side, Side]) -> None:
    before = np.zeros((1000, 1000), "float32")
    after = before.copy()
    after[-1, -1] = 1
    found = result(before, after, sides)
    assert found.state == "wrong" and found.data["place"] == [999, 999]
    assert "sampled values are off" in found.detail


def test_a_difference_outside_the_sample_is_unchecked(sides: tuple[Side, Side]) -> None:
    before = np.zeros(1_000_000, "float32")
    after = before.copy()
    after[300] = 1
    found = result(before, after, sides)
    assert found.state == "unchecked" and "none of 65536 sampled of 1000000" in found.detail


def test_an_operator_that_does_not_repeat_itself_is_no_alarm(sides: tuple[Side, Side]) -> None:
    runs = iter(range(9))
    for side in sides:
        side.call(lambda: np.full(3, float(next(runs))))
    found = ruled(*sides)
    assert found.state == "unchecked" and "differs from itself" in found.detail


def test_an_after_side_that_does_not_repeat_is_wrong(sides: tuple[Side, Side]) -> None:
    runs = iter(range(1, 9))
    sides[0].call(lambda: np.zeros(3))
    sides[1].call(lambda: np.full(3, float(next(runs))))
    found = ruled(*sides)
    assert found.state == "wrong" and "differs from run to run" in found.detail


def test_written_inputs_are_compared_and_others_are_not(sides: tuple[Side, Side]) -> None:
    for side, value in zip(sides, (1.0, 2.0), strict=True):
        out, leftovers = np.zeros(3), np.full(3, value)
        side.call(lambda out=out: out.fill(1), [out, leftovers])
    assert ruled(*sides).state == "equal"


def test_an_input_that_one_side_held_already_is_compared(sides: tuple[Side, Side]) -> None:
    for side, held in zip(sides, (0.0, 1.0), strict=True):
        out = np.full(3, held)
        side.call(lambda out=out: out.fill(1), [out])
    assert ruled(*sides).state == "equal"


def test_nothing_to_compare_is_unchecked(sides: tuple[Side, Side]) -> None:
    for side in sides:
        side.call(lambda: None, [np.ones(2)])
    assert "returned no array" in ruled(*sides).detail


def test_types_that_cannot_be_decoded_are_compared_by_bytes(sides: tuple[Side, Side]) -> None:
    assert result(np.ones(2, ">f4"), np.ones(2, ">f4"), sides).state == "equal"
    for side, value in zip(sides, (1, 2), strict=True):
        side.call(lambda value=value: np.full(2, value, ">f4"))
    notes = checked(sides).notes
    assert any("cannot be decoded" in n.text for n in notes if n.code == "unchecked")


def test_a_report_says_wrong_rows_first_and_flags_them(sides: tuple[Side, Side]) -> None:
    for side, value in zip(sides, (1.0, 2.0), strict=True):
        side.call(lambda: ONES)
        side.call(lambda value=value: np.full(2, value))
        side.call(lambda value=value: ONES * np.float32(1 + value * 1e-7))
        side.call(lambda: ONES, reason="too large", outputs=[])
    report = checked(sides)
    assert [n.code for n in report.notes] == ["wrong-result", "unchecked", "checked"]
    assert [pair.flags for pair in report.pairs] == [(), ("wrong-result",), (), ()]
    wrong, left, said = report.notes
    assert wrong.text.startswith("wrong result: gelu float32 [1]: returned[0] is 1 before")
    assert wrong.data["row"]["size_key"] == "[1]" and wrong.data["difference"] == 1.0
    assert left.text == "1 row not checked: before: too large"
    assert said.text == (
        "3 rows checked: 1 bitwise equal, 1 within tolerance "
        "(float32 rtol 1.3e-06 atol 1e-05), 1 wrong"
    )
    assert wrong_results(report) == "wrong result in 1 row"
    assert wording.headline(report).startswith("gelu: wrong result in 1 row: 4 rows paired")
    grave = replace(report, incomplete=("before: it died",))
    assert [text[:12] for _, text in wording.warnings(grave)][:2] == [
        "wrong result",
        "incomplete r",
    ]
    assert (False, said.text) in wording.warnings(report)


def test_a_wrong_row_of_any_round_is_said(tmp_path: Path) -> None:
    rounds = []
    for number, after in ((1, 1.0), (2, 2.0)):
        both = Side(tmp_path / f"b{number}"), Side(tmp_path / f"a{number}")
        both[0].call(lambda: ONES)
        both[1].call(lambda after=after: ONES * np.float32(after))
        rounds.append(both)
    report = checked(*rounds)
    assert "round 2: returned" in report.notes[0].text
    assert report.pairs[0].flags == ("wrong-result",)


def test_many_wrong_rows_are_counted(sides: tuple[Side, Side]) -> None:
    for side, value in zip(sides, (1, 2), strict=True):
        for _ in range(13):
            side.call(lambda value=value: value)
    report = checked(sides)
    assert [n.code for n in report.notes].count("wrong-result") == 11
    assert wrong_results(report) == "wrong result in 13 rows"


def test_without_check_nothing_is_said(sides: tuple[Side, Side]) -> None:
    for side, value in zip(sides, (1, 2), strict=True):
        side.call(lambda value=value: value)
        (side.path / "agent.json").write_text('{"schema": 1, "check": false}')
    assert checked(sides).notes == ()


def test_rows_without_kept_outputs_are_unchecked(sides: tuple[Side, Side]) -> None:
    for side in sides:
        side.call(lambda: 1)
        (side.path / "measurements.jsonl").write_text("")
    (note,) = checked(sides).notes
    assert note.text == "1 row not checked: before: no outputs were kept"
    for side in sides:
        side.rows[0] = replace(side.rows[0], call="")
    (note,) = checked(sides).notes
    assert "flagkit did not time this row" in note.text


def test_rows_that_do_not_pair_are_not_compared(sides: tuple[Side, Side]) -> None:
    for side, value in zip(sides, (1, 2), strict=True):
        side.call(lambda value=value: value)
        side.call(lambda: 1)
    sides[1].rows[0] = replace(sides[1].rows[0], flags=("inputs-differ",))
    assert [note.code for note in checked(sides).notes] == ["checked"]


@pytest.mark.parametrize("damage", ["missing", "short", "other"])
def test_damaged_values_are_unchecked(sides: tuple[Side, Side], damage: str) -> None:
    result(ONES, ONES * 2, sides)
    file = sides[1].path / "outputs" / "c1.bin"
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(ONES.tobytes()[: 5 if damage == "short" else None])
    assert ruled(*sides).state == "unchecked"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@given(key=st.sampled_from(["name", "dtype", "shape", "digested", "sample", "again"]), value=ANY)
def test_any_journal_line_is_read(tmp_path_factory: Any, key: str, value: Any) -> None:
    folder = tmp_path_factory.mktemp("side")
    output = {
        "name": "returned",
        "dtype": "float32",
        "shape": [2],
        "bytes": 8,
        "digested": 8,
        "written": True,
        "reason": "",
        "sha256": "0",
        "sample": {"offset": 0, "bytes": 8, "runs": 1, "run": 2},
    }
    line = {"kind": "outputs", "call": "c1", "reason": "", "outputs": [{**output, key: value}]}
    good = {**line, "call": "c2", "outputs": [{**output, "sha256": "1"}]}
    (folder / "measurements.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(good)}\n")
    found = read_outputs(folder)
    assert isinstance(found["c1"], CallOutputs)
    read = reader(folder)
    for pair in ((found["c1"], found["c2"]), (found["c2"], found["c1"])):
        assert rule(*pair, readers=(read, read)).state in ("unchecked", "wrong")


def test_a_call_id_is_no_path(tmp_path: Path) -> None:
    line = {"kind": "outputs", "call": "../c1", "reason": "", "outputs": []}
    (tmp_path / "measurements.jsonl").write_text(json.dumps(line) + "\n[1]\n")
    assert read_outputs(tmp_path) == {}


def test_places() -> None:
    shape = (3, 4, 5)
    assert all(unravel(i, shape) == np.unravel_index(i, shape) for i in range(60))
    assert unravel(0, ()) == ()
