"""A switch's own lines of a log: taken once, bounded, harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flagkit.experiment import excerpts
from flagkit.experiment.excerpts import excerpt_of, take_excerpt
from flagkit.experiment.receipts import digests
from flagkit.interfaces import Excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Taker:
    """Gives what it is told to, after reading everything."""

    name = "made"

    def __init__(self, found: Any) -> None:
        self.found = found
        self.lines: list[bytes] = []

    def excerpt(self, lines: Iterable[bytes], options: Any) -> Excerpt | None:
        self.lines = list(lines)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def side(tmp_path: Path) -> Path:
    (tmp_path / "run.log").write_bytes(b"one\n" + b"x" * 100_000 + b"\nlast")
    return tmp_path


def take(found: Any, side: Path) -> dict[str, Any]:
    return take_excerpt(Taker(found), {}, side)  # type: ignore[arg-type]


def test_the_lines_are_the_log_s_with_long_ones_cut(side: Path) -> None:
    taker = Taker(None)
    assert take_excerpt(taker, {}, side) == {}  # type: ignore[arg-type]
    assert [len(line) for line in taker.lines] == [4, excerpts.LONGEST_LINE, 4]
    (side / "run.log").unlink()
    assert take_excerpt(taker, {}, side) == {} and taker.lines == []  # type: ignore[arg-type]


def test_a_switch_without_it_is_left_alone(side: Path) -> None:
    assert take_excerpt(object(), {}, side) == {}  # type: ignore[arg-type]
    assert not (side / "switch.log").exists()


def test_text_and_facts_are_kept_and_cannot_act_on_their_reader(side: Path) -> None:
    found = take(Excerpt(text="a\n\x1b[31mb\u202e\n", facts={"n\x1b": "1\n2"}), side)
    assert (side / "switch.log").read_text() == "a\n\\x1b[31mb\\u202e\n"
    assert excerpt_of({"excerpt": found}) == ({"n\\x1b": "1\\n2"}, "")
    assert "switch.log" in digests(side)


def test_both_are_bounded(side: Path) -> None:
    facts = {f"{n:04} {'k' * 600}": "v" * 600 for n in range(300)}
    found = take(Excerpt(text="y" * (excerpts.LARGEST + 1), facts=facts), side)
    assert (side / "switch.log").read_text().endswith("y\n(cut short)\n")
    assert (side / "switch.log").stat().st_size < excerpts.LARGEST + 100
    assert len(found["facts"]) == excerpts.MOST_FACTS
    assert {len(text) for pair in found["facts"].items() for text in pair} == {500}


@pytest.mark.parametrize("wrong", [ValueError("no\x1b"), "no excerpt", Excerpt(facts=7)])  # type: ignore[arg-type]
def test_a_broken_switch_loses_only_its_excerpt(side: Path, wrong: Any) -> None:
    facts, problem = excerpt_of({"excerpt": take(wrong, side)})
    assert facts == {} and problem.startswith("switch 'made': excerpt() raised ")
    assert problem.isprintable()


@pytest.mark.parametrize("receipt", [None, {}, {"excerpt": 3}, {"excerpt": {"facts": []}}])
def test_a_receipt_of_another_shape_holds_none(receipt: Any) -> None:
    assert excerpt_of(receipt) == ({}, "")
