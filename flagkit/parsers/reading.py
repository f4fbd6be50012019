"""Open a log, find its parser, read it as a stream: :func:`read_log`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from flagkit.errors import InputError, calling
from flagkit.model import Damaged, Note, Row, RunLog, number_rows
from flagkit.parsers.detect import Evidence, choose
from flagkit.parsers.regimes import Fallback, apply_fallbacks
from flagkit.parsers.stream import HEAD, open_lines, utf8_blocks, utf8_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flagkit.interfaces import LogParser


_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")
"""How gzip, zip, bzip2, xz, zstd and 7z files start."""


def read_log(
    path: str | Path, parsers: Sequence[LogParser], parser_name: str | None = None
) -> RunLog:
    """Read the log at *path* with the one of *parsers* that claims it.

    :param parser_name: the parser to use whatever the content is.
    :raises flagkit.errors.InputError: the file cannot be read, is no log of a known
        format, or holds no rows; the message says why and what to do.
    """
    path = Path(path)
    try:
        with _opened(path) as file:
            return _read(file, path, parsers, parser_name)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def parse_file(path: str | Path, parser: LogParser) -> RunLog:
    """Read the file at *path* with *parser*, whatever it holds; no row is no error.

    :raises flagkit.errors.InputError: the file cannot be read.
    """
    path = Path(path)
    try:
        with _opened(path) as file:
            return _parsed(parser, file, _head(file), path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _opened(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise InputError(f"{path} is a directory: name a log in it, such as {path / 'run.log'}")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    return path.open("rb", buffering=0)


def _read(
    file: IO[bytes], path: Path, parsers: Sequence[LogParser], parser_name: str | None
) -> RunLog:
    head = _head(file)
    if not head:
        raise InputError(f"{path} is empty: the benchmark wrote nothing, or has not yet")
    text = utf8_head(head)
    evidence = Evidence()
    evidence.see(text)
    parser = choose(text, path, parsers, parser_name)
    if parser is None and len(head) == HEAD and file.seekable():
        parser = _search(file, head, path, parsers, evidence)
        file.seek(len(head))
    if parser is None:
        for one in parsers:  # it may be the log of one that fails on it
            with calling("parser", one.name, "claims"):
                one.claims(text, path)
        raise InputError(_not_a_log(path, text, head, parsers, evidence))
    log = _parsed(parser, file, head, path)
    if not log.seen and parser_name is None and len(head) == HEAD and file.seekable():
        # What the head holds may be no more than a logger's first line.
        file.seek(len(head))
        others = [one for one in parsers if one is not parser]
        later = _search(file, head, path, others, evidence)
        if later is not None:
            file.seek(len(head))
            log = _parsed(later, file, head, path)
    if not log.seen:
        if parser_name is not None and choose(text, path, [parser]) is None:
            _refuse_parser(text, path, parser, parsers)
        raise InputError(_no_rows(path, parser, log.incomplete, evidence))
    return log


def _head(file: IO[bytes]) -> bytes:
    pieces = []
    missing = HEAD
    while missing and (piece := file.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _search(
    file: IO[bytes],
    head: bytes,
    path: Path,
    parsers: Sequence[LogParser],
    evidence: Evidence,
) -> LogParser | None:
    """Look further in: a benchmark may print megabytes before its first table."""
    tail = b""
    blocks = utf8_blocks(head, file.read)
    next(blocks)
    for block in blocks:
        # A claim may straddle two blocks.
        window = tail + block
        for start in range(0, len(window), HEAD):
            piece = window[max(0, start - 1024) : start + HEAD]
            parser = choose(piece, path, parsers)
            if parser is not None:
                return parser
        tail = window[-1024:]
    evidence.see(tail)
    return None


def _parsed(parser: LogParser, file: IO[bytes], head: bytes, path: Path) -> RunLog:
    with calling("parser", parser.name, "parse", passing=(OSError,)):
        return _collect(parser.parse(open_lines(file, head), str(path)), str(path))


def _collect(facts: Iterable[Row | Damaged | Note], source: str) -> RunLog:
    rows: list[Row] = []
    damaged: list[Damaged] = []
    notes: list[Note] = []
    incomplete: list[str] = []
    marks: list[Fallback] = []
    for fact in facts:
        if isinstance(fact, Row):
            rows.append(fact)
        elif isinstance(fact, Damaged):
            damaged.append(fact)
        elif fact.code == "incomplete":
            incomplete.append(fact.text)
        else:
            notes.append(fact)
            if isinstance(fact, Fallback):
                marks.append(fact)
    numbered = number_rows(apply_fallbacks(rows, marks))
    return RunLog(
        rows=numbered,
        damaged=tuple(damaged),
        notes=tuple(notes),
        incomplete=tuple(incomplete),
        journalled=any(row.key.node for row in numbered),
        source=source,
    )


def _not_a_log(
    path: Path, text: bytes, head: bytes, parsers: Sequence[LogParser], evidence: Evidence
) -> str:
    if not text.strip():
        return f"{path} holds nothing but blanks"
    why = evidence.why()
    if why:
        return f"{path} holds no rows: {why}"
    if head.startswith(_PACKED):
        return f"{path} is compressed: unpack it, and name the log that was in it"
    if head.count(0) > len(head) // 10:
        return f"{path} is not a text log: it looks like binary data"
    names = ", ".join(sorted(parser.name for parser in parsers))
    return (
        f"{path} is not a log of a known format ({names}); "
        "if it should be one, say which with --parser NAME"
    )


def _refuse_parser(
    text: bytes, path: Path, parser: LogParser, parsers: Sequence[LogParser]
) -> None:
    """Say so if the log is for others than the *parser* that was asked for."""
    names = sorted(one.name for one in parsers if choose(text, path, [one]))
    if names:
        what = "leave --parser out" if len(names) == 1 else "say which with --parser NAME"
        raise InputError(
            f"{path} holds no rows of {parser.name}: it looks like a log of "
            f"{' and '.join(names)}: {what}"
        )


def _no_rows(path: Path, parser: LogParser, incomplete: Sequence[str], evidence: Evidence) -> str:
    why = (
        "; ".join(incomplete[:3])
        or evidence.why()
        or f"nothing in it is a row of {parser.name}: the benchmark was stopped, or still runs"
    )
    return f"{path} holds no rows: {why}"
