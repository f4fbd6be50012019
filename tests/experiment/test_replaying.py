"""Whether a replayed run was another build, and what it could not give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.experiment.replaying import recorded_identity, replay_of, taken_over

if TYPE_CHECKING:
    from pathlib import Path

ONE = {"module triton": "aa", "python": "/usr/bin/python3"}


def recorded(side: Path, campaign: Path, name: str, identity: Any) -> Path:
    side.mkdir(parents=True)
    (side / "receipt.json").write_text(json.dumps({"side": name}))
    (campaign / "campaign.json").write_text(json.dumps({"identity": identity}))
    return side


def test_of_a_single_run(tmp_path: Path) -> None:
    side = recorded(tmp_path / "gelu", tmp_path, "before", {"before": ONE})
    assert recorded_identity(side) == ONE
    same = replay_of(side, dict(ONE))
    assert not same.across_builds and same.remark() == ""
    other = replay_of(side, {**ONE, "module triton": "bb", "path of torch": "/x"})
    assert other.across_builds and other.differs == ("module triton", "path of torch")
    assert "(module triton, path of torch differ)" in other.remark()


@pytest.mark.parametrize("name", ["before", "after"])
def test_of_one_side_of_a_campaign(tmp_path: Path, name: str) -> None:
    identity = {"before": ONE, "after": {"python": "other"}}
    side = recorded(tmp_path / "gelu" / name, tmp_path, name, identity)
    assert recorded_identity(side) == identity[name]


@pytest.mark.parametrize("identity", [None, [], {}, {"before": 3}, {"after": ONE}])
def test_what_is_not_told_is_not_known(tmp_path: Path, identity: Any) -> None:
    side = recorded(tmp_path / "gelu", tmp_path, "before", identity)
    replay = replay_of(side, ONE)
    assert not replay.known and not replay.across_builds
    assert "does not say what it was run on" in replay.remark()


def test_without_receipt_or_campaign_it_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "gelu").mkdir()
    assert recorded_identity(tmp_path / "gelu") == {}
    (tmp_path / "gelu" / "receipt.json").write_text('{"side": "before"}')
    assert recorded_identity(tmp_path / "gelu") == {}
    (tmp_path / "campaign.json").write_text("[")
    assert recorded_identity(tmp_path / "gelu") == {}


def test_many_differences_are_one_line(tmp_path: Path) -> None:
    side = recorded(tmp_path / "gelu", tmp_path, "before", {"before": ONE})
    remark = replay_of(side, {f"module m{n}": "x" for n in range(9)}).remark()
    assert "(module m0, module m1, module m2, module m3, ... differ)" in remark


def test_what_became_of_the_decisions(tmp_path: Path) -> None:
    assert taken_over(tmp_path) == ""
    decision = {"kind": "decision", "state": "replayed"}
    missed = {"kind": "decision", "state": "missed"}
    lines = [decision, {**missed, "reason": "r"}, {**missed, "reason": "r"}, missed]
    (tmp_path / "tuning.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert taken_over(tmp_path) == "of 4 tuner decisions 3 tuned anew: r (2); no reason told (1)"
    note = {"kind": "note", "code": "tuning-carried-over", "text": "k"}
    (tmp_path / "measurements.jsonl").write_text(json.dumps(note))
    assert taken_over(tmp_path).startswith("of 4 tuner decisions 1 carried over to ")
    (tmp_path / "tuning.jsonl").write_text(json.dumps(decision))
    assert taken_over(tmp_path).startswith("of 1 tuner decision 1 carried over to ")
