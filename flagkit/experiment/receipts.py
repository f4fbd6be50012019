"""A side's receipt: what ran, how it ended and the digest of what it left. Written last."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

import flagkit
from flagkit.experiment.harness import differing, sha256
from flagkit.jsonl import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flagkit.experiment.process import Outcome
    from flagkit.experiment.sides import SideSpec

SCHEMA = 1
KEPT = (
    *("run.log", "switch.log", "measurements.jsonl", "tuning.jsonl", "agent.json"),
    "outputs/*.bin",
)
_SHOWN = re.compile(
    r"(FLAG|TRITON|NPY_|CUDA|MUSA|NVIDIA_VISIBLE|TORCH|PYTORCH|PYTHON|OMP_|OPENBLAS|MKL_|DISABLE_"
    r"|LLVM_|MLIR_|LD_LIBRARY_PATH$|PATH$)"
)
"""Variables worth keeping; anything else might be a secret."""
_SECRET = re.compile(
    r"(TOKEN|SECRET|PASS(W|PHRASE|CODE|$)|CREDENTIAL|API_?KEY|(^|_)KEYS?$|(^|_)AUTH(?!OR))",
    re.IGNORECASE,
)
"""``PASS_`` is none of them: a compiler has passes."""


def allowed_environment(environ: Mapping[str, str], names: Mapping[str, Any]) -> dict[str, str]:
    """The part of *environ* a receipt shows: known prefixes and the switch's own *names*."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if (name in names or _SHOWN.match(name)) and not _SECRET.search(name)
    }


def receipt(
    spec: SideSpec, outcome: Outcome, *, started: str, excerpt: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What is known of a finished side. Reads the files it left, for facts and digests.

    *excerpt* is what the switch made of its log (``flagkit.experiment.excerpts``).
    """
    facts = journalled_facts(spec.directory)
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
        "versions": facts["versions"],
        "device": facts["device"],
        "exit": outcome.exit,
        "problem": outcome.problem,
        "started": started,
        "seconds": round(outcome.seconds, 3),
        **({"excerpt": dict(excerpt)} if excerpt else {}),
        "digests": digests(spec.directory),
    }


def journalled_facts(directory: Path) -> dict[str, Any]:
    """What the agent found out: versions, and the device at the start and the end."""
    device: dict[str, Any] = {}
    versions: dict[str, str] = {}
    for line in read_lines(directory / "measurements.jsonl"):
        if line.get("kind") == "start":
            versions["python"] = str(line.get("python", ""))
        elif line.get("kind") == "facts" and isinstance(line.get("device"), dict):
            found = dict(line["device"])
            versions |= {str(n): str(v) for n, v in dict(found.pop("versions", {}) or {}).items()}
            device[str(line.get("when", ""))] = found
    return {"versions": versions, "device": device}


def digests(directory: Path, names: Sequence[str] = KEPT) -> dict[str, str]:
    """SHA-256 of every file of a side that is evidence, and is there."""
    paths = [path for name in names for path in sorted(directory.glob(name)) if path.is_file()]
    return {path.relative_to(directory).as_posix(): sha256(path) for path in paths}


def check_receipt(
    directory: Path, data: Mapping[str, Any], names: Sequence[str] = KEPT
) -> list[str]:
    """What changed since the receipt was written: one line a file, empty if nothing."""
    recorded, found = data.get("digests"), digests(directory, names)
    if not isinstance(recorded, dict):
        return ["receipt.json: it holds no digests"]
    return differing(recorded, found)
