"""Tables that something has damaged: no wrong number, no wrong operator, no row lost silently."""

from __future__ import annotations

from pathlib import Path

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
        "dtype",
        [
            *("torch.float1PASSED6", "torch.float3122", "torch.float", "torch.", "torch.fl0at16"),
            *("float1PASSED6", "float3122", "uint", "scalar_PASSEDonly", "scalar.only", "2d", ""),
        ],
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

    @pytest.mark.parametrize("dtype", ["scalar_only", "block", "fp8_w8a8", "float_only"])
    def test_a_benchmarks_own_cases_stand_in_its_place(self, dtype: str) -> None:
        found = facts(title("gelu", dtype) + HEADER + A1)
        assert [f.key.dtype for f in found if isinstance(f, Row)] == [dtype]


class TestOtherProgramsWords:
    """``SUCCESS`` and ``FAILED`` begin rows, and lines of other programs."""

    @pytest.mark.parametrize(
        "line",
        [
            *("SUCCESS", "SUCCESS   compile 12 kernels", "SUCCESS  1.5 s elapsed", "FAILED   "),
            *("FAILED   3 of 10 shapes", "SUCCESS   12.5 kernels/s", "SUCCESS   info: 3 found"),
        ],
    )
    def test_far_from_rows(self, line: str) -> None:
        for far in ("\n", "\nnoise\n", "\n" * 200):
            text = GELU + f"{far}{line}\n\n" + RELU
            assert ledger(text) == ledger(GELU + RELU)
            assert ledger(f"{line}\n{far}{GELU}") == (GELUS, [])

    @pytest.mark.parametrize("cut", range(7, 50))
    def test_a_row_cut_where_one_has_to_stand(self, cut: int) -> None:
        assert ledger(GELU + A3[:cut].rstrip() + "\n" + A1)[1] == [7]
        for end in ("\n", "[W] late\n", "12 kernels\n")[: 3 if cut > 9 else 1]:
            assert ledger(GELU + A3[:cut] + end + A1)[1] == [7]

    @pytest.mark.parametrize("detail", ["[1]", "([1], {'dim': 1})", "{'dim': 1}", "N/A"])
    def test_a_row_whose_first_letters_a_bar_has_taken(self, detail: str) -> None:
        text = row(detail, 0.5, 0.25)
        for cut in (1, 4, 7):
            assert ledger(f"{GELU}{text[:cut]}\r 50%|###  |{text[cut:]}") == (GELUS, [7])
            assert ledger(f"{GELU}{text[:cut]}\r 50%|###  |\n{text[cut:]}")[1] in ([7], [8])
            assert ledger(f"{GELU}[W] slow\n{text[cut:]}")[1] == [8]

    def test_a_number_that_is_none_is_no_detail(self) -> None:
        assert ledger(f"{GELU}\n0.5{'N/A':>20}\n0.5   N/A\n") == (GELUS, [])

    @pytest.mark.parametrize("cut", range(31, 60))
    def test_a_row_cut_behind_another_line(self, cut: int) -> None:
        for end in ("\n", "[W] late\n"):
            assert ledger(GELU + "[W] slow\n" + A3[:cut] + end + A1)[1] == [8]


class TestOtherBlanks:
    """Pages and editors put blanks that cannot break in place of some or all."""

    @pytest.mark.parametrize("blank", ["\xa0", "\u2007", "\u3000"])
    def test_one_table_of_two(self, blank: str) -> None:
        page = GELU.replace("  ", f"{blank} ")
        assert ledger(page + RELU)[0] == ledger(GELU + RELU)[0]
        assert ledger(RELU + "\n" * 200 + page) == (ledger(RELU + GELU)[0], [])

    def test_all_of_them(self) -> None:
        page = GELU.replace(" ", "\xa0")
        assert flagkit_parser().claims(page.encode(), Path("run.log"))
        for text in (page, "\x1b[32m" + page, "noise\n" * 200 + page):
            assert ledger(text) == (GELUS, [])
        text = RELU + "noise\n" * 200 + page
        assert ledger(text)[0][2:] == GELUS

    def test_a_cut_row_is_damaged(self) -> None:
        page = (GELU + A3[:60]).replace(" ", "\xa0")
        assert ledger(page) == (GELUS, [7])


def old(size: object, torch: float, gems: float, speedup: float) -> str:
    return f"{size!s:<8}{torch:>18.6}{gems:>21.6}{speedup:>16.3}\n"


