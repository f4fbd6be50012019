"""What a person sees while a campaign runs: progress on stderr, results on stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from flagkit.cli import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.model import RangeReport


class CampaignLog:
    """Keeps all that was shown, without escape sequences. A full disk stops only the keeping."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO | None = None
        try:
            self._file = path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            click.echo(f"flagkit: cannot write {path}: {error.strerror}", err=True)

    def write(self, text: str) -> None:
        """Append *text* as a line."""
        if self._file is None:
            return
        try:
            self._file.write(click.unstyle(text) + "\n")
            self._file.flush()
        except OSError as error:
            self._file = None
            click.echo(f"flagkit: campaign.log is not kept on: {error.strerror}", err=True)


class Display:
    """Shows a campaign's progress.

    On a terminal the running side has one line that is rewritten; elsewhere each side has
    a line when it starts and one when it ends.

    :param render: gives the text of one operator's report, for the moment it is done.
    :param results: where that text goes; stderr where stdout is a machine's.
    """

    def __init__(
        self,
        log: CampaignLog,
        *,
        operators: int,
        render: Callable[[RangeReport], str],
        results_on_stdout: bool,
        stream: TextIO | None = None,
    ) -> None:
        self._log = log
        self._operators = operators
        self._render = render
        self._results_on_stdout = results_on_stdout
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._seen: dict[str, int] = {}
        self._what = ""

    def started(self, op: str, side: str, round_: int) -> None:
        """A process starts."""
        nth = self._seen.setdefault(op, len(self._seen) + 1)
        rounds = f" round {round_}" if round_ > 1 else ""
        self._what = f"[{nth}/{self._operators}] {one_line(op)} {side}{rounds}"
        if not self._live:
            self._line(f"{self._what} ...")

    def ticked(self, rows: int, seconds: float) -> None:
        """It is still running."""
        if self._live:
            self._stream.write(f"\r\x1b[K{self._what}  {rows} rows  {seconds:.0f} s")
            self._stream.flush()

    def ended(self, rows: int, seconds: float, problem: str) -> None:
        """It ended."""
        if self._live:
            self._stream.write("\r\x1b[K")
        end = f"  {one_line(problem)}" if problem else ""
        self._line(f"{self._what}  {rows} rows  {seconds:.1f} s{end}")

    def reported(self, report: RangeReport) -> None:
        """An operator is compared."""
        text = self._render(report)
        self._log.write(text)
        click.echo(text, err=not self._results_on_stdout)

    def failed(self, op: str, problem: str) -> None:
        """An operator gives no report."""
        self._line(f"flagkit: {one_line(op)}: {one_line(problem)}")

    def said(self, text: str) -> None:
        """A remark."""
        self._line(one_line(text))

    def _line(self, text: str) -> None:
        self._log.write(text)
        self._stream.write(text + "\n")
        self._stream.flush()


def near(path: Path) -> str:
    """*path* from here, where it is below here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
