"""Notes which compiled kernels a call launches: a plain call of it, never a measured one.

Every Triton since 3.0 asks ``CompiledKernel.launch_metadata(grid, stream, *args)`` at each
launch, whether a ``JITFunction`` launches or a cache in front of it launches the compiled
kernel directly. Its own launch hook is told no grid, so the method is replaced instead, and
put back when the call ends. The interpreter compiles nothing: no lines there.
"""

from __future__ import annotations

import hashlib
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MODULE = "triton.compiler.compiler"

MOST_KERNELS = 1000
"""Distinct kernels and grids noted a call. A loop over grids would fill the disk."""

MOST_SCALARS = 200
ADDRESSES = 1 << 40
"""Device and host pointers are above this, sizes and strides below."""

NO_CONFIG = {"hash", "target", "name", "triton_version"}
"""Fields of a compiled kernel's metadata that are told elsewhere or no choice of anybody."""


@dataclass(slots=True)
class Launched:
    """What a call launched: each distinct launch with its count, and the order of all."""

    distinct: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    order: Any = field(default_factory=hashlib.sha256)
    cut: bool = False

    def add(self, kernel: Any, grid: Any, args: tuple[Any, ...]) -> None:
        """One more launch of *kernel*; *args* begin with the stream."""
        key = (id(kernel), _grid(grid), _scalars(args[1:]))
        known = self.distinct.get(key)
        if known is None and len(self.distinct) >= MOST_KERNELS:
            self.cut = True
            return
        if known is None:
            known = self.distinct[key] = [kernel, 0, len(self.distinct)]
        known[1] += 1
        self.order.update(known[2].to_bytes(4, "big"))

    def lines(self) -> Iterator[dict[str, Any]]:
        """The launches as they are journalled, but for their test and call."""
        order = {"sequence": self.order.hexdigest()[:32], "cut": self.cut}
        for (_, grid, scalars), (kernel, count, number) in self.distinct.items():
            told = {"grid": list(grid), "scalars": list(scalars), **describe(kernel)}
            yield {"kind": "launch", **told, "order": number, "count": count, **order}


class Launches:
    """Watches calls and writes what they launched.

    :param write: takes each line of ``tuning.jsonl``.
    :param node: the test under way.
    :param skip: whether a launch is not the call's own: a tuner tries its candidates.
    :param decisions: how many decisions of tuners fell so far.
    """

    def __init__(
        self,
        write: Callable[[Mapping[str, Any]], None],
        node: Callable[[], str],
        skip: Callable[[], bool] = lambda: False,
        decisions: Callable[[], int] = lambda: 0,
    ) -> None:
        self._write = write
        self._node = node
        self._skip = skip
        self._decisions = decisions
        self._watching = False

    def run(self, call: str, fn: Callable[[], object]) -> None:
        """Run *fn* and journal what it launched as the timed call *call*'s. Raises what it does.

        A run in which a tuner decided launches what only tuning needs, on the recording side
        more than on the other (Triton's resets its outputs once more). It runs once again
        then, on both sides alike, since each decision falls on both; that run is journalled.
        """
        decided = self._decisions()
        launched = Launched()
        try:
            with self._watch(launched):
                fn()
            if self._decisions() != decided:
                launched = Launched()
                with self._watch(launched):
                    fn()
        finally:
            for line in launched.lines():
                self._write({**line, "node": self._node(), "call": call})

    @contextmanager
    def _watch(self, launched: Launched) -> Iterator[None]:
        """Note the launches in the body. One at a time."""
        compiled = getattr(sys.modules.get(MODULE), "CompiledKernel", None)
        original = getattr(compiled, "launch_metadata", None)
        if compiled is None or original is None or self._watching:
            yield
            return
        skip = self._skip

        def launch_metadata(kernel: Any, grid: Any, *args: Any, **kwargs: Any) -> Any:
            if not skip():
                launched.add(kernel, grid, args)
            return original(kernel, grid, *args, **kwargs)

        compiled.launch_metadata = launch_metadata
        self._watching = True
        try:
            yield
        finally:
            self._watching = False
            compiled.launch_metadata = original


def _scalars(args: tuple[Any, ...]) -> tuple[str, ...]:
    """The numbers a kernel is launched with. The same code does other work with others.

    A number as large as an address is left out: it may be one, and differs by nature.
    """
    numbers = (arg for arg in args[:MOST_SCALARS] if isinstance(arg, (bool, int, float)))
    return tuple(repr(number) for number in numbers if abs(number) < ADDRESSES)


def _grid(grid: Any) -> tuple[int, ...]:
    """Grid sizes, always three."""
    sizes = [int(n) for n in grid] if isinstance(grid, (list, tuple)) else [int(grid)]
    return (*sizes, 1, 1)[:3] if len(sizes) < 3 else tuple(sizes[:3])


def describe(kernel: Any) -> dict[str, Any]:
    """A compiled kernel as journalled: name, config, signature, constants, hash, registers.

    Registers and spills are known once the binary was loaded, null before.
    """
    metadata: Any = getattr(kernel, "metadata", None)
    fields = metadata._asdict() if hasattr(metadata, "_asdict") else dict(metadata or {})
    config = {n: _plain(v) for n, v in fields.items() if n not in NO_CONFIG and _is_plain(v)}
    src = getattr(kernel, "src", None)
    names = list(getattr(getattr(src, "fn", None), "arg_names", None) or ())
    return {
        "kernel": str(getattr(kernel, "name", None) or fields.get("name", "")),
        "config": config,
        "hash": str(getattr(kernel, "hash", "")),
        "signature": _named(getattr(src, "signature", None), names),
        "constexprs": _named(getattr(src, "constants", None), names),
        "attributes": _named(getattr(src, "attrs", None), names),
        "registers": _count(kernel, "n_regs"),
        "spills": _count(kernel, "n_spills"),
    }


def _named(values: Any, names: list[str]) -> dict[str, Any]:
    """Values by argument name. Versions key them by name, by position or by a path of these."""
    if not isinstance(values, dict):
        return {}
    return {_argument(key, names): _plain(value) for key, value in values.items()}


def _argument(key: Any, names: list[str]) -> str:
    path = key if isinstance(key, tuple) else (key,)
    first, rest = path[0] if path else "", path[1:]
    if isinstance(first, int) and 0 <= first < len(names):
        first = names[first]
    return ".".join(str(part) for part in (first, *rest))


def _count(kernel: Any, name: str) -> int | None:
    value = getattr(kernel, name, None)
    return value if isinstance(value, int) else None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _plain(value: Any, depth: int = 4) -> Any:
    if _is_plain(value):
        return value
    if depth and isinstance(value, (list, tuple)):
        return [_plain(item, depth - 1) for item in value]
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    return re.sub(r" at 0x[0-9a-fA-F]+", "", str(value))[:200]
