"""Finds the one file that benchmarks an operator."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.errors import InputError, UsageError
from flagkit.suites.marks import marks_in, may_hold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OP = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpSpec:
    """An operator as asked for. ``file`` is a stem, a file name or a path; None: find it."""

    op: str
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """What pytest is started on: ``pytest <path> <args>`` in ``cwd``.

    With ``in_package``, ``path`` and ``cwd`` are relative to the folder that holds the
    ``flagkit`` package, so that the copy in the run's harness is the one that is measured.
    """

    op: str
    path: Path
    args: tuple[str, ...]
    cwd: Path
    in_package: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Benchmark files under ``folder``. ``name`` is for messages, ``cwd`` for pytest.

    ``package_root`` is the folder that holds the ``flagkit`` package, for a suite that is
    part of it.
    """

    name: str
    folder: Path
    cwd: Path
    files: tuple[Path, ...]
    package_root: Path | None = None

    def operators(self) -> list[str]:
        """Every operator that has a benchmark here, sorted. Reads every file."""
        found: set[str] = set()
        for path in self.files:
            source = _source(path)
            if source is not None:
                found |= marks_in(source)
        return sorted(found)


def parse_op(text: str) -> OpSpec:
    """``OP`` or ``OP:FILE``. An operator's name also names a folder of the run."""
    op, colon, file = text.partition(":")
    if not _OP.fullmatch(op) or ".." in op:
        raise UsageError(
            f"{text!r} names no operator: letters, digits and _ . + - make a name (OP or OP:FILE)"
        )
    if colon and (not file.strip() or not file.isprintable()):
        raise UsageError(f"{text!r} names no file after the colon (OP or OP:FILE)")
    return OpSpec(op=op, file=file if colon else None)


def resolve(spec: OpSpec | None, *, suite: Suite) -> BenchTarget:
    """The benchmark of *spec* in *suite*; of the whole suite where *spec* is None.

    Without a file it is ``test_<op>.py`` if the mark is there, else the only file that
    has the mark. Raises a :class:`flagkit.errors.FlagkitError` if there is none, or
    several.
    """
    if spec is None:
        path = suite.files[0] if len(suite.files) == 1 else suite.folder
        return _target(_whole(path), path, (), suite)
    path = _named(spec, suite) if spec.file is not None else _marked(spec.op, suite)
    return _target(spec.op, path, ("-m", spec.op), suite)


def benchmark_files(folder: Path, what: str) -> tuple[Path, ...]:
    """The files below *folder* that pytest would collect, sorted. *what* is for messages."""
    try:
        found = sorted(
            Path(parent, name)
            for parent, name in _walk(folder)
            if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
        )
    except OSError as error:
        raise InputError(f"{what} {str(folder)!r} cannot be read: {error.strerror}") from None
    if not found:
        raise InputError(f"{what} {str(folder)!r} holds no benchmark: no test_*.py in it")
    return tuple(found)


def _walk(folder: Path) -> Iterator[tuple[str, str]]:
    def refuse(error: OSError) -> None:
        # A folder further down that cannot be read costs its own files alone.
        if error.filename is None or Path(error.filename) == folder:
            raise error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(n for n in folders if n[0] != "." and n != "__pycache__")
        for name in names:
            yield parent, name


def _marked(op: str, suite: Suite) -> Path:
    usual = f"test_{op}.py"
    for path in (p for p in suite.files if p.name == usual):
        if op in _marks(path):
            return path
    unread, found = [], []
    for path in suite.files:
        source = _source(path)
        if source is None:
            unread.append(path)
        elif may_hold(source, op) and op in marks_in(source):
            found.append(path)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(_shown(path, suite) for path in found)
        stem = found[0].stem.removeprefix("test_")
        raise UsageError(
            f"operator {op!r} has benchmarks in {len(found)} files: {names}; "
            f"say which, e.g. {op}:{stem}"
        )
    raise UsageError(_unknown(op, suite, unread))


def _unknown(op: str, suite: Suite, unread: Sequence[Path]) -> str:
    close = difflib.get_close_matches(op, suite.operators(), n=3)
    hint = f" (did you mean {' or '.join(repr(c) for c in close)}?)" if close else ""
    blind = f"; cannot be read: {', '.join(_shown(p, suite) for p in unread)}" if unread else ""
    return f"no benchmark of {suite.name} has the mark {op!r}{hint}{blind}"


def _named(spec: OpSpec, suite: Suite) -> Path:
    assert spec.file is not None
    path = _file(spec.file, suite)
    source = _source(path)
    if source is None:
        raise InputError(f"benchmark {str(path)!r} cannot be read")
    # A mark may be made at run time, so that its name as a word is enough here.
    if not may_hold(source, spec.op):
        have = ", ".join(sorted(marks_in(source))) or "none"
        raise UsageError(f"{_shown(path, suite)} has no test marked {spec.op!r}; its marks: {have}")
    return path


def _file(given: str, suite: Suite) -> Path:
    """A path as given (from here, the suite's folder or its root), a file name or a stem."""
    names = {given, f"{given}.py", f"test_{given}.py"}
    same = [path for path in suite.files if path.name in names]
    if len(same) > 1:
        shown = ", ".join(_shown(path, suite) for path in same)
        raise UsageError(f"file {given!r} could be any of {shown}; give its path")
    if same:
        return same[0]
    if suite.package_root is None and (given.endswith(".py") or os.sep in given):
        for base in (Path(), suite.cwd, suite.folder):
            path = (base / Path(given).expanduser()).absolute()
            if path.is_file():
                return path
    stems = [path.stem for path in suite.files] + [
        p.stem.removeprefix("test_") for p in suite.files
    ]
    close = difflib.get_close_matches(Path(given).stem, sorted(set(stems)), n=3)
    hint = f" (did you mean {' or '.join(repr(c) for c in close)}?)" if close else ""
    raise UsageError(f"{suite.name} has no benchmark file {given!r}{hint}")


def _target(op: str, path: Path, args: tuple[str, ...], suite: Suite) -> BenchTarget:
    if suite.package_root is None:
        return BenchTarget(op=op, path=path, args=args, cwd=suite.cwd)
    return BenchTarget(
        op=op,
        path=path.relative_to(suite.package_root),
        args=args,
        cwd=suite.cwd.relative_to(suite.package_root),
        in_package=True,
    )


def _whole(path: Path) -> str:
    """A name for all of a file's or folder's operators together."""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", path.stem.removeprefix("test_"))
    return name if _OP.fullmatch(name) else "all"


def _marks(path: Path) -> frozenset[str]:
    source = _source(path)
    return frozenset() if source is None else marks_in(source)


def _source(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _shown(path: Path, suite: Suite) -> str:
    try:
        return str(path.relative_to(suite.cwd))
    except ValueError:
        return str(path)
