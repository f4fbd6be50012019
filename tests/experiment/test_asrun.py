"""What the sides' own processes told of themselves is compared with what was found before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.errors import InputError
from flagkit.experiment.asrun import as_run, notes_of_run

if TYPE_CHECKING:
    from pathlib import Path


def side(
    folder: Path, path: str = "/a", uuid: str = "1", across: bool = False, **more: Any
) -> Path:
    folder.mkdir(parents=True)
    modules = {"flag_gems": {"path": path, "sha256": f"hash of {path}"}}
    lines = [
        {"kind": "start"},
        {"kind": "facts", "when": "start", "device": {"uuid": uuid, "name": "Fast"}},
        {"kind": "facts", "when": "end", "device": {"uuid": uuid}, "modules": modules, **more},
    ]
    text = "\n".join(map(json.dumps, lines))
    (folder / "measurements.jsonl").write_text(f'{text}\n{{"kind":"facts", "devi')
    (folder / "agent.json").write_text(json.dumps({"across_builds": across}))
    return folder


def claims(before: str, after: str, *allowed: str) -> dict[str, Any]:
    identity = {
        name: {"path of flag_gems": path} for name, path in (("before", before), ("after", after))
    }
    return {"request": {"allow_diff": list(allowed)}, "identity": identity}


def test_what_a_side_told_has_the_names_of_an_identity(tmp_path: Path) -> None:
    assert as_run(side(tmp_path / "side", uuid="GPU-1A")) == {
        "device uuid": "1a",
        "device name": "Fast",
        "module flag_gems": "hash of /a",
        "path of flag_gems": "/a",
    }
    odd = side(tmp_path / "odd", modules={"torch": 3, "triton": {}}, device=[1])
    assert as_run(odd) == {"device uuid": "1", "device name": "Fast"}
    assert as_run(tmp_path / "none") == {}


def test_sides_alike_say_nothing(tmp_path: Path) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after"))
    for campaign in (claims("/a", "/a"), {}, {"request": 3, "identity": {"before": []}}):
        assert notes_of_run(campaign, [both, both], "gelu") == ()


def test_another_file_on_one_side_is_refused(tmp_path: Path) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after", "/b"))
    with pytest.raises(InputError, match=r"gelu: .*module flag_gems .*path of flag_gems \(/a bef"):
        notes_of_run(claims("/a", "/a"), [both], "gelu")
    names = ("module flag_gems", "path of flag_gems")
    (note,) = notes_of_run(claims("/a", "/a", *names), [both], "gelu")
    assert (note.code, note.side) == ("imported-other", "after")


def test_what_was_allowed_on_resuming_is_no_difference(tmp_path: Path) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after", "/b"))
    names = ["module flag_gems", "path of flag_gems"]
    (both[1] / "receipt.json").write_text(json.dumps({"differs": names}))
    (note,) = notes_of_run(claims("/a", "/a"), [both], "gelu")
    assert note.code == "imported-other"
    (both[1] / "receipt.json").write_text(json.dumps({"differs": "path of flag_gems"}))
    with pytest.raises(InputError):
        notes_of_run(claims("/a", "/a"), [both], "gelu")


@pytest.mark.parametrize("across", [False, True])
def test_another_device_is_refused(tmp_path: Path, across: bool) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after", uuid="2", across=across))
    with pytest.raises(InputError, match=r"device uuid \(1 before, 2 after\)"):
        notes_of_run(claims("/a", "/a"), [both], "gelu")
    assert notes_of_run(claims("/a", "/a", "device"), [both], "gelu") == ()


def test_one_build_that_was_to_be_two_is_refused(tmp_path: Path) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after", across=True))
    with pytest.raises(InputError, match=r"both sides imported flag_gems from /a, though two"):
        notes_of_run(claims("/a", "/b"), [both], "gelu")
    assert notes_of_run(claims("/a", "/b", "path of flag_gems"), [both], "gelu")


def test_two_builds_are_fine_and_a_file_not_foreseen_is_told_once(tmp_path: Path) -> None:
    both = (side(tmp_path / "before"), side(tmp_path / "after", "/b", across=True))
    assert notes_of_run(claims("/a", "/b"), [both], "gelu") == ()
    (note,) = notes_of_run(claims("/c", "/b"), [both, both], "gelu")
    assert note.text == (
        "before side: flag_gems was imported from /a, not from /c as was found before"
    )
