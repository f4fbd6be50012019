"""What several rounds' proofs say together."""

from __future__ import annotations

from typing import Any

import pytest

from flagkit.experiment.report import proof_notes, verify_notes
from flagkit.model import Note


class Proof:
    def __init__(self, text: str, same_code: bool) -> None:
        self.same_code = same_code
        self._text = text

    def notes(self) -> tuple[Note, ...]:
        said = Note(code="proof", text=self._text)
        same = Note(code="same-code", text="no compiled code and no launch differs")
        return (said, same) if self.same_code else (said,)


def told(*proofs: Any) -> list[tuple[str, str]]:
    return [(note.code, note.text) for note in proof_notes(proofs)]


def test_rounds_that_agree_say_it_once() -> None:
    one = Proof("0 of 2 kernels changed", True)
    assert [code for code, _ in told(one, one, one)] == ["proof", "same-code"]


def test_one_round_that_differs_takes_the_claim_back() -> None:
    same, other = Proof("0 of 2 kernels changed", True), Proof("1 of 2 kernels changed", False)
    assert told(same, other) == [
        ("proof", "round 1: 0 of 2 kernels changed"),
        ("proof", "round 2: 1 of 2 kernels changed"),
    ]


@pytest.mark.parametrize("rounds", [1, 2])
def test_nothing_compiled_says_nothing(rounds: int) -> None:
    assert told(*[_Nothing()] * rounds) == []


class _Nothing:
    same_code = False

    def notes(self) -> tuple[Note, ...]:
        return ()


@pytest.mark.parametrize(
    ("verify", "control", "codes"),
    [(False, False, ["unverified"]), (False, True, []), (True, False, [])],
)
def test_a_check_that_was_left_out_is_told(verify: bool, control: bool, codes: list[str]) -> None:
    campaign = {"request": {"verify": verify}, "control": control}
    assert [note.code for note in verify_notes(campaign)] == codes
    assert list(verify_notes({})) == []
