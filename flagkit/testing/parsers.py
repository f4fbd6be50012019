"""What a log parser has to keep to: any bytes, no exception, nothing half-read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.model import Damaged, Note, Row
from flagkit.plugins import Kind
from flagkit.testing.common import PluginContract

if TYPE_CHECKING:
    from flagkit.interfaces import LogParser

HEAD = 65536

ODD_LINES = (
    b"",
    b"\n",
    b"\r\n",
    b"\0\0\0\n",
    b"\xff\xfe\xfa\n",
    b"\xef\xbb\xbfSUCCESS\n",
    b"\x1b[31mFAILED\x1b[0m: \x1b]0;title\x07\n",
    b"{\n",
    b'{"kind": "row", "latency_ms": NaN}\n',
    b'{"kind": 1e999}\n',
    b"[" * 5000 + b"\n",
    b"(" * 5000 + b"\n",
    b"SUCCESS" + b" " * 100000 + b"\n",
    b"SUCCESS 1e-5 nan inf -inf N/A\n",
    b"| a | b | c |\n",
    b"9" * 5000 + b"\n",
)


class ParserContract(PluginContract):
    """May be given too, and should: ``sample``, a log of the format."""

    kind = Kind.PARSER

    @pytest.fixture
    def sample(self) -> bytes:
        """None, unless given."""
        return b""

    def test_it_claims_nothing_of_an_empty_file(self, plugin: LogParser) -> None:
        """An empty log has no format."""
        assert plugin.claims(b"", Path("run.log")) is False

    def test_claims_never_raises(self, plugin: LogParser) -> None:
        """Whatever the file starts with."""
        for head in (*ODD_LINES, noise(1), noise(2)):
            assert isinstance(plugin.claims(head[:HEAD], Path("run.log")), bool)

    def test_parse_is_a_stream(self, plugin: LogParser) -> None:
        """It takes an iterator and gives one."""
        found = plugin.parse(iter([b"one\n", b"two\n"]), "run.log")
        assert isinstance(found, Iterator)
        list(found)

    @pytest.mark.parametrize("seed", range(5))
    def test_parse_never_raises(self, plugin: LogParser, seed: int, sample: bytes) -> None:
        """For bytes of any kind, also in the middle of a real log."""
        lines = [*ODD_LINES, *noise(seed).splitlines(keepends=True), *sample.splitlines(True)]
        random.Random(seed).shuffle(lines)  # noqa: S311
        facts(plugin, b"".join(lines))

    def test_the_sample_is_its_own(self, plugin: LogParser, sample: bytes) -> None:
        """It claims its format and finds rows, none of them damaged."""
        if not sample:
            pytest.skip("no `sample` given")
        assert plugin.claims(sample[:HEAD], Path("run.log")) is True
        found = facts(plugin, sample)
        assert any(isinstance(fact, Row) for fact in found)
        assert not [fact for fact in found if isinstance(fact, Damaged)]

    def test_parse_is_repeatable(self, plugin: LogParser, sample: bytes) -> None:
        """A parser keeps nothing from one log to the next."""
        assert facts(plugin, sample) == facts(plugin, sample)

    def test_line_ends_do_not_matter(self, plugin: LogParser, sample: bytes) -> None:
        """A log that went through another system reads the same."""
        windows = sample.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        assert keys(plugin, windows) == keys(plugin, sample)

    def test_a_log_cut_short(self, plugin: LogParser, sample: bytes) -> None:
        """It never shows a row that the whole log does not show."""
        whole = keys(plugin, sample)
        for cut in range(0, len(sample), max(1, len(sample) // 60)):
            found = facts(plugin, sample[:cut])
            # The last line may be cut within a number or a shape.
            last = sample[:cut].count(b"\n") + 1
            rows = [f for f in found if isinstance(f, Row) and f.source.line < last]
            assert {(row.key.op, row.key.size_key) for row in rows} <= set(whole)


def facts(plugin: LogParser, log: bytes) -> list[Any]:
    """Everything *plugin* reads in *log*, after a look at its types."""
    found = list(plugin.parse(iter(log.splitlines(keepends=True)), "run.log"))
    for fact in found:
        assert isinstance(fact, (Row, Damaged, Note))
        if not isinstance(fact, Note):
            assert fact.source.file == "run.log"
            assert fact.source.line >= 0
    return found


def keys(plugin: LogParser, log: bytes) -> list[tuple[str, str]]:
    """Operator and size of every row."""
    rows = (fact for fact in facts(plugin, log) if isinstance(fact, Row))
    return [(row.key.op, row.key.size_key) for row in rows]


def noise(seed: int, length: int = 4000) -> bytes:
    """Bytes that mean nothing, equal for equal seeds."""
    source = random.Random(seed)  # noqa: S311
    return bytes(
        source.choice(b"\n\r\0\xff|{}[]()\"',:.0123456789eE-+ NaSUCEinf") for _ in range(length)
    )
