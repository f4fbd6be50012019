"""Device facts: read where they are, a note where they are not, never an error."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.agent import facts as facts_module
from flagkit.agent.facts import (
    device_facts,
    imported_modules,
    pick,
    read_csv,
    throttling,
    versions,
    visible_as,
)
from flagkit.agent.gmi import read_gmi, read_sections

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

UUID = "6f1c0de0-0000-4000-8000-00000000000{}"


def _interface(name: str = "Fast 9000", uuid: str | None = None) -> ModuleType:
    module = ModuleType("fake_device")
    vars(module).update(
        get_device_name=lambda index: name,
        get_device_properties=lambda index: SimpleNamespace(total_memory=1 << 30, uuid=uuid),
        get_device_capability=lambda index: (9, 0),
    )
    return module


def _only(program: str) -> Any:
    return lambda name: f"/bin/{name}" if name == program else None


def _csv(command: Sequence[str], name: str = "Fast 9000", mask: str = "0x0000000000000024") -> str:
    fields = command[1].partition("=")[2].split(",")
    told = {"name": name, "clocks.sm": "1980 MHz", "temperature.gpu": "41"}
    lines = []
    for n in range(2):
        row = {**told, "uuid": f"GPU-{UUID.format(n)}", "pstate": f"P{n}"}
        row.update(dict.fromkeys(facts_module._REASONS, mask))
        lines.append(", ".join(row.get(each, "[N/A]") for each in fields))
    return "\n".join(lines) + "\n"


def test_a_csv_tool_is_read() -> None:
    got = device_facts(
        "cuda", _interface(uuid=UUID.format(1)), 0, which=_only("nvidia-smi"), run=_csv
    )
    assert got["name"] == "Fast 9000"
    assert got["memory_bytes"] == 1 << 30
    assert got["capability"] == "9.0"
    assert got["tool"] == "nvidia-smi"
    assert got["state"]["pstate"] == "P1"
    assert got["state"]["clocks.sm"] == "1980 MHz"
    assert got["throttling"] == ["power cap", "thermal slowdown"]
    assert got["notes"] == []
    json.dumps(got)


def test_an_older_driver_knows_the_older_field() -> None:
    def run(command: Sequence[str]) -> str:
        if "clocks_event_reasons" in command[1]:
            raise subprocess.CalledProcessError(2, list(command))
        return _csv(command)

    got = device_facts("cuda", _interface(), 1, which=_only("nvidia-smi"), run=run)
    assert got["throttling"] == ["power cap", "thermal slowdown"]
    assert got["state"]["pstate"] == "P1"


GMI = """
=====MTHREADS-GMI LOG=====
Driver Version                  : 3.3.1
Attached GPUs                   : 1
GPU0 00000000:01:00.0
    Product Name                : MTT S5000
    Clocks
        Graphics                : 1750 MHz
    Temperature
        GPU Current Temp        : 52 C
"""


GMI_TWO = """
==============MTHREADS-GMI LOG==============
Timestamp                       : Wed Jan 01 00:00:00 2025
Driver Version                  : 3.3.5-server

Attached GPUs                   : 2
GPU0 00000000:2a:00.0
    Product Name                : MTT S5000
    GPU UUID                    : aaaa
    Temperature
        GPU Current Temp        : 27C
GPU1 00000000:3a:00.0
    Product Name                : MTT S5000
    GPU UUID                    : bbbb
    Temperature
        GPU Current Temp        : 61C
