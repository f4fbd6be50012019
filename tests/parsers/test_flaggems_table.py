"""Every layout of FlagGems' printed tables, and the dirt that logs collect."""

from __future__ import annotations

import io

import pytest

from flagkit.model import Damaged, Note, Row
from flagkit.parsers.flaggems_table import flagkit_parser
from flagkit.parsers.regimes import Fallback, fallback_line
from flagkit.parsers.stream import Lines

TITLE = "Operator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)"
SIZES = ("[torch.Size([1024, 1024])]", "[torch.Size([64, 64]), 1]")


def cells(*numbers: float | None, digits: tuple[int, ...] = (6, 6, 3)) -> str:
    digits = (*digits, *[3] * len(numbers))
    told = zip(numbers, digits, strict=False)
    return "".join(f"{'N/A' if n is None else f'{n:.{d}f}':>20}" for n, d in told)


def row(detail: str, *numbers: float | None, status: str = "SUCCESS", width: int = 10) -> str:
    return f"{status:<{width}}{cells(*numbers)}{'':10}{detail}\n"


def header(*extra: str, first: str = "Status", base: str = "Torch Latency (ms)") -> str:
    names = [f"{first:<10}", f"{base:>20}", f"{'Gems Latency (ms)':>20}", f"{'Gems Speedup':>20}"]
    names += [f"{name:>20}" for name in (*extra, "Size Detail")]
    line = " ".join(names)
    return f"{line}\n{'-' * (len(line) + 1)}\n"


def table(*rows: str, title: str = TITLE, head: str | None = None) -> str:
    return f"\n{title}\n{header() if head is None else head}{''.join(rows)}\n"


PLAIN = table(row(SIZES[0], 0.5, 0.25, 2.0), row(SIZES[1], 0.1, 0.2, 0.5))


def facts(text: str | bytes) -> list[Row | Damaged | Note]:
    data = text.encode() if isinstance(text, str) else text
    slow = list(flagkit_parser().parse(io.BytesIO(data), "run.log"))
    fast = list(flagkit_parser().parse(Lines([data]), "run.log"))
    assert repr(fast) == repr(slow)
    return fast


def rows(text: str | bytes) -> list[Row]:
    return [fact for fact in facts(text) if isinstance(fact, Row)]


def damaged(text: str | bytes) -> list[Damaged]:
    return [fact for fact in facts(text) if isinstance(fact, Damaged)]


def notes(text: str | bytes, code: str) -> list[str]:
    return [f.text for f in facts(text) if isinstance(f, Note) and f.code == code]


def short(text: str | bytes) -> list[tuple[object, ...]]:
    return [
        (r.key.op, r.key.dtype, r.key.size_key, r.baseline_ms, r.latency_ms) for r in rows(text)
    ]


GELU = [
    ("gelu", "torch.float16", "[[1024,1024]]", 0.5, 0.25),
    ("gelu", "torch.float16", "[[64,64],1]", 0.1, 0.2),
]


def test_todays_table() -> None:
    assert short(PLAIN) == GELU
    first = rows(PLAIN)[0]
    assert (first.mode, first.level, first.status) == ("kernel", "core", "ok")
    assert first.regime.label == "unknown"
    assert str(first.source) == "run.log:5"
    assert first.size_detail == SIZES[0]


@pytest.mark.parametrize(
    "args",
    [
        "dtype=torch.float16, mode=kernel, level=core",
        "dtype=torch.float16, mode=kernel,level=core",
    ],
)
def test_a_blank_before_level_or_none(args: str) -> None:
    text = table(row(SIZES[0], 0.5, 0.25, 2.0), title=f"Operator: gelu  Performance Test ({args})")
    assert short(text) == GELU[:1]
    assert rows(text)[0].level == "core"


@pytest.mark.parametrize(
    ("mode", "kept", "regime"),
    [
        ("cuda", "kernel", "unknown"),
        ("musa", "kernel", "unknown"),
        ("Tx8", "kernel", "unknown"),
        ("cpu", "operator", "host/hot"),
        ("operator", "operator", "host/hot"),
        ("wrapper", "wrapper", "host/hot"),
        ("cudagraph", "cudagraph", "graph/hot"),
    ],
)
def test_modes_mean_what_they_meant(mode: str, kept: str, regime: str) -> None:
    only = rows(PLAIN.replace("mode=kernel", f"mode={mode}"))[0]
    assert (only.mode, only.regime.label) == (kept, regime)


