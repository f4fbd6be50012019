"""The before side's measurement plans, for the after side to replay.

A latency depends on how it is measured (how many calls a graph holds, how many warmed
up), so a plan that each side decides for itself is a difference between the sides that
the switch did not make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.jsonl import read_lines
from flagkit.model import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the before side did at one timed call. ``fingerprint`` is None where it failed."""

    plan: Plan | None
    fingerprint: str | None
    resolved: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do at a timed call: the plan to replay, if any, and what is to be said of it.

    ``flags`` are journalled with the call: ``inputs-differ`` where the call's tensors are
    not those of the before side, ``plan-missing`` where the before side has no such call.
    """

    plan: Plan | None = None
    resolved: str = ""
    flags: tuple[str, ...] = ()


class PlanBook:
    """Plans by test node and call number. Empty on the side that decides them."""

    def __init__(self, recorded: Mapping[tuple[str, int], Recorded] | None = None) -> None:
        self._recorded = recorded

    @classmethod
    def load(cls, directory: Path | None) -> PlanBook:
        """Read *directory*'s journal; None decides anew. Unreadable lines are no plans."""
        if directory is None:
            return cls()
        recorded = {}
        for line in read_lines(directory / "measurements.jsonl"):
            if line.get("kind") != "call":
                continue
            try:
                recorded[str(line["node"]), int(line["call"])] = _recorded(line)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
                continue
        return cls(recorded)

    @property
    def replaying(self) -> bool:
        """Whether there is a before side to follow."""
        return self._recorded is not None

    def advise(self, node: str, call: int, fingerprint: str) -> Advice:
        """What the before side did at this call, if it was the same call."""
        if self._recorded is None:
            return Advice()
        found = self._recorded.get((node, call))
        if found is None:
            return Advice(flags=("plan-missing",))
        if found.fingerprint is None:
            return Advice()
        if found.fingerprint != fingerprint:
            return Advice(flags=("inputs-differ",))
        return Advice(plan=found.plan, resolved=found.resolved)


def _recorded(line: Mapping[str, Any]) -> Recorded:
    regime, inputs, plan = line.get("regime") or {}, line.get("inputs"), line.get("plan")
    return Recorded(
        plan=Plan.from_json(plan) if plan else None,
        fingerprint=str(inputs.get("fingerprint", "")) if inputs else None,
        resolved=str(regime.get("resolved", "")),
        reason=str(regime.get("fallback_reason", "")),
    )
