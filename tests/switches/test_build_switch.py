"""One build against another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flagkit.errors import InputError, UsageError
from flagkit.interfaces import Target
from flagkit_build import BuildSwitch
from flagkit_cpu import CpuBackend

TARGET = Target(python=Path(sys.executable))


def both(options, target=TARGET):
    switch = BuildSwitch()
    return tuple(switch.setup(arm, CpuBackend(), options, target) for arm in switch.arms)


@pytest.fixture
def folders(tmp_path):
    made = []
    for name in ("old", "new"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(folder)
    return made


@pytest.fixture
def python(tmp_path):
    path = tmp_path / "python3"
    path.symlink_to(sys.executable)
    return path


def test_paths(folders):
    old, new = folders
    before, after = both({"before_path": (str(old),), "after_path": (str(new), str(old))})
    assert before.pythonpath == (old,)
    assert after.pythonpath == (new, old)
    assert before.env == after.env == {}
    assert before.python is after.python is None


def test_one_side_alone(folders):
    before, after = both({"after_gems": str(folders[1])})
    assert before.gems_root is None
    assert after.gems_root == folders[1]


def test_interpreters_are_not_followed_to_where_they_link(python):
    _, after = both({"after_python": str(python)})
    assert after.python == python


def test_an_interpreter_by_name(python, monkeypatch):
    monkeypatch.setenv("PATH", str(python.parent))
    assert both({"after_python": "python3"})[1].python == python


@pytest.mark.parametrize("make", [lambda f: {}, lambda f: {"after_python": sys.executable}])
def test_nothing_to_compare(folders, make):
    with pytest.raises(UsageError, match="nothing to compare"):
        both(make(folders))


def test_equal_builds(folders):
    same = str(folders[0])
    with pytest.raises(UsageError, match="both builds are equal"):
        both({"before_path": (same,), "after_path": (same,)})


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("before_python", "no/such/python", "--build-before-python no/such/python: .*program"),
        ("after_gems", "no/such", "--build-after-gems no/such: there is no such folder"),
        ("after_path", ("no/such",), "--build-after-path no/such: there is no such folder"),
    ],
)
def test_what_is_not_there(option, value, said):
    with pytest.raises(InputError, match=said):
        both({option: value})


def test_no_variables(folders):
    assert BuildSwitch().variables(CpuBackend(), {"after_path": (str(folders[0]),)}) == ()
