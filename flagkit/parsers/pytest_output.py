"""What pytest's own lines in a log say about the run: whether it ended, and how."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit.model import Note, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_REASONS = 50
"""Named one by one; the rest is counted, so that a hopeless run costs no memory."""

MAX_LINE = 2000
"""Characters of a line that are looked at."""

START = (
    rb"(?:S(?:KIPPED \[|egmentation fault)|F(?:AILED[ \x1b\r\n]|atal Python error)|!!!!!"
    rb"|E(?:RROR[ \r\n]|xception ignored|rror in atexit)"
    # pytest frames its last line with as many signs as 80 columns leave room for: down to one.
    rb"|=(?:====|={0,3} (?:\d+ [a-z]|no tests ran))"
    rb"|\d\d* (?:passed|failed|skipped|errors?|deselected|xfailed|xpassed|warnings?)\b"
    rb"|benchmark/test_|test_|INTERNALERROR|Killed|Aborted|Terminated|Bus error|Traceback \(most|PASSED|---(?:--| Logging)"
    rb"|[.FEsxXp][.FEsxXp]{0,200} *(?:\[ *\d+%\] *)?\r?\n)"
)
"""Where such lines start, for :class:`flagkit.parsers.stream.Wanted`."""

_OUTCOME = re.compile(r"^(?P<what>FAILED|ERROR) (?P<node>\S+(?:\[.*?\])?)(?: - (?P<reason>.*))?$")
_NODE = re.compile(r"[^\s:]+\.py\b|::")
_SKIPPED = re.compile(r"^SKIPPED \[(?P<count>\d+)\] (?P<where>\S+?:\d+|\S+): (?P<reason>.*)$")
_OPERATOR = re.compile(r"^FAILED: Operator=(?P<op>[^{\s]\S*)")
_TALLY = re.compile(
    r"^(?:=+ )?(?P<counts>(?:\d+ (?:subtests? )?[a-z]+(?:, )?)+|no tests ran) in [\d.]+s\b"
)
_COUNT = re.compile(r"(\d+) (failed|errors?|skipped|passed)")
_BROKEN = re.compile(
    r"^(?:!!!+ (?P<stop>.*?) !!!+|(?P<fatal>INTERNALERROR|(?P<signal>Fatal Python error: .*"
    r"|Segmentation fault.*"
    # As a shell says it, which may tell the command behind it. Other programs' sentences go on.
    r"|(?:Killed|Aborted|Terminated|Bus error)(?:: \d+)?(?: \(core dumped\))?(?: {2,}.*)?$)))"
)
_SURVIVED = ("Exception ignored", "Error in atexit", "--- Logging error")
"""What Python says above a traceback that ended nothing."""

_SURVIVED_WITHIN = 3
"""Lines between the two, where a terminal has wrapped the first."""

_LIVE = re.compile(
    r"(?:(?:benchmark/)?test_\S*\.py::\S.* )?(?P<what>FAILED|ERROR)(?: +\[ *\d+%\])?"
)
"""An outcome as a verbose run shows it, alone on its line where the test printed something."""

_SHELL = re.compile(
    r"(?:\S{1,200}: (?:line \d+: )?|\[\d+\][+-]? )(?: *\d+ )? *(?P<how>(?:[Kk]illed|[Tt]erminated|[Aa]borted"
    r"|[Ss]egmentation fault|[Bb]us error|Illegal instruction)\b.*)"
)
"""A shell's word on a process that a signal ended: ``run.sh: line 3: 123 Killed   pytest``."""


