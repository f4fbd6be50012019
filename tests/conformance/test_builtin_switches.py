"""Every built-in switch keeps its contract."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flagkit.interfaces import Target
from flagkit.testing import SwitchContract


class TestRlc(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_rlc"


class TestFold(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_fold"


class TestAa(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_aa"


class TestSimd(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_simd"

    @pytest.fixture
    def target(self, tmp_path):
        """A NumPy with one dispatch target, whatever this machine has."""
        core = tmp_path / "numpy" / "_core"
        core.mkdir(parents=True)
        for folder in (core.parent, core):
            (folder / "__init__.py").touch()
        (core / "_multiarray_umath.py").write_text(
            "__cpu_dispatch__ = ['FAST']; __cpu_features__ = {'FAST': True}\n"
        )
        environ = {"PYTHONPATH": str(tmp_path)}
        return Target(python=Path(sys.executable), environ=environ)


class TestEnv(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_env"

    @pytest.fixture
    def options(self):
        return {"set": ("SOME_VARIABLE=0,1", "OTHER=-,"), "package": "triton"}


class TestBuild(SwitchContract):
    @pytest.fixture
    def module(self):
        return "flagkit_build"

    @pytest.fixture
    def options(self, tmp_path):
        return {"after_path": (str(tmp_path),)}