@pytest.mark.parametrize(
    ("printed", "op"),
    [
        ("gelu backward", "gelu_backward"),
        ("gelu_backward", "gelu_backward"),
        ("nanmedian.dim_values", "nanmedian.dim_values"),
        ("_addmm_activation", "_addmm_activation"),
        ("index_reduce_.amax", "index_reduce_.amax"),
        ("to_copy_torch.float32_to_torch.float16", "to_copy_torch.float32_to_torch.float16"),
    ],
)
def test_operator_names(printed: str, op: str) -> None:
    assert rows(PLAIN.replace(": gelu ", f": {printed} "))[0].key.op == op


def test_each_row_decides_on_its_own_cells() -> None:
    text = table(
        row(SIZES[0], 0.5, 0.25, 2.0, 1.5),
        row(SIZES[0], 0.5, 0.25, 2.0),
        row(SIZES[0], 0.5, 0.25, 2.0, 10.0, 20.0),
        row(SIZES[0], 0.5, 0.25, 2.0, 1.5, 10.0, 20.0),
        row(SIZES[0], None, 0.25, None, None, 20.0),
        head=header("TFLOPS", "Torch GBPS ", "Gems GBPS "),
    )
    told = [(r.tflops, r.baseline_gbps, r.gbps) for r in rows(text)]
    assert told == [
        (1.5, None, None),
        (None, None, None),
        (None, 10.0, 20.0),
        (1.5, 10.0, 20.0),
        (None, None, 20.0),
    ]


def test_latency_only() -> None:
    only = rows(table(row(SIZES[0], None, 0.25, None)))[0]
    assert (only.baseline_ms, only.latency_ms, only.status) == (None, 0.25, "ok")


def test_failed_and_impossible_latencies() -> None:
    text = table(
        row(SIZES[0], 0.5, None, None, status="FAILED"),
        row(SIZES[0], 0.5, float("nan"), float("nan")),
        row(SIZES[0], 0.5, float("inf"), 0.0),
        row(SIZES[0], 0.5, 0.0, float("inf")),
        row(SIZES[0], 0.5, None, None),
    )
    assert [r.status for r in rows(text)] == ["failed"] + ["invalid"] * 4
    assert all(r.reason for r in rows(text))


def test_other_labels_and_a_wider_status() -> None:
    wide = row(SIZES[0], 0.5, 0.25, 2.0, 9.0, 18.0, width=12)
    labels = ("TE Latency (ms)", "Gems Latency (ms)", "Gems Speedup", "TE GBPS", "Gems GBPS")
    line = f"{'Status':<12}{''.join(f'{label:>20}' for label in labels)}{'':10}Size Detail"
    head = f"{line}\n{'-' * (len(line) + 10)}\n"
    assert short(table(wide, head=head)) == GELU[:1]
    assert short(table(wide, head=header(base="TE Latency (ms)"))) == GELU[:1]
    assert damaged(table(row(SIZES[0], 0.5, 0.25, 2.0), head=head)) != []
    vllm = header(base="vLLM CUDA Latency (ms)")
    assert short(table(row(SIZES[0], 0.5, 0.25, 2.0), head=vllm)) == GELU[:1]


@pytest.mark.parametrize("cell", ["1.234", "N/A", "+3.2%", "1.02x"])
def test_vs_base(cell: str) -> None:
    line = f"{'SUCCESS':<10}{cells(0.5, 0.25, 2.0)}{cell:>20}{cells(9.0, digits=(3,))}"
    text = table(f"{line}{'':10}{SIZES[0]}\n", head=header("vs Base", "TFLOPS"))
    assert short(text) == GELU[:1]
    assert rows(text)[0].tflops == 9.0


def test_native_baseline_line() -> None:
    head = "Native baseline: N/A (not implemented)\n" + header()
    text = table(row(SIZES[0], None, 0.25, None), head=head)
    assert [r.latency_ms for r in rows(text)] == [0.25]
    assert notes(text, "no-baseline") == ["gelu: no torch baseline: not implemented"]


def test_no_results_collected() -> None:
    text = f"\n{TITLE}\nNo benchmark results were collected.\n"
    assert rows(text) == []
    assert notes(text, "incomplete") == ["gelu: no benchmark results were collected"]


def test_size_column_before_the_numbers() -> None:
    def old(size: str, *numbers: float | None) -> str:
        return f"{size:<10}{cells(*numbers)}{'':10}{SIZES[0]}\n"

    text = table(
        old("1024", 0.5, 0.25, 2.0),
        old("N/A", 0.5, 0.25, 2.0),
        title="Operator: mm  Performance Test (dtype=torch.float16, mode=cuda, level=core)",
        head=header(first="Size"),
    )
    assert [r.key.size_key for r in rows(text)] == ["[[1024,1024]]"] * 2


