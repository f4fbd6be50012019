"""Tuning keys, configs and kernels as plain values that are equal in two processes.

A replay compares what one process wrote with what another one sees, so nothing here may
hold an address, a path or an order that a hash decides.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEPTH = 8
"""Nesting beyond this is cut: no tuning key needs it, and a value may hold itself."""

_LONG_HEX = re.compile(r"[0-9a-f]{32,}")
"""Digests in the names of generated modules. They differ between builds, and the source's
own hash tells kernels of one name apart."""


def plain(value: Any, depth: int = DEPTH) -> Any:
    """*value* as JSON can hold it. A value JSON has no word for becomes a tagged object."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(value)}
    if depth <= 0:
        return {"text": type(value).__qualname__}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((plain(item, depth - 1) for item in value), key=dump)}
    if isinstance(value, dict):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    return _described(value, depth)


def _described(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        return plain(value.item(), depth - 1)
    if kind.__name__ == "constexpr" and hasattr(value, "value"):
        return plain(value.value, depth - 1)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        base = value.base
        return {"descriptor": [_layout(base), plain(value.block_shape, depth - 1)]}
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return {"tensor": _layout(value)}
    if hasattr(value, "__qualname__"):
        return {"name": qualified(value)}
    text = str(value)
    return {"text": kind.__qualname__ if " at 0x" in text else text}


def _layout(tensor: Any) -> list[Any]:
    """Dtype, shape and strides: never the values, which a device would have to be asked for."""
    stride = getattr(tensor, "stride", None)
    strides = list(stride()) if callable(stride) else list(getattr(tensor, "strides", ()))
    shape = [int(n) for n in getattr(tensor, "shape", ())]
    return [str(getattr(tensor, "dtype", "")), shape, [int(n) for n in strides]]


def dump(value: Any) -> str:
    """Canonical JSON of plain values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_text(key: Any) -> str:
    """A tuning key as canonical JSON."""
    return dump(plain(key))


def qualified(thing: Any) -> str:
    """Module and name of a function or class, or the type's where it has none of its own."""
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    return f"{getattr(thing, '__module__', '')}.{thing.__qualname__}"


def innermost(fn: Any) -> Any:
    """The Python function under any number of wrappers that keep it as ``fn``."""
    for _ in range(32):
        inner = getattr(fn, "fn", None)
        if inspect.isfunction(fn) or inner is None:
            break
        fn = inner
    return fn


def kernel_name(fn: Any) -> str:
    """What a kernel is called in both processes."""
    return _LONG_HEX.sub("#", qualified(innermost(fn)))


def source_hash(fn: Any) -> str:
    """A digest of the kernel's own text; empty where the text cannot be had.

    Triton's ``cache_key`` will not do: builds put their switches into it.
    """
    text = None
    for _ in range(32):
        text = getattr(fn, "src", None)
        inner = getattr(fn, "fn", None)
        if isinstance(text, str) or inspect.isfunction(fn) or inner is None:
            break
        fn = inner
    if not isinstance(text, str):
        try:
            text = inspect.getsource(fn)
        except (OSError, TypeError):
            return ""
    return digest(text)


def digest(text: str) -> str:
    """A short digest: 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def config_values(config: Any) -> dict[str, Any]:
    """A Triton ``Config`` as plain values: meta-parameters, launch options, the hook's name."""
    if hasattr(config, "all_kwargs"):
        values = dict(config.all_kwargs())
    else:
        rest = {k: v for k, v in vars(config).items() if k != "kwargs" and v is not None}
        values = {**config.kwargs, **rest}
    hook = values.pop("pre_hook", None) or getattr(config, "pre_hook", None)
    values = {str(name): plain(value) for name, value in values.items()}
    if hook is not None:
        values["pre_hook"] = qualified(hook)
    return values


def candidates_hash(configs: Iterable[Mapping[str, Any]]) -> str:
    """A digest of a candidate list. The order does not count: every candidate is tried."""
    return digest("\n".join(sorted(dump(config) for config in configs)))
