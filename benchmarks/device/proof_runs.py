"""Runs the real command for the proofs beside it, keeps what it said and notes checks."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

KEPT = ("receipt.json", "run.log", "tuning.jsonl", "measurements.jsonl", "agent.json")


class Late(Exception):
    """A part's time is over."""


@dataclass
class Part:
    """One part's commands and checks."""

    name: str
    given: argparse.Namespace
    work: Path
    limit: float
    checks: list[tuple[bool, str, str]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    count: int = 0
    last: str = ""

    def check(self, ok: object, what: str, figures: object = "") -> None:
        """Note one check."""
        self.checks.append((bool(ok), what, str(figures)))

    def flagkit(self, *args: object, **environ: str) -> tuple[int, str]:
        """Run the command; its code and all it said. Raises :class:`Late`."""
        self.count += 1
        command = [sys.executable, "-m", "flagkit", *map(str, args)]
        log = self.given.out / "logs" / f"{self.name}-{self.count}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        told = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
        with log.open("w") as out:
            print(f"$ {told} {shlex.join(command)}", file=out, flush=True)
            child = subprocess.Popen(
                command, env={**os.environ, **environ}, stdout=out, stderr=subprocess.STDOUT
            )
            try:
                code = child.wait(max(1.0, self.limit - (time.monotonic() - self.started)))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)  # flagkit ends the benchmark's processes
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(20)
                child.kill()
                raise Late(f"{self.limit:.0f} s were not enough; see {log.name}") from None
        said = log.read_text(errors="replace")
        self.last = said.strip().rsplit("\n", 1)[-1]
        return code, said

    def ab(self, name: str, *args: object, **environ: str) -> tuple[int, str, Path]:
        """``flagkit ab`` on the device into a folder of its own: code, output, run directory.

        A run that was cut there before is resumed.
        """
        runs = self.work / f"{self.name}-{name}"
        begun = sorted(runs.iterdir()) if runs.is_dir() else []
        options = (
            "--backend",
            self.given.backend,
            "--runs-dir",
            runs,
            "--timeout",
            f"{self.limit:.0f}",
        )
        asked = ("--resume", begun[0]) if begun else (*options, *args)
        code, said = self.flagkit("ab", *asked, **environ)
        found = sorted(runs.iterdir()) if runs.is_dir() else []
        if found:
            self.keep(found[0], name)
        return code, said, found[0] if found else runs

    def keep(self, run: Path, name: str) -> None:
        """Copy what is small; compiled code stays behind."""
        target = self.given.out / f"{self.name}-{name}"
        for path in [*run.glob("*.*"), *(p for k in KEPT for p in run.glob(f"*/*/{k}"))]:
            copy = target / path.relative_to(run)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def reports(run: Path) -> list[dict[str, Any]]:
    """Every operator's report."""
    data: dict[str, Any] = json.loads((run / "report.json").read_text())
    found: list[dict[str, Any]] = data.get("reports", [data])
    return found


def lines(side: Path, name: str) -> list[dict[str, Any]]:
    """A journal's lines."""
    return [json.loads(line) for line in (side / name).read_text().splitlines()]


def timed_rows(side: Path) -> dict[str, tuple[str, str]]:
    """Dtype and size of each timed row, by its call."""
    found = {}
    for line in lines(side, "measurements.jsonl"):
        if line["kind"] == "row" or (line["kind"] == "call" and line["role"] == "row"):
            row = (line["dtype"], line["size_detail"])
            if line["id"] is not None and all(row):
                found[line["id"]] = row
    return found


def tried(side: Path) -> int:
    """Configs that tuners timed, as TRITON_PRINT_AUTOTUNING tells them."""
    return (side / "run.log").read_bytes().count(b"Autotuning kernel ")


def said_range(report: dict[str, Any]) -> str:
    """A report's range."""
    one = report["range"]
    if one is None:
        return "no range"
    return f"{one['min_percent']:+.2f}..{one['max_percent']:+.2f} % of {one['rows']} rows"


def run_parts(
    parts: Mapping[str, tuple[float, Callable[[Part], None]]], given: argparse.Namespace
) -> None:
    """Run the parts *given* names, print what came out, checks last, and exit."""
    given.out.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + given.limit
    done = []
    with contextlib.ExitStack() as stack:
        if given.work is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="flagkit-proof-"))
            work = Path(made)
        else:
            work = given.work.absolute()
            work.mkdir(parents=True, exist_ok=True)
        for name in given.parts.split(","):
            done.append(run_part(name, parts[name], given, work, ends - time.monotonic()))
            print(f"{name}: done, {ends - time.monotonic():.0f} s left", flush=True)
    shown = [table for part in done for table in (*part.tables, "")]
    failed = False
    for part in done:
        for ok, what, figures in part.checks:
            failed |= not ok
            shown.append(f"{'PASS' if ok else 'FAIL'}  {what:48s} {figures[:300]}")
    text = "\n".join(shown)
    (given.out / "summary.txt").write_text(text + "\n")
    print(text)
    raise SystemExit(failed)


def run_part(
    name: str,
    what: tuple[float, Callable[[Part], None]],
    given: argparse.Namespace,
    work: Path,
    left: float,
) -> Part:
    """Run one part; whatever it raises is a failed check."""
    limit, body = what
    part = Part(name=name, given=given, work=work, limit=min(limit, left))
    try:
        if left < 10:
            raise Late("no time was left for it")
        body(part)
    except Exception as error:
        said = f"{type(error).__name__}: {error}; the last command ended: {part.last}"
        part.check(False, f"{name} was cut short", said)
    part.checks.append((True, f"{name}: time", f"{time.monotonic() - part.started:.0f} s"))
    return part
