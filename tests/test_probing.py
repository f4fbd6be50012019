"""A probe always answers, in one line, whatever the child does."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.probing import LONGEST, run_probe, visible_device

HERE = Path(sys.executable)


def test_code_that_ends_means_yes():
    answer = run_probe(HERE, 'facts["colour"] = 5\nversion("pluggy")\nversion("no-such-dist")')
    assert answer.ok
    assert answer.facts["colour"] == "5"
    assert answer.facts["python"].startswith("3.")
    assert answer.facts["pytest"] == pytest.__version__
    assert answer.facts["pluggy"][0].isdigit()
    assert answer.facts["no-such-dist"] == "not installed"


def test_a_missing_module():
    answer = run_probe(HERE, 'installed("json")\nneed("torch_acme")\nfacts["later"] = 1')
    assert answer.reason == "torch_acme is not installed"
    assert "later" not in answer.facts


def test_a_message_of_ones_own():
    assert run_probe(HERE, 'installed("torch_acme", "no acme")').reason == "no acme"


def test_a_module_that_breaks_on_import(tmp_path):
    (tmp_path / "acme_rt.py").write_text("raise OSError('libacme.so: not found')")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    answer = run_probe(HERE, 'need("acme_rt")', environ=environ)
    assert answer.reason == "acme_rt cannot be imported: OSError: libacme.so: not found"


def test_stop():
    answer = run_probe(HERE, 'print("noise")\nstop("no device\\n(it is unplugged)")')
    assert answer.reason == "no device (it is unplugged)"


def test_pytest_is_asked_for_first(tmp_path):
    answer = run_probe(
        HERE, 'need("torch_acme")', environ={"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    )
    assert answer.reason == "torch_acme is not installed"
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    assert run_probe(bare, "").reason == f"pytest is not installed in {sys.executable}"


def test_a_pluggy_that_is_too_old_is_named(tmp_path):
    (tmp_path / "pluggy.py").write_text(
        "class HookimplMarker:\n    def __call__(self, function=None, hookwrapper=False): pass\n"
    )
    dist = tmp_path / "pluggy-1.0.0.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: pluggy\nVersion: 1.0.0\n")
    answer = run_probe(HERE, "", environ={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert answer.reason == f"pluggy 1.0.0 in {sys.executable} is too old; 1.2 is needed"


def test_an_exception_says_its_last_line():
    answer = run_probe(HERE, "raise RuntimeError('driver too old')")
    assert not answer.ok
    assert answer.reason.endswith("RuntimeError: driver too old")
    assert "exit status 1" in answer.reason


def test_a_crash_names_the_signal():
    answer = run_probe(HERE, "os.kill(os.getpid(), 11)")
    assert "SIGSEGV" in answer.reason


def test_a_time_out_ends_the_children_too():
    code = (
        "import subprocess, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "time.sleep(60)\n"
    )
    start = time.monotonic()
    answer = run_probe(HERE, code, timeout=1.5)
    assert "did not answer within 1.5 s" in answer.reason
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("path", ["no/such/python", "with\0nul"])
def test_no_such_python(path):
    answer = run_probe(Path(path), "")
    assert not answer.ok
    assert answer.reason.startswith("cannot start ")


def test_a_folder_is_no_python(tmp_path):
    assert run_probe(tmp_path, "").reason.startswith("cannot start ")


@pytest.mark.parametrize(
    "line", ["", "{}", "[" * 3000, '{"ok": true}', '{"ok": true, "facts": 3}', "null", "3"]
)
def test_an_answer_that_is_none(tmp_path, line):
    code = f"print('\\nflagkit-probe:' + {line!r}, flush=True)\nos._exit(4)"
    answer = run_probe(HERE, code)
    assert not answer.ok
    assert "exit status 4" in answer.reason


def test_what_it_says_is_one_short_printable_line():
    answer = run_probe(HERE, 'stop("\\x1b[2J" + "long " * 500)')
    assert answer.reason.isprintable()
    assert len(answer.reason) <= LONGEST


def test_a_module_in_the_current_folder_is_not_asked(tmp_path, monkeypatch):
    (tmp_path / "torch_acme.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert not run_probe(HERE, 'need("torch_acme")').ok


class TestVisibleDevice:
    def test_unset(self, monkeypatch):
        monkeypatch.delenv("ACME_VISIBLE", raising=False)
        assert visible_device("ACME_VISIBLE", 3) == "3"

    @pytest.mark.parametrize(("device", "want"), [(0, "5"), (1, "GPU-7ab")])
    def test_it_counts_among_those_left(self, monkeypatch, device, want):
        monkeypatch.setenv("ACME_VISIBLE", "5, GPU-7ab")
        assert visible_device("ACME_VISIBLE", device) == want

    @pytest.mark.parametrize(("given", "left"), [("5,7", 2), ("", 0)])
    def test_none_left(self, monkeypatch, given, left):
        monkeypatch.setenv("ACME_VISIBLE", given)
        with pytest.raises(
            UsageError, match=rf"there is no device 2: ACME_VISIBLE.* leaves {left}"
        ):
            visible_device("ACME_VISIBLE", 2)

    def test_negative(self, monkeypatch):
        monkeypatch.delenv("ACME_VISIBLE", raising=False)
        with pytest.raises(UsageError, match="no device -1"):
            visible_device("ACME_VISIBLE", -1)
