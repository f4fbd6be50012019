"""One side's ``tuning.jsonl`` as facts. Any bytes are allowed; nothing is raised for them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flagkit.model import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flagkit.model import Side

KINDS = ("decision", "use", "launch")

LONGEST_LINE = 1 << 20
"""Bytes. A line beyond is none of ours: the longest config known has under 10,000."""

Identity = tuple[str, str, str]
"""Tuner, kernel and tuning key: what a decision is recorded and looked up by."""


@dataclass(frozen=True, slots=True)
class TuningSide:
    """What the tuners of one side decided and what each timed call launched.

    Configs are canonical JSON. ``decided`` and ``states`` are by identity, ``uses`` and
    ``used_states`` by call and identity, ``launches`` by call and kernel. ``parameters`` are
    the names that a tuner chooses values for, by the kernel's short name.
    """

    decided: dict[Identity, set[str]] = field(default_factory=dict)
    states: dict[Identity, set[str]] = field(default_factory=dict)
    sources: dict[Identity, set[str]] = field(default_factory=dict)
    missed_in: dict[str, set[Identity]] = field(default_factory=dict)
    uses: dict[str, dict[Identity, set[str]]] = field(default_factory=dict)
    used_states: dict[str, set[tuple[Identity, str]]] = field(default_factory=dict)
    launches: dict[str, dict[str, list[Mapping[str, Any]]]] = field(default_factory=dict)
    parameters: dict[str, set[str]] = field(default_factory=dict)

    def asked(self) -> set[Identity]:
        """Everything that this side decided, or launched through a tuner."""
        return {*self.states, *(identity for uses in self.uses.values() for identity in uses)}


def decode_tuning(lines: Iterable[bytes]) -> list[Any]:
    """The JSON value of each line that is one; None stands for a line that is not."""
    return [_decoded(line) for line in lines if line.strip()]


def read_side(lines: Iterable[Any], side: Side) -> tuple[TuningSide, tuple[Note, ...]]:
    """Gather decoded lines. Lines that are none of ours end in a note."""
    found = TuningSide()
    cut = foreign = 0
    for line in lines:
        if line is None:
            cut += 1
        elif not (isinstance(line, dict) and _gather(found, line)):
            foreign += 1
    notes = []
    if cut:
        text = f"tuning record: {_lines(cut)} cut short or damaged, ignored"
        notes.append(Note(code="tuning-damaged", text=text, side=side, data={"lines": cut}))
    if foreign:
        text = f"tuning record: {_lines(foreign)} of no known kind, ignored"
        notes.append(Note(code="tuning-foreign", text=text, side=side, data={"lines": foreign}))
    twice = sum(1 for configs in found.decided.values() if len(configs) > 1)
    if twice:
        text = (
            f"tuning record: {twice} of {len(found.decided)} keys were decided in more than "
            "one way (tuned again, or several tuners of one name)"
        )
        notes.append(Note(code="tuning-ambiguous", text=text, side=side, data={"keys": twice}))
    return found, tuple(notes)


def canonical(config: Any) -> str:
    """A config as text that is equal for equal values. A pre-hook's name is no choice."""
    if isinstance(config, dict):
        config = {name: value for name, value in config.items() if name != "pre_hook"}
    return json.dumps(config, sort_keys=True, separators=(",", ":"), default=str)


def short_name(kernel: str) -> str:
    """A kernel's own name: decisions know its module, launches do not."""
    return kernel.rsplit(".", 1)[-1]


def _gather(found: TuningSide, line: Mapping[str, Any]) -> bool:
    kind, kernel = line.get("kind"), line.get("kernel")
    call = line.get("call") or ""
    if kind not in KINDS or not isinstance(kernel, str) or not isinstance(call, str):
        return False
    config = line.get("config")
    if not isinstance(config, dict):
        return False
    if kind == "launch":
        found.launches.setdefault(call, {}).setdefault(kernel, []).append(line)
        return True
    tuner, key = line.get("tuner"), line.get("key")
    if not isinstance(tuner, str) or not isinstance(key, str):
        return False
    identity = (tuner, kernel, key)
    state = str(line.get("state") or "")
    if kind == "use":
        found.uses.setdefault(call, {}).setdefault(identity, set()).add(canonical(config))
        found.used_states.setdefault(call, set()).add((identity, state))
        return True
    found.parameters.setdefault(short_name(kernel), set()).update(config)
    found.states.setdefault(identity, set()).add(state)
    found.decided.setdefault(identity, set()).add(canonical(config))
    source = line.get("source_hash")
    if isinstance(source, str) and source:
        found.sources.setdefault(identity, set()).add(source)
    if state == "missed":
        found.missed_in.setdefault(call, set()).add(identity)
    return True


def _decoded(line: bytes) -> Any:
    if len(line) > LONGEST_LINE:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
