"""Rows whose windows do not agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.ranges import compare, compare_rounds
from flagkit.compare.steadiness import spread_percent

STEADY = (1.0, 1.001, 1.002, 1.003, 1.004)
SETTLING = (0.8, 0.82, 0.9, 1.0, 1.0)


def test_a_row_is_unsteady_where_either_side_is(make: Any) -> None:
    before = make.log(*(make.row(size, samples_ms=STEADY) for size in ("[1]", "[2]", "[3]")))
    after = make.log(
        make.row("[1]", samples_ms=STEADY),
        make.row("[2]", samples_ms=SETTLING),
        make.row("[3]", samples_ms=(5.0, *STEADY, 0.1)),
    )
    report = compare(before, after, label="x")
    assert [pair.flags for pair in report.pairs] == [(), ("unsteady",), ()]
    (note,) = [note for note in report.notes if note.code == "unsteady"]
    assert note.text.startswith("1 row unsteady: half of a side's windows lie more than 1% apart")
    assert note.data == {"rows": 1, "widest_percent": pytest.approx(20.0)}
    other = compare(after, before, label="x")
    assert [pair.flags for pair in other.pairs] == [(), ("unsteady",), ()]


@pytest.mark.parametrize(
    ("before_ms", "flags"), [(1.0, ("unsteady",)), (2.9, ("unsteady",)), (9.0, ())]
)
def test_a_speedup_many_times_the_spread_stands(
    make: Any, before_ms: float, flags: tuple[str, ...]
) -> None:
    wide = (0.97, 0.97, 1.0, 1.05, 1.05)  # the middle half lies 8 % apart
    before = make.log(make.row("[1]", before_ms, samples_ms=tuple(before_ms * x for x in STEADY)))
    after = make.log(make.row("[1]", 1.0, samples_ms=wide))
    assert compare(before, after, label="x").pairs[0].flags == flags


def test_steady_rows_and_rows_without_samples_say_nothing(make: Any) -> None:
    log = make.log(make.row("[1]", samples_ms=STEADY), make.row("[2]"))
    report = compare(log, log, label="x")
    assert not any(pair.flags for pair in report.pairs)
    assert "unsteady" not in {note.code for note in report.notes}


def test_only_the_round_that_is_shown_counts(make: Any) -> None:
    def log(ms: float, samples: tuple[float, ...]) -> Any:
        return make.log(make.row("[1]", ms, samples_ms=samples))

    one = log(1.0, STEADY)
    rounds = [(one, log(1.1, SETTLING)), (one, log(1.0, STEADY)), (one, log(0.9, STEADY))]
    assert compare_rounds(rounds, label="x").pairs[0].flags == ()
    rounds = [(one, log(1.1, STEADY)), (one, log(1.0, SETTLING)), (one, log(0.9, STEADY))]
    assert compare_rounds(rounds, label="x").pairs[0].flags == ("unsteady",)


@pytest.mark.parametrize("samples", [(), (1.0,), (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 0.0)])
def test_too_few_windows_tell_nothing(samples: tuple[float, ...]) -> None:
    assert spread_percent(samples) is None


@given(st.lists(st.floats(0.001, 1000), min_size=4), st.floats(0.01, 100))
def test_the_spread_is_of_no_unit_and_no_order(samples: list[float], scale: float) -> None:
    spread = spread_percent(samples)
    assert spread is not None and spread >= 0
    assert spread_percent([x * scale for x in reversed(samples)]) == pytest.approx(spread, abs=1e-6)
    assert spread_percent([samples[0]] * 5) == 0
