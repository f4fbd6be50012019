"""A plug-in whose methods raise: one line that names it, and what was measured stands."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "from flagkit import hookimpl\nfrom flagkit.interfaces import ArmSetup\n"
SWITCH = """
class Switch:
    name, summary, arms, control = "boom", "made for a test", ("off", "on"), False
    def setup(self, arm, backend, options, target):
        {setup}
        return ArmSetup(env={{"BOOM": {value}}})
    def variables(self, backend, options): return ()
    def observe(self): return {{"seen": "yes"}}
    def prove(self, before, after):
        {prove}
    def options(self): return ()
@hookimpl
def flagkit_switch(): return Switch()
"""
PARSER = """
class Parser:
    name, summary = "boom", "made for a test"
    def claims(self, head, path): {claims}
    def parse(self, lines, source):
        for line in lines: raise ValueError("torn\\nline")
        yield
@hookimpl
def flagkit_parser(): return Parser()
"""
REPORTER = """
class Reporter:
    name, summary, suffix = "boom", "made for a test", ".txt"
    def render(self, reports, options): raise ZeroDivisionError("a\\nb\\x1b[31m")
    def options(self): return ()
@hookimpl
def flagkit_reporter(): return Reporter()
"""
RAISE = 'raise KeyError("x")'
TABLE = """\
test_exp.py 
Operator: exp  Performance Test (dtype=torch.float16, mode=kernel,level=core)
Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail
-----------------------------------------------------------------------------------------------
SUCCESS               0.010000            0.010000               1.000          [torch.Size([64])]


"""


def switch(setup: str = "pass", prove: str = "return ()", value: str = "arm") -> str:
    return SWITCH.format(setup=setup, prove=prove, value=value)


def flagkit(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-m", "flagkit", *args]
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def install(folder: Path, group: str, text: str) -> None:
    info = folder / "boom-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: boom\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[flagkit.{group}]\nboom = boom_mod\n")
    (folder / "boom_mod.py").write_text(HEADER + text)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("flagkit: ")
    return line


@pytest.fixture
def logs(tmp_path: Path) -> tuple[str, str]:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(TABLE)
    return "a.log", "b.log"


def test_a_switch_that_raises_before_the_run(tmp_path: Path) -> None:
    install(tmp_path, "switches", switch(setup=RAISE))
    done = flagkit(tmp_path, "ab", "--switch", "boom", "--backend", "cpu", "--ops", "exp")
    assert "switch 'boom' failed: setup() raised KeyError: 'x'" in one_line(done)
    assert not (tmp_path / "runs").exists()


def test_a_value_of_a_variable_that_is_no_text(tmp_path: Path) -> None:
    install(tmp_path, "switches", switch(value="1"))
    done = flagkit(tmp_path, "ab", "--switch", "boom", "--backend", "cpu", "--ops", "exp")
    assert "setup() raised TypeError: the value of BOOM is 1, which is no text" in one_line(done)


def test_a_switch_that_cannot_judge_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    install(tmp_path, "switches", switch(prove=RAISE))
    done = flagkit(tmp_path, "ab", "--switch", "boom", "--backend", "cpu", "--ops", "exp add")
    assert done.returncode == 0, done.stderr
    said = "! switch 'boom' failed: prove() raised KeyError: 'x'"
    assert done.stdout.count(said) == 2
    assert "Traceback" not in done.stderr


def test_a_reporter_that_raises(tmp_path: Path, logs: tuple[str, str]) -> None:
    install(tmp_path, "reporters", REPORTER)
    done = flagkit(tmp_path, "compare", *logs, "--reporter", "boom")
    assert "reporter 'boom' failed: render() raised ZeroDivisionError: a b" in one_line(done)


def test_a_parser_that_raises_breaks_only_itself(tmp_path: Path, logs: tuple[str, str]) -> None:
    install(tmp_path, "parsers", PARSER.format(claims=RAISE))
    done = flagkit(tmp_path, "compare", *logs)
    assert done.returncode == 0 and "exp: 1 row paired" in done.stdout, done.stderr
    done = flagkit(tmp_path, "compare", *logs, "--parser", "boom")
    assert "parser 'boom' failed: parse() raised ValueError: torn line" in one_line(done)
    (tmp_path / "c.log").write_text("something else\n")
    done = flagkit(tmp_path, "compare", "a.log", "c.log")
    assert "parser 'boom' failed: claims() raised KeyError" in one_line(done)
