"""What one call takes from the device's memory, as far as the interface tells."""

from __future__ import annotations

import contextlib
from typing import Any

from flagkit.agent.budget import Footprint

_BYTES, _COUNT = "allocated_bytes.all.allocated", "allocation.all.allocated"


def allocated(interface: Any) -> tuple[int, int] | None:
    """Bytes and allocations made since the process began, freed ones included; None: not told."""
    stats = _ask(interface, "memory_stats")
    if not isinstance(stats, dict) or _BYTES not in stats or _COUNT not in stats:
        return None
    return int(stats[_BYTES]), int(stats[_COUNT])


def footprint(interface: Any, before: tuple[int, int] | None) -> Footprint:
    """What was taken since *before*, and what is free. Asking launches nothing."""
    after = allocated(interface)
    if before is None or after is None:
        return Footprint()
    return Footprint(
        per_call=max(0, after[0] - before[0]),
        allocations=max(0, after[1] - before[1]),
        free=free_bytes(interface),
    )


def free_bytes(interface: Any) -> int:
    """Bytes a graph could still get: free on the device, or cached by the allocator; 0: not told."""
    told = _ask(interface, "mem_get_info")
    if not told:
        return 0
    cached = (_ask(interface, "memory_reserved") or 0) - (_ask(interface, "memory_allocated") or 0)
    return int(told[0]) + max(0, int(cached))


def _ask(interface: Any, name: str) -> Any:
    """What a function of the interface says; None where it is missing or refuses."""
    function = getattr(interface, name, None)
    if function is None:
        return None
    with contextlib.suppress(Exception):
        return function()
    return None
