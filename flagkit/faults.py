"""Tells from an exception's text that a device's context is dead.

For backends, in the benchmark's process. Runtimes modelled on CUDA's share its words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FATAL_MARKERS: tuple[str, ...] = (
    "illegal memory access",
    "illegal address",
    "illegal instruction",
    "misaligned address",
    "invalid program counter",
    "error invalid pc",
    "invalid address space",
    "hardware stack error",
    "unspecified launch failure",
    "error launch failure",
    "error launch failed",
    "launch timed out",
    "error launch timeout",
    "device-side assert",
    "cuda error assert",
    "uncorrectable ecc",
    "context is destroyed",
    "cuda error unknown",
    "error: unknown error",
    # An allocation that failed inside torch alone leaves the context usable, but its text
    # cannot be told from a driver's for certain, and no number is worth the guess.
    "out of memory",
)
"""Errors after which every later call on the device fails or lies.

From the "sticky" codes of the CUDA runtime (``cudaErrorIllegalAddress``,
``cudaErrorLaunchFailure``, ``cudaErrorAssert`` ...) in the spellings of the runtime's
enumeration, the driver's, and their messages. Not among them: anything a graph capture
reports about itself.
"""


def mentions(exc: BaseException, markers: Iterable[str] = FATAL_MARKERS) -> bool:
    """Whether *exc*, or what it was raised from, holds any of *markers*.

    Letter case, blanks, hyphens and underscores do not count, so that
    ``CUDA_ERROR_ILLEGAL_ADDRESS`` and ``cudaErrorIllegalAddress`` are one marker.
    """
    squeezed = [_squeeze(marker) for marker in markers]
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        text = _squeeze(_ADVICE.sub("", str(current)))
        if any(marker in text for marker in squeezed):
            return True
        current = current.__cause__
    return False


_ADVICE = re.compile(
    r"^(?:Compile with `TORCH_USE_|For debugging consider|\w+ kernel errors might).*$", re.MULTILINE
)
"""Lines that torch adds to every device error; one of them speaks of device-side assertions."""


def _squeeze(text: str) -> str:
    return text.lower().translate(_DROPPED)


_DROPPED = {ord(char): None for char in " \t\n-_"}
