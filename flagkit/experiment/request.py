"""What was asked of ``flagkit ab``, as a fact that survives on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagkit.model import Side


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
        """What :meth:`to_json` wrote. Raises ``KeyError`` or ``TypeError`` for anything else."""
        values = dict(data)
        for name in ("python", "suite", "gems_root"):
            if values.get(name):
                values[name] = Path(values[name])
        for name in ("ops", "dtypes", "bench_args", "allow_diff"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


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
