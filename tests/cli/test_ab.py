"""The main job on a made suite, with real pytest processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done


def only_run(tmp_path: Path) -> Path:
    (run,) = (tmp_path / "runs").iterdir()
    return run


def report(run: Path) -> Any:
    return json.loads((run / "report.json").read_text())


def test_record_replay_pair_range(ab: Callable[..., Done], tmp_path: Path) -> None:
    done = ab("fine other")
    assert done.code == 0, done.err
    run = only_run(tmp_path)
    assert {p.name for p in run.iterdir()} == {
        *(
            "campaign.json",
            "campaign.log",
            "harness",
            "fine",
            "other",
            "report.json",
            "report.md",
            "receipt.json",
            "suite.sha256",
            ".lock",
        )
    }
    assert {p.name for p in (run / "fine" / "before").iterdir()} == {
        *("agent.json", "caches", "measurements.jsonl", "tuning.jsonl", "run.log", "receipt.json")
    }
    receipts = [
        json.loads((run / "fine" / s / "receipt.json").read_text()) for s in ("before", "after")
    ]
    assert [r["environment"]["MADE"] for r in receipts] == ["0", "1"]
    assert [r["exit"] for r in receipts] == [0, 0]
    reports = report(run)["reports"]
    assert [r["label"] for r in reports] == ["fine", "other"]
    assert [r["range"]["rows"] for r in reports] == [2, 1]
    assert reports[0]["range"]["regime"] == "host/hot"
    assert "2 rows paired, speedup" in done.out and "fine after" in done.err
    assert "\x1b" not in done.err + done.out + (run / "campaign.log").read_text()
    assert "2 rows paired, speedup" in (run / "campaign.log").read_text()


def test_a_failing_operator_does_not_stop_the_next(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("raising silent other")
    assert done.code == 1
    found = {r["label"]: r for r in report(only_run(tmp_path))["reports"]}
    assert list(found) == ["raising", "silent", "other"]
    assert [row["size_key"] for row in found["raising"]["rows"]] == ["[1]", "[2]"]
    assert "out of shared memory" in json.dumps(found["raising"]["incomplete"])
    assert "silent" in done.err and "no rows" in done.err
    (problem,) = found["silent"]["incomplete"]
    assert problem.startswith("silent/before: the benchmark gave no rows")
    assert "silent" in done.out.split("remarks")[-1] and "incomplete" in done.out
    run = only_run(tmp_path)
    assert "### silent: nothing paired" in (run / "report.md").read_text()
    again = flagkit("report", run, "--fail-on", "incomplete")
    assert again.code == 4 and "silent" in again.out


def test_a_hang_is_ended_and_its_rows_kept(ab: Callable[..., Done], tmp_path: Path) -> None:
    done = ab("hanging other", "--timeout", "4")
    assert done.code == 1
    found = {r["label"]: r for r in report(only_run(tmp_path))["reports"]}
    assert len(found["hanging"]["rows"]) == 1 and len(found["other"]["rows"]) == 1
    assert "--timeout" in json.dumps(found["hanging"]["incomplete"])


def test_a_death_by_signal_is_said_and_its_rows_kept(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("dying")
    assert done.code == 1
    found = report(only_run(tmp_path))
    assert len(found["rows"]) == 1 and "SIGSEGV" in json.dumps(found["incomplete"])


def test_nothing_paired_is_exit_5(ab: Callable[..., Done]) -> None:
    done = ab("onesided")
    assert done.code == 5 and "nothing was paired" in done.err


def test_a_row_timed_with_another_switch_is_in_no_range(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("changing")
    found = report(only_run(tmp_path))
    assert [row["size_key"] for row in found["rows"]] == ["[1]"]
    assert {u["reason"] for u in found["unpaired"]} == {"config-drift"}
    assert "MADE" in done.out
    assert ab("changing", "--fail-on", "incomplete").code == 4


def test_the_json_reporter_leaves_stdout_to_json(ab: Callable[..., Done]) -> None:
    done = ab("other", "--reporter", "json")
    assert json.loads(done.out)["range"]["rows"] == 1
    assert "1 row paired" in done.err


def test_report_verify_and_resume(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    ab("fine other")
    run = only_run(tmp_path)
    assert flagkit("verify", run).code == 0
    before = (run / "fine" / "before" / "run.log").read_bytes()
    again = flagkit("report", run, "--reporter", "markdown", "-o", "r.md")
    assert again.code == 0 and "fine" in (tmp_path / "r.md").read_text()
    (run / "other" / "after" / "receipt.json").unlink()
    assert flagkit("report", run).code == 1
    resumed = flagkit("ab", "--resume", run)
    assert resumed.code == 0, resumed.err
    assert (run / "other" / "after.unfinished-1").is_dir()
    assert (run / "other" / "after" / "receipt.json").is_file()
    assert (run / "fine" / "before" / "run.log").read_bytes() == before
    (run / "fine" / "before" / "run.log").write_bytes(before + b"x")
    changed = flagkit("verify", run)
    assert changed.code == 1 and "fine/before/run.log: changed" in changed.err


def test_a_checkout_in_the_environment_does_not_replace_the_hosts_suite(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    (tmp_path / "gems" / "benchmark").mkdir(parents=True)
    (tmp_path / "gems" / "benchmark" / "test_other.py").write_text("")
    common = ("ab", "--switch", "aa", "--backend", "cpu", "--dry-run")
    done = flagkit(*common, FLAGKIT_GEMS_ROOT="gems")
    assert done.code == 0 and "gelu:" in done.out, done.err
    done = flagkit(*common, "--suite", suite, FLAGKIT_GEMS_ROOT="gems")
    assert done.code == 0 and "fine:" in done.out, done.err
    done = flagkit(*common, "--gems-root", "gems", FLAGKIT_GEMS_ROOT="none")
    assert done.code == 2 and "--ops" in done.err


def test_a_single_run_is_verified(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    common = ("run", "--backend", "cpu", "--suite", suite, "--ops", "fine")
    assert flagkit(*common, "--record", "one").code == 0
    assert flagkit(*common, "--replay-from", "one").code == 0
    for run in (tmp_path / "one", only_run(tmp_path)):
        assert "files are as their receipts say" in flagkit("verify", run).out
        with (run / "fine" / "measurements.jsonl").open("a") as file:
            file.write("\n")
        changed = flagkit("verify", run)
        assert changed.code == 1 and "fine/measurements.jsonl: changed" in changed.err


def test_rounds_are_kept_apart_and_the_median_is_told(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("other", "--rounds", "3")
    assert done.code == 0, done.err
    found = report(only_run(tmp_path))
    assert len(found["rows"][0]["rounds"]) == 3
    assert (only_run(tmp_path) / "other" / "after.3" / "receipt.json").is_file()


def test_a_control_says_so(flagkit: Callable[..., Done], suite: Path) -> None:
    done = flagkit(
        *("ab", "--switch", "aa", "--backend", "cpu", "--suite", suite, "--ops", "other")
    )
    assert done.code == 0 and "control" in done.out


def test_record_then_replay_then_compare(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    common = ("run", "--backend", "cpu", "--suite", suite, "--ops", "fine")
    assert flagkit(*common, "--record", "one").code == 0
    done = flagkit(*common, "--replay-from", "one")
    assert done.code == 0, done.err
    replayed = only_run(tmp_path)
    journal = (replayed / "fine" / "measurements.jsonl").read_text()
    calls = [json.loads(line) for line in journal.splitlines()]
    assert all(c["flags"] == [] for c in calls if c["kind"] == "call")
    done = flagkit("compare", "one", replayed, "--reporter", "json")
    assert json.loads(done.out)["range"]["rows"] == 2
    assert flagkit(*common, "--record", "one").code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_ends_the_group_and_keeps_what_is_finished(
    suite: Path, tmp_path: Path, number: signal.Signals
) -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "flagkit",
            "ab",
            "--switch",
            "env",
            "--env-set",
            "MADE=0,1",
            "--backend",
            "cpu",
            "--suite",
            str(suite),
            "--ops",
            "other hanging",
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # nohup, or a shell's background, starts its children with signals ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    journal = "runs/*/hanging/before/measurements.jsonl"
    for _ in range(600):
        if any('"kind":"call"' in path.read_text() for path in tmp_path.glob(journal)):
            break
        time.sleep(0.1)
    os.kill(child.pid, number)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in err
    run = only_run(tmp_path)
    assert (run / "other" / "after" / "receipt.json").is_file()
    assert not (run / "hanging" / "before" / "receipt.json").exists()
    pid = json.loads((run / "hanging" / "before" / "measurements.jsonl").read_text().split("\n")[0])
    assert not os.path.exists(f"/proc/{pid['pid']}")


def test_a_read_only_place_is_one_line(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = flagkit(
        *("ab", "--switch", "aa", "--backend", "cpu", "--suite", suite, "--ops", "other"),
        *("--runs-dir", tmp_path / "file"),
    )
    assert done.code == 1 and "--runs-dir" in done.err and done.err.count("\n") == 1


def test_resume_refuses_to_be_asked_otherwise(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    ab("other")
    done = flagkit("ab", "--resume", only_run(tmp_path), "--ops", "fine")
    assert done.code == 2 and "--ops" in done.err


def test_a_campaign_is_no_side(
    ab: Callable[..., Done], flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    ab("other")
    run = only_run(tmp_path)
    done = flagkit("compare", run, run)
    assert done.code == 1 and "flagkit report" in done.err
    side = run / "other" / "before"
    assert flagkit("compare", side, side).code == 0


def test_a_receipt_tells_versions(ab: Callable[..., Done], tmp_path: Path) -> None:
    ab("other")
    receipt = json.loads((only_run(tmp_path) / "other" / "before" / "receipt.json").read_text())
    assert receipt["versions"]["python"].startswith("3.")
    campaign = json.loads((only_run(tmp_path) / "campaign.json").read_text())
    assert campaign["identity"]["before"] == campaign["identity"]["after"]
    assert campaign["identity"]["before"]["python version"].startswith("3.")


def test_what_only_flaggems_has_is_refused_elsewhere(ab: Callable[..., Done]) -> None:
    done = ab("other", "--dtype", "float16")
    assert done.code == 2 and "--dtype" in done.err


def test_further_pytest_arguments_reach_both_sides(ab: Callable[..., Done], tmp_path: Path) -> None:
    ab("other", "--bench-arg", "-v")
    for side in ("before", "after"):
        receipt = json.loads((only_run(tmp_path) / "other" / side / "receipt.json").read_text())
        assert "-v" in receipt["command"]


def test_a_folder_that_would_shadow_the_harness_is_refused(
    ab: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    (suite / "flagkit").mkdir()
    done = ab("fine")
    assert done.code == 2 and "instead of the code that measures" in done.err
    assert not (tmp_path / "runs").exists()


def test_a_place_that_no_path_list_can_hold_is_refused(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("fine", "--runs-dir", "a:b")
    assert done.code == 2 and "--runs-dir" in done.err
    assert not (tmp_path / "a:b").exists()