OLD_HEADER = "Size    Torch Latency (ms)    Gems Latency (ms)    Gems Speedup\n" + "-" * 63 + "\n"
ADDMM, MV = (f"Operator {op} Performance Test (torch.float16)\n" for op in ("addmm", "mv"))
R1, R2, R3 = old(1024, 0.5, 0.25, 2.0), old(2048, 100.0, 1.0, 100.0), old(12288, 3.0, 12.0, 0.25)
OLD = ADDMM + OLD_HEADER + R1 + R2 + R3
FIRST = [("addmm", 0.25)]
OLDS = [*FIRST, ("addmm", 1.0), ("addmm", 12.0)]

BEFORE_STATUS = (
    "\nOperator: mm  Performance Test (dtype=torch.float16, mode=cuda, level=core)\n"
    + HEADER.replace("Status", "Size  ")
    + A1.replace("SUCCESS", "1024   ")
    + A2.replace("SUCCESS", "N/A    ")
)


class TestEveryRowIsInTheLedger:
    @pytest.mark.parametrize("table", [OLD, BEFORE_STATUS])
    def test_noise_among_the_dashes(self, table: str) -> None:
        rows, damaged = ledger(table)
        assert len(rows) in (2, 3) and not damaged
        for noise in ("[W] late", "\n[W] late\n", "PASSED\n", "\rprogress", "\n.\n"):
            at = table.index("-" * 40) + 20
            assert len(ledger(table[:at] + noise + table[at:])[0]) == len(rows), noise

    def test_a_damaged_title(self) -> None:
        unknown = [("unknown", latency) for _, latency in OLDS]
        for cut in (OLD.replace("Test", "[W] late Test"), OLD[OLD.index("mance") :]):
            assert ledger(cut) == (unknown, [])
        lost = (OLD + "\n" + OLD.replace("addmm", "mv")).replace("mv Perf", "mv [W] Perf")
        assert ledger(lost) == (OLDS, [11, 12, 13])

    @pytest.mark.parametrize(
        "glued",
        [
            "[W] late " + R2,
            R2[:-1] + "[W] late\n",
            R2[:2] + "\n" + R2[2:],
            R2[:4] + "\n[W] late" + R2[4:],
            R2[:7] + "\n\n" + R2[7:],
            R2[:40] + "\n" + R2[40:],
            R2[:2] + "\nPASSED\n" + R2[2:],
            R2[:30] + "\n.\n" + R2[30:],
            "[W] late\n" + R2[:-1] + "]\n",
            R2[:-1] + "\rx\n",
            R2[:-1] + "\r.\n",
            R2[:-1] + "\rreading a file of many more characters than the row had until now\n",
        ],
    )
    def test_a_row_of_an_old_table(self, glued: str) -> None:
        rows, damaged = ledger(OLD.replace(R2, glued))
        assert rows == [OLDS[0], OLDS[2]]
        assert len(damaged) == 1

    @pytest.mark.parametrize("at", range(1, 12))
    @pytest.mark.parametrize("noise", ["", "\n", "\t\n", ".\n", "PASSED\n", "[W] late\n"])
    def test_a_row_cut_within_its_status(self, at: int, noise: str) -> None:
        text = GELU + A3[:at] + "\n" + noise + A3[at:] + A1
        assert ledger(text) == ([*GELUS, ("gelu", 1.0)], [7])

    def test_a_row_cut_without_its_rest(self) -> None:
        assert ledger(GELU + "SUCC\n.\n" + A3) == ([*GELUS, ("unknown", 4.0)], [7])
        assert ledger(GELU + "S\n\n" + RELU[1:]) == (
            [*GELUS, ("relu", 8.0), ("relu", 20.0)],
            [7],
        )

    def test_a_row_that_was_written_over(self) -> None:
        noise = (
            "Autotuning kernel mm with BLOCK_M: 256, num_warps: 8, num_stages: 3 and so on and on, "
        )
        assert ledger(GELU + A3[:-1] + "\r" + noise * 2 + "\n" + A1)[1] == [7]
        assert ledger(GELU + A3[:-1] + "\r" + A1) == ([*GELUS, ("gelu", 1.0)], [])


