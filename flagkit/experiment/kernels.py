"""The compiled kernels of one side, from its private Triton cache and its launches.

Paths and line numbers differ between any two sides, since generated sources stand in
private caches. So kernels are known by what they are (name, signature, constants, launch
options) and compared by TTGIR without locations and by the bytes of the code alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError
from flagkit.experiment.elf import MAGIC, code_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Launch options that somebody chooses. What else the metadata holds comes of compiling,
or is a copy of environment variables, the switch's among them."""

TEXTS = frozenset({"json", "source", "ttir", "ttgir", "llir", "ptx", "amdgcn", "asm", "ll", "mlir"})
"""Suffixes in a cache folder that are not the executable."""

LARGEST = 256 << 20
"""Bytes of a file that is still read."""

_LOCATION_LINE = re.compile(r"^\s*#loc\d*\s*=.*$", re.MULTILINE)
_LOCATION = re.compile(r"\s*\bloc\(")
_CONVERSION = re.compile(r"\b(?:ttg|triton_gpu)\.convert_layout\b")
_SIGNATURE = re.compile(r"tt\.func\s+public\s+@[^(]*\(([^\n]*)\)\s*(?:->|attributes|\{)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRecord:
    """One compiled kernel.

    ``cache_hash`` is Triton's own, of this side alone. ``ttgir`` and ``code`` are digests,
    empty where unknown, and ``reason`` then says why. ``shared`` is bytes, ``registers``
    and ``spills`` are per thread, ``conversions`` counts layout conversions in the TTGIR.
    ``calls`` are the timed calls that launched it, in order.
    """

    name: str
    cache_hash: str = ""
    signature: str = ""
    constexprs: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    shared: int | None = None
    registers: int | None = None
    spills: int | None = None
    conversions: int | None = None
    ttgir: str = ""
    code: str = ""
    reason: str = ""
    calls: tuple[str, ...] = ()

    @property
    def launched(self) -> bool:
        """Whether a timed call launched it; a tuner's rejected candidates were not."""
        return bool(self.calls)

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two sides' kernels the same one."""
        return (self.name, self.signature, self.constexprs, _dump(self.options))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        made = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**made, "options": dict(self.options), "calls": list(self.calls)}


def read_kernels(
    cache: Path, launches: Iterable[Any] = (), *, only_launched: bool = False
) -> tuple[KernelRecord, ...]:
    """Every kernel in the Triton cache folder *cache*, sorted by what it is.

    *launches* are decoded lines of the side's ``tuning.jsonl``; they add signature,
    constants, registers and the calls. A kernel that was launched but is not in the cache
    stands too, with a reason. Nothing is raised for what the folder holds.

    :param only_launched: leave the others out, unread: a tuner may have compiled thousands.
    """
    launched = _by_hash(launches)
    wanted = frozenset(launched) if only_launched else None
    records = []
    for metadata in sorted(cache.glob("*/*.json")):
        record = _read_kernel(metadata, wanted)
        if record is not None:
            records.append(_with_launches(record, launched.pop(record.cache_hash, [])))
    for cache_hash, lines in launched.items():
        name = str(lines[0].get("kernel", ""))
        record = KernelRecord(name=name, cache_hash=cache_hash, reason="not in the side's cache")
        records.append(_with_launches(record, lines))
    return tuple(sorted(records, key=lambda r: (r.identity, r.ttgir, r.code)))


def _read_kernel(path: Path, wanted: Collection[str] | None = None) -> KernelRecord | None:
    """The kernel that the metadata file *path* belongs to; None where it is none *wanted*."""
    if path.name.startswith("__grp__") or path.name.endswith(".autotune.json"):
        return None
    try:
        data = json.loads(_content(path))
    except (InputError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "num_warps" not in data:
        return None
    if wanted is not None and str(data.get("hash", "")) not in wanted:
        return None
    reasons = []
    try:
        text = _content(path.with_suffix(".ttgir")).decode("utf-8", "replace")
        bare = strip_locations(text)
    except InputError as error:
        bare, text = "", ""
        reasons.append(f"TTGIR: {error}")
    try:
        code = _code(path)
    except InputError as error:
        code = ""
        reasons.append(f"executable: {error}")
    return KernelRecord(
        name=str(data.get("name") or path.stem),
        cache_hash=str(data.get("hash", "")),
        signature=_signature(bare),
        options=_options(data),
        shared=_number(data.get("shared")),
        conversions=len(_CONVERSION.findall(bare)) if text else None,
        ttgir=hashlib.sha256(bare.encode()).hexdigest() if text else "",
        code=code,
        reason="; ".join(reasons),
    )


def _code(metadata: Path) -> str:
    """The digest of what runs. Executables that are no ELF count as a whole."""
    stem = metadata.stem
    for path in sorted(metadata.parent.iterdir()):
        if not path.name.startswith(f"{stem}.") or path.suffix[1:] in TEXTS:
            continue
        content = _content(path)
        whole = content[:4] != MAGIC
        return hashlib.sha256(content).hexdigest() if whole else code_hash(content)
    raise InputError("none in the cache")


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InputError("none in the cache")
        if path.stat().st_size > LARGEST:
            raise InputError("too large to read")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{error.strerror or type(error).__name__}") from error


def strip_locations(text: str) -> str:
    """TTGIR without ``loc(...)`` and ``#loc`` lines. Linear in the text's length."""
    text = _LOCATION_LINE.sub("", text)
    parts, at = [], 0
    for match in _LOCATION.finditer(text):
        if match.start() < at:
            continue
        parts.append(text[at : match.start()])
        at = _closing(text, match.end())
    parts.append(text[at:])
    lines = (line.rstrip() for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line)


def _closing(text: str, at: int) -> int:
    """Behind the parenthesis that closes the one before *at*; quoted text is passed over."""
    depth, quoted = 1, False
    while at < len(text) and depth:
        char = text[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        at += 1
    return at


def _signature(ttgir: str) -> str:
    """The kernel's parameters as the TTGIR has them, without their names."""
    match = _SIGNATURE.search(ttgir)
    return re.sub(r"%\w+\s*:\s*", "", match.group(1)).strip() if match else ""


def _by_hash(lines: Iterable[Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if isinstance(line, dict) and line.get("kind") == "launch" and line.get("hash"):
            found.setdefault(str(line["hash"]), []).append(line)
    return found


def _with_launches(record: KernelRecord, lines: list[Mapping[str, Any]]) -> KernelRecord:
    if not lines:
        return record
    line = lines[0]
    config = line.get("config")
    changes: dict[str, Any] = {
        "constexprs": _dump(line.get("constexprs") or {}),
        "registers": _number(line.get("registers")),
        "spills": _number(line.get("spills")),
        "calls": tuple(dict.fromkeys(str(line.get("call", "")) for line in lines)),
    }
    if line.get("signature"):
        changes["signature"] = _dump([line["signature"], line.get("attributes") or {}])
    if not record.options and isinstance(config, dict):
        changes["options"] = _options(config)
        changes["shared"] = _number(config.get("shared"))
    return KernelRecord(**{**{f.name: getattr(record, f.name) for f in fields(record)}, **changes})


def _options(data: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_chosen(data))


def _chosen(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in OPTIONS:
        value = data.get(name)
        if value is not None:
            yield name, value if isinstance(value, (int, str)) else str(value)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
