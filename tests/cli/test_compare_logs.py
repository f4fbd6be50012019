"""``flagkit compare`` of logs and of directories of logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flagkit.cli import main
from flagkit.cli.outcome import PIECE

if TYPE_CHECKING:
    from pathlib import Path

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


def run(*args: object, command: str = "compare") -> int:
    with pytest.raises(SystemExit) as exit_:
        main([command, *map(str, args)])
    return int(exit_.value.code or 0)


def put(path: Path, text: str = TABLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_parser_is_taken_at_the_users_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = put(tmp_path / "both.log", TABLE + RECORD)
    for command in ("compare", "summarize"):
        given = [log, log] if command == "compare" else [tmp_path]
        assert run(*given, command=command) == 1
        assert "--parser" in capsys.readouterr().err
        for parser, op in (("flaggems-table", "gelu"), ("flaggems-record", "abs")):
            assert run(*given, "--parser", parser, command=command) == 0
            assert op in capsys.readouterr().out


def test_one_bad_run_keeps_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("a", "b"):
        put(tmp_path / side / "gelu" / "run.log")
        put(tmp_path / side / "relu" / "run.log", TABLE.replace("gelu", "relu"))
    put(tmp_path / "a" / "relu" / "run.log", "no log\n")
    assert run(tmp_path / "a", tmp_path / "b", "--reporter", "json") == 1
    told = capsys.readouterr()
    assert told.err.count("\n") == 1 and "relu/run.log is not a log of a known format" in told.err
    reports = {report["label"]: report for report in json.loads(told.out)["reports"]}
    assert len(reports["gelu"]["rows"]) == 1
    assert reports["relu"]["incomplete"] == ["before: it has no run of relu"]


def test_an_operator_run_twice_keeps_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ("a", "b"):
        put(tmp_path / side / "1" / "run.log")
        put(tmp_path / side / "2" / "run.log", TABLE + TABLE.replace("gelu", "relu"))
    assert run(tmp_path / "a", tmp_path / "b") == 1
    told = capsys.readouterr()
    assert "'gelu' was run more than once there" in told.err and "relu: 1 row paired" in told.out
    put(tmp_path / "a" / "2" / "run.log")
    put(tmp_path / "b" / "2" / "run.log")
    assert run(tmp_path / "a", tmp_path / "b") == 1
    assert capsys.readouterr().out == ""


def test_no_run_that_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a" / "gelu" / "run.log", "no log\n")
    put(tmp_path / "b" / "gelu" / "run.log")
    assert run(tmp_path / "a", tmp_path / "b") == 1
    assert "not a log of a known format" in capsys.readouterr().err


def test_directories_of_plain_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("a", "b"):
        put(tmp_path / side / f"gelu_{side}.log")
        put(tmp_path / side / "relu.log", TABLE.replace("gelu", "relu"))
        put(tmp_path / side / "notes.txt", "none\n")
    assert run(tmp_path / "a", tmp_path / "b", "--reporter", "csv") == 0
    assert capsys.readouterr().out.count(",paired,") == 2


UNTITLED = TABLE.split("\n", 2)[2]


def other(text: str, op: str = "relu") -> str:
    """The same table of another operator, with other latencies."""
    return text.replace("gelu", op).replace("0.250000", "0.500000").replace("2.000", "1.000")


def test_rows_of_no_known_operator_pair_with_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "a" / "x" / "run.log", UNTITLED + other(TABLE))
    put(tmp_path / "b" / "x" / "run.log", other(UNTITLED) + TABLE)
    for side in ("a", "b"):
        put(tmp_path / side / "y" / "run.log", other(TABLE, "abs"))
    assert run(tmp_path / "a", tmp_path / "b", "--reporter", "csv") == 1
    told = capsys.readouterr()
    assert told.err.count("x/run.log: 1 of its rows tell no operator") == 2
    paired = [line for line in told.out.splitlines() if ",paired," in line]
    assert len(paired) == 1 and "abs" in paired[0]


def test_rows_of_no_known_operator_in_several_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side, swapped in (("a", ("x", "y")), ("b", ("y", "x"))):
        put(tmp_path / side / swapped[0] / "run.log", UNTITLED)
        bigger = other(UNTITLED).replace("64, 64", "64, 32")
        put(tmp_path / side / swapped[1] / "run.log", bigger)
    assert run(tmp_path / "a", tmp_path / "b", "--reporter", "csv") != 0
    assert ",paired," not in capsys.readouterr().out
    assert run(tmp_path / "a" / "x", tmp_path / "a" / "x") == 0


def test_a_damaged_line_belongs_to_the_operator_of_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which of two rows of one key is left differs, in an operator that is not the first."""
    slow = ROW.replace("0.250000", "1.000000").replace("2.000", "0.500")
    for side, rows in (("a", ROW[:46] + "\n" + slow), ("b", ROW + slow[:46] + "\n")):
        put(
            tmp_path / side / "run" / "run.log",
            TABLE + TABLE.replace("gelu", "mm").replace(ROW, rows),
        )
        put(tmp_path / side / "more" / "run.log", other(TABLE, "abs"))
    run(tmp_path / "a", tmp_path / "b", "--reporter", "json")
    reports = json.loads(capsys.readouterr().out)["reports"]
    books = {one["label"]: one["ledger"]["before"] for one in reports}
    assert {op: (book["seen"], book["paired"], book["damaged"]) for op, book in books.items()} == {
        "abs": (1, 1, 0),
        "gelu": (1, 1, 0),
        "mm": (2, 0, 1),
    }