def test_size_column_over_rows_with_a_status() -> None:
    assert short(table(row(SIZES[0], 0.5, 0.25, 2.0), head=header(first="Size"))) == GELU[:1]


T1 = (
    "test_blas_perf.py Operator mv Performance Test (torch.float16)\n"
    "Size        Torch Latency (ms)   Gems Latency (ms)\n" + "-" * 50 + "\n"
)


def test_first_tables_without_a_speedup() -> None:
    lines = "".join(f"{n:<10}{t:>20.6}{g:>20.6}\n" for n, t, g in [(1024, 0.5, 1.23e-05)])
    text = T1 + lines
    assert short(text) == [("mv", "torch.float16", "1024", 0.5, 1.23e-05)]


def test_first_tables_with_a_speedup() -> None:
    head = (
        "Operator mv Performance Test (dtype=torch.float16, mode=cuda)\n"
        "Size    Torch Latency (ms)    Gems Latency (ms)    Gems Speedup\n" + "-" * 63 + "\n"
    )
    wide = (1024, 1234570.0, 12345.7, 100.0)
    text = head + f"{wide[0]:<8}{wide[1]:>18.6}{wide[2]:>21.6}{wide[3]:>16.3}\n"
    assert "1e+02" in text
    assert short(text) == [("mv", "torch.float16", "1024", 1234570.0, 12345.7)]
    assert len(damaged(text[: text.index("1e+02")] + "\n")) == 1
    assert rows(text[: text.index("1e+02")] + "\n") == []


def test_a_table_printed_in_two_layouts_counts_once() -> None:
    first = T1.replace("mv", "gelu") + f"{1024:<10}{0.5:>20.6}{0.25:>20.6}\n"
    both = first + PLAIN.replace("mode=kernel", "mode=Tx8")
    assert [r.key.size_key for r in rows(both)] == ["[[1024,1024]]", "[[64,64],1]"]
    assert len(notes(both, "printed-twice")) == 1
    assert len(rows(first + PLAIN.replace("gelu", "relu"))) == 3


def test_what_a_progress_bar_left_its_line_to() -> None:
    noise = "Autotuning kernel mm_kernel\n" * 100
    bar = "100%|##########| 8/8 [00:01<00:00]\r"
    first = f"{'1024':<8}{0.5:>18}{0.25:>21}{2.0:>16}\n"
    head = f"{bar}Size    Torch Latency (ms)   Gems Latency (ms)    Gems Speedup\n{'-' * 63}\n"
    (found,) = rows(noise + head + first)
    assert (found.size_detail, found.baseline_ms, found.latency_ms) == ("1024", 0.5, 0.25)
    end = f"{noise}{bar}FAILED test_x.py::test_mm - AssertionError\n"
    assert notes(table(row("[8]", 0.5, 0.25, 2.0)) + end, "incomplete") == [
        "test_x.py::test_mm failed: AssertionError"
    ]


def test_pasted_without_a_title() -> None:
    text = row(SIZES[0], 0.5, 0.25, 2.0) + row(SIZES[1], 0.1, 0.2, 0.5)
    assert short(text) == [
        ("unknown", "unknown", *GELU[0][2:]),
        ("unknown", "unknown", *GELU[1][2:]),
    ]
    assert len(notes(text, "no-title")) == 1


def test_pasted_with_blanks_folded_or_indented() -> None:
    folded = "\n".join(" ".join(line.split()) for line in PLAIN.splitlines())
    folded = folded.replace("gelu Perf", "gelu  Perf")
    assert short(folded + "\n") == GELU
    assert short("".join(f"    {line}" for line in PLAIN.splitlines(keepends=True))) == GELU
    assert short("".join(f"> {line}" for line in PLAIN.splitlines(keepends=True))) == GELU


def test_equal_titles_go_on() -> None:
    assert len(rows(PLAIN + PLAIN)) == 4


def test_cut_rows_of_first_tables() -> None:
    lines = "".join(f"{n:<10}{0.5:>20.6}{0.25:>20.6}\n" for n in (1024, 2048))
    whole = (T1 + lines).rstrip("\n")
    start = whole.rindex("2048")
    for end in range(start + 1, len(whole)):
        assert [r.key.size_key for r in rows(whole[:end])] == ["1024"], whole[start:end]
        assert len(damaged(whole[:end])) == 1, whole[start:end]
    assert len(rows(whole)) == 2
    glued = T1 + lines.replace("0.5", "0.5 [W] late", 1)
    assert [r.key.size_key for r in rows(glued)] == ["2048"]
    assert len(damaged(glued)) == 1


