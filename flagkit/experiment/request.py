"""What was asked of ``flagkit ab``, as a fact that survives on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagkit.model import Side


MOST_ROUNDS = 99
_LISTS = (list, tuple)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("switch", "backend", "python", "level", "timing", "control"), (str,)),
    **dict.fromkeys(("suite", "gems_root"), (str, type(None))),
    **dict.fromkeys(("device", "rounds", "seed"), (int,)),
    **dict.fromkeys(("verify", "check"), (bool,)),
    **dict.fromkeys(("ops", "dtypes", "bench_args", "allow_diff"), _LISTS),
    **dict.fromkeys(("switch_options", "backend_options"), (dict,)),
    "timeout_s": (int, float, type(None)),
}
"""What each field is in ``campaign.json``, which anybody may have written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One campaign.

    ``ops`` are as given (``OP`` or ``OP:FILE``), empty for all the suite has. ``suite`` is a
    folder or file with pytest benchmarks, empty for FlagGems' (``gems_root``) or, on a
    backend without FlagGems, the bundled one. ``timeout_s`` bounds one side of one operator.
    """

    switch: str
    backend: str
    python: Path
    ops: tuple[str, ...] = ()
    suite: Path | None = None
    gems_root: Path | None = None
    level: str = "core"
    dtypes: tuple[str, ...] = ()
    timing: str = "graph"
    control: str = "none"
    device: int = 0
    rounds: int = 1
    seed: int = 0
    timeout_s: float | None = None
    bench_args: tuple[str, ...] = ()
    verify: bool = True
    check: bool = False
    allow_diff: tuple[str, ...] = ()
    switch_options: Mapping[str, Any] = field(default_factory=dict)
    backend_options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As ``campaign.json`` keeps it."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """What :meth:`to_json` wrote. Raises ``TypeError`` or ``ValueError`` for anything else."""
        values = dict(data)
        for name, value in values.items():
            if type(value) not in _KINDS.get(name, ()) or not _are_texts(value):
                raise TypeError(f"{name} cannot be {value!r}")
        if not 1 <= values.get("rounds", 1) <= MOST_ROUNDS or values.get("device", 0) < 0:
            raise ValueError("its rounds or its device are none")
        for name in ("python", "suite", "gems_root"):
            if values.get(name):
                values[name] = Path(values[name])
        for name in ("ops", "dtypes", "bench_args", "allow_diff"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


def _are_texts(value: object) -> bool:
    """Whether a field's strings could be arguments; a list's must be strings."""
    if isinstance(value, _LISTS):
        return all(isinstance(one, str) and "\0" not in one for one in value)
    return not isinstance(value, str) or "\0" not in value


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process to run. ``label`` is its operator's in this run."""

    label: str
    side: Side
    round: int


def steps(label: str, rounds: int) -> tuple[Step, ...]:
    """The sides of one operator in the order they run.

    The before side of the first round records for all others. Later rounds alternate
    which side goes first, so that a slow drift does not always favour one of them.
    """
    made: list[Step] = []
    for round_ in range(1, rounds + 1):
        order: tuple[Side, Side] = ("before", "after") if round_ % 2 else ("after", "before")
        made += [Step(label=label, side=side, round=round_) for side in order]
    return tuple(made)