class TestPasted:
    """Rows without the lines above them: operator and dtype are not known."""

    def test_rows_with_a_size_before_them(self) -> None:
        rows = BEFORE_STATUS[BEFORE_STATUS.index("1024  ") :]
        assert ledger(rows) == ([("unknown", 1.0), ("unknown", 2.0)], [])

    def test_rows_without_a_detail(self) -> None:
        assert ledger(R1 + R2 + R3) == ([("unknown", latency) for _, latency in OLDS], [])
        assert ledger("a note\n\n" + R1 + R2[:30] + "\n")[1] == [4]
        first = "".join(f"{n:<10}{0.5:>20.6}{0.25:>20.6}\n" for n in (1024, "(64, 64)"))
        assert ledger(first) == ([("unknown", 0.25)] * 2, [])

    @pytest.mark.parametrize("text", [R1, BEFORE_STATUS[BEFORE_STATUS.index("1024  ") :]])
    def test_they_are_claimed(self, text: str) -> None:
        from pathlib import Path

        assert flagkit_parser().claims(text.encode(), Path("x"))
        shifted = "\n".join(f"{line[:9]} {line[9:]}" for line in text.splitlines())
        assert not flagkit_parser().claims(shifted.encode(), Path("x"))

    def test_other_numbers_are_no_rows(self) -> None:
        assert facts("1024      0.5      0.25\n2048   1.0   2.0    3.0\n") == []


@pytest.mark.parametrize(
    ("printed", "op"),
    [
        ("fused moe", "fused moe"),
        ("sdpa (causal)", "sdpa (causal)"),
        ("weight norm backward", "weight norm_backward"),
        ("layer_norm.native (eps=1e-5, fp32)", "layer_norm.native (eps=1e-5, fp32)"),
    ],
)
def test_names_of_several_words(printed: str, op: str) -> None:
    assert ledger(GELU.replace("gelu", printed))[0] == [(op, 1.0), (op, 2.0)]


@pytest.mark.parametrize("noise", ["[W] late ", "warning: x ", "50%|#  | 1/2 ", " a; b "])
def test_a_name_with_other_text_among_it_is_none(noise: str) -> None:
    assert ledger(GELU.replace("gelu", f"ge {noise}lu")) == ([], [5, 6])


@pytest.mark.parametrize("noise", ["PASSED", "SUCCESS", "Operator", "-" * 40])
def test_a_name_with_a_word_of_logs_in_it_is_none(noise: str) -> None:
    assert ledger(GELU.replace("gelu", f"ge{noise}lu"))[0] == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("size", [7, 64, 1 << 17])
