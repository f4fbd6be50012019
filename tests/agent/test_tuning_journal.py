"""The tuning log: what is written, what is given back, what a damaged record costs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.agent.tuning import TuningJournal, load_decisions
from flagkit.model import Decision


class Bench:
    """A journal with its surroundings."""

    def __init__(self, replay: Path | None = None, **more: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.notes: list[tuple[str, str]] = []
        self.now = ("test", "c1")
        self.log = TuningJournal(
            lambda line: self.lines.append(dict(line)),
            lambda: self.now,
            lambda code, text: self.notes.append((code, text)),
            replay=replay,
            **more,
        )


def decision(block: int = 16, **changes: Any) -> Decision:
    facts: dict[str, Any] = {
        "tuner": "t",
        "kernel": "k",
        "key": "[1]",
        "config": {"BLOCK": block},
        "source_hash": "s",
        "candidates_hash": "c",
    }
    return Decision(**{**facts, **changes})


def record(path: Path, *decisions: Decision) -> Path:
    before = Bench()
    for one in decisions:
        before.log.decided(one, "recorded")
        before.log.used(one)
    path.write_text("".join(json.dumps(line) + "\n" for line in before.lines))
    return path


def asked(bench: Bench, source: str = "s", candidates: str = "c") -> Any:
    found = bench.log.lookup("t", "k", "[1]", source_hash=source, candidates_hash=candidates)
    return found and found.config["BLOCK"]


def test_a_recording_side_finds_nothing() -> None:
    bench = Bench()
    assert not bench.log.replaying and asked(bench) is None


def test_round_trip_and_unused(tmp_path: Path) -> None:
    other = decision(key="[2]")
    bench = Bench(record(tmp_path / "t", decision(), other))
    assert asked(bench) == 16
    assert bench.log.unused() == (other,)
    assert bench.notes == []


def test_the_nth_question_gets_the_nth_decision(tmp_path: Path) -> None:
    bench = Bench(record(tmp_path / "t", decision(16), decision(32)))
    assert [asked(bench) for _ in range(3)] == [16, 32, 32]
    assert [code for code, _ in bench.notes] == ["tuning-duplicate"]


@pytest.mark.parametrize(
    ("source", "candidates", "across", "found", "code"),
    [
        ("s", "c", False, 16, None),
        ("", "", False, 16, None),
        ("s2", "c", False, None, None),
        ("s2", "c", True, 16, "tuning-carried-over"),
        ("s", "c2", False, 16, "tuning-carried-over"),
    ],
)
def test_other_versions(
    tmp_path: Path, source: str, candidates: str, across: bool, found: int | None, code: str | None
) -> None:
    bench = Bench(record(tmp_path / "t", decision()), across_builds=across)
    assert asked(bench, source, candidates) == found
    assert [c for c, _ in bench.notes] == ([code] if code else [])


def test_two_tuners_of_one_name(tmp_path: Path) -> None:
    one, other = decision(16, source_hash="s1"), decision(32, source_hash="s2")
    bench = Bench(record(tmp_path / "t", one, other))
    assert asked(bench, "s2") == 32 and asked(bench, "s1") == 16
    assert asked(bench, "s3") is None
    bench = Bench(record(tmp_path / "t", one, decision(32, candidates_hash="c2")))
    assert asked(bench, "", "c3") is None


def test_a_missed_decision_says_why(tmp_path: Path) -> None:
    bench = Bench(record(tmp_path / "t", decision()))
    asked(bench, "s2")
    bench.log.decided(decision(64), "missed")
    assert "another version" in bench.lines[0]["reason"]
    assert bench.notes[0][0] == "tuning-missed"
    bench.log.used(decision(64))
    assert bench.lines[1]["kind"] == "use" and bench.lines[1]["state"] == "missed"


def test_uses_once_a_call_and_never_inside_a_tuner() -> None:
    bench = Bench()
    one = decision()
    with bench.log.tuning("t"):
        assert bench.log.in_tuner
        bench.log.used(one)
    assert not bench.log.in_tuner
    for _ in range(3):
        bench.log.used(one)
        bench.log.used(decision())
    bench.now = ("test", "c2")
    bench.log.used(one)
    assert [line["call"] for line in bench.lines] == ["c1", "c2"]


def test_generators_are_kept_around_the_outermost_tuner() -> None:
    state = [1]

    class Generators:
        def save(self) -> int:
            return state[0]

        def restore(self, kept: int) -> None:
            state[0] = kept

    log = Bench(generators=Generators).log
    with pytest.raises(ValueError, match="tuner"), log.tuning("t"), log.tuning("u"):
        state[0] = 2
        raise ValueError("tuner")
    assert state == [1] and not log.in_tuner


def test_no_record_at_all(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "none")
    assert [code for code, _ in bench.notes] == ["tuning-unreadable"]
    assert asked(bench) is None


def test_foreign_and_cut_lines(tmp_path: Path) -> None:
    path = record(tmp_path / "t", decision())
    good = path.read_bytes()
    bad = [b"\xff\xfe", b"[]", b'{"kind":"decision","tuner":1}', b"[" * 100_000, b'{"kind":"x"}']
    path.write_bytes(b"\n".join(bad) + b"\n" + good + good[:50])
    notes: list[tuple[str, str]] = []
    assert load_decisions(path, lambda code, text: notes.append((code, text))) == (decision(),)
    assert [code for code, _ in notes] == ["tuning-cut-short", "tuning-foreign"]
    assert notes[1][1].startswith("t: 5 lines")


@given(st.binary(max_size=400))
def test_any_bytes_are_read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        path.write_bytes(content)
        assert load_decisions(path, lambda code, text: None) == ()
