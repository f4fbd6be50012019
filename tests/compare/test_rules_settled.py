"""Outputs that a benchmark made without filling do not make inputs differ."""

from __future__ import annotations

import pytest

from flagkit.compare.ranges import compare
from flagkit.model import Inputs, Row, RowKey, RunLog


def log(digest: str, settled: str) -> RunLog:
    row = Row(
        key=RowKey(op="gelu", dtype="torch.float16", size_key="[[4]]"),
        status="ok",
        size_detail="[[4]]",
        latency_ms=1.0,
        inputs=Inputs(fingerprint="f", digest=digest, settled=settled),
    )
    return RunLog(rows=(row,))


@pytest.mark.parametrize(
    ("before", "after", "paired"),
    [
        (("a", "x"), ("a", "x"), 1),
        (("a", "x"), ("b", "x"), 1),
        (("a", "x"), ("a", "y"), 1),
        (("a", "x"), ("b", "y"), 0),
        (("a", ""), ("b", ""), 0),
    ],
)
def test_either_digest_shows_equal_inputs(
    before: tuple[str, str], after: tuple[str, str], paired: int
) -> None:
    report = compare(log(*before), log(*after), label="gelu")
    assert len(report.pairs) == paired
    assert report.ledger.before.inputs_differ == 1 - paired