class TestDirt:
    def test_carriage_returns_and_colours(self) -> None:
        coloured = PLAIN.replace("SUCCESS", "\x1b[32mSUCCESS\x1b[0m")
        assert short(coloured) == GELU
        assert short(PLAIN.replace("\n", "\r\n")) == GELU
        assert short(PLAIN.replace("\n", "\r\r\n")) == GELU

    def test_a_progress_bar_before_a_row(self) -> None:
        bar = "  5%|#    | 1/20 [00:01<00:19]\r 10%|##   | 2/20 [00:02<00:18]\r"
        text = PLAIN.replace("SUCCESS", f"{bar}SUCCESS", 1)
        assert short(text) == GELU

    def test_what_a_terminal_shows_last_counts(self) -> None:
        old = row(SIZES[0], 0.5, 0.75, 0.667).rstrip("\n")
        new = row(SIZES[0], 0.5, 0.25, 2.0)
        assert short(table(f"{old}\r{new}")) == GELU[:1]

    def test_a_longer_line_shines_through(self) -> None:
        longer = "#" * 200
        text = table(f"{longer}\r{row(SIZES[0], 0.5, 0.25, 2.0)}")
        assert rows(text) == []
        assert len(damaged(text)) == 1
        erased = table(f"{longer}\r\x1b[K{row(SIZES[0], 0.5, 0.25, 2.0)}")
        assert short(erased) == GELU[:1]

    def test_a_cursor_moved_over_blanks(self) -> None:
        line = row(SIZES[0], 0.5, 0.25, 2.0)
        moved = line.replace("SUCCESS               ", "SUCCESS\x1b[15C")
        assert short(table(moved)) == GELU[:1]

    def test_leftovers_of_screen_and_tmux(self) -> None:
        text = PLAIN.replace("SUCCESS", "\x1bk bash\x1b\\\x1b]0;title\x07\x1b(BSUCCESS")
        assert short("\x1b[?1049h\x1b[22;0;0t" + text) == GELU

    def test_nul_bytes(self) -> None:
        data = PLAIN.encode().replace(b"SUCCESS", b"\0" * 64 + b"SUCCESS")
        assert short(data) == GELU

    def test_gbk_comments(self) -> None:
        comment = "# 显卡测试\n".encode("gbk")
        assert short(comment + PLAIN.encode() + comment) == GELU

    def test_hosted_ci_prefixes(self) -> None:
        stamp = "2026-07-23T09:23:58.1234567Z "
        assert short("".join(stamp + line for line in PLAIN.splitlines(keepends=True))) == GELU
        step = "bench\tRun tests\t" + stamp
        assert short("".join(step + line for line in PLAIN.splitlines(keepends=True))) == GELU

    def test_a_row_cut_in_two(self) -> None:
        line = row(SIZES[0], 0.5, 0.25, 2.0)
        text = table(line, line[:40] + " [W] late\n" + line[40:])
        assert len(rows(text)) == 1
        assert len(damaged(text)) == 1
        assert str(damaged(text)[0].source) == "run.log:6"

    def test_two_rows_in_one_line(self) -> None:
        line = row(SIZES[0], 0.5, 0.25, 2.0)
        text = table(line.rstrip("\n") + line)
        assert rows(text) == []
        assert len(damaged(text)) == 2

    @pytest.mark.parametrize("glue", ["[W] late", " and more", "]", "SUCCESS"])
    def test_text_behind_a_row(self, glue: str) -> None:
        text = table(row(SIZES[0], 0.5, 0.25, 2.0).rstrip("\n") + glue + "\n")
        assert rows(text) == []
        assert len(damaged(text)) == 1

    def test_text_before_a_row(self) -> None:
        text = table("[W] late" + row(SIZES[0], 0.5, 0.25, 2.0))
        assert rows(text) == []
        assert len(damaged(text)) == 1

    def test_a_lost_digit(self) -> None:
        line = row(SIZES[0], 12.5, 10.25, 1.22)
        for lost in ("12.500000", "10.250000"):
            for at in range(len(lost)):
                cut = line.replace(lost, lost[:at] + lost[at + 1 :])
                assert rows(table(cut)) == [], cut
                assert len(damaged(table(cut))) == 1

    def test_every_truncation(self) -> None:
        whole = PLAIN.rstrip("\n")
        start = whole.rindex("SUCCESS")
        for end in range(start + 1, len(whole)):
            text = whole[:end]
            assert short(text) == GELU[:1], text[start:]
            assert len(damaged(text)) == 1, text[start:]
            assert notes(text, "incomplete") == ["the log ends in mid-row"]
        assert short(whole) == GELU

    @pytest.mark.parametrize("width", [80, 100, 60])
    @pytest.mark.parametrize("stripped", [True, False])
    def test_a_terminal_of_few_columns(self, width: int, stripped: bool) -> None:
        def wrapped(line: str) -> list[str]:
            pieces = [line[at : at + width] for at in range(0, len(line), width)] or [""]
            return [piece.rstrip() if stripped else piece for piece in pieces]

        text = "\n".join(p for line in PLAIN.splitlines() for p in wrapped(line)) + "\n"
        if width < 95:
            assert short(text) == GELU
        else:
            assert len(rows(text)) + len(damaged(text)) == 2

    def test_a_wrap_without_proof_is_damage(self) -> None:
        line = row(SIZES[0], 0.5, 0.25, 2.0).rstrip("\n")
        text = table(f"{line[:85]}\n{line[85:]}\n")
        assert rows(text) == []
        assert len(damaged(text)) == 1

    def test_rows_below_an_unreadable_title_belong_to_nobody(self) -> None:
        cut = PLAIN.replace("dtype=torch.float16, mode", "dtype=torch.flo[W] late, mode")
        text = PLAIN.replace("gelu", "relu") + cut
        assert {r.key.op for r in rows(text)} == {"relu"}
        assert len(damaged(text)) == 2
        assert len(notes(text, "damaged-title")) == 1


