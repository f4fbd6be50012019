"""``flagkit summarize``: every run it can read, and a word on every one it cannot."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from flagkit.cli import main

ROW = f"{'SUCCESS':<10}{'0.500000':>20}{'0.250000':>20}{'2.000':>20}{'':10}[torch.Size([64, 64])]\n"
TABLE = (
    "\nOperator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
    "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n"
    + "-" * 95
    + f"\n{ROW}\n"
)


def run(*args: object) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["summarize", *map(str, args)])
    return int(exit_.value.code or 0)


def put(path: Path, text: str = TABLE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_nested_and_flat_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "gelu" / "run.log")
    put(tmp_path / "deep" / "er" / "run.log", TABLE.replace("gelu", "relu"))
    assert run(tmp_path) == 0
    told = capsys.readouterr()
    assert [(line["run"], line["op"], line["regime"]) for line in lines(told.out)] == [
        ("deep/er", "relu", "unknown"),
        ("gelu", "gelu", "unknown"),
    ]
    assert told.err == ""


def test_logs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "b.log")
    put(tmp_path / "a.log")
    assert run(tmp_path) == 0
    assert [line["run"] for line in lines(capsys.readouterr().out)] == ["a.log", "b.log"]


def test_a_run_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "gelu" / "run.log")
    assert run(tmp_path / "gelu") == 0
    assert [line["run"] for line in lines(capsys.readouterr().out)] == ["gelu"]


def test_a_side_of_flagkits_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    side = tmp_path / "gelu" / "before"
    put(side / "run.log")
    put(
        side / "measurements.jsonl",
        '{"kind":"start","schema":1}\n{"kind":"call","id":"c1","op":"gelu","dtype":"torch.float16",'
        '"size_detail":"[torch.Size([64, 64])]","role":"row","latency_ms":0.2512345678,'
        '"status":"ok","node":"t::a","regime":{"requested":"graph","resolved":"graph",'
        '"cache":"hot"}}\n{"kind":"row","id":"c1","node":"t::a","latency_ms":0.2512345678,'
        '"baseline_ms":0.5,"status":"ok","mode":"kernel","level":"core"}\n'
        '{"kind":"end","exit":0}\n',
    )
    assert run(tmp_path) == 0
    told = capsys.readouterr()
    (line,) = lines(told.out)
    assert (line["run"], line["gems_ms"], line["regime"]) == (
        "gelu/before",
        "0.2512345678",
        "graph/hot",
    )
    assert "no receipt" in told.err


def test_one_bad_run_keeps_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a" / "run.log")
    put(tmp_path / "b" / "run.log", "")
    assert run(tmp_path) == 1
    told = capsys.readouterr()
    assert len(lines(told.out)) == 1
    assert "is empty" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(("made", "says"), [(False, "does not exist"), (True, "no runs there")])
def test_nothing_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: bool, says: str
) -> None:
    path = tmp_path / "runs"
    if made:
        path.mkdir()
    assert run(path) == 1
    assert says in capsys.readouterr().err


def test_a_file_is_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "run.log")
    assert run(tmp_path / "run.log") == 1
    assert "is not a directory" in capsys.readouterr().err


def test_only_bad_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a" / "run.log", "hello\n")
    assert run(tmp_path) == 1
    assert "none of its 1 runs has a row" in capsys.readouterr().err


def test_an_output_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a" / "run.log")
    out = tmp_path / "summary.csv"
    assert run(tmp_path, "-o", out) == 0
    assert len(lines(out.read_text(encoding="utf-8"))) == 1
    assert run(tmp_path, "-o", out) == 2
    assert "--force" in capsys.readouterr().err
    assert run(tmp_path, "-o", out, "--force") == 0


def test_a_folder_that_cannot_be_looked_into_costs_itself_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a" / "run.log")
    put(tmp_path / "b" / "run.log")
    look = Path.is_file

    def refused(path: Path) -> bool:
        if path.parent.name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return look(path)

    monkeypatch.setattr(Path, "is_file", refused)
    assert run(tmp_path) == 1
    told = capsys.readouterr()
    assert [line["run"] for line in lines(told.out)] == ["b"]
    assert "/a: Permission denied" in told.err and told.err.count("\n") == 1
