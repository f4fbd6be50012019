"""Tables that something has damaged: no wrong number, no wrong operator, no row lost silently."""

from __future__ import annotations

import pytest

from flagkit.model import Damaged, Note, Row
from flagkit.parsers.flaggems_table import flagkit_parser
from flagkit.parsers.stream import Lines, utf8_blocks

HEADER = (
    f"{'Status':<10} {'Torch Latency (ms)':>20} {'Gems Latency (ms)':>20} {'Gems Speedup':>20} "
    f"{'Size Detail':>20}\n{'-' * 95}\n"
)


def row(detail: str, baseline: float, latency: float, extra: str = "") -> str:
    cells = f"{baseline:>20.6f}{latency:>20.6f}{baseline / latency:>20.3f}{extra}"
    return f"{'SUCCESS':<10}{cells}{'':10}{detail}\n"


def title(op: str, dtype: str = "torch.float16") -> str:
    return f"\nOperator: {op}  Performance Test (dtype={dtype}, mode=kernel,level=core)\n"


A1, A2, A3 = (row(f"[torch.Size([{n}])]", n / 64, n / 128) for n in (128, 256, 512))
B1, B2 = (row(f"[torch.Size([{n}])]", n / 32, n / 16) for n in (128, 320))
GELU = title("gelu") + HEADER + A1 + A2
RELU = title("relu") + HEADER + B1 + B2


def facts(text: str | bytes) -> list[Row | Damaged | Note]:
    data = text.encode() if isinstance(text, str) else text
    lines = Lines(utf8_blocks(data, lambda _: b""))
    return list(flagkit_parser().parse(lines, "run.log"))


def ledger(text: str | bytes) -> tuple[list[tuple[str, float | None]], list[int]]:
    """Operator and latency of each row, and the damaged lines."""
    found = facts(text)
    rows = [(f.key.op, f.latency_ms) for f in found if isinstance(f, Row)]
    return rows, [f.source.line for f in found if isinstance(f, Damaged)]


GELUS = [("gelu", 1.0), ("gelu", 2.0)]


class TestLostTitles:
    """Rows never count as another operator's whose title happens to stand above them."""

    def test_a_second_line_of_dashes(self) -> None:
        cut = GELU + A3[:40] + RELU[RELU.index("Gems Speedup") :]
        assert ledger(cut) == (GELUS, [7, 9, 10])

    def test_a_hole_from_one_tables_row_to_anothers(self) -> None:
        text = GELU + A3[:60] + "\0" * 300 + B1[30:] + B2
        assert ledger(text) == (GELUS, [7, 8])

    def test_a_hole_between_two_rows(self) -> None:
        text = GELU + "\0" * 300 + B1 + B2
        assert ledger(text) == (GELUS, [7, 8])
        assert ledger(GELU + "\0" * 64 + A3) == ([*GELUS, ("gelu", 4.0)], [])

    def test_a_hole_in_another_line(self) -> None:
        assert ledger(GELU + "[W] lo" + "\0" * 300 + "ut\n" + B2)[0] == GELUS
        far = "noise\n" * 100
        assert ledger(GELU + far + "[W] lo" + "\0" * 300 + "ut\n" + far + B2)[0] == GELUS

    def test_a_hole_before_a_whole_title(self) -> None:
        text = GELU + A3[:60] + "\0" * 300 + RELU[1:]
        assert ledger(text) == ([*GELUS, ("relu", 8.0), ("relu", 20.0)], [7])

    def test_a_hole_at_the_files_start_is_none(self) -> None:
        assert ledger("\0" * 4096 + GELU) == (GELUS, [])

    @pytest.mark.parametrize("width", [20, 40, 80])
    def test_a_line_that_another_program_draws(self, width: int) -> None:
        assert ledger(GELU + "-" * width + "\n" + A3) == ([*GELUS, ("gelu", 4.0)], [])


class TestLostDigits:
    def test_two_digits_more(self) -> None:
        more = row("[torch.Size([128])]", 0.5, 0.25).replace("0.500000", "120.500000")
        assert ledger(GELU + more) == (GELUS, [7])
        assert ledger(more) == ([], [1])

    def test_where_another_column_is_compared(self) -> None:
        header = HEADER.replace("Gems Speedup ", f"Gems Speedup {'vs Base':>20} ", 1)
        good = row("[torch.Size([128])]", 2.0, 1.0, extra="   1.02x")
        for bad in (good.replace("2.000000", "112.000000"), good.replace("1.000000", "91.000000")):
            text = title("gelu") + header + good + bad
            assert ledger(text) == ([("gelu", 1.0)], [6])

    @pytest.mark.parametrize(
        "detail",
        [
            "[torch.Size([4096, 40.25])]",
            "[torch.Size([16, null])]",
            "[torch.Size(['a', 16])]",
            "[torch.Size([1e3, 1])]",
            "[torch.Size([-4])]",
            "[torch.Size([[4]])]",
        ],
    )
    def test_a_size_holds_lengths_only(self, detail: str) -> None:
        assert ledger(GELU + row(detail, 0.5, 0.25)) == (GELUS, [7])

    @pytest.mark.parametrize(
        "dtype", ["torch.float1PASSED6", "torch.float3122", "torch.float", "torch.", "fl0at16", ""]
    )
    def test_a_dtype_is_one_of_torchs(self, dtype: str) -> None:
        assert ledger(title("gelu", dtype) + HEADER + A1 + A2) == ([], [5, 6])

    @pytest.mark.parametrize(
        "dtype",
        [
            *("None", "torch.bool", "torch.bfloat16", "torch.int8", "torch.uint16"),
            *("torch.complex64", "torch.float8_e4m3fn", "torch.float8_e5m2fnuz", "torch.float64"),
            *("torch.float8_e8m0fnu", "torch.float4_e2m1fn_x2", "torch.qint8", "torch.quint4x2"),
        ],
    )
    def test_any_of_them(self, dtype: str) -> None:
        found = facts(title("gelu", dtype) + HEADER + A1)
        assert [f.key.dtype for f in found if isinstance(f, Row)] == [dtype]
