"""Inputs that are equal on both sides: seeds, generators' states, digests of values.

Only libraries that the benchmark has loaded are touched, and no device kernel is
launched, so that the agent's own work neither shifts nor times anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.agent.arrays import layout, version
from flagkit.agent.reach import reach

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class States:
    """Generators' states as they were; opaque, for :meth:`Generators.restore`."""

    setters: tuple[tuple[Callable[[Any], Any], Any], ...]


class Generators:
    """Every generator a benchmark draws its inputs from, as far as it is loaded.

    :param interface: the device's module; None: no device.
    """

    def __init__(self, interface: Any = None) -> None:
        self._interface = interface

    def save(self) -> States:
        """The states now. A generator that refuses is left out."""
        setters: list[tuple[Callable[[Any], Any], Any]] = []
        for read, write in self._pairs():
            with contextlib.suppress(Exception):
                setters.append((write, read()))
        return States(tuple(setters))

    def restore(self, states: States) -> None:
        """Put *states* back; what refuses stays as it is."""
        for write, state in states.setters:
            with contextlib.suppress(Exception):
                write(state)

    def _pairs(self) -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
        pairs: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
            (random.getstate, random.setstate)
        ]
        numbers = _numpy_random()
        if hasattr(numbers, "get_state") and hasattr(numbers, "set_state"):
            pairs.append((numbers.get_state, numbers.set_state))
        torch: Any = sys.modules.get("torch")
        if hasattr(torch, "get_rng_state") and hasattr(torch, "set_rng_state"):
            pairs.append((torch.get_rng_state, torch.set_rng_state))
        device = _device_pair(self._interface)
        return [*pairs, device] if device else pairs


def _numpy_random() -> Any:
    """``numpy.random`` of a loaded numpy. It may load on first use, too late to be seeded then."""
    with contextlib.suppress(Exception):
        return sys.modules["numpy"].random
    return None


def _device_pair(interface: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    """How the current device's state is read and written, where the device is in use."""
    if interface is None or not _initialised(interface):
        return None
    read = getattr(interface, "get_rng_state", None)
    write = getattr(interface, "set_rng_state", None)
    return (read, write) if read is not None and write is not None else None


def _initialised(interface: Any) -> bool:
    """Asking an unused device for its state would bring its context up."""
    ask = getattr(interface, "is_initialized", None)
    if ask is None:
        return True
    with contextlib.suppress(Exception):
        return bool(ask())
    return False


def seed_all(seed: int, interface: Any = None) -> None:
    """Give every loaded generator the same *seed*; one that refuses is left alone."""
    random.seed(seed)
    with contextlib.suppress(Exception):
        _numpy_random().seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        with contextlib.suppress(Exception):
            torch.manual_seed(seed)
    for name in ("manual_seed_all", "manual_seed"):
        function = getattr(interface, name, None)
        if function is not None:
            with contextlib.suppress(Exception):
                function(seed)
            return


class Inspection:
    """What a call works on, read before it runs.

    ``fingerprint`` hashes shapes, dtypes and strides in the order they were met,
    ``digest`` a bounded sample of the values; both empty where there is no array.
    ``unseen`` counts what could not be looked into. It keeps the arrays alive.
    """

    def __init__(self, fn: Any) -> None:
        reached = reach(fn)
        self.arrays: tuple[Any, ...] = tuple(reached.arrays)
        self.fingerprint, self.digest, unread = _hashes(self.arrays)
        self.unseen = reached.unseen + unread
        self._versions = tuple(version(array) for array in self.arrays)

    def settled(self) -> str:
        """Call it after the first run: a digest in which arrays the run wrote count as they
        are now, all others as they were.

        An output that the benchmark made without filling holds leftovers before the run, on
        each side others, and the operator's result after it. So where digests differ and
        these are equal, the sides' inputs were equal.
        """
        return _hashes(self.arrays)[1]

    def changed(self) -> bool:
        """Whether any array's values are others now, by torch's own count or by the sample."""
        if tuple(version(array) for array in self.arrays) != self._versions:
            return True
        return _hashes(self.arrays)[1] != self.digest


def inspect_call(fn: Any) -> Inspection:
    """Look at what *fn* will work on. Never raises, launches nothing."""
    return Inspection(fn)


def _hashes(arrays: tuple[Any, ...]) -> tuple[str, str, int]:
    """Fingerprint, digest, and how many arrays' values could not be read."""
    shapes, values, unread = hashlib.sha256(), hashlib.sha256(), 0
    for array in arrays:
        try:
            described = layout(array)
        except Exception:
            shapes.update(b"?\n")
            unread += 1
            continue
        shapes.update(f"{described.text()}\n".encode())
        values.update(f"{described.text()}\n".encode())
        try:
            for part in described.sample():
                values.update(part)
        except Exception:
            values.update(b"?")
            unread += 1
        else:
            unread += described.read is None
    if not arrays:
        return "", "", unread
    return shapes.hexdigest()[:32], values.hexdigest()[:32], unread
