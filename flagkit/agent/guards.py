"""Lifting skip marks of a benchmark that are out of date for a backend.

A benchmark may skip itself where "CUDA is not available" though nothing in it needs
CUDA by name. Which marks those are is the backend's knowledge; only exactly those go.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flagkit.interfaces import StaleGuard

_SKIPS = ("skipif", "skip")


def lift(
    items: Sequence[Any], guards: Sequence[StaleGuard], left_out: Sequence[Any] = ()
) -> tuple[list[str], list[str]]:
    """Take every stale mark off *items*: on the item itself, its class and its module.

    A mark shared through a class or module is hidden from the tests that it is stale for
    and stays for all others. Returns what was lifted and which guards were not found
    although their file was collected, a line each. *left_out* are tests that do not run: of
    a guard that is theirs nothing is said.
    """
    lifted: list[str] = []
    absent: list[str] = []
    for guard in guards:
        inside = [item for item in items if _file(item) == guard.file]
        meant = [item for item in inside if _meant(item, guard)]
        where = guard.file + (f"::{guard.test}" if guard.test else "")
        count = sum(_lift(item, guard.reason) for item in meant)
        if count:
            lifted.append(f"{where}: skip mark {guard.reason!r} lifted from {_tests(count)}")
        elif inside and not any(_meant(item, guard) for item in left_out):
            absent.append(
                f"{where}: no skip mark {guard.reason!r}; the backend's list is out of date"
            )
    return lifted, absent


def _meant(item: Any, guard: StaleGuard) -> bool:
    return _file(item) == guard.file and (not guard.test or _test(item) == guard.test)


def _lift(item: Any, reason: str) -> bool:
    """Whether a mark with exactly *reason* applied to *item*, and no longer does."""
    stale = [mark for mark in item.iter_markers() if _stale(mark, reason)]
    if not stale:
        return False
    item.own_markers[:] = [m for m in item.own_markers if not any(m is each for each in stale)]
    inherited = [m for m in item.iter_markers() if any(m is each for each in stale)]
    if inherited:
        _hide(item, inherited)
    return True


def _hide(item: Any, marks: list[Any]) -> None:
    """Keep marks of a class or module from one item: pytest reads them through the item."""
    inner = item.iter_markers_with_node

    def iter_markers_with_node(name: str | None = None) -> Iterator[tuple[Any, Any]]:
        for node, mark in inner(name):
            if not any(mark is each for each in marks):
                yield node, mark

    item.iter_markers_with_node = iter_markers_with_node


def _stale(mark: Any, reason: str) -> bool:
    if mark.name not in _SKIPS:
        return False
    told = mark.kwargs.get("reason")
    if told is None and mark.name == "skip" and mark.args:
        told = mark.args[0]
    return bool(told == reason)


def _file(item: Any) -> str:
    path = getattr(item, "path", None) or str(item.nodeid).partition("::")[0]
    return PurePath(path).name


def _test(item: Any) -> str:
    """The function's name without its parameters."""
    return str(getattr(item, "originalname", None) or str(item.name).partition("[")[0])


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
