"""Makes the rows of the table that is open: what is the same for all of them is kept here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.model import UNKNOWN, Source
from flagkit.parsers.fastrows import FastRows
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.rows import UNKNOWN_REGIME, make_row

if TYPE_CHECKING:
    from flagkit.model import Regime, Row
    from flagkit.parsers.cells import Cells
    from flagkit.parsers.titles import Title


class TableRows:
    """Rows of one table after the other, in the file *source*."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._title: Title | None = None
        self._regime: Regime = UNKNOWN_REGIME
        self._fast: FastRows | None = None
        self._held: list[Row] = []

    def begin(self, title: Title | None, regime: Regime) -> None:
        """A table with *title* starts here; rows without one come if it is None."""
        self._title, self._regime, self._fast = title, regime, None

    def make(self, cells: Cells, line: int) -> Row:
        """The row with *cells* in *line*."""
        title = self._title
        return make_row(
            op=title.op if title else UNKNOWN,
            dtype=title.dtype if title else UNKNOWN,
            size_detail=cells.detail,
            key=cells.key,
            latency_ms=cells.latency,
            baseline_ms=cells.baseline,
            tflops=cells.tflops,
            gbps=cells.gbps,
            baseline_gbps=cells.baseline_gbps,
            failed=cells.first == "FAILED",
            mode=kept_mode(title.mode) if title else UNKNOWN,
            level=title.level if title else UNKNOWN,
            regime=self._regime,
            source=Source(file=self._file, line=line),
        )

    def fast(self, title: Title) -> FastRows:
        """What reads plain rows of the table with *title*."""
        if self._fast is None:
            self._fast = FastRows(
                op=title.op,
                dtype=title.dtype,
                mode=kept_mode(title.mode),
                level=title.level,
                regime=self._regime,
                file=self._file,
            )
        return self._fast

    def hold(self, row: Row) -> None:
        """Keep *row* of a table without size details until it is known to be printed once."""
        self._held.append(row)

    def release(self, title: Title | None = None) -> tuple[list[Row], bool]:
        """The rows that were kept, and whether *title* repeats them, so that they are dropped.

        One vendor's branch prints each table twice: in the first layout as it goes, then
        as today's.
        """
        held, self._held = self._held, []
        old = self._title
        if held and title and old and title[:2] == old[:2] and title.layout != old.layout:
            return [], True
        return held, False
