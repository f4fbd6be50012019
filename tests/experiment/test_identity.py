"""Sides that import other code are refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagkit.errors import RunError, UsageError
from flagkit.experiment.asking import Asked, Standpoint
from flagkit.experiment.campaign import Campaign
from flagkit.experiment.identity import (
    device_identity,
    facts,
    identities,
    permitted,
    refuse_differences,
    refuse_other_identity,
    revision,
)
from flagkit.experiment.preflight import verify_switch
from flagkit.experiment.request import Request, steps
from flagkit.interfaces import Availability
from flagkit.plugins import Registry


def ask(python: Path, environ: dict[str, str]) -> dict[str, str]:
    return facts(Asked().find(Standpoint(python=python, environ=environ)))


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


def test_a_python_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"does not tell what .* would import: No such file"):
        ask(tmp_path / "no", {})
    for text in ("true", "echo 3 >&2; echo; echo", "echo 'flagkit-answer:[1]' >&2; exit 4"):
        (tmp_path / "odd").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "odd").chmod(0o755)
        with pytest.raises(RunError, match=r"would import: (3|exit status|flagkit-answer)"):
            ask(tmp_path / "odd", {})


def test_what_a_start_up_file_prints_is_no_answer(tmp_path: Path) -> None:
    environ = made_triton(tmp_path, "")
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit\nprint('hello {')\natexit.register(print, 'bye')\n"
    )
    found = ask(Path(sys.executable), environ)
    assert found["path of triton"] == str((tmp_path / "triton" / "__init__.py").resolve())


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


def checkout_with_its_ini(folder: Path) -> Path:
    root = made_checkout(folder)
    (root / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    (root / "benchmark" / "conftest.py").write_text("raise SystemExit('never loaded')\n")
    return root


def gems_request(root: Path, switch: str = "fold", **options: object) -> Request:
    return Request(
        switch=switch,
        backend="cuda",
        python=Path(sys.executable),
        ops=("x",),
        gems_root=root,
        switch_options=options,
    )


def test_pytest_s_own_path_is_looked_at_first(tmp_path: Path) -> None:
    root = checkout_with_its_ini(tmp_path / "mine")
    entry = str((root / "src" / "flag_gems" / "__init__.py").resolve())
    installed = made_checkout(tmp_path / "installed")
    (installed / "src" / "flag_gems" / "__init__.py").write_text('"FLAGGEMS_NEWFOLD"\n')
    for path in ("", str(installed / "src"), str(root / "src")):
        campaign = made_campaign(gems_request(root), path)
        verify_switch(campaign)
        assert identities(campaign)["after"]["path of flag_gems"] == entry
    campaign = made_campaign(gems_request(root, var="FLAGGEMS_NEWFOLD"), str(installed / "src"))
    with pytest.raises(UsageError, match="reads FLAGGEMS_NEWFOLD"):
        verify_switch(campaign)


def test_a_build_that_pytest_s_path_hides_is_refused(tmp_path: Path) -> None:
    root = checkout_with_its_ini(tmp_path / "mine")
    builds = [made_checkout(tmp_path / name) / "src" for name in ("one", "other")]
    paths = {f"{arm}_path": (str(b),) for arm, b in zip(("before", "after"), builds, strict=True)}
    campaign = made_campaign(gems_request(root, "build", **paths))
    with pytest.raises(UsageError, match=r"before side is to run .*one.* would import .*mine"):
        refuse_differences(campaign, identities(campaign))
    (root / "pytest.ini").write_text("[pytest]\n")
    campaign = made_campaign(gems_request(root, "build", **paths))
    refuse_differences(campaign, identities(campaign))
    # The checkout's own source, a path that holds no known package, and a link are fine.
    (root / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    (tmp_path / "link").symlink_to(root / "src")
    (tmp_path / "helpers").mkdir()
    fine = {"before_path": (str(tmp_path / "helpers"),), "after_path": (str(tmp_path / "link"),)}
    campaign = made_campaign(gems_request(root, "build", **fine))
    refuse_differences(campaign, identities(campaign))


def test_a_relative_path_is_meant_from_where_the_caller_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made_checkout(tmp_path / "gems")
    for folder in (tmp_path / "here" / "lib", root / "lib"):
        (folder / "triton").mkdir(parents=True)
        (folder / "triton" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    campaign = made_campaign(gems_request(root), ":lib:")
    (operator,) = campaign.operators()
    (step, _) = steps("x", 1)
    spec = campaign.spec(operator, step, tmp_path / "before", tmp_path / "harness")
    lib = str(tmp_path / "here" / "lib")
    assert spec.environ["PYTHONPATH"] == f"{tmp_path / 'harness'}:{lib}"
    found = identities(campaign)["before"]["path of triton"]
    assert found.startswith(str(Path(lib).resolve()))


def test_the_device_is_part_of_what_a_side_is(tmp_path: Path) -> None:
    campaign = made_campaign(gems_request(made_checkout(tmp_path)))
    assert "device uuid" not in identities(campaign)["before"]
    told = {"device 0": "Fast 9000 (uuid GPU-0A)", "device 1": "Other (uuid 2)"}
    campaign.answers[campaign.python("before")] = Availability(ok=True, facts=told)
    found = identities(campaign)["before"]
    assert (found["device name"], found["device uuid"]) == ("Fast 9000", "0a")
    other = {**found, **device_identity({"name": "Fast 9000", "uuid": "0b"})}
    for build in (False, True):
        with pytest.raises(UsageError, match="device uuid"):
            refuse_other_identity(found, other, build=build)
        refuse_other_identity(found, other, build=build, allowed=permitted(["device"]))
    silent = {name: value for name, value in found.items() if name != "device uuid"}
    refuse_other_identity(found, silent, build=True)


def test_one_spot_is_asked_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\necho >> {count}\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    asked, spot = Asked(), Standpoint(python=script, environ=dict(os.environ))
    assert asked.find(spot, ("json",)).modules.keys() >= {"json", "pytest"}
    assert asked.find(spot) == asked.find(Standpoint(python=script, environ=dict(os.environ)))
    assert count.read_text() == "\n"
