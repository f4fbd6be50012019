"""One process at a time works in a run directory: two would take each other's sides away."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from flagkit.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = ".lock"


@contextlib.contextmanager
def held(root: Path) -> Iterator[None]:
    """Hold the run directory *root*; the system lets go of it where the process dies.

    Raises :class:`RunError` if another process has it. A file system without locks is gone
    on with.
    """
    path = root / LOCK
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 20).decode("ascii", "replace").strip()
            who = f" (process {holder})" if holder.isdigit() else ""
            raise RunError(
                f"{root}: another flagkit{who} is at work there and holds {LOCK}: wait for it, "
                "or end it"
            ) from None
        except OSError:
            pass
        else:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)