class TestPytest:
    def test_the_summary_names_failures(self) -> None:
        text = PLAIN + (
            "\x1b[31mFAILED\x1b[0m: Operator=gelu dtype={dtype} err=<<<{e}>>>\n"
            "=========================== short test summary info ============================\n"
            "FAILED test_gelu.py::test_gelu - Failed: out of memory\n"
            "ERROR test_relu.py - ImportError\n"
            "SKIPPED [1] test_x.py:12: no device\n"
            "============== 1 failed, 1 skipped, 1 error, 2 passed in 3.21s ===============\n"
        )
        assert short(text) == GELU
        assert notes(text, "incomplete") == [
            "test_gelu.py::test_gelu failed: Failed: out of memory",
            "test_relu.py ended in an error: ImportError",
            "test_x.py:12 was skipped: no device",
        ]

    def test_counts_alone(self) -> None:
        assert notes(PLAIN + "1 failed, 3 skipped, 2 passed in 3.2s\n", "incomplete") == [
            "1 test failed",
            "3 tests skipped",
        ]
        assert notes(PLAIN + ".\n4 passed, 3 warnings in 29.77s\n", "incomplete") == []

    def test_an_operator_that_failed_without_a_summary(self) -> None:
        text = PLAIN + "\x1b[31mFAILED\x1b[0m: Operator=gelu dtype={dtype} err=<<<{e}>>>\n"
        assert len(notes(text, "incomplete")) == 1

    def test_source_text_in_a_traceback_is_no_failure(self) -> None:
        text = PLAIN + '        f"\\033[31mFAILED\\033[0m: Operator={self.op_name} "\n'
        assert notes(text, "incomplete") == []

    def test_outcomes_of_verbose_runs_are_no_rows(self) -> None:
        text = PLAIN + "FAILED                                           [ 50%]\nFAILED\n"
        assert damaged(text) == []

    def test_a_session_without_an_end(self) -> None:
        start = "============================= test session starts ==============\n"
        assert len(notes(start + PLAIN, "incomplete")) == 1
        end = "========================= 1 passed in 67.66s (0:01:07) ====================\n"
        assert notes(start + PLAIN + end, "incomplete") == []

    def test_captured_output(self) -> None:
        text = "----------------------------- Captured stdout call ------\n" + PLAIN
        assert short(text) == GELU

    def test_an_operators_table_ends_with_its_test(self) -> None:
        text = PLAIN + ".\n" + row(SIZES[0], 0.5, 0.25, 2.0)
        assert rows(text)[-1].key.op == "unknown"

    def test_a_crash(self) -> None:
        text = PLAIN + "Fatal Python error: Segmentation fault\n"
        assert notes(text, "incomplete") == [
            "pytest stopped: Fatal Python error: Segmentation fault"
        ]

    @pytest.mark.parametrize("signs", [1, 2, 3, 4, 30])
    def test_a_last_line_in_a_narrow_frame(self, signs: int) -> None:
        def log(said: str) -> str:
            text = f"==== test session starts ====\n{PLAIN}"
            return f"{text}{'=' * signs} {said} in 3723.10s (1:02:03) {'=' * signs}\n"

        assert notes(log("12 passed, 1 xfailed, 2 xpassed, 5 warnings"), "incomplete") == []
        assert notes(log("1 failed, 12 passed, 8 skipped"), "incomplete") == [
            "1 test failed",
            "8 tests skipped",
        ]

    def test_outcomes_of_a_verbose_run_that_never_ended(self) -> None:
        node = "test_gelu.py::test_gelu[x 1]"
        for live in (f"benchmark/{node} FAILED", f"{node} FAILED  [ 50%]", "FAILED", "FAILED [1%]"):
            assert notes(f"{PLAIN}{live}\n", "incomplete") == ["1 test failed"], live
            ended = f"{PLAIN}{live}\n=== 1 failed in 3.00s ===\n"
            assert notes(ended, "incomplete") == ["1 test failed"]
            named = f"{PLAIN}{live}\nFAILED t.py::a - oom\n"
            assert notes(named, "incomplete") == ["t.py::a failed: oom"]
        for live in ("ERROR", f"{node} ERROR"):
            assert notes(f"{PLAIN}{live}\n", "incomplete") == ["1 test ended in an error"]
        assert notes(f"{PLAIN}RERUN\nFAILED\n=== 1 passed in 3.00s ===\n", "incomplete") == []

    @pytest.mark.parametrize(
        "line",
        [
            "run.sh: line 3: 12345 Killed                  python -m pytest",
            "/opt/run.sh: line 14:   977 Segmentation fault      (core dumped) python x.py",
            "bash: line 1: 12 Terminated   pytest",
            "zsh: killed     pytest",
            "Killed",
            "Terminated",
        ],
    )
    def test_a_shells_word_on_a_signal(self, line: str) -> None:
        noise = "".join(f"noise {n}\n" for n in range(200))
        for text in (f"{PLAIN}{line}\n", f"{PLAIN}{noise}\n{line}", f"{PLAIN}{noise}{line}\n\n\n"):
            (reason,) = notes(text, "incomplete")
            assert reason.startswith(("the benchmark's process was stopped: ", "pytest stopped: "))
        if ":" in line:
            assert notes(f"{PLAIN}=== 1 passed in 3.00s ===\n{line}\n", "incomplete") == []

    def test_a_traceback_at_the_end(self) -> None:
        traceback = "Traceback (most recent call last):\n" + '  File "x"\n' * 3 + "E: no\n"
        told = ["the log ends in a traceback"]
        assert notes(PLAIN + traceback, "incomplete") == told
        assert notes(PLAIN + PLAIN + "\n" * 90 + traceback, "incomplete") == told
        assert notes(traceback + PLAIN, "incomplete") == []
        assert notes(f"{PLAIN}=== 1 passed in 3.00s ===\n{traceback}", "incomplete") == []

    def test_counts_of_two_words(self) -> None:
        text = f"==== test session starts ====\n{PLAIN}"
        for counts in ("2 passed, 3 subtests passed", "1 passed, 1 subtest passed, 2 warnings"):
            for tally in (f"{counts} in 3.21s\n", f"=== {counts} in 63.21s (0:01:03) ===\n"):
                assert notes(text + tally, "incomplete") == []

    @pytest.mark.parametrize("word", ["Killed", "Aborted", "Terminated", "Bus error"])
    def test_words_of_other_programs(self, word: str) -> None:
        for said in (f"{word} stale server 123", f"{word}: worker 3 of 4", f"{word}, no retry"):
            assert notes(f"{PLAIN}\n{said}\n{PLAIN}", "incomplete") == []
        for said in (word, f"{word} (core dumped)", f"{word}: 9", f"{word}   python -m pytest x"):
            assert notes(f"{PLAIN}\n{said}\n", "incomplete") == [f"pytest stopped: {said}"]

    @pytest.mark.parametrize("said", ["Killed", "Segmentation fault in a probe's process"])
    def test_a_signal_that_the_session_outlived(self, said: str) -> None:
        start, end = "==== test session starts ====\n", "=== 1 passed in 3.00s ===\n"
        whole = start + PLAIN + end
        assert notes(f"{start}{PLAIN}{said}\n{PLAIN}{end}", "incomplete") == []
        told = [f"pytest stopped: {said}"]
        # A session that began behind it tells nothing of the one that it ended.
        assert notes(f"{start}{PLAIN}{said}\n{whole}", "incomplete") == told
        assert notes(f"{start}{PLAIN}{said}\n{whole}{said}\n{whole}", "incomplete") == told
        # Nor does a last line of a session that shows no first one.
        assert notes(f"{PLAIN}{said}\n{PLAIN}{end}", "incomplete") == told

    @pytest.mark.parametrize(
        "above",
        [
            "Exception ignored in: <function X.__del__ at 0x7f>",
            "Exception ignored in atexit callback: <function f at 0x7f>",
            "Exception ignored in: <built-in function lock_of_a_module_with_a_long_name_th\nat wraps>",
            "Error in atexit._run_exitfuncs:",
            "--- Logging error ---",
        ],
    )
    def test_a_traceback_that_ended_nothing(self, above: str) -> None:
        traceback = 'Traceback (most recent call last):\n  File "x"\nE: no\n'
        for far in ("", "\n" * 200):
            assert notes(f"{PLAIN}{far}{above}\n{traceback}", "incomplete") == []
            both = f"{PLAIN}{far}{above}\n{traceback}{traceback}"
            assert notes(both, "incomplete") == ["the log ends in a traceback"]


