"""A campaign's directory: it is the campaign's journal, and nothing in it is overwritten."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError, RunError
from flagkit.model import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from flagkit.model import Side

CAMPAIGN, RECEIPT = "campaign.json", "receipt.json"
REPLAYED, RECORD = "replayed", "record"
_TAKEN = ("harness", CAMPAIGN, RECEIPT, "campaign.log", "report.json", "report.md")
_SAFE = re.compile(r"[^A-Za-z0-9_.+@-]+")


def folder_name(label: str) -> str:
    """A folder for an operator that stays inside the run directory whatever its label holds.

    No two labels share one: ``OP:FILE`` becomes ``OP@FILE``, and a label that cannot be
    written out as it is gets a part of its digest.
    """
    exact = label.replace(":", "@", 1)
    name = _safe(exact)
    if name != exact or "@" in label:
        import hashlib  # loads a large library, for a name that hardly anybody gives

        digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"{name[:87]}-{digest[:12]}"
    return f"{name}_" if name.rstrip("_") in _TAKEN else name


def _safe(text: str) -> str:
    return _SAFE.sub("_", text).lstrip(".-")[:100] or "_"


def side_name(side: Side, round_: int) -> str:
    """``before``, ``after``, and ``before.2`` for a later round."""
    return side if round_ == 1 else f"{side}.{round_}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSide:
    """One process of a run's plan, and the directory it has or will have."""

    label: str
    side: Side
    round: int
    directory: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDir:
    """The layout of a campaign on disk."""

    root: Path

    @classmethod
    def create(cls, parent: Path, name: str, now: datetime) -> RunDir:
        """Make ``<parent>/<time>-<name>``, with a number behind it where that exists."""
        stem = f"{now:%Y%m%d-%H%M%S}-{_safe(name)}"
        for nth in range(1, 1000):
            root = parent / (stem if nth == 1 else f"{stem}-{nth}")
            try:
                root.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise RunError(
                    f"cannot make the run directory {root}: {error.strerror}; "
                    "choose another place with --runs-dir"
                ) from error
            return cls(root=root)
        raise RunError(f"cannot make a new run directory under {parent}: too many of one second")

    @classmethod
    def open(cls, root: Path) -> RunDir:
        """An existing run directory; raises :class:`InputError` if it is none."""
        if not root.is_dir():
            raise InputError(f"{root}: no such directory")
        if not (root / CAMPAIGN).is_file():
            raise InputError(f"{root}: not a run directory: it has no {CAMPAIGN}")
        return cls(root=root)

    @property
    def harness(self) -> Path:
        """The code that measures."""
        return self.root / "harness"

    def side(self, label: str, side: Side, round_: int = 1) -> Path:
        """One side's directory."""
        return self.root / folder_name(label) / side_name(side, round_)

    def campaign(self) -> dict[str, Any]:
        """What was asked; raises :class:`InputError` if it cannot be read."""
        return read_json(self.root / CAMPAIGN)

    def planned(self) -> tuple[PlannedSide, ...]:
        """Every process of the plan, in its order; raises :class:`InputError` if it is none."""
        campaign = self.campaign()
        plan, request = campaign.get("plan"), campaign.get("request")
        found = []
        if isinstance(plan, list) and isinstance(request, dict):
            single = not request.get("switch")
            found = [self._planned(step, single) for step in plan]
        if not found or None in found:
            raise InputError(f"{self.root / CAMPAIGN}: it has no plan this version can read")
        return tuple(step for step in found if step is not None)

    def _planned(self, step: Any, single: bool) -> PlannedSide | None:
        if not isinstance(step, dict):
            return None
        label, side, round_ = (step.get(name) for name in ("label", "side", "round"))
        label = step.get("op") if label is None else label
        if not isinstance(label, str) or side not in SIDES or type(round_) is not int:
            return None
        whole = self.root / folder_name(label)
        directory = whole if single else self.side(label, side, round_)
        return PlannedSide(label=label, side=side, round=round_, directory=directory)

    def replayed(self, label: str, side: Side) -> Path:
        """Where a side that tuned is run again (``flagkit.experiment.remeasured``)."""
        return self.root / folder_name(label) / f"{side}.{REPLAYED}"

    def processes(self) -> tuple[PlannedSide, ...]:
        """The plan, and what was run in addition to it: sides that tuned, run again."""
        found = []
        for step in self.planned():
            found.append(step)
            again = step.directory.with_name(f"{step.side}.{REPLAYED}")
            if step.round == 1 and again.is_dir():
                found.append(replace(step, directory=again))
        return tuple(found)

    def rounds(self, label: str) -> Iterator[tuple[Path, Path]]:
        """The (before, after) directories of every round both of whose sides finished."""
        for round_ in range(1, 1000):
            before, after = (self.side(label, side, round_) for side in SIDES)
            if not (before.is_dir() and after.is_dir()):
                return
            if all((path / RECEIPT).is_file() for path in (before, after)):
                if round_ == 1:
                    before, after = (self._compared(label, side) for side in SIDES)
                yield before, after

    def _compared(self, label: str, side: Side) -> Path:
        again = self.replayed(label, side)
        return again if (again / RECEIPT).is_file() else self.side(label, side)


def read_json(path: Path) -> dict[str, Any]:
    """An object from a file; raises :class:`InputError` in one line."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    except RecursionError:
        raise InputError(f"{path}: not valid JSON: nested too deeply") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: not a JSON object")
    return data


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write *data* whole or not at all."""
    write_text(path, json.dumps(data, indent=2, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write *text* whole or not at all; raises :class:`RunError` in one line.

    A link is followed. A pipe or a device is written to as it is, never replaced by a file.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:200]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(_mode_of(path))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def _mode_of(path: Path) -> int:
    """The mode of a file that exists, else what the user's mask leaves of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
