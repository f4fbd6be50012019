"""Switches that set variables: rlc, fold, env."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.interfaces import Target
from flagkit_aa import AaSwitch
from flagkit_cpu import CpuBackend
from flagkit_cuda import CudaBackend
from flagkit_env import EnvSwitch
from flagkit_fold import FoldSwitch
from flagkit_musa import MusaBackend
from flagkit_rlc import RlcSwitch

TARGET = Target(python=Path(sys.executable))


def both(switch, backend, options):
    """The environments of both arms."""
    return tuple(switch.setup(arm, backend, options, TARGET).env for arm in switch.arms)


class TestRlc:
    @pytest.mark.parametrize(
        ("backend", "name"),
        [(CudaBackend(), "FLAGTREE_RLC_ENHANCE"), (MusaBackend(), "FLAGTREE_MUSA_RLC_ENHANCE")],
    )
    def test_the_backend_names_it(self, backend, name):
        assert both(RlcSwitch(), backend, {}) == ({name: "0"}, {name: "1"})

    @pytest.mark.parametrize(
        ("vendor", "name"),
        [
            ("hcu", "FLAGTREE_HCU_RLC_ENHANCE"),
            ("METAX", "FLAGTREE_METAX_RLC_ENHANCE"),
            ("nvidia", "FLAGTREE_RLC_ENHANCE"),
            ("", "FLAGTREE_RLC_ENHANCE"),
        ],
    )
    @pytest.mark.parametrize("backend", [CpuBackend(), MusaBackend()])
    def test_an_explicit_vendor(self, vendor, name, backend):
        assert both(RlcSwitch(), backend, {"vendor": vendor}) == ({name: "0"}, {name: "1"})

    @pytest.mark.parametrize("vendor", ["a b", "X-Y", "9X", "../X", "Ä"])
    def test_a_wrong_vendor(self, vendor):
        with pytest.raises(UsageError, match="--rlc-vendor"):
            both(RlcSwitch(), MusaBackend(), {"vendor": vendor})

    def test_no_flagtree(self):
        with pytest.raises(UsageError, match=r"backend 'cpu' has no FlagTree.*--rlc-vendor"):
            both(RlcSwitch(), CpuBackend(), {})

    def test_details_are_equal_on_both_sides(self):
        options = {"phase_mask": 7, "policy": ("max_external_use_edges=3",), "trace": True}
        off, on = both(RlcSwitch(), MusaBackend(), options)
        assert {k for k in off if off[k] != on[k]} == {"FLAGTREE_MUSA_RLC_ENHANCE"}
        assert off["FLAGTREE_MUSA_RLC_PHASE_MASK"] == "7"
        assert off["FLAGTREE_MUSA_RLC_MAX_EXTERNAL_USE_EDGES"] == "3"
        assert off["FLAGTREE_RLC_TRACE_REJECTS"] == "1"
        variables = RlcSwitch().variables(MusaBackend(), options)
        assert variables[0].name == "FLAGTREE_MUSA_RLC_ENHANCE"
        assert {v.name for v in variables} == set(off)
        assert {v.package for v in variables if "TRACE" not in v.name} == {"triton"}

    @pytest.mark.parametrize(
        "options",
        [
            {"phase_mask": -1},
            {"phase_mask": "x"},
            {"policy": ("KEY",)},
            {"policy": ("A B=1",)},
            {"policy": ("ENHANCE=1",)},
            {"policy": ("A=1", "a=2")},
            {"phase_mask": 1, "policy": ("PHASE_MASK=2",)},
            {"trace": True, "vendor": "nvidia", "policy": ("TRACE_REJECTS=2",)},
        ],
    )
    def test_wrong_details(self, options):
        with pytest.raises(UsageError, match="--rlc-"):
            both(RlcSwitch(), MusaBackend(), options)

    def test_a_value_may_hold_anything(self):
        off, _ = both(RlcSwitch(), CudaBackend(), {"policy": ("A=b=c d",)})
        assert off["FLAGTREE_RLC_A"] == "b=c d"


class TestFold:
    def test_default(self):
        want = ({"FLAGGEMS_FOLD": "0"}, {"FLAGGEMS_FOLD": "1"})
        assert both(FoldSwitch(), MusaBackend(), {}) == want

    def test_another_name(self):
        options = {"var": "FLAGGEMS_FOLD_ALL"}
        assert both(FoldSwitch(), MusaBackend(), options)[1] == {"FLAGGEMS_FOLD_ALL": "1"}
        (variable,) = FoldSwitch().variables(MusaBackend(), options)
        assert (variable.name, variable.package) == ("FLAGGEMS_FOLD_ALL", "flag_gems")

    @pytest.mark.parametrize("name", ["A B", "1A", "A=B"])
    def test_a_wrong_name(self, name):
        with pytest.raises(UsageError, match="--fold-var"):
            both(FoldSwitch(), MusaBackend(), {"var": name})


class TestEnv:
    def test_values(self):
        options = {"set": ("A=0,1", "B=,x", "C=-,on", "D=a=b,-")}
        off, on = both(EnvSwitch(), CpuBackend(), options)
        assert off == {"A": "0", "B": "", "C": None, "D": "a=b"}
        assert on == {"A": "1", "B": "x", "C": "on", "D": None}

    def test_the_package(self):
        options = {"set": ("A=0,1",), "package": "triton"}
        (variable,) = EnvSwitch().variables(CpuBackend(), options)
        assert (variable.name, variable.package) == ("A", "triton")
        (variable,) = EnvSwitch().variables(CpuBackend(), {"set": ("A=0,1",)})
        assert variable.package == ""

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ((), "needs --env-set"),
            (("A",), "NAME=OFF,ON"),
            (("A=1",), "NAME=OFF,ON"),
            (("A=1,2,3",), "NAME=OFF,ON"),
            (("A=1,1",), "both values are equal"),
            (("=0,1",), "is no name of a variable"),
            (("A B=0,1",), "is no name of a variable"),
            (("A=0,1", "A=0,2"), "gives A twice"),
            (("FLAGKIT_AGENT_CONFIG=0,1",), "flagkit's own"),
            (("PYTHONPATH=a,b",), "--switch build"),
            (("A=\0,1",), "NAME=OFF,ON"),
        ],
    )
    def test_wrong(self, given, said):
        with pytest.raises(UsageError, match=said):
            both(EnvSwitch(), CpuBackend(), {"set": given})


def test_aa_is_a_control():
    assert AaSwitch().control
    assert both(AaSwitch(), CpuBackend(), {}) == ({}, {})


@pytest.mark.parametrize("switch", [RlcSwitch(), FoldSwitch(), EnvSwitch(), AaSwitch()])
def test_they_say_nothing_in_the_benchmark(switch):
    assert switch.observe() == {}
    assert switch.prove({}, {}) == ()
    assert switch.control is isinstance(switch, AaSwitch)