class TestRegimes:
    LINE = (
        "[flagkit] regime: requested=graph resolved=graph cache=hot "
        "protocol=flagkit-device-1 op=gelu\n"
    )

    def test_the_agents_line(self) -> None:
        regime = rows(self.LINE + PLAIN)[0].regime
        assert (regime.label, regime.protocol) == ("graph/hot", "flagkit-device-1")

    def test_the_agents_line_is_its_operators(self) -> None:
        assert rows(self.LINE + PLAIN.replace("gelu", "relu"))[0].regime.label == "unknown"

    def test_the_last_line_counts(self) -> None:
        event = self.LINE.replace("resolved=graph cache=hot", "resolved=event cache=cold")
        text = self.LINE + PLAIN + event + PLAIN
        assert [r.regime.label for r in rows(text)] == ["graph/hot"] * 2 + ["event/cold"] * 2

    def test_an_older_plug_ins_line(self) -> None:
        assert rows("[cudagraph-plugin] patched do_bench\n" + PLAIN)[0].regime.label == "graph/hot"

    @pytest.mark.parametrize(
        ("said", "label"),
        [
            ("disabled", "event/cold"),
            ("is not active: torch has no graphs", "event/cold"),
            ("could not patch the timer", "unknown"),
            ("graphs on, L2 flush disabled", "unknown"),
        ],
    )
    def test_an_older_plug_in_that_does_nothing(self, said: str, label: str) -> None:
        assert rows(f"[cudagraph-plugin] {said}\n{PLAIN}")[0].regime.label == label

    @pytest.mark.parametrize("mode", ["operator", "wrapper", "cudagraph"])
    def test_plug_ins_replace_the_kernel_modes_timer_alone(self, mode: str) -> None:
        plain = PLAIN.replace("mode=kernel", f"mode={mode}")
        told = [rows(f"{line}\n{plain}")[0].regime for line in ("", "[cudagraph-plugin] disabled")]
        assert told[0] == told[1]

    def test_an_older_plug_in_that_fell_back(self) -> None:
        (mark,) = [
            f
            for f in facts(f"[cudagraph-plugin] op=gelu fell back to do_bench\n{PLAIN}")
            if isinstance(f, Fallback)
        ]
        assert (mark.op, mark.sure, mark.reason) == ("gelu", True, "fell back to do_bench")

    @pytest.mark.parametrize(
        "line",
        [
            "BENCHMARK_DIRECT_NO_CUDAGRAPH op=gelu phase=capture reason=no capture here",
            "[cudagraph-plugin] BENCHMARK_DIRECT_NO_CUDAGRAPH: "
            + "phase='capture', operator='gelu', reason='no capture here'",
            'BENCHMARK_DIRECT_NO_CUDAGRAPH {"op": "gelu", "phase": "capture", '
            + '"reason": "no capture here"}',
            "WARN BENCHMARK_DIRECT_NO_CUDAGRAPH gelu capture reason: no capture here",
            "BENCHMARK_DIRECT_NO_CUDAGRAPH operator gelu, phase capture, error: no capture here",
            "BENCHMARK_DIRECT_NO_CUDAGRAPH gelu capture: no capture here",
            "[BENCHMARK_DIRECT_NO_CUDAGRAPH][gelu][capture] no capture here",
            "BENCHMARK_DIRECT_NO_CUDAGRAPH (phase=capture, op=gelu) no capture here",
        ],
    )
    def test_the_marker_however_spelt(self, line: str) -> None:
        marks = [f for f in facts(f"{line}\n{PLAIN}") if isinstance(f, Fallback)]
        assert [(m.op, m.phase, m.reason) for m in marks] == [
            ("gelu", "capture", "no capture here")
        ]


