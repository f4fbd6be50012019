"""Neither side that is compared may tune where it is measured on a device."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.experiment import schedule
from flagkit.experiment.receipts import digests
from flagkit.experiment.remeasured import (
    as_decided,
    complete_record,
    tuned_on_device,
    tuning_notes,
)
from flagkit.experiment.resuming import unfinished
from flagkit.experiment.rundir import RunDir
from flagkit.experiment.verify import seal, verify

if TYPE_CHECKING:
    from pathlib import Path


def made(side: Path, resolved: str = "graph", state: str = "recorded") -> Path:
    side.mkdir(parents=True, exist_ok=True)
    call = {"kind": "call", "id": "c1", "regime": {"resolved": resolved}}
    failed = {"kind": "call", "id": "c2", "regime": None}
    of = {"tuner": "triton", "kernel": "k", "key": "[64]", "config": {}}
    decisions = [{"kind": kind, "state": state, **of} for kind in ("decision", "use")]
    for name, lines in (("measurements", [failed, call]), ("tuning", decisions)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (side / f"{name}.jsonl").write_text(text)
    (side / "receipt.json").write_text(json.dumps({"digests": digests(side)}))
    return side


@pytest.mark.parametrize(
    ("resolved", "state", "count"),
    [
        ("graph", "recorded", 1),
        ("event", "recorded", 1),
        ("graph", "missed", 1),
        ("graph", "replayed", 0),
        ("host", "recorded", 0),
    ],
)
def test_what_counts_as_tuned(tmp_path: Path, resolved: str, state: str, count: int) -> None:
    assert tuned_on_device(made(tmp_path / "side", resolved, state)) == count


def test_a_side_that_never_ran_tuned_nothing(tmp_path: Path) -> None:
    assert tuned_on_device(tmp_path) == 0


def test_a_report_says_which_side_tuned(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", state="replayed"), made(tmp_path / "other", state="missed")
    (note,) = tuning_notes((one, other))
    assert (note.code, note.side) == ("tuned-while-measured", "after")


class Ran:
    """Stands for the processes: each leaves what its part of the plan would."""

    def __init__(self, resolved: str, *, misses: bool = False) -> None:
        self.resolved, self.misses = resolved, misses
        self.sides: list[tuple[str, str | None]] = []

    def run_side(self, campaign: Any, spec: Path, replay: Path | None, *_: Any, **__: Any) -> None:
        self.sides.append((spec.name, replay.name if replay else None))
        if spec.is_dir():
            shutil.rmtree(spec)
        state = "replayed" if replay else "recorded"
        if self.misses and spec.name.startswith("after") and replay and replay.name == "before":
            state = "missed"
        spec.mkdir(parents=True)
        (spec / "agent.json").write_text(json.dumps({"replay": str(replay)}))
        made(spec, self.resolved, state)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "SHA256SUMS").write_text("")
    plan = [
        {"op": "mm", "label": "mm", "side": side, "round": round_}
        for side, round_ in (("before", 1), ("after", 1), ("after", 2), ("before", 2))
    ]
    data = {"plan": plan, "request": {"switch": "aa"}}
    (tmp_path / "campaign.json").write_text(json.dumps(data))
    return RunDir(root=tmp_path)


def measured(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, resolved: str, *, misses: bool = False
) -> Ran:
    ran = Ran(resolved, misses=misses)
    monkeypatch.setattr(schedule, "run_side", ran.run_side)
    campaign: Any = SimpleNamespace(
        request=SimpleNamespace(rounds=2),
        spec=lambda operator, step, directory, harness: directory,
    )
    operator: Any = SimpleNamespace(label="mm")
    schedule._run_operator(campaign, run, operator, progress=None, differs=())  # type: ignore[arg-type]
    return ran


def test_a_before_side_that_tuned_replays_itself_to_be_compared(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured(run, monkeypatch, "graph").sides == [
        ("before", None),
        ("before.replayed", "before"),
        ("after", "before"),
        ("after.2", "before"),
        ("before.2", "before"),
    ]
    pairs = [(before.name, after.name) for before, after in run.rounds("mm")]
    assert pairs == [("before.replayed", "after"), ("before.2", "after.2")]
    assert not [note for pair in run.rounds("mm") for note in tuning_notes(pair)]


def test_an_after_side_that_tuned_replays_the_completed_record_from_then_on(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = measured(run, monkeypatch, "graph", misses=True)
    assert ran.sides == [
        ("before", None),
        ("before.replayed", "before"),
        ("after", "before"),
        ("after.replayed", "record"),
        ("after.2", "record"),
        ("before.2", "before"),
    ]
    pairs = list(run.rounds("mm"))
    assert [(before.name, after.name) for before, after in pairs] == [
        ("before.replayed", "after.replayed"),
        ("before.2", "after.2"),
    ]
    assert not [note for pair in pairs for note in tuning_notes(pair)]
    for before, after in pairs:
        assert states(before) == ["replayed", "replayed"]
        assert states(after) == ["missed", "missed"]  # replayed, and still not before's
    assert measured(run, monkeypatch, "graph", misses=True).sides == []
    (run.replayed("mm", "after") / "receipt.json").unlink()
    assert unfinished(run, [SimpleNamespace(label="mm")], 2)  # type: ignore[list-item]
    ran = measured(run, monkeypatch, "graph", misses=True)
    assert ran.sides == [("after.replayed", "record")]


def states(side: Path) -> list[str]:
    lines = [json.loads(line) for line in (side / "tuning.jsonl").read_text().splitlines()]
    return [line["state"] for line in as_decided(side, lines)]


def test_an_after_side_that_is_run_anew_and_misses_nothing_is_compared_itself(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(run, monkeypatch, "graph", misses=True)
    (run.side("mm", "after") / "receipt.json").unlink()
    ran = measured(run, monkeypatch, "graph")
    assert ran.sides == [("after", "before"), ("after.2", "before")]
    assert [after.name for _, after in run.rounds("mm")] == ["after", "after.2"]


def test_a_completed_record_has_the_plans_of_before_and_what_after_missed(tmp_path: Path) -> None:
    def decision(key: str, state: str, block: int) -> dict[str, Any]:
        of = {"kind": "decision", "tuner": "triton", "kernel": "k", "key": key}
        return {**of, "state": state, "config": {"BLOCK": block}}

    before, after = made(tmp_path / "before"), made(tmp_path / "after")
    for side, found in (
        (before, [decision("a", "recorded", 1), decision("b", "recorded", 2)]),
        (after, [decision("a", "replayed", 1), decision("b", "missed", 4), {"kind": "use"}]),
    ):
        (side / "tuning.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))
    record = complete_record(before, after)
    lines = [json.loads(line) for line in (record / "tuning.jsonl").read_text().splitlines()]
    assert lines == [
        decision("a", "recorded", 1),
        {**decision("b", "missed", 4), "side": "after"},
    ]
    plans = (record / "measurements.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in plans] == ["c2", "c1"]


def test_on_the_host_nothing_is_run_twice(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("before.replayed", "before") not in measured(run, monkeypatch, "host").sides
    assert [before.name for before, _ in run.rounds("mm")] == ["before", "before.2"]


def test_what_was_killed_in_between_is_run_on_resuming(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(run.side("mm", "before"))
    assert measured(run, monkeypatch, "graph").sides[0] == ("before.replayed", "before")
    assert measured(run, monkeypatch, "graph").sides == []


def test_a_campaign_whose_before_side_has_still_to_replay_itself_is_unfinished(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators: Any = [SimpleNamespace(label="mm")]
    measured(run, monkeypatch, "graph")
    assert not unfinished(run, operators, 2)
    (run.replayed("mm", "before") / "receipt.json").unlink()
    assert unfinished(run, operators, 2)


def test_the_side_that_is_compared_is_verified(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(run, monkeypatch, "graph", misses=True)
    (run.root / "suite.sha256").write_text("")
    seal(run)
    assert verify(run)[1] == []
    record = run.side("mm", "after") / "record" / "tuning.jsonl"
    kept = record.read_bytes()
    record.write_bytes(b"")
    assert verify(run)[1] == ["mm/after/record/tuning.jsonl: changed"]
    record.write_bytes(kept)
    (run.replayed("mm", "before") / "measurements.jsonl").write_text("{}\n")
    assert verify(run)[1] == ["mm/before.replayed/measurements.jsonl: changed"]