def test_a_run_of_damaged_lines_only_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ("a", "b"):
        put(tmp_path / side / "x" / "run.log")
    put(tmp_path / "b" / "y" / "run.log", TABLE.replace("gelu", "mm").replace(ROW, ROW[:46] + "\n"))
    assert run(tmp_path / "a", tmp_path / "b", "--fail-on", "incomplete") == 4
    assert "mm" in capsys.readouterr().out


def test_links_are_followed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a" / "run" / "run.log")
    put(tmp_path / "elsewhere" / "run.log", TABLE.replace("gelu", "relu"))
    for name, target in (("latest", "run"), ("again", "."), ("far", "../elsewhere")):
        try:
            (tmp_path / "a" / name).symlink_to(target, target_is_directory=True)
        except OSError:
            pytest.skip("no symbolic links here")
    assert run(tmp_path / "a", command="summarize") == 0
    runs = [line.split(",")[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert runs == [["run", "gelu"], ["far", "relu"]]


def test_no_word_on_tuners_where_there_is_no_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "a" / "run.log")
    assert run(tmp_path / "a", tmp_path / "a") == 0
    assert "recorded" not in capsys.readouterr().out


def test_a_failed_row_shows_in_the_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = ROW.replace("SUCCESS", "FAILED ").replace("64, 64", "64, 32")
    log = put(tmp_path / "a.log", TABLE.replace(ROW, ROW + failed))
    assert run(log, log) == 1
    assert "1 failed" in capsys.readouterr().out
    assert run(log, log, "--fail-on", "incomplete") == 4
    damaged = put(tmp_path / "b.log", TABLE.replace(ROW, ROW + ROW[:60] + "\n"))
    assert run(damaged, damaged) == 0


def test_two_sides_one_of_which_tuned_where_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {
        "kind": "call",
        "id": "c1",
        "node": "t",
        "call": 0,
        "op": "mm",
        "dtype": "torch.float16",
        "size_detail": "[64]",
        "role": "row",
        "status": "ok",
        "latency_ms": 0.5,
        "regime": {"requested": "graph", "resolved": "graph", "cache": "hot"},
    }
    same = {"tuner": "triton", "kernel": "k", "key": "1", "config": {"B": 1}, "call": "c1"}
    for side, state in (("one", "recorded"), ("two", "replayed")):
        journal = [{"kind": "start", "schema": 1}, call, {"kind": "end", "exit": 0}]
        tuning = [{"kind": "decision", "state": state, **same}, {"kind": "use", **same}]
        for name, lines in (("measurements", journal), ("tuning", tuning)):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            put(tmp_path / side / f"{name}.jsonl", text)
    assert run(tmp_path / "one", tmp_path / "two") == 1  # neither has a receipt
    out = capsys.readouterr().out
    assert "before: 1 decisions of tuners fell in the process that was measured" in out
    assert "after: 1 decisions" not in out


def test_a_long_report_is_printed_as_it_is_written_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(ROW.replace("64, 64", f"{size}, 64") for size in range(1, 400))
    log = put(tmp_path / "long.log", TABLE.replace(ROW, rows))
    assert run(log, log, "--reporter", "json") == 0
    shown = capsys.readouterr().out
    assert run(log, log, "--reporter", "json", "-o", tmp_path / "report.json") == 0
    assert len(shown) > 2 * PIECE
    assert shown == (tmp_path / "report.json").read_text(encoding="utf-8")