class Session:
    """Follows the pytest sessions of one log, line by line."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._reasons: dict[str, int] = {}
        self._operators: list[str] = []
        self._failed = self._errors = self._skipped = 0
        self._named = {"FAILED": 0, "ERROR": 0, "SKIPPED": 0}
        self._live = {"FAILED": 0, "ERROR": 0}
        self._open_since = self._ended_at = self._traceback_at = 0
        self._survived_at = -_SURVIVED_WITHIN
        self._fatal: list[str] = []

    def feed(self, text: str, line: int) -> bool:
        """Take note of one shown line; whether it was pytest's."""
        text = text[:MAX_LINE].rstrip()
        first = text[:1]
        if first == "=":
            if "test session starts" in text:
                self._open_since = line
                self._fatal.clear()
                return True
            if text.strip("= ") and self._tally(text, line):
                return True
            return text.startswith("=====")
        if text.endswith(("FAILED", "ERROR", "]")) and (live := _LIVE.fullmatch(text)):
            self._live[live["what"]] += 1
            return True
        if first in "FE" and self._outcome(text, line):
            return True
        if first == "S" and (skipped := _SKIPPED.match(text)):
            self._named["SKIPPED"] += int(skipped["count"])
            self._reason(f"{skipped['where']} was skipped: {skipped['reason']}", line)
            return True
        if first.isdigit() or first == "n":
            return self._tally(text, line)
        if text.startswith("Traceback (most recent call last)"):
            if line > self._survived_at + _SURVIVED_WITHIN:
                self._traceback_at = line
            return False
        if text.startswith(_SURVIVED):
            self._survived_at = line
            return False
        if first in "!IFSKATB" and (broken := _BROKEN.match(text)):
            reason = f"pytest stopped: {broken['stop'] or broken['fatal']}"
            if broken["signal"] and self._open_since and reason not in self._reasons:
                self._fatal.append(reason)
            self._reason(reason, line)
            return True
        return False

    def end(self, text: str, line: int, row_at: int) -> None:
        """Take note of how the log ends.

        :param text: its last line.
        :param row_at: the line of the last row: what was raised before it was survived.
        """
        if self._ended_at > self._open_since:
            return
        if stopped := _SHELL.fullmatch(text[:MAX_LINE].strip()):
            self._reason(f"the benchmark's process was stopped: {stopped['how']}", line)
        elif self._traceback_at > row_at and not self._open_since:
            self._reason("the log ends in a traceback", self._traceback_at)

    def notes(self) -> Iterator[Note]:
        """Why the run is incomplete, one note a reason; none for a run that ended well."""
        for text, line in self._reasons.items():
            yield self._note(text, line)
        named = sum(self._named.values())
        for count, what, kind in (
            (self._failed, "failed", "FAILED"),
            (self._errors, "ended in an error", "ERROR"),
            (self._skipped, "skipped", "SKIPPED"),
        ):
            unnamed = count + self._live.get(kind, 0) - self._named[kind]
            if unnamed > 0:
                yield self._note(f"{unnamed} test{'s' * (unnamed > 1)} {what}", 0)
        if not named and not self._failed:
            for op in self._operators:
                yield self._note(f"{op} failed: the table of one dtype or more is missing", 0)
        if self._open_since:
            yield self._note(
                "the log ends before pytest's last line: the run was stopped or is still going",
                self._open_since,
            )

    def _outcome(self, text: str, line: int) -> bool:
        if operator := _OPERATOR.match(text):
            if operator["op"] not in self._operators and len(self._operators) < MAX_REASONS:
                self._operators.append(operator["op"])
            return True
        found = _OUTCOME.match(text)
        if found is None or not _NODE.search(found["node"]):
            return False
        self._named[found["what"]] += 1
        verb = "failed" if found["what"] == "FAILED" else "ended in an error"
        why = f": {found['reason']}" if found["reason"] else ""
        self._reason(f"{found['node']} {verb}{why}", line)
        return True

    def _tally(self, text: str, line: int) -> bool:
        tally = _TALLY.match(text)
        if tally is None:
            return False
        for count, what in _COUNT.findall(tally["counts"]):
            if what == "failed":
                self._failed += int(count[:9])
            elif what.startswith("error"):
                self._errors += int(count[:9])
            elif what == "skipped":
                self._skipped += int(count[:9])
        for reason in self._fatal:
            # It was another process's: the session that was under way came to its end.
            self._reasons.pop(reason, None)
        self._fatal.clear()
        self._open_since, self._ended_at = 0, line
        self._live = dict.fromkeys(self._live, 0)
        return True

    def _reason(self, text: str, line: int) -> None:
        if len(self._reasons) < MAX_REASONS:
            self._reasons.setdefault(text, line)

    def _note(self, text: str, line: int) -> Note:
        return Note(code="incomplete", text=text, source=Source(file=self._source, line=line))
