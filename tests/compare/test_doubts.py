"""Rows of equal keys that may not be the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flagkit.compare.ranges import compare
from flagkit.model import UNKNOWN, Damaged, Row, RunLog, Source, number_rows


def log(*lines: Row | str, file: str = "a.log") -> RunLog:
    """A log of rows and of the texts of damaged ones, a line each."""
    rows, damaged = [], []
    for number, line in enumerate(lines, 1):
        source = Source(file=file, line=number)
        if isinstance(line, str):
            damaged.append(Damaged(text=line, reason="cut", source=source))
        else:
            rows.append(replace(line, source=source))
    return RunLog(rows=number_rows(rows), damaged=tuple(damaged), source=file)


def reasons(before: RunLog, after: RunLog) -> list[str]:
    report = compare(before, after, label="x")
    return [entry.reason for entry in report.unpaired if entry.row is not None]


def paired(before: RunLog, after: RunLog) -> list[str]:
    return [pair.before.key.size_key for pair in compare(before, after, label="x").pairs]


def test_rows_of_an_untold_operator_pair_only_where_none_is_told(make: Any) -> None:
    untold = make.row(op=UNKNOWN, dtype=UNKNOWN)
    told = make.row(op="gelu")
    assert paired(log(untold), log(untold)) == ["[[64]]"]
    for one, other in (
        (log(untold, told), log(untold, told)),
        (log(untold), log(untold, told)),
        (log(told, untold), log(untold)),
    ):
        report = compare(one, other, label="x")
        assert all(pair.before.key.op == "gelu" for pair in report.pairs)
        lost = [entry for entry in report.unpaired if entry.row and entry.row.key.op == UNKNOWN]
        assert [entry.reason for entry in lost] == ["ambiguous", "ambiguous"]
    assert reasons(log(untold, told), log(told)) == ["missing-after"]


CUT = "SUCCESS               0.100000            0.05"
ALSO = "SUCCESS               0.100000            0.2"


def test_what_is_left_of_a_size_shown_twice_may_be_another_row(make: Any) -> None:
    first, second = make.row("[1]", 0.1), make.row("[1]", 0.5)
    both = ["ambiguous", "ambiguous"]
    assert reasons(log(CUT, second), log(first, ALSO)) == both
    assert reasons(log(CUT, second), log(first, CUT)) == both
    other = (make.row("[2]", 1.0), make.row("[2]", 2.0))
    assert paired(log(CUT, second, *other), log(first, ALSO, *other)) == ["[2]", "[2]"]
    assert reasons(log(CUT, second, *other), log(first, ALSO, *other)) == both
    assert paired(log(CUT, second, *other), log(first, *other, ALSO)) == []
    told = f"noise {'':10}[1]"
    assert paired(log(told, second, *other), log(first, *other, told)) == ["[2]", "[2]"]


def test_damage_that_cannot_mislead_costs_itself_alone(make: Any) -> None:
    rows = [make.row(f"[{n}]") for n in range(4)]
    assert len(paired(log(CUT, *rows[1:]), log(*rows[:3], ALSO))) == 2
    twice = [make.row("[9]"), make.row("[9]")]
    assert len(paired(log(CUT, *twice), log(*twice))) == 2
    assert len(paired(log(*twice, CUT), log(*twice, ALSO))) == 2
    same = log(CUT, twice[0], ALSO, twice[1], CUT)
    assert len(paired(same, same)) == 2
    elsewhere = [make.row("[1]", op="relu") for _ in range(2)]
    before = log(CUT, *rows[1:], *elsewhere)
    assert len(paired(before, log(*rows[:3], ALSO, *rows[3:], *elsewhere))) == 5
    later = log(*twice, CUT, file="b.log")
    joined = RunLog(rows=number_rows([*log(*rows).rows, *later.rows]), damaged=later.damaged)
    assert len(paired(joined, joined)) == 6


@pytest.mark.parametrize("damaged", ["x ] [1]", "[2", "(1]", "]", "", "[" * 99])
def test_text_that_tells_no_whole_size_may_be_any(make: Any, damaged: str) -> None:
    first, second = make.row("[1]", 0.1), make.row("[1]", 0.5)
    assert reasons(log(damaged, second), log(first, damaged)) == ["ambiguous", "ambiguous"]
