"""Opening a log, finding its parser, saying what is wrong with it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from flagkit.errors import InputError, UsageError
from flagkit.parsers import (
    flaggems_json,
    flaggems_record,
    flaggems_table,
    flagkit_journal,
    markdown,
)
from flagkit.parsers import stream as stream_module
from flagkit.parsers.reading import parse_file, read_log
from flagkit.parsers.stream import Lines, Wanted, utf8_head

if TYPE_CHECKING:
    from pathlib import Path

PARSERS = [
    module.flagkit_parser()
    for module in (flaggems_json, flaggems_record, flaggems_table, flagkit_journal, markdown)
]
ROW = f"{'SUCCESS':<10}{'0.500000':>20}{'0.250000':>20}{'2.000':>20}{'':10}[torch.Size([64, 64])]\n"
TABLE = (
    "\nOperator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
    "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n"
    + "-" * 95
    + f"\n{ROW}\n"
)
RECORD = (
    '[INFO] {"op_name": "abs", "dtype": "torch.float16", "mode": "kernel", "level": "core", '
    '"result": [{"shape_detail": [[64, 64]], "latency_base": 0.5, "latency": 0.25}]}\n'
)


@pytest.fixture
def log(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(data: str | bytes, name: str = "run.log") -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return make


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gbk"]
)
def test_encodings(log, encoding: str) -> None:  # type: ignore[no-untyped-def]
    data = (TABLE.replace("\n", "\r\n") + "# 测试\r\n").encode(encoding)
    rows = read_log(log(data), PARSERS).rows
    assert [r.key.text() for r in rows] == ["gelu torch.float16 [[64,64]]"]


def test_each_format_finds_its_parser(log) -> None:  # type: ignore[no-untyped-def]
    assert len(read_log(log(RECORD), PARSERS).rows) == 1
    assert len(read_log(log('{"kind": "start"}\n{"kind": "row", "op": "a"}\n'), PARSERS).rows) == 1
    text = "| Shape | Torch (ms) | Gems (ms) |\n|---|---|---|\n| [1] | 0.5 | 0.25 |\n"
    assert len(read_log(log(text), PARSERS).rows) == 1


def test_two_claims_are_an_error_that_names_both(log) -> None:  # type: ignore[no-untyped-def]
    path = log(TABLE + RECORD)
    with pytest.raises(InputError, match=r"flaggems-record, flaggems-table.*--parser"):
        read_log(path, PARSERS)
    assert len(read_log(path, PARSERS, "flaggems-table").rows) == 1
    with pytest.raises(UsageError, match="unknown parser 'x'"):
        read_log(path, PARSERS, "x")


def test_a_table_after_megabytes_of_noise(log) -> None:  # type: ignore[no-untyped-def]
    noise = "".join(f"Autotuning kernel mm with config {n}\n" for n in range(30_000))
    found = read_log(log(noise + TABLE + noise), PARSERS)
    assert [row.source.line for row in found.rows] == [30_005]
    wide = noise.encode("utf-16-le") + TABLE.encode("utf-16-le")
    assert [row.source.line for row in read_log(log(wide), PARSERS).rows] == [30_005]


XDIST = "bringing up nodes...\ngw0 [4] / gw1 [4]\n....\n4 passed in 3.21s\n"
QUIET = "collected 4 items\n\ntest_x.py ....\n\n4 passed in 3.21s\n"
SKIPPED = (
    "=== test session starts ===\ncollected 2 items\n\ntest_x.py ss\n"
    "SKIPPED [2] test_x.py:33: CUDA only\n== 2 skipped in 1s ==\n"
)
QUERY = "Operator name                            |  abs\nRecommended Core Shapes[M, N] |  [(1,)]\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "is empty"),
        ("\n \n", "nothing but blanks"),
        ("\ufeff", "nothing but blanks"),
        ("hello\n", "not a log of a known format"),
        (b"\x7fELF\0\0\0\1" * 100, "not a text log"),
        (b"\x1f\x8b\x08junk", "is compressed: unpack it"),
        ("[INFO] Benchmark record logger enabled\n", "banner only"),
        (XDIST, "without -n"),
        (QUIET, "with -s"),
        (SKIPPED, "no table was printed: test_x.py:33 was skipped: CUDA only"),
        (SKIPPED.replace("SKIPPED [2] test_x.py:33: CUDA only\n", ""), "2 tests skipped"),
        (QUERY, "without --query"),
        ("collected 0 items\n", "no test"),
        (TABLE.replace(ROW, ""), "a table begins, but no row follows"),
        (TABLE.replace(ROW, "") + "FAILED t.py::a - oom\n", "t.py::a failed: oom"),
    ],
)
def test_logs_without_rows_say_why(log, data: str | bytes, says: str) -> None:  # type: ignore[no-untyped-def]
    path = log(data)
    with pytest.raises(InputError) as caught:
        read_log(path, PARSERS)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "asked", "names"),
    [
        (TABLE, "flaggems-record", "a log of flaggems-table: leave"),
        (RECORD, "flaggems-table", "a log of flaggems-record: leave"),
        (TABLE + RECORD, "markdown", "a log of flaggems-record and flaggems-table: say"),
        (TABLE.replace(ROW, ""), "flaggems-record", "a log of flaggems-table: leave"),
        (TABLE.replace(ROW, ""), "flaggems-table", "a table begins, but no row follows"),
        ("hello\n", "flaggems-table", "nothing in it is a row of flaggems-table"),
    ],
)
def test_another_parser_is_named_than_the_one_asked_for(
    tmp_path: Path, data: str, asked: str, names: str
) -> None:
    path = tmp_path / "run.log"
    path.write_text(data)
    with pytest.raises(InputError) as caught:
        read_log(path, PARSERS, asked)
    assert names in str(caught.value)


def test_paths_that_are_no_logs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        read_log(tmp_path, PARSERS)
    with pytest.raises(InputError, match="does not exist"):
        read_log(tmp_path / "none.log", PARSERS)


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="this user may read everything"
)
def test_an_unreadable_log(log) -> None:  # type: ignore[no-untyped-def]
    path = log(TABLE)
    path.chmod(0)
    with pytest.raises(InputError, match="cannot read"):
        read_log(path, PARSERS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(TABLE))
    writer.start()
    assert len(read_log(path, PARSERS).rows) == 1
    writer.join()


def test_a_sides_own_files_need_no_rows(log) -> None:  # type: ignore[no-untyped-def]
    assert parse_file(log(""), PARSERS[2]).seen == 0
    assert len(parse_file(log(TABLE), PARSERS[2]).rows) == 1


def test_equal_keys_are_numbered(log) -> None:  # type: ignore[no-untyped-def]
    rows = read_log(log(TABLE + TABLE), PARSERS).rows
    assert [row.key.occurrence for row in rows] == [0, 1]


def test_a_marker_is_its_operators_wherever_it_stands(log) -> None:  # type: ignore[no-untyped-def]
    marker = "BENCHMARK_DIRECT_NO_CUDAGRAPH op=gelu phase=capture reason=it says no\n"
    text = TABLE + marker + TABLE.replace("gelu", "relu")
    found = read_log(log(text), PARSERS)
    gelu, relu = found.rows
    assert (gelu.regime.requested, gelu.regime.label) == ("graph", "event/cold")
    assert (gelu.regime.fallback_reason, gelu.regime.phase) == ("it says no", "capture")
    assert gelu.flags == ("fallback",)
    assert relu.regime.label == "unknown"
    assert [note.code for note in found.notes] == ["fallback"]


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("op=gelu phase=capture", ["event/cold", "graph/hot", "host/hot"]),
        ("op=fused_moe phase=capture", ["graph/hot", "event/cold", "host/hot"]),
        ("op=other phase=capture", ["graph/hot", "graph/hot", "host/hot"]),
        ("gelu capture failed", ["event/cold", "graph/hot", "host/hot"]),
        ("while capture was going on", ["event/cold", "event/cold", "host/hot"]),
        ("", ["event/cold", "event/cold", "host/hot"]),
    ],
)
def test_whose_rows_a_marker_speaks_of(log, line: str, labels: list[str]) -> None:  # type: ignore[no-untyped-def]
    graph = TABLE.replace("mode=kernel", "mode=cudagraph")
    text = f"BENCHMARK_DIRECT_NO_CUDAGRAPH {line}\n" + graph
    text += "[cudagraph-plugin] patched do_bench\n" + TABLE.replace("gelu", "fused_moe")
    text += TABLE.replace("gelu", "relu").replace("mode=kernel", "mode=operator")
    assert [row.regime.label for row in read_log(log(text), PARSERS).rows] == labels


def test_journals_are_told(log) -> None:  # type: ignore[no-untyped-def]
    entry = '{"kind": "start"}\n{"kind": "row", "op": "a", "node": "t::a", "latency_ms": 1.0}\n'
    assert read_log(log(entry), PARSERS).journalled
    assert not read_log(log(TABLE), PARSERS).journalled


class TestLines:
    DATA = b"".join(b"line %d%s\n" % (n, b" needle" if n % 7 == 0 else b"") for n in range(200))

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
    @pytest.mark.parametrize("ending", [b"", b"the end", b"the needle"])
    @pytest.mark.parametrize("rare", [b"n", b"d", b"l"])
    def test_blocks_of_any_size(self, size: int, ending: bytes, rare: bytes) -> None:
        data = self.DATA + ending
        blocks = [data[at : at + size] for at in range(0, len(data), size)]
        lines = Lines(blocks)
        assert list(lines) == data.splitlines(keepends=True)
        assert lines.number == len(data.splitlines())
        waiting = Lines(blocks)
        waiting.wait_for(Wanted({b"needle": rare}, rb"line 3\b"))
        told = [(waiting.number, line) for line in waiting]
        wanted = [
            (number, line)
            for number, line in enumerate(data.splitlines(keepends=True), 1)
            if b"needle" in line or line.startswith((b"line 3\n", b"line 3 "))
        ]
        assert told == wanted
        assert waiting.number == len(data.splitlines())

    def test_a_line_without_an_end_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream_module, "MAX_LINE", 1000)
        lines = list(Lines([b"x" * 600] * 50 + [b"\nnext\n"]))
        assert len(lines[0]) < 2000
        assert lines[1] == b"next\n"

    def test_a_mark_of_byte_order_alone(self) -> None:
        assert utf8_head(b"\xff\xfe") == b""
        assert utf8_head(b"\xef\xbb\xbfa") == b"a"


def test_a_title_above_a_markdown_table_is_no_printed_table(log) -> None:  # type: ignore[no-untyped-def]
    text = (
        "Operator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n\n"
        "| Size Detail | Torch Latency (ms) | Gems Latency (ms) |\n|---|---|---|\n| [1] | 0.5 | 0.25 |\n"
    )
    assert [r.key.text() for r in read_log(log(text), PARSERS).rows] == ["gelu torch.float16 [1]"]


def test_a_hole_in_a_file_never_joins_what_stands_on_both_sides_of_it(tmp_path: Path) -> None:
    hole = "\0" * 64
    detail = '{"shape_detail": [[SIZE]], "latency": 0.0123456}'
    items = ", ".join(detail.replace("SIZE", str(size)) for size in (64, 128, 256))
    record = '[INFO] {"op_name": "abs", "dtype": "torch.float16", "result": [' + items + "]}\n"
    first, second = record.index("3456"), record.index("3456", record.index("[[128]]"))
    path = tmp_path / "run.log"
    path.write_text(record[:first] + hole + record[second:] + RECORD)
    log = read_log(path, PARSERS)
    assert [row.latency_ms for row in log.rows] == [0.25]
    assert len(log.damaged) == 1

    rows = ROW + ROW.replace("64, 64", "64, 32").replace("0.250000", "0.350000")
    at = rows.index("0.250000")
    table = TABLE.replace(ROW, rows[:at] + hole + rows[at + len(ROW) :] + ROW)
    path.write_text(table)
    log = read_log(path, PARSERS)
    assert [row.size_detail for row in log.rows] == ["[torch.Size([64, 64])]"]
    assert len(log.damaged) == 1


def test_a_hole_before_a_line_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("\0" * 4096 + TABLE.replace(ROW, ROW + "\0" * 128 + ROW))
    log = read_log(path, PARSERS)
    assert len(log.rows) == 2 and not log.damaged


def test_a_loggers_first_line_long_before_a_table(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    banner = "[INFO] Benchmark record logger enabled\n"
    path.write_text(banner + "noise\n" * 20_000 + TABLE)
    assert len(read_log(path, PARSERS).rows) == 1
    path.write_text(banner + "noise\n" * 20_000)
    with pytest.raises(InputError, match="banner only"):
        read_log(path, PARSERS)


def test_a_table_that_only_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(TABLE[: TABLE.index(ROW)])
    with pytest.raises(InputError, match=r"a table begins, but no row follows.*run it again"):
        read_log(path, PARSERS)
