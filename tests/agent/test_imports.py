"""Callbacks on import."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent.imports import ImportWatcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def watcher(complaints: list[str]) -> Iterator[ImportWatcher]:
    watcher = ImportWatcher(complaints.append)
    sys.meta_path.insert(0, watcher)
    yield watcher
    sys.meta_path.remove(watcher)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = "flagkit_made_module"
    (tmp_path / f"{name}.py").write_text("def work():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def test_runs_right_after_the_import(watcher: ImportWatcher, module: str) -> None:
    seen: list[Any] = []
    watcher.when(module, lambda m: seen.append(m.work()))
    made = importlib.import_module(module)
    assert seen == [1]
    assert type(made.__loader__).__name__ == "SourceFileLoader"
    assert "return 1" in inspect.getsource(made.work)


def test_runs_at_once_for_a_loaded_module(watcher: ImportWatcher) -> None:
    seen: list[str] = []
    watcher.when("json", lambda m: seen.append(m.__name__))
    assert seen == ["json"]


def test_a_from_import_gets_the_patched_name(watcher: ImportWatcher, module: str) -> None:
    watcher.when(module, lambda m: setattr(m, "work", lambda: 2))
    namespace: dict[str, Any] = {}
    exec(f"from {module} import work", namespace)
    assert namespace["work"]() == 2


def test_a_broken_callback_does_not_break_the_import(
    watcher: ImportWatcher, module: str, complaints: list[str]
) -> None:
    watcher.when(module, lambda m: m.missing)
    assert importlib.import_module(module).work() == 1
    assert len(complaints) == 1 and module in complaints[0]


def test_a_missing_module_stays_missing(watcher: ImportWatcher) -> None:
    watcher.when("flagkit_no_such_module", lambda m: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flagkit_no_such_module")
