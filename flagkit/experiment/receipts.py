"""A side's receipt: what ran, how it ended and the digest of what it left. Written last."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

import flagkit
from flagkit.experiment.harness import differing, sha256
from flagkit.experiment.rundir import RECEIPT
from flagkit.jsonl import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
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
        if (name in names or _SHOWN.match(name)) and not is_secret(name)
    }


def is_secret(name: str) -> bool:
    """Whether a variable's name speaks of something that must not be kept."""
    return bool(_SECRET.search(name))


def receipt(
    spec: SideSpec,
    outcome: Outcome,
    *,
    started: str,
    excerpt: Mapping[str, Any] | None = None,
    differs: Sequence[str] = (),
) -> dict[str, Any]:
    """What is known of a finished side. Reads the files it left, for facts and digests.

    *excerpt* is what the switch made of its log (``flagkit.experiment.excerpts``), *differs*
    what was another than when the campaign was begun, and allowed.
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
        **({"differs": list(differs)} if differs else {}),
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


def digests(directory: Path) -> dict[str, str]:
    """SHA-256 of every file of a side that is evidence, and is there."""
    paths = [path for name in KEPT for path in sorted(directory.glob(name)) if path.is_file()]
    return {path.relative_to(directory).as_posix(): sha256(path) for path in paths}


def digests_of(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file of *names* below *directory* that is there."""
    return {name: sha256(directory / name) for name in names if (directory / name).is_file()}


def check_receipt(directory: Path, data: Mapping[str, Any], *, side: bool = True) -> list[str]:
    """What changed since the receipt was written: one line a file, empty if nothing.

    *side*: whether it is a side's, whose evidence is looked for beside what it names.
    """
    recorded = data.get("digests")
    if not isinstance(recorded, dict):
        return [f"{RECEIPT}: it holds no digests"]
    inside = {name: digest for name, digest in recorded.items() if _inside(name)}
    found = digests_of(directory, inside) | (digests(directory) if side else {})
    odd = [f"{RECEIPT}: it names {name!r}, which is no file here" for name in recorded]
    return [text for text, name in zip(odd, recorded, strict=True) if name not in inside] + (
        differing(inside, found)
    )


def _inside(name: str) -> bool:
    """Whether *name* is a plain file's, below the receipt's directory."""
    parts = name.split("/")
    return "\0" not in name and not {"", ".", ".."} & set(parts)
