"""A switch that nobody reads is refused before anything is measured."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flagkit.errors import UsageError
from flagkit.experiment.asking import Asked, Module, Standpoint
from flagkit.experiment.preflight import verify_switch
from flagkit.interfaces import SwitchVariable


@dataclass
class MadeRequest:
    switch_options: dict[str, Any] = field(default_factory=dict)


@dataclass
class MadeBackend:
    gems_vendor: str | None = "made"


@dataclass
class MadeSwitch:
    wanted: list[SwitchVariable]
    name: str = "made"

    def variables(self, backend: object, options: object) -> list[SwitchVariable]:
        return self.wanted


@dataclass
class MadeCampaign:
    switch: MadeSwitch
    path: Path
    backend: MadeBackend = field(default_factory=MadeBackend)
    request: MadeRequest = field(default_factory=MadeRequest)

    def python(self, side: str) -> Path:
        return Path(sys.executable)

    def standpoint(self, side: str) -> Standpoint:
        return Standpoint(python=self.python(side), environ={"PYTHONPATH": str(self.path)})


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("raise SystemExit('never imported')\n")
    (tmp_path / "triton" / "knobs.py").write_text(
        'a = env_bool("DISABLE_PTXAS_OPT")\nb = env_bool("FLAGTREE_MUSA_RLC_ENHANCE")\n'
    )
    (tmp_path / "triton" / "libtriton.so").write_bytes(b"\x7fELF\0\0MADE_IN_BINARY\0")
    return tmp_path


def verify(stack: Path, *variables: SwitchVariable, backend: MadeBackend | None = None) -> None:
    campaign = MadeCampaign(MadeSwitch(list(variables)), stack, backend or MadeBackend())
    verify_switch(campaign)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["FLAGTREE_MUSA_RLC_ENHANCE", "MADE_IN_BINARY"])
def test_a_name_in_sources_or_binaries_is_read(stack: Path, name: str) -> None:
    verify(stack, SwitchVariable(name=name, package="triton"))


def test_a_name_nobody_reads_is_refused_with_similar_ones(stack: Path) -> None:
    with pytest.raises(UsageError, match=r"FLAGTREE_RLC_ENHANCE.*FLAGTREE_MUSA_RLC_ENHANCE"):
        verify(stack, SwitchVariable(name="FLAGTREE_RLC_ENHANCE", package="triton"))


def test_a_missing_package_is_named(stack: Path) -> None:
    with pytest.raises(UsageError, match=r"flag_gems_no.*--no-verify"):
        verify(stack, SwitchVariable(name="X", package="flag_gems_no"))


def test_a_free_name_is_refused_only_where_it_looks_misspelt(stack: Path) -> None:
    verify(stack, SwitchVariable(name="DISABLE_PTXAS_OPT"))
    verify(stack, SwitchVariable(name="QUITE_ANOTHER_NAME"))
    with pytest.raises(UsageError, match=r"DISABLE_PTXAS_OTP.*DISABLE_PTXAS_OPT"):
        verify(stack, SwitchVariable(name="DISABLE_PTXAS_OTP"))
    verify(stack, SwitchVariable(name="DISABLE_PTXAS_OTP"), backend=MadeBackend(None))


def test_packages_are_found_and_not_imported(stack: Path) -> None:
    (stack / "space").mkdir()
    standpoint = Standpoint(python=Path(sys.executable), environ={"PYTHONPATH": str(stack)})
    found = Asked().find(standpoint, ["triton", "space", "sys", "no_such"]).modules
    assert found["triton"].places == (str(stack / "triton"),)
    assert found["space"] == Module(places=(str(stack / "space"),))
    assert found["sys"] == Module() and "no_such" not in found
