"""Sides that import other code are refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.experiment.campaign import Campaign
from flagkit.experiment.identity import ask, identities, refuse_other_identity, revision
from flagkit.experiment.preflight import verify_switch
from flagkit.experiment.request import Request
from flagkit.plugins import Registry


def made_triton(folder: Path, text: str) -> dict[str, str]:
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "__init__.py").write_text(text)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_another_triton_is_named(tmp_path: Path) -> None:
    python = Path(sys.executable)
    one = ask(python, made_triton(tmp_path / "one", "a = 1\n"))
    other = ask(python, made_triton(tmp_path / "other", "raise SystemExit\n"))
    assert one["python"] == other["python"]
    with pytest.raises(UsageError, match=r"module triton, path of triton; .*--allow-diff"):
        refuse_other_identity(one, other, build=False)
    refuse_other_identity(one, other, build=True)
    refuse_other_identity(one, other, build=False, allowed=("module triton", "path of triton"))
    refuse_other_identity(one, one, build=False)


def test_a_python_that_cannot_be_asked_says_nothing(tmp_path: Path) -> None:
    assert ask(tmp_path / "no", {}) == {}


def test_a_checkout_tells_its_commit_and_its_changes(tmp_path: Path) -> None:
    assert revision(tmp_path / "none") == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "a").write_text("1")
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    clean = revision(tmp_path)
    assert len(clean) == 40
    (tmp_path / "a").write_text("2")
    assert revision(tmp_path) == f"{clean}+changes"


def made_checkout(folder: Path) -> Path:
    (folder / "src" / "flag_gems").mkdir(parents=True)
    (folder / "src" / "flag_gems" / "__init__.py").write_text('"FLAGGEMS_FOLD"\n')
    (folder / "benchmark").mkdir()
    (folder / "benchmark" / "test_x.py").write_text(
        "import pytest\n@pytest.mark.x\ndef test_x(): pass\n"
    )
    return folder


def made_campaign(request: Request, path: str = "") -> Campaign:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return Campaign(request, Registry(), environ | ({"PYTHONPATH": path} if path else {}))


def test_what_stands_on_the_callers_pythonpath_is_looked_at(tmp_path: Path) -> None:
    root = made_checkout(tmp_path)
    request = Request(
        switch="fold", backend="cuda", python=Path(sys.executable), ops=("x",), gems_root=root
    )
    campaign = made_campaign(request, str(root / "src"))
    verify_switch(campaign)
    found = identities(campaign)
    assert found["before"] == found["after"]
    assert found["before"]["path of flag_gems"].startswith(str(root.resolve()))


def test_two_checkouts_are_two_flag_gems(tmp_path: Path) -> None:
    roots = [made_checkout(tmp_path / name) for name in ("one", "other")]
    options = dict(zip(("before_gems", "after_gems"), map(str, roots), strict=True))
    request = Request(
        switch="build",
        backend="cuda",
        python=Path(sys.executable),
        ops=("x",),
        switch_options=options,
    )
    campaign = made_campaign(request)
    assert campaign.across_builds
    found = identities(campaign)
    for side, root in zip(("before", "after"), roots, strict=True):
        assert found[side]["path of flag_gems"].startswith(str(root.resolve()))
    refuse_other_identity(found["before"], found["after"], build=True)


def test_two_checkouts_that_import_one_flag_gems_are_refused() -> None:
    sides = [{"FlagGems checkout": f"/{name}", "path of flag_gems": "/site"} for name in "ab"]
    with pytest.raises(UsageError, match=r"both would import /site"):
        refuse_other_identity(*sides, build=True)
    refuse_other_identity(*sides, build=True, allowed=("path of flag_gems",))
    refuse_other_identity(sides[0], sides[0], build=True)
