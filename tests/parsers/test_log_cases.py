"""Made logs with one trap each, and real ones where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flagkit.errors import InputError
from flagkit.model import RunLog
from flagkit.parsers import (
    flaggems_json,
    flaggems_record,
    flaggems_table,
    flagkit_journal,
    markdown,
)
from flagkit.parsers.reading import read_log

ROOT = Path(__file__).parents[2]
MADE = ROOT / "tests" / "data" / "synthetic"
SHARED = ROOT.parent / "shared" / "cases"
PARSERS = [
    module.flagkit_parser()
    for module in (flaggems_json, flaggems_record, flaggems_table, flagkit_journal, markdown)
]

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared cases beside the checkout")


def folders() -> list[Any]:
    return [MADE, pytest.param(SHARED / "synthetic", marks=needs_shared)]


def expected(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        return {}
    told: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return told


CASES = [
    pytest.param(folder, name, id=f"{folder.parent.name}-{name}")
    for folder in (MADE, SHARED / "synthetic")
    for name in expected(folder)
]


def log_of(path: Path) -> RunLog:
    try:
        return read_log(path, PARSERS)
    except InputError as error:
        assert "holds no rows" in str(error)
        return RunLog()


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_made_log(folder: Path, name: str) -> None:
    told = expected(folder)[name]
    log = log_of(folder / name)
    good = [row for row in log.rows if row.status == "ok"]
    short = [
        [r.key.op, r.key.dtype, r.key.size_key, r.baseline_ms, r.latency_ms]
        for r in good
        if r.latency_ms is not None
    ]
    if isinstance(told.get("rows"), list):
        assert short == told["rows"]
    elif "rows" in told:
        assert len(good) == told["rows"]
    if "valid_rows" in told:
        assert len(good) == told["valid_rows"]
    if "invalid" in told:
        assert sum(row.status == "invalid" for row in log.rows) == told["invalid"]
    if "failed" in told:
        keys = [[r.key.op, r.key.dtype, r.key.size_key] for r in log.rows if r.status == "failed"]
        assert keys == told["failed"]
    if "speedup_last" in told:
        last = good[-1]
        assert last.baseline_ms and last.latency_ms
        assert last.baseline_ms / last.latency_ms == pytest.approx(told["speedup_last"])
    assert len(log.damaged) == told.get("damaged", 0)
    assert bool(log.incomplete) == bool("test_failures" in told or "Siz" in str(log.damaged))


PAIRS = sorted(SHARED.glob("pairs/*")) if SHARED.is_dir() else []


@needs_shared
@pytest.mark.parametrize("folder", PAIRS, ids=lambda path: path.name)
def test_real_pair(folder: Path) -> None:
    told = expected(folder)
    sides = {name: read_log(folder / f"{name}.log", PARSERS) for name in ("a", "b")}
    for name, log in sides.items():
        rows = {(r.key.op, r.key.dtype, r.key.size_key, r.key.occurrence): r for r in log.rows}
        assert len(rows) == told["paired"] + len(told[f"only_{name}"])
        for row in told["rows"]:
            found = rows[row["op"], row["dtype"], row["detail"], row["nth"]]
            assert found.latency_ms == row[f"gems_{name}"]
            assert found.baseline_ms == row[f"torch_{name}"]


REAL = sorted([*SHARED.glob("logs/*"), *SHARED.glob("h200/*")]) if SHARED.is_dir() else []
ROWS = {"001": 15, "007": 15, "010": 9, "014": 0, "015": 10, "016": 9, "020": 30, "045": 15}
ROWS |= {"047": 20, "050": 6, "051": 3, "gelu_bwd": 5, "mm": 9, "softmax": 20}


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_log(path: Path) -> None:
    log = log_of(path)
    wanted = [count for start, count in ROWS.items() if path.name.startswith(start)]
    if wanted:
        assert [len(log.rows)] == wanted
    assert log.damaged == ()
    assert all("" not in (row.key.op, row.key.dtype, row.key.size_key) for row in log.rows)
