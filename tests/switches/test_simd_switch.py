"""NumPy's dispatch is read in the target's Python, and each side tells what it used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.interfaces import Target
from flagkit_cpu import CpuBackend
from flagkit_simd import DISABLE, ENABLE, SimdSwitch

HERE = Path(sys.executable)

OBSERVE = """
import json
import numpy
from flagkit_simd import SimdSwitch
print(json.dumps(SimdSwitch().observe()))
"""


def fake_numpy(folder: Path, module: str, dispatch: list[str], features: dict[str, bool]) -> Target:
    parts = module.split(".")
    package = folder
    for part in parts[:-1]:
        package = package / part
        package.mkdir()
        (package / "__init__.py").write_text('__version__ = "1.99"\n')
    (package / f"{parts[-1]}.py").write_text(
        f"__cpu_dispatch__ = {dispatch!r}\n__cpu_features__ = {features!r}\n"
    )
    return Target(python=HERE, environ={"PYTHONPATH": str(folder)})


@pytest.mark.parametrize("core", ["_core", "core"])
def test_enabled_names_only(tmp_path, core):
    target = fake_numpy(
        tmp_path,
        f"numpy.{core}._multiarray_umath",
        ["AVX2", "FMA3", "AVX512F"],
        {"SSE": True, "AVX2": True, "FMA3": True, "AVX512F": False},
    )
    switch = SimdSwitch()
    assert switch.setup("off", CpuBackend(), {}, target).env == {DISABLE: "AVX2 FMA3", ENABLE: None}
    assert switch.setup("on", CpuBackend(), {}, target).env == {DISABLE: None, ENABLE: None}


def test_none_enabled(tmp_path):
    target = fake_numpy(tmp_path, "numpy._core._multiarray_umath", ["AVX2"], {"AVX2": False})
    with pytest.raises(UsageError, match=r"nothing to switch: numpy 1\.99 of .* no SIMD dispatch"):
        SimdSwitch().setup("off", CpuBackend(), {}, target)


def test_a_numpy_of_another_make(tmp_path):
    (tmp_path / "numpy.py").write_text('__version__ = "9"\n')
    target = Target(python=HERE, environ={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(UsageError, match="nothing to switch: numpy 9"):
        SimdSwitch().setup("off", CpuBackend(), {}, target)


def test_numpy_is_missing(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    target = Target(python=HERE, environ={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(UsageError, match=r"switch 'simd' cannot be used with .*numpy"):
        SimdSwitch().setup("off", CpuBackend(), {}, target)


def test_no_python(tmp_path):
    with pytest.raises(UsageError, match="cannot start"):
        SimdSwitch().setup("off", CpuBackend(), {}, Target(python=tmp_path / "python"))


def test_a_restriction_of_the_user_is_not_taken_for_the_machine(tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    target = Target(python=HERE)
    try:
        plain = SimdSwitch().setup("off", CpuBackend(), {}, target).env[DISABLE]
    except UsageError as error:
        pytest.skip(str(error))
    monkeypatch.setenv(DISABLE, plain)
    assert SimdSwitch().setup("off", CpuBackend(), {}, target).env[DISABLE] == plain


def test_the_arms_take_effect():
    pytest.importorskip("numpy")
    switch, target = SimdSwitch(), Target(python=HERE)
    try:
        switch.setup("off", CpuBackend(), {}, target)
    except UsageError as error:
        pytest.skip(str(error))
    facts = []
    for arm in switch.arms:
        environ = dict(os.environ)
        for name, value in switch.setup(arm, CpuBackend(), {}, target).env.items():
            environ.pop(name, None)
            if value is not None:
                environ[name] = value
        done = subprocess.run(
            [sys.executable, "-c", OBSERVE], env=environ, capture_output=True, text=True, check=True
        )
        facts.append(json.loads(done.stdout))
    assert facts[0]["enabled"] == ""
    assert facts[1]["enabled"] != ""
    (note,) = switch.prove(*facts)
    assert note.code == "switch-proof"
    assert facts[1]["enabled"] in note.text


def test_nothing_is_said_without_numpy():
    code = "from flagkit_simd import SimdSwitch; print(SimdSwitch().observe())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{}"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"enabled": "AVX2"}, {"enabled": "AVX2"}, "still used AVX2 on the before side"),
        ({"enabled": ""}, {"enabled": ""}, "no SIMD dispatch on the after side either"),
        ({}, {"enabled": "AVX2"}, "the before side did not say"),
        ({}, {}, "the before side did not say what NumPy uses; the after side did not say"),
    ],
)
def test_a_switch_that_did_not_take(before, after, said):
    (note,) = SimdSwitch().prove(before, after)
    assert note.code == "switch-failed"
    assert said in note.text