"""

GMI_JSON = json.dumps(
    {
        "Driver Version": "3.3.5-server",
        "GPU": [
            {
                "Index": str(number),
                "Product Name": "MTT S5000",
                "Temperature": {"GPU Current Temp": f"{27 + 34 * number}C"},
                "Power Readings": {"Power Draw ": "96.66W"},
                "Processes": [],
            }
            for number in (0, 1)
        ],
    }
)


def test_every_device_of_a_tools_answer_is_read() -> None:
    for text in (GMI_TWO, GMI_JSON):
        devices = read_gmi(text, ())
        assert [each["temperature.gpu current temp"] for each in devices] == ["27C", "61C"]
    assert devices[1]["power readings.power draw"] == "96.66W"


def test_a_tool_of_sections_is_read() -> None:
    (device,) = read_sections(GMI)
    assert device["driver version"] == "3.3.1"
    values = {key.rpartition(".")[2]: value for key, value in device.items()}
    assert values["graphics"] == "1750 MHz"
    got = device_facts(
        "musa", _interface("MTT S5000"), 0, which=_only("mthreads-gmi"), run=lambda command: GMI
    )
    assert got["tool"] == "mthreads-gmi"
    assert got["throttling"] == []


def test_no_tool_is_a_note() -> None:
    got = device_facts("cuda", _interface(), 0, which=lambda name: None)
    assert "state" not in got
    assert got["notes"] == [
        "no nvidia-smi or mthreads-gmi here: clocks and temperature are not known"
    ]


def test_another_vendors_tool_is_not_believed() -> None:
    got = device_facts("musa", _interface("MTT S5000"), 0, which=_only("nvidia-smi"), run=_csv)
    assert "state" not in got
    assert got["notes"] == ["nvidia-smi knows no device like 'mtt s5000'".replace("mtt s", "MTT S")]


@pytest.mark.parametrize(
    "error", [OSError("gone"), subprocess.TimeoutExpired("x", 10), ValueError("odd")]
)
def test_a_tool_that_fails_is_a_note(error: Exception) -> None:
    def run(command: Sequence[str]) -> str:
        raise error

    got = device_facts("cuda", _interface(), 0, which=lambda name: f"/bin/{name}", run=run)
    assert len(got["notes"]) == 2
    assert got["notes"][0].startswith("nvidia-smi: ")


def test_an_interface_that_tells_nothing() -> None:
    got = device_facts("acme", ModuleType("acme"), 0, which=lambda name: None)
    assert "name" not in got
    assert device_facts("acme", None, 0, which=lambda name: None)["backend"] == "acme"


def test_a_real_child_is_stopped_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    tool.chmod(0o755)
    monkeypatch.setattr(facts_module, "TIME_LIMIT", 0.5)
    got = device_facts(
        "cuda", _interface(), 0, which=lambda name: str(tool) if name == tool.name else None
    )
    assert "TimeoutExpired" in got["notes"][0]


def test_versions_import_nothing() -> None:
    code = (
        "import sys; from flagkit.agent.facts import versions; print(versions()); "
        "assert not {'torch', 'numpy', 'triton', 'flag_gems'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "numpy" in done.stdout


def test_versions_of_loaded_modules_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    gems = ModuleType("flag_gems")
    vars(gems)["__version__"] = "9.9.9"
    vendor = ModuleType("torch_acme")
    vars(vendor)["__version__"] = "1.2"
    monkeypatch.setitem(sys.modules, "flag_gems", gems)
    monkeypatch.setitem(sys.modules, "torch_acme", vendor)
    found = versions(ModuleType("torch_acme.device"))
    assert (found["flag_gems"], found["torch_acme"]) == ("9.9.9", "1.2")


@pytest.mark.parametrize("mask", ["", "[N/A]", "0x0000000000000000"])
def test_no_throttling(mask: str) -> None:
    assert throttling({"clocks_event_reasons.active": mask}) == []


def test_equal_devices_without_uuid_go_by_number() -> None:
    devices = [{"name": "A", "n": "0"}, {"name": "A", "n": "1"}]
    assert pick(devices, {"name": "A"}, "1")[0] == devices[1]
    assert pick(devices, {"name": "A"}, "2")[0] is None
    assert pick(devices, {"name": "A"}, "")[0] is None
    assert pick(devices, {"name": "B"}, "0")[0] is None
    assert pick([{"name": "B"}, *devices], {"name": "A"}, "0")[0] is None


def test_a_uuid_in_the_variable_is_enough() -> None:
    devices = [{"name": "A", "gpu uuid": "aa-11"}, {"name": "A", "gpu uuid": "bb-22"}]
    assert pick(devices, {"name": "A"}, "BB-22") == (devices[1], "")


@pytest.mark.parametrize(
    ("variable", "index", "seen"),
    [(None, 2, "2"), ("3", 0, "3"), ("5, 1", 1, "1"), ("5", 1, ""), ("", 0, "")],
)
def test_what_the_tool_calls_a_visible_device(variable: str | None, index: int, seen: str) -> None:
    assert visible_as(variable, index) == seen


def test_the_one_visible_device_of_several_is_the_one_told() -> None:
    """torch_musa's properties have no UUID, and the process numbers its devices from 0."""
    for text in (GMI_TWO, GMI_JSON):
        got = device_facts(
            "musa",
            _interface("MTT S5000"),
            0,
            which=_only("mthreads-gmi"),
            run=lambda command, text=text: text,  # type: ignore[misc]
            environ={"MUSA_VISIBLE_DEVICES": "1"},
        )
        assert got["state"]["temperature.gpu current temp"] == "61C"
        assert got["state"]["driver version"] == "3.3.5-server"
        assert got["notes"] == [
            "mthreads-gmi knows 2 devices like 'MTT S5000', and no UUID is told: number 1 was taken"
        ]


