"""Names, help, errors and exit codes of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from flagkit.cli import COMMANDS, cli, one_line
from flagkit.cli.options import check_output
from flagkit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

HEAVY = "torch triton torch_musa flag_gems numpy rich flagkit.plugins flagkit.experiment"


def test_help_loads_nothing_heavy_and_builds_no_registry() -> None:
    code = (
        "import sys\n"
        "from flagkit.cli import _run\n"
        "assert _run(['--help']) == 0\n"
        f"print([m for m in {HEAVY.split()!r} if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_says_what_the_list_says() -> None:
    import click

    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None and command.name == name and command.help


def test_a_misspelt_command_is_named(flagkit: Callable[..., Done]) -> None:
    done = flagkit("comapre")
    assert done.code == 2 and "did you mean 'compare'" in done.err


def test_an_unknown_backend_is_named(flagkit: Callable[..., Done]) -> None:
    done = flagkit("ab", "--switch", "rlc", "--backend", "muse", FLAGKIT_BLOCK="flagkit-acme")
    assert done.code == 2
    assert done.err == (
        "flagkit: unknown backend 'muse' (did you mean 'musa'?); installed: cpu, cuda, musa\n"
    )


@pytest.mark.parametrize(
    ("backend", "name"),
    [("musa", "FLAGTREE_MUSA_RLC_ENHANCE"), ("cuda", "FLAGTREE_RLC_ENHANCE")],
)
def test_a_dry_run_shows_all_that_differs(
    flagkit: Callable[..., Done], tmp_path: Path, backend: str, name: str
) -> None:
    done = flagkit("ab", "--switch", "rlc", "--backend", backend, "--ops", "softmax", "--dry-run")
    assert done.code == 0, done.err
    switch = done.out.split("differs, the switch:\n")[1].split("  differs, private paths:\n")
    assert switch[0] == f"    {name}: 0 against 1\n"
    assert [line.split(":")[0].strip() for line in switch[1].splitlines()] == [
        "FLAGGEMS_CACHE_DIR",
        "FLAGKIT_AGENT_CONFIG",
        "TRITON_CACHE_DIR",
    ]
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_run_here_leaves_nothing(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    done = flagkit("ab", "--switch", "rlc", "--backend", "musa", "--ops", "softmax")
    assert done.code == 1
    assert done.err.startswith("flagkit: backend 'musa' cannot run here: ")
    assert list(tmp_path.iterdir()) == []


def test_plug_in_options_show_up_with_the_plug_in(flagkit: Callable[..., Done]) -> None:
    with_switch = flagkit("ab", "--switch", "rlc", "--backend", "musa", "--help")
    assert "--rlc-phase-mask" in with_switch.out and with_switch.code == 0
    assert "--rlc-" not in flagkit("ab", "--help").out


def test_plugins_lists_every_kind(flagkit: Callable[..., Done]) -> None:
    done = flagkit("plugins", "--json")
    rows = json.loads(done.out)
    assert {row["kind"] for row in rows} == {"backend", "switch", "parser", "reporter", "tuner"}
    assert set(rows[0]) == {
        *("kind", "name", "distribution", "version", "state", "summary", "problem")
    }
    assert [row["problem"] for row in rows if row["distribution"] == "flagkit"].count("") == len(
        [row for row in rows if row["distribution"] == "flagkit"]
    )
    assert "flagkit" in flagkit("plugins").out


def test_doctor_gives_a_verdict(flagkit: Callable[..., Done]) -> None:
    assert "can run here" in flagkit("doctor", "--backend", "cpu").out
    done = flagkit("doctor", "--backend", "musa")
    assert done.code == 1 and "cannot run here" in done.out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["compare", "no.log", "no.log"], "no.log does not exist"),
        (["report", "nowhere"], "nowhere"),
        (["verify", "nowhere"], "nowhere"),
        (["ab", "--switch", "aa", "--backend", "cpu", "--suite", "nowhere"], "nowhere"),
        (["ab", "--switch", "aa", "--backend", "cpu", "--ops", "../x"], "'../x'"),
        (["ab", "--switch", "aa", "--backend", "cpu", "--ops", "nosuchop"], "nosuchop"),
        (["ab", "--switch", "aa", "--backend", "cpu", "--python", "nopy"], "nopy"),
        (["ab", "--switch", "aa", "--backend", "cpu", "--fail-on", "rain"], "rain"),
        (["ab", "--switch", "rlc", "--backend", "cpu"], "--rlc-vendor"),
        (["ab", "--switch", "env", "--backend", "cpu"], "--env-set"),
    ],
)
def test_bad_input_is_one_line(
    flagkit: Callable[..., Done], tmp_path: Path, args: list[str], text: str
) -> None:
    done = flagkit(*args)
    assert done.code in (1, 2) and done.out == ""
    assert text in done.err and done.err.count("\n") == 1, done.err
    assert not (tmp_path / "runs").exists()


def test_an_existing_output_is_refused(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(TABLE)
    out = tmp_path / "out.json"
    assert flagkit("compare", log, log, "--reporter", "json", "-o", out).code == 0
    first = json.loads(out.read_text())
    assert first["schema"] == 1 and first["range"]["rows"] == 1
    refused = flagkit("compare", log, log, "-o", out)
    assert refused.code == 2 and "--force" in refused.err
    assert json.loads(out.read_text()) == first
    assert flagkit("compare", log, log, "-o", out, "--force").code == 0
    assert "1 row" in out.read_text()


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_output(tmp_path / "out.csv", force=False)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(UsageError, match=r"out\.csv: its folder cannot be written to"):
        check_output(tmp_path / "out.csv", force=False)


def test_nothing_paired_is_never_no_change(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TABLE)
    (tmp_path / "b.log").write_text(TABLE.replace("1024", "2048"))
    done = flagkit("compare", "a.log", "b.log")
    assert done.code == 5 and "nothing was paired" in done.err
    assert "missing" in done.out


@pytest.mark.parametrize("option", [("--timeout", "0"), ("--timeout", "-1"), ("--device", "-1")])
def test_a_number_out_of_range_is_a_usage_error(
    flagkit: Callable[..., Done], option: tuple[str, str]
) -> None:
    done = flagkit("ab", "--switch", "aa", "--backend", "cpu", "--dry-run", *option)
    assert done.code == 2 and option[0] in done.err and done.err.count("\n") == 1


def test_fail_on_trips(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TABLE)
    (tmp_path / "b.log").write_text(TABLE.replace("0.012000", "0.024000"))
    assert flagkit("compare", "a.log", "b.log").code == 0
    done = flagkit("compare", "a.log", "b.log", "--fail-on", "regression")
    assert done.code == 3 and "regression" in done.err
    (tmp_path / "c.log").write_text(TABLE + ROW.replace("1024", "512"))
    assert flagkit("compare", "a.log", "c.log", "--fail-on", "incomplete").code == 4


def test_equal_keys_on_one_side_are_ambiguous(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TABLE + ROW + ROW.replace("1024", "512"))
    (tmp_path / "b.log").write_text(TABLE + ROW.replace("1024", "512"))
    done = flagkit("compare", "a.log", "b.log", "--reporter", "json")
    report = json.loads(done.out)
    assert [row["size_key"] for row in report["rows"]] == ["[[512,512]]"]
    assert [u["reason"] for u in report["unpaired"]] == ["ambiguous"] * 3


def test_directories_pair_by_operator(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    for side in ("a", "b"):
        for op in ("gelu", "tanh"):
            (tmp_path / side / op).mkdir(parents=True)
            (tmp_path / side / op / "run.log").write_text(TABLE.replace("gelu", op))
    done = flagkit("compare", "a", "b", "--reporter", "json")
    reports = json.loads(done.out)["reports"]
    assert [r["label"] for r in reports] == ["gelu", "tanh"]
    assert flagkit("compare", "a", "b/gelu/run.log").code == 2


def test_one_line_drops_what_a_terminal_would_obey() -> None:
    assert one_line("a\x1b[31m\nb\tc") == "a [31m b c"


ROW = (
    "SUCCESS               0.012345            0.012000               1.029"
    "          [torch.Size([1024, 1024])]\n"
)
TABLE = (
    "\nOperator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
    "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup"
    "          Size Detail\n" + "-" * 95 + "\n" + ROW
)


def test_rows_of_two_runs_are_never_told_apart_by_their_order(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    for side in ("a", "b"):
        for run in ("1", "2"):
            (tmp_path / side / run).mkdir(parents=True)
            (tmp_path / side / run / "run.log").write_text(TABLE)
    done = flagkit("compare", "a", "b")
    assert done.code == 1
    assert "'gelu' was run more than once there: a/1/run.log and a/2/run.log" in done.err


def test_a_campaign_in_a_directory_of_runs_is_no_side(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    for side in ("before", "after"):
        folder = tmp_path / "a" / "campaign" / "gelu" / side
        folder.mkdir(parents=True)
        (folder / "run.log").write_text(TABLE)
    (tmp_path / "a" / "campaign" / "campaign.json").write_text('{"request": {"switch": "rlc"}}')
    done = flagkit("compare", "a", "a")
    assert done.code == 1
    assert "a/campaign is a campaign with both sides in it" in done.err


def test_a_directory_of_plain_logs_is_as_good_as_the_logs(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    for side in ("a", "b"):
        (tmp_path / side / "gelu").mkdir(parents=True)
        (tmp_path / side / "gelu" / "run.log").write_text(TABLE)
    done = flagkit("compare", "a", "b", "--reporter", "json")
    report = json.loads(done.out)
    assert done.code == 0 and report["range"]["regime"] == "unknown"
    assert report["incomplete"] == []


def test_what_a_search_found_is_kept_for_the_next_run(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    package = tmp_path / "stack" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "libtriton.so").write_bytes(b"FLAGTREE_HCU_RLC_ENHANCE\0" + bytes(1 << 20))
    common = (
        *("ab", "--switch", "rlc", "--rlc-vendor", "musa", "--backend", "cpu"),
        *("--suite", suite, "--ops", "fine"),
    )
    first = flagkit(*common, PYTHONPATH=str(package.parent))
    assert first.code == 2 and "FLAGTREE_HCU_RLC_ENHANCE" in first.err
    kept = tmp_path / "cache" / "flagkit" / "variables.json"
    assert "FLAGTREE_MUSA_RLC_ENHANCE" in kept.read_text()
    assert flagkit(*common, PYTHONPATH=str(package.parent)) == first
    homeless = flagkit(
        *common, PYTHONPATH=str(package.parent), XDG_CACHE_HOME="", HOME=str(tmp_path / "gone")
    )
    assert homeless == first and not (tmp_path / "gone").exists()
