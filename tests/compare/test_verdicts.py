from __future__ import annotations

from typing import Any

import pytest

from flagkit.compare.ranges import compare
from flagkit.compare.verdicts import DEFAULT_PERCENT, FailOn, parse_fail_on, trips
from flagkit.errors import UsageError


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("incomplete", FailOn(kind="incomplete")),
        ("regression", FailOn(kind="regression", percent=DEFAULT_PERCENT)),
        ("regression:5", FailOn(kind="regression", percent=5.0)),
        ("regression>2.5%", FailOn(kind="regression", percent=2.5)),
        (" regression > 0 ", FailOn(kind="regression", percent=0.0)),
    ],
)
def test_conditions(text: str, parsed: FailOn) -> None:
    assert parse_fail_on(text) == parsed


@pytest.mark.parametrize(
    "text", ["", "regress", "regression:", "regression:x", "regression:-1", "regression:nan",
             "regression:inf", "incomplete:3", "regression<5", "regression:5:6"]
)  # fmt: skip
def test_anything_else_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-on"):
        parse_fail_on(text)


def test_exit_codes() -> None:
    assert parse_fail_on("regression").exit_code == 3
    assert parse_fail_on("incomplete").exit_code == 4


def test_regression_trips_on_any_slower_row(make: Any) -> None:
    before = make.log(make.row("[1]", 1.0), make.row("[2]", 1.0))
    after = make.log(make.row("[1]", 1.25), make.row("[2]", 0.5))
    report = compare(before, after, label="gelu")
    said = trips(report, "regression")
    assert said is not None
    assert said.startswith("gelu: 1 row is slower by more than 3%; worst -20.00%")
    assert "[1]" in said
    assert trips(report, "regression:20") is None
    assert trips(report, "incomplete") is None


def test_incomplete_trips_on_left_out_rows_and_unfinished_runs(make: Any) -> None:
    report = compare(
        make.log(make.row("[1]"), make.row("[2]")), make.log(make.row("[1]")), label="x"
    )
    assert trips(report, "incomplete") == "x: before: 1 only"
    report = compare(make.log(make.row()), make.log(make.row(), incomplete=("died",)), label="x")
    assert trips(report, "incomplete") == "x: after: died"
    invalid = make.log(make.row("[1]"), make.row("[2]", None))
    assert trips(compare(invalid, invalid, label="x"), "incomplete") is None
