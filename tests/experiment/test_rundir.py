"""The run directory, the harness in it, and what its receipts prove."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.errors import InputError, RunError
from flagkit.experiment.harness import SUMS, check_sums, copy_harness
from flagkit.experiment.receipts import allowed_environment
from flagkit.experiment.rundir import RunDir, folder_name, read_json, write_json, write_text

NOW = datetime(2026, 11, 30, 12, 0, 5)


def test_the_name_tells_time_switch_and_backend(tmp_path: Path) -> None:
    one = RunDir.create(tmp_path, "rlc-musa", NOW)
    other = RunDir.create(tmp_path, "rlc-musa", NOW)
    assert one.root.name == "20261130-120005-rlc-musa"
    assert other.root.name == "20261130-120005-rlc-musa-2"


def test_a_place_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="--runs-dir"):
        RunDir.create(tmp_path / "file", "x", NOW)


@given(st.text())
def test_an_operator_never_leaves_the_run_directory(op: str) -> None:
    name = folder_name(op)
    assert name and "/" not in name and "\\" not in name and name not in (".", "..")
    assert len(name) <= 100 and name.isprintable()


@given(st.sets(st.text("ab@:_./é ", max_size=6) | st.sampled_from(["harness", "harness_"])))
def test_no_two_operators_share_a_folder(labels: set[str]) -> None:
    assert len({folder_name(label) for label in labels}) == len(labels)


def test_an_operators_folder_is_its_name_where_that_can_be() -> None:
    names = ["gelu_backward", "mul:one", "harness", "report.json"]
    assert [folder_name(name) for name in names] == [
        *("gelu_backward", "mul@one", "harness_", "report.json_")
    ]


def test_a_label_is_as_short_as_tells_files_apart() -> None:
    from flagkit.experiment.labels import labels

    one, two, other = Path("a/test_one.py"), Path("a/test_two.py"), Path("b/test_one.py")
    assert labels([("mul", one), ("add", one)]) == ["mul", "add"]
    assert labels([("mul", one), ("mul", two)]) == ["mul:one", "mul:two"]
    assert labels([("mul", one), ("mul", Path("a/one.py"))]) == ["mul:test_one.py", "mul:one.py"]
    assert labels([("mul", one), ("mul", other)]) == ["mul:a/test_one.py", "mul:b/test_one.py"]


def test_sides_and_rounds(tmp_path: Path) -> None:
    rundir = RunDir(root=tmp_path)
    for side in ("before", "after", "before.2"):
        (tmp_path / "gelu" / side).mkdir(parents=True)
        (tmp_path / "gelu" / side / "receipt.json").write_text("{}")
    (tmp_path / "gelu" / "after.2").mkdir()
    assert [(b.name, a.name) for b, a in rundir.rounds("gelu")] == [("before", "after")]


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_json(path, {"a": 1})
    with pytest.raises(RunError, match=r"r\.json"):
        write_text(tmp_path / "no" / "r.json", "x")
    assert read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("text", ["", "[]", "{", "\0", "\ud800", "[" * 100_000])
def test_a_damaged_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "campaign.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=r"campaign\.json"):
        RunDir.open(tmp_path).campaign()


def test_the_harness_is_the_code_with_its_digests(tmp_path: Path) -> None:
    copy_harness(tmp_path / "harness", ["flagkit_cpu", "flagkit_cpu"])
    root = tmp_path / "harness"
    assert (root / "flagkit" / "agent" / "plugin.py").is_file()
    assert (root / "flagkit_cpu" / "__init__.py").is_file()
    assert not list(root.rglob("__pycache__"))
    assert len((root / SUMS).read_text().splitlines()) > 50
    assert check_sums(root) == []


def test_a_file_of_any_name_is_in_the_harness(tmp_path: Path) -> None:
    package = tmp_path / "site" / "made_plugin"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / os.fsdecode(b"\xff data")).write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(package.parent))
        copy_harness(tmp_path / "harness", ["made_plugin"])
    assert check_sums(tmp_path / "harness") == []


def test_a_full_disk_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", full)
    monkeypatch.setattr("shutil.copytree.__defaults__", (False, None, full, False, False))
    with pytest.raises(RunError, match=r"No space left on device \(and \d+ more\)") as caught:
        copy_harness(tmp_path / "harness", [])
    assert len(str(caught.value)) < 500


def test_a_receipt_shows_no_secret() -> None:
    environ = {
        "FLAGTREE_RLC_ENHANCE": "1",
        "TRITON_CACHE_DIR": "c",
        "FLAGKIT_API_KEY": "x",
        "AWS_SECRET": "x",
        "HOME": "h",
        "ODD": "2",
    }
    kept = allowed_environment(environ, {"ODD": "2"})
    assert kept == {"FLAGTREE_RLC_ENHANCE": "1", "ODD": "2", "TRITON_CACHE_DIR": "c"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        *((name, False) for name in ("FLAGGEMS_ACCESS_KEY", "CUDA_PRIVATE_KEY", "MUSA_DB_PASS")),
        *((name, False) for name in ("TORCH_HUB_PASSPHRASE", "TRITON_REMOTE_AUTH", "FLAG_KEYS")),
        *((name, False) for name in ("TORCH_AUTH_HEADER", "PYTHON_KEYRING_PASSWORD")),
        *((name, True) for name in ("TRITON_PASS_PLUGIN_PATH", "TRITON_KEY_ORDER")),
        *((name, True) for name in ("TORCH_AUTHOR", "TRITON_AUTOTUNE", "FLAGTREE_BYPASS_CACHE")),
    ],
)
def test_what_a_name_says_decides_what_is_shown(name: str, shown: bool) -> None:
    assert bool(allowed_environment({name: "x"}, {})) is shown


def test_text_goes_through_a_link_and_into_a_pipe_and_replaces_neither(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_new_file_is_as_private_as_the_user_wants(tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        write_text(tmp_path / "report", "text")
    finally:
        os.umask(mask)
    assert (tmp_path / "report").stat().st_mode & 0o777 == 0o600
