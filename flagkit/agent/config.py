"""What the host tells the agent: one JSON file, named by one variable."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagkit.model import Side

VARIABLE = "FLAGKIT_AGENT_CONFIG"
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plug-in the host selected: what people call it, and the module to import.

    ``options`` are a backend's own, without its prefix.
    """

    name: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """One side's orders.

    ``directory`` is where the journals go, ``replay`` the before side's directory if its
    plans and tuner decisions are to be replayed. ``timing`` is the requested regime on a
    device. ``watch`` maps the switch's variables to the values they must keep. ``control``
    is ``torch`` to keep the reference column. ``check`` asks for a digest of the outputs.
    ``across_builds`` says that the sides run different builds, so that kernels' sources differ.
    """

    directory: Path | None = None
    side: Side = "before"
    op: str = ""
    backend: Plugin | None = None
    switch: Plugin | None = None
    tuners: tuple[Plugin, ...] = ()
    replay: Path | None = None
    timing: str = "graph"
    seed: int = 0
    watch: Mapping[str, str | None] = field(default_factory=dict)
    control: str = "none"
    check: bool = False
    across_builds: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AgentConfig:
        """Read what :meth:`to_json` wrote; raises ``ValueError`` for another schema."""
        if data.get("schema") != SCHEMA:
            raise ValueError(f"agent config of schema {data.get('schema')!r}, not {SCHEMA}")
        return cls(
            directory=_path(data.get("directory")),
            side=data["side"],
            op=data.get("op", ""),
            backend=_plugin(data.get("backend")),
            switch=_plugin(data.get("switch")),
            tuners=tuple(Plugin(**t) for t in data.get("tuners", ())),
            replay=_path(data.get("replay")),
            timing=data.get("timing", "graph"),
            seed=int(data.get("seed", 0)),
            watch=dict(data.get("watch", {})),
            control=data.get("control", "none"),
            check=bool(data.get("check", False)),
            across_builds=bool(data.get("across_builds", False)),
        )

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> AgentConfig | None:
        """The configuration the environment names; None where flagkit did not start this."""
        path = environ.get(VARIABLE)
        if not path:
            return None
        return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))


def _path(value: str | None) -> Path | None:
    return Path(value) if value else None


def _plugin(value: Mapping[str, Any] | None) -> Plugin | None:
    return Plugin(**value) if value else None