def test_an_older_tool_without_json_is_asked_again() -> None:
    def run(command: Sequence[str]) -> str:
        if "-j" in command:
            raise subprocess.CalledProcessError(1, list(command))
        return GMI

    got = device_facts("musa", _interface("MTT S5000"), 0, which=_only("mthreads-gmi"), run=run)
    assert got["state"]["product name"] == "MTT S5000"
    got = device_facts(
        "musa",
        _interface("MTT S5000"),
        0,
        which=_only("mthreads-gmi"),
        run=lambda command: "usage: ..." if "-j" in command else GMI,
    )
    assert got["state"]["clocks.graphics"] == "1750 MHz"


def test_sections_without_a_line_for_the_device() -> None:
    text = "Index : 0\nProduct Name : A\nIndex : 1\nProduct Name : A\nPower\n  Draw : 9W\n"
    first, second = read_sections(text)
    assert first == {"index": "0", "product name": "A"}
    assert second == {"index": "1", "product name": "A", "power.draw": "9W"}


@pytest.mark.parametrize("text", ["{", '{"GPU": 3}', "{}", '{"GPU": [[], 1, {}]}', "{" * 9999])
def test_odd_json_is_a_note_or_nothing(text: str) -> None:
    got = device_facts(
        "musa", _interface(), 0, which=_only("mthreads-gmi"), run=lambda command: text
    )
    assert "state" not in got
    assert len(got["notes"]) == 1


@given(st.text())
def test_any_answer_is_read_or_refused(text: str) -> None:
    for each in (*read_sections(text), *read_csv(text, ("--query-gpu=name,uuid",))):
        json.dumps(each)
    got = device_facts(
        "cuda", _interface(), 0, which=lambda name: f"/bin/{name}", run=lambda command: text
    )
    json.dumps(got)


def test_the_files_that_were_imported_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tmp_path / "real.py"
    entry.write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "link.py").symlink_to(entry)
    made = {"flag_gems": str(tmp_path / "link.py"), "triton": str(tmp_path / "gone.py")}
    for name, file in {**made, "torch": "a\0b", "numpy": None}.items():
        module = ModuleType(name)
        module.__file__ = file
        monkeypatch.setitem(sys.modules, name, module)
    found = imported_modules()
    assert found.pop("pytest")["path"].endswith("__init__.py")
    digest = hashlib.sha256(b"a = 1\n").hexdigest()
    assert found == {"flag_gems": {"path": str(entry.resolve()), "sha256": digest}}
