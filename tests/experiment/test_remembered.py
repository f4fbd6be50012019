"""Answers about files are kept by content, and never outlive it."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from flagkit.experiment import remembered
from flagkit.experiment.proof import find_variable
from flagkit.experiment.remembered import LARGEST, LONGEST_ANSWER, Remembered, users_file

LATER = time.time_ns() + 3_600_000_000_000
"""A time at which files made now have been left alone for long."""


class Asked:
    """Counts the searches."""

    def __init__(self, *found: str) -> None:
        self.times, self.found = 0, list(found)

    def __call__(self) -> list[str]:
        self.times += 1
        return self.found


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "flagkit" / "variables.json"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "libtriton.so"
    path.write_bytes(b"\x7fELF\0FLAGTREE_RLC_ENHANCE\0")
    return path


def memory(kept: Path | None, now: int = LATER) -> Remembered:
    return Remembered(kept, smallest=1, now=lambda: now)


def no_hash(path: Path) -> str:
    raise AssertionError(f"{path} is read")


def test_an_answer_is_kept_between_runs(kept: Path, library: Path, monkeypatch) -> None:
    first, search = memory(kept), Asked("A")
    assert first.ask(library, "name A", search) == first.ask(library, "name A", search) == ["A"]
    assert search.times == 1
    first.save()
    monkeypatch.setattr(remembered, "sha256", no_hash)
    again = memory(kept)
    assert again.ask(library, "name A", Asked("B")) == ["A"]
    assert again.ask(library, "name B", Asked()) == []


def test_another_content_is_searched(kept: Path, library: Path) -> None:
    first = memory(kept)
    first.ask(library, "name A", Asked("A"))
    first.save()
    old = library.stat()
    library.write_bytes(library.read_bytes().replace(b"FLAG", b"GALF"))
    os.utime(library, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert library.stat().st_size == old.st_size
    assert memory(kept).ask(library, "name A", Asked("B")) == ["B"]


def test_the_same_content_elsewhere_is_not_searched(kept: Path, library: Path) -> None:
    first = memory(kept)
    first.ask(library, "name A", Asked("A"))
    first.save()
    copied = library.with_name("copy.so")
    copied.write_bytes(library.read_bytes())
    assert memory(kept).ask(copied, "name A", Asked("B")) == ["A"]


def test_a_file_of_just_now_is_hashed_each_time(kept: Path, library: Path) -> None:
    """Within one step of its clock a second change would leave the same times."""
    first = memory(kept, now=time.time_ns())
    first.ask(library, "name A", Asked("A"))
    first.save()
    data = json.loads(kept.read_text())
    assert data["files"] == {} and len(data["answers"]) == 1
    assert memory(kept).ask(library, "name A", Asked("B")) == ["A"]


def test_a_file_that_changes_while_it_is_searched_is_not_kept(kept: Path, library: Path) -> None:
    first = memory(kept)

    def search() -> list[str]:
        library.write_bytes(b"rebuilt meanwhile")
        return ["A"]

    assert first.ask(library, "name A", search) == ["A"]
    assert memory(kept).ask(library, "name A", Asked("B")) == ["B"]
    assert first.ask(library, "name A", Asked("C")) == ["C"]


def test_small_and_missing_files_are_searched(kept: Path, library: Path) -> None:
    plain = Remembered(kept)
    for path in (library, library.with_name("gone")):
        search = Asked("A")
        assert plain.ask(path, "q", search) == plain.ask(path, "q", search) == ["A"]
        assert search.times == 2
    plain.save()
    assert not kept.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "[" * 5000,
        '{"schema":2}',
        '{"schema":1,"files":[],"answers":3}',
        '{"schema":1,"files":{"x":[[1,"2"],"h"],"y":7},"answers":{"h":{"name A":"A"},"g":[1]}}',
        " " * (LARGEST + 1),
    ],
)
def test_a_damaged_file_is_as_none(kept: Path, library: Path, text: str) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text(text)
    first, search = memory(kept), Asked("A")
    assert first.ask(library, "name A", search) == ["A"] and search.times == 1
    first.save()
    assert memory(kept).ask(library, "name A", Asked("B")) == ["A"]


def test_a_place_that_cannot_be_written_is_harmless(library: Path) -> None:
    for place in (library / "below" / "a" / "file", Path("/proc/flagkit/variables.json")):
        first = memory(place)
        assert first.ask(library, "name A", Asked("A")) == ["A"]
        first.save()
    nowhere, search = memory(None), Asked("A")
    assert nowhere.ask(library, "q", search) == nowhere.ask(library, "q", search) == ["A"]
    assert search.times == 2
    nowhere.save()


def test_it_stays_small(kept: Path, library: Path, tmp_path: Path) -> None:
    first = memory(kept)
    long = [f"VARIABLE_{n}" for n in range(LONGEST_ANSWER + 1)]
    first.ask(library, "word long", Asked(*long))
    for n in range(100):
        path = tmp_path / f"lib{n}.so"
        path.write_bytes(str(n).encode())
        for question in range(6):
            first.ask(path, f"word {question}", Asked(*["V" * 100] * LONGEST_ANSWER))
    first.save()
    assert kept.stat().st_size <= LARGEST
    answers = json.loads(kept.read_text())["answers"]
    assert answers and "word long" not in json.dumps(answers)
    assert memory(kept).ask(tmp_path / "lib99.so", "word 5", no_search)  # the newest stays


def no_search() -> list[str]:
    raise AssertionError("searched")


def test_runs_at_the_same_time_keep_each_other_s(kept: Path, library: Path) -> None:
    """Whole or not at all, whoever writes last."""

    def run(n: int) -> None:
        one = memory(kept)
        one.ask(library, f"name {n}", Asked(str(n)))
        one.save()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    json.loads(kept.read_text())
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    one, other = memory(kept), memory(kept)
    one.ask(library, "name one", Asked("1"))
    one.save()
    other.ask(library, "name other", Asked("2"))
    other.save()
    last = memory(kept)
    assert last.ask(library, "name one", no_search) == ["1"]
    assert last.ask(library, "name other", no_search) == ["2"]


def test_the_user_s_place(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    end = Path("flagkit", "variables.json")
    assert users_file({"XDG_CACHE_HOME": "/var/own", **home}) == Path("/var/own") / end
    assert users_file(home) == tmp_path / ".cache" / end
    assert users_file({"XDG_CACHE_HOME": "relative", **home}) == tmp_path / ".cache" / end
    for none in ({}, {"HOME": ""}, {"HOME": "home"}, {"HOME": str(tmp_path / "gone")}):
        assert users_file(none) is None


def test_a_search_is_the_same_with_and_without(kept: Path, library: Path, monkeypatch) -> None:
    names = ("FLAGTREE_RLC_ENHANCE", "FLAGTREE_RLC_ENHNACE", "QUITE_ANOTHER")
    plain = [find_variable(name, [library.parent]) for name in names]
    assert plain == [None, ("FLAGTREE_RLC_ENHANCE",), ()]
    for _ in range(2):
        one = memory(kept)
        assert [find_variable(n, [library.parent], remembered=one) for n in names] == plain
        one.save()
    monkeypatch.setattr("flagkit.experiment.proof._occurrences", no_hash)
    one = memory(kept)
    assert [find_variable(name, [library.parent], remembered=one) for name in names] == plain
    monkeypatch.undo()
    library.write_bytes(b"rebuilt without it")
    assert find_variable(names[0], [library.parent], remembered=memory(kept)) == ()