@pytest.mark.parametrize(
    ("said", "op"),
    [
        ("op=gelu backward phase=capture reason=no", "gelu_backward"),
        ("op=fused moe phase=capture reason=no", "fused moe"),
        ("gelu backward capture: no", "gelu_backward"),
        ("operator gelu backward, phase capture", "gelu_backward"),
        ("op=sdpa(causal) phase=capture", "sdpa(causal)"),
        ("capture failed somewhere", ""),
        ("sync", ""),
        ("", ""),
    ],
)
def test_whose_a_marker_is(said: str, op: str) -> None:
    mark = fallback_line(f"BENCHMARK_DIRECT_NO_CUDAGRAPH {said}")
    assert mark is not None and mark.op == op


@pytest.mark.parametrize(
    "line",
    [
        "BENCHMARK_DIRECT_NO_CUDAGRAPH=1 in the environment",
        "+ export BENCHMARK_DIRECT_NO_CUDAGRAPH",
        "[cudagraph-plugin] enabled",
    ],
)
def test_what_is_no_marker(line: str) -> None:
    assert fallback_line(line) is None


def test_claims() -> None:
    parser = flagkit_parser()
    from pathlib import Path

    assert parser.claims(PLAIN.encode(), Path("x"))
    assert parser.claims(T1.encode(), Path("x"))
    assert parser.claims(row(SIZES[0], 0.5, 0.25, 2.0).encode(), Path("x"))
    assert not parser.claims(b"hello\n", Path("x"))
    assert not parser.claims(b"| Torch Latency (ms) | Gems Latency (ms) |\n|---|---|\n", Path("x"))