def test_utf16_and_eight_bits_in_one_file(encoding: str, mark: str, size: int) -> None:
    wide = (mark + GELU + "# 显卡测试\n").encode(encoding)
    narrow = (RELU + "# é 显卡\n").encode()
    for pieces in ((wide, narrow), (wide, narrow, wide, narrow)):
        data = b"".join(pieces)
        head, rest = data[:4096], iter(data[at : at + size] for at in range(4096, len(data), size))
        lines = Lines(utf8_blocks(head, lambda _, rest=rest: next(rest, b"")))  # type: ignore[misc]
        found = list(flagkit_parser().parse(lines, "run.log"))
        assert [f.key.op for f in found if isinstance(f, Row)] == (
            ["gelu", "gelu", "relu", "relu"] * (len(pieces) // 2)
        )
        assert [f for f in found if isinstance(f, Damaged)] == []


def test_a_character_that_is_repeated() -> None:
    packed = GELU.replace(" " * 14, " \x1b[13b").replace("-" * 95, "-\x1b[94b")
    assert "\x1b[13b" in packed
    assert ledger(packed) == (GELUS, [])
    assert ledger("\x1b[5bx\n" + GELU) == (GELUS, [])
    assert ledger("a\x1b[999999999b\x1b[999999999b\n" + GELU) == (GELUS, [])


def test_tabs_in_place_of_blanks() -> None:
    def packed(line: str) -> str:
        eights = [line[at : at + 8] for at in range(0, len(line), 8)]
        return "".join(
            f"{eight.rstrip()}\t" if len(eight) == 8 and eight.endswith("  ") else eight
            for eight in eights
        )

    text = "\n".join(map(packed, GELU.splitlines())) + "\n"
    assert text.count("\t") > 10
    assert ledger(text) == (GELUS, [])


@pytest.mark.parametrize("escape", [b"\x9b", b"\xc2\x9b"])
def test_escapes_of_eight_bits(escape: bytes) -> None:
    coloured = GELU.encode().replace(b"SUCCESS", escape + b"32mSUCCESS" + escape + b"0m")
    assert ledger(coloured) == (GELUS, [])
    far = coloured.replace(escape + b"32m", b"noise\n" * 100 + escape + b"32m")
    assert ledger(far) == (GELUS, [])


class TestWideTerminals:
    """Terminals that show the column line whole and wrap only rows."""

    LONG = tuple(
        row(f"[torch.Size([{n}, 1024, 64]), torch.Size([{n}, 64]), torch.Size([7, {n}])]", n, n / 2)
        for n in (128, 256, 512)
    )

    @staticmethod
    def wrapped(text: str, width: int, stripped: bool = False) -> str:
        lines = [
            line[at : at + width]
            for line in text.splitlines()
            for at in range(0, max(len(line), 1), width)
        ]
        return "".join(f"{line.rstrip() if stripped else line}\n" for line in lines)

    @pytest.mark.parametrize("stripped", [False, True])
    @pytest.mark.parametrize("width", range(95, 131))
    def test_two_rows_that_break_at_one_place_prove_it(self, width: int, stripped: bool) -> None:
        text = title("gelu") + HEADER + "".join(self.LONG) + RELU + self.LONG[0]
        want = [*(("gelu", n / 2) for n in (128, 256, 512)), ("relu", 8.0), ("relu", 20.0)]
        assert ledger(self.wrapped(text, width, stripped)) == ([*want, ("relu", 64.0)], [])

    @pytest.mark.parametrize("stripped", [False, True])
    @pytest.mark.parametrize(("first", "width"), [("Status", 90), ("Size", 90), ("Size", 94)])
    def test_short_lines_of_dashes(self, first: str, width: int, stripped: bool) -> None:
        """Rows of 2024: 90 dashes below any column line, and ``Size`` above a status."""
        header = f"{first:<10}{HEADER.splitlines()[0][10:]}\n{'-' * 90}\n"
        text = title("gelu") + header + "".join(self.LONG) + title("relu") + header + B1 + B2
        want = [*(("gelu", n / 2) for n in (128, 256, 512)), ("relu", 8.0), ("relu", 20.0)]
        assert ledger(self.wrapped(text, width, stripped)) == (want, [])

    @pytest.mark.parametrize("width", range(96, 140))
    def test_rows_that_have_more_cells_than_their_column_line(self, width: int) -> None:
        more = (f"{n:>20.3f}{n:>20.3f}" for n in (1.5, 2.5, 3.5))
        rows = [
            row(f"[torch.Size([{n}, 1024]), 'none']", n, n / 2, extra)
            for n, extra in zip((128, 256, 512), more, strict=True)
        ]
        header = HEADER.replace("Status", "Size  ")
        text = self.wrapped(title("gelu") + header + "".join(rows), width)
        assert ledger(text) == ([("gelu", n / 2) for n in (128, 256, 512)], [])

    @pytest.mark.parametrize("width", range(100, 120))
    def test_other_text_among_the_numbers_is_never_joined(self, width: int) -> None:
        rows = [row("[1, 2]", n, n / 2, f"{n:>20.3f}{n:>20.3f}") for n in (128, 256)]
        for other in ("12", "W", "[W] late"):
            cut = [f"{one[:width]}\n{other}{one[width:]}" for one in rows]
            found, damaged = ledger(title("gelu") + HEADER + A1 + "".join(cut) + A2)
            assert (found, damaged) == (GELUS, [6, 8])

    def test_in_the_order_of_the_log(self) -> None:
        text = title("gelu") + HEADER + self.LONG[0] + A1 + self.LONG[1] + RELU
        assert [f.source.line for f in facts(self.wrapped(text, 110)) if isinstance(f, Row)] == [
            *(5, 7, 8, 14, 15)
        ]

    def test_one_row_proves_nothing(self) -> None:
        text = title("gelu") + HEADER + A1 + self.LONG[0] + A2
        rows, damaged = ledger(self.wrapped(text, 110))
        assert (rows, damaged) == (GELUS, [6])
        assert notes(self.wrapped(text, 110)[:-1], "incomplete") == []

    def test_lines_that_do_not_go_on(self) -> None:
        first = self.LONG[0][:110] + "\n"
        for other in ("[W] late\n", "12\n", ".\n", "", self.LONG[0][:110] + "\n", "x" * 110 + "\n"):
            text = title("gelu") + HEADER + A1 + first + other + A2
            rows, damaged = ledger(text)
            assert [latency for _, latency in rows] == [1.0, 2.0]
            assert damaged == ([6, 7] if other.startswith("SUCCESS") else [6])

    def test_what_stands_behind_a_cut_row_is_read(self) -> None:
        failed = "FAILED test_gelu.py::test_gelu - out of memory\n"
        text = title("gelu") + HEADER + A1 + self.LONG[0][:110] + "\n" + failed
        assert notes(text, "incomplete") == ["test_gelu.py::test_gelu failed: out of memory"]

    def test_a_digit_of_another_line_is_never_joined(self) -> None:
        text = title("gelu") + HEADER + A1 + self.LONG[0][:100] + "\n12" + self.LONG[0][100:] + A2
        assert ledger(text) == (GELUS, [6])


def notes(text: str, code: str) -> list[str]:
    return [f.text for f in facts(text) if isinstance(f, Note) and f.code == code]
