"""A side's receipt: what ran, how it ended and the digest of what it left. Written last."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

import flagkit
from flagkit.experiment.harness import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flagkit.experiment.process import Outcome
    from flagkit.experiment.sides import SideSpec

SCHEMA = 1
KEPT = ("run.log", "measurements.jsonl", "tuning.jsonl", "agent.json")
_SHOWN = re.compile(
    r"(FLAG|TRITON|NPY_|CUDA|MUSA|NVIDIA_VISIBLE|TORCH|PYTORCH|PYTHON|OMP_|OPENBLAS|MKL_|DISABLE_"
    r"|LLVM_|MLIR_|LD_LIBRARY_PATH$|PATH$)"
)
"""Variables worth keeping; anything else might be a secret."""
_SECRET = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY)", re.IGNORECASE)


def allowed_environment(environ: Mapping[str, str], names: Mapping[str, Any]) -> dict[str, str]:
    """The part of *environ* a receipt shows: known prefixes and the switch's own *names*."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if (name in names or _SHOWN.match(name)) and not _SECRET.search(name)
    }


def receipt(
    spec: SideSpec, outcome: Outcome, *, started: str, versions: Mapping[str, str]
) -> dict[str, Any]:
    """What is known of a finished side. Reads the files it left for their digests."""
    return {
        "schema": SCHEMA,
        "flagkit": flagkit.__version__,
        "op": spec.op,
        "side": spec.side,
        "round": spec.round,
        "arm": spec.arm,
        "command": list(spec.command),
        "cwd": str(spec.cwd),
        "environment": allowed_environment(spec.environ, spec.watch),
        "host": {"system": platform.platform(), "machine": platform.machine()},
        "versions": dict(versions),
        "exit": outcome.exit,
        "problem": outcome.problem,
        "started": started,
        "seconds": round(outcome.seconds, 3),
        "digests": digests(spec.directory),
    }


def digests(directory: Path) -> dict[str, str]:
    """SHA-256 of every file of a side that is evidence."""
    return {name: sha256(directory / name) for name in KEPT if (directory / name).is_file()}


def check_receipt(directory: Path, data: Mapping[str, Any]) -> list[str]:
    """What changed since the receipt was written: one line a file, empty if nothing."""
    recorded, found = data.get("digests"), digests(directory)
    if not isinstance(recorded, dict):
        return ["receipt.json: it holds no digests"]
    changed = []
    for name in sorted({*recorded, *found}):
        if name not in found:
            changed.append(f"{name}: missing")
        elif name not in recorded:
            changed.append(f"{name}: added")
        elif recorded[name] != found[name]:
            changed.append(f"{name}: changed")
    return changed