def test_a_table_set_anew_below_its_labels() -> None:
    head = (
        "Status      Torch Latency (ms)    Gems Latency (ms)    Gems Speedup    TFLOPS        "
        "Size Detail\n" + "-" * 99 + "\n"
    )
    line = f"SUCCESS     0.500000              0.250000             2.000           1.500         {SIZES[0]}\n"
    text = table(line, head=head)
    assert short(text) == GELU[:1]
    assert rows(text)[0].tflops == 1.5
    for shifted in (line.replace("0.500000", ".500000"), line.replace("   1.500", "1.500")):
        assert rows(table(shifted, head=head)) == []
        assert len(damaged(table(shifted, head=head))) == 1


def test_tab_separated_lines_of_one_vendor() -> None:
    start = "Operator_Speedup_Test_Result\t"
    text = (
        f"\n{start}abs\n{start}1024\t0.5\t0.25\t0.4\t0.2\t\nnoise\n{start}2048\t0.5\t1.5e-05\t\n"
        f"{start}4096\t0.5\t0.2\n\nOperator_Speedup_Test_Result(torch.float16:torch.float32):\tabs\t2.0\n"
    )
    assert [(r.key.op, r.key.size_key, r.baseline_ms, r.latency_ms) for r in rows(text)] == [
        ("abs", "1024", 0.5, 0.25),
        ("abs", "1024 column=2", 0.4, 0.2),
        ("abs", "2048", 0.5, 1.5e-05),
    ]
    assert len(damaged(text)) == 1


@pytest.mark.parametrize("front", ["50%|##    | 1/2\r", "\x1b[0m\x1b[1m  ", "\r        \r"])
def test_a_row_far_below_its_title_is_read_whatever_was_written_over(front: str) -> None:
    noise = "autotuning ...\n" * 200
    text = table(row(SIZES[0], 0.5, 0.25, 2.0), noise, front + row(SIZES[1], 0.1, 0.2, 0.5))
    assert short(text) == GELU


def test_a_row_glued_far_below_its_title_is_damaged_not_lost() -> None:
    noise = "autotuning ...\n" * 200
    text = table(row(SIZES[0], 0.5, 0.25, 2.0), noise, "worker 3: " + row(SIZES[1], 0.1, 0.2, 0.5))
    assert short(text) == GELU[:1]
    assert [one.source.line for one in damaged(text)] == [206]
