from __future__ import annotations

from typing import Any

import pytest

from flagkit.model import Regime, Row, RowKey, RunLog, number_rows

GRAPH = Regime(requested="graph", resolved="graph", cache="hot")


class Making:
    """Facts in one short call each."""

    @staticmethod
    def regime(resolved: str = "graph", cache: str = "hot", **more: Any) -> Regime:
        return Regime(
            requested=more.pop("requested", resolved), resolved=resolved, cache=cache, **more
        )

    @staticmethod
    def row(size: str = "[[64]]", ms: float | None = 1.0, **more: Any) -> Row:
        key = RowKey(
            op=more.pop("op", "gelu"),
            dtype=more.pop("dtype", "torch.float16"),
            size_key=size,
            occurrence=more.pop("nth", 0),
            node=more.pop("node", ""),
        )
        more.setdefault("status", "ok" if ms else "invalid")
        more.setdefault("regime", GRAPH)
        more.setdefault("mode", "kernel")
        return Row(key=key, size_detail=size, latency_ms=ms, **more)

    @staticmethod
    def log(*rows: Row, **more: Any) -> RunLog:
        return RunLog(rows=number_rows(rows), **more)


@pytest.fixture(scope="session")
def make() -> type[Making]:
    return Making
