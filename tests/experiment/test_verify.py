"""Whether a run is what its receipts say: nothing may be changed, taken away or added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.errors import InputError
from flagkit.experiment.harness import SUMS
from flagkit.experiment.receipts import digests
from flagkit.experiment.rundir import RunDir
from flagkit.experiment.verify import seal, verify

if TYPE_CHECKING:
    from pathlib import Path

LAYOUTS = {"aa": ["gelu/before", "gelu/after"], "": ["gelu"]}


def made(root: Path, switch: str) -> RunDir:
    """A finished run of one operator: a campaign, or a single run where there is no switch."""
    (root / "harness").mkdir(parents=True)
    (root / "harness" / "code.py").write_text("")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (root / "harness" / SUMS).write_text(f"{empty}  code.py\n")
    plan = [
        {"op": "gelu", "label": "gelu", "side": name, "round": 1}
        for name, _ in zip(("before", "after"), LAYOUTS[switch], strict=False)
    ]
    (root / "campaign.json").write_text(json.dumps({"plan": plan, "request": {"switch": switch}}))
    for name in LAYOUTS[switch]:
        (root / name).mkdir(parents=True)
        (root / name / "run.log").write_text("a log")
        (root / name / "measurements.jsonl").write_text("{}\n")
        write(root / name / "receipt.json", {"digests": digests(root / name)})
    (root / "report.json").write_text("{}")
    seal(RunDir(root=root), ["report.json"])
    return RunDir(root=root)


def write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data))


@pytest.fixture(params=LAYOUTS, ids=["campaign", "single"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> RunDir:
    return made(tmp_path / "run", request.param)


def sides(run: RunDir) -> list[Path]:
    return [step.directory for step in run.planned()]


def problems(run: RunDir) -> list[str]:
    return verify(run)[1]


def test_a_run_as_it_was_left_is_verified(run: RunDir) -> None:
    count = len(sides(run))
    # The code, the run's receipt (plan, sums, sides, report), and two files a side.
    assert verify(run) == (1 + (3 + count) + 2 * count, [])
    (run.root / "notes.txt").write_text("a person's")
    (run.root / "gelu.unfinished-1").mkdir()
    (run.root / "gelu.unfinished-1" / "run.log").write_text("")
    assert problems(run) == []


@pytest.mark.parametrize("name", ["run.log", "measurements.jsonl"])
def test_what_changed_is_named(run: RunDir, name: str) -> None:
    for side in sides(run):
        path = side / name
        path.write_text("other")
        assert f"{path.relative_to(run.root)}: changed" in problems(run)
        path.unlink()
        assert f"{path.relative_to(run.root)}: missing" in problems(run)


def test_every_receipt_is_demanded(run: RunDir) -> None:
    for side in sides(run):
        (side / "receipt.json").unlink()
        (side / "run.log").write_text("other")
        text = "\n".join(problems(run))
        assert f"{side.relative_to(run.root)}/receipt.json: missing" in text
    (run.root / "receipt.json").unlink()
    assert any(text.startswith("receipt.json: missing") for text in problems(run))


def test_a_receipt_written_anew_is_not_the_one_that_was_sealed(run: RunDir) -> None:
    side = sides(run)[-1]
    (side / "run.log").write_text("other")
    write(side / "receipt.json", {"digests": digests(side)})
    assert problems(run) == [f"{side.relative_to(run.root)}/receipt.json: changed"]


def test_a_receipt_must_vouch_for_every_part(run: RunDir) -> None:
    data = json.loads((run.root / "receipt.json").read_text())
    for name in ("campaign.json", f"{sides(run)[0].relative_to(run.root)}/receipt.json"):
        del data["digests"][name]
        write(run.root / "receipt.json", data)
        assert f"{name}: receipt.json does not have it" in problems(run)


def test_what_was_added_is_named(run: RunDir) -> None:
    (run.harness / "more.py").write_text("")
    (sides(run)[0] / "tuning.jsonl").write_text("")
    (sides(run)[0] / "odd.txt").write_text("")
    (run.root / "exp" / "before").mkdir(parents=True)
    (run.root / "exp" / "before" / "run.log").write_text("")
    assert {text for text in problems(run) if text.endswith(": added")} == {
        "harness/more.py: added",
        f"{sides(run)[0].relative_to(run.root)}/tuning.jsonl: added",
        f"{sides(run)[0].relative_to(run.root)}/odd.txt: added",
        "exp/before: added",
    }


def test_a_later_round_that_nobody_planned_is_named(tmp_path: Path) -> None:
    run = made(tmp_path / "run", "aa")
    (run.root / "gelu" / "before.2").mkdir()
    write(run.root / "gelu" / "before.2" / "receipt.json", {})
    assert problems(run) == ["gelu/before.2: added"]


@pytest.mark.parametrize("name", ["/etc/hostname", "", ".", "../x", "a//b", "a\0b", "**", "[", "é"])
def test_a_name_in_a_receipt_is_taken_as_it_is(run: RunDir, name: str) -> None:
    for place in (run.root, sides(run)[0]):
        data = json.loads((place / "receipt.json").read_text())
        data["digests"] |= {name: "0" * 64}
        write(place / "receipt.json", data)
        assert problems(run)


@pytest.mark.parametrize("text", ["[" * 100_000, "\ud800", "{", '{"digests": 3}', "[]", "null"])
@pytest.mark.parametrize("place", ["receipt.json", "side", "harness/SHA256SUMS"])
def test_a_damaged_file_is_a_line(run: RunDir, text: str, place: str) -> None:
    path = sides(run)[0] / "receipt.json" if place == "side" else run.root / place
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert problems(run)


@pytest.mark.parametrize(
    "plan", [None, [], [3], [{"op": 3}], [{"op": "gelu", "side": "x", "round": 1}], "ab"]
)
def test_a_run_without_a_plan_is_not_verified(run: RunDir, plan: Any) -> None:
    write(run.root / "campaign.json", {"plan": plan, "request": {"switch": "aa"}})
    with pytest.raises(InputError, match="no plan"):
        verify(run)
