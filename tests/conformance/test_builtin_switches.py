"""Every built-in switch keeps its contract."""

from __future__ import annotations

import pytest

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
        pytest.importorskip("numpy")
        return "flagkit_simd"


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
