"""Tables as people put them into pull requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.pairing import pair_rows
from flagkit.model import Damaged, Note, Row, RunLog, number_rows
from flagkit.parsers.flaggems_table import flagkit_parser as printed_tables
from flagkit.parsers.markdown import flagkit_parser


def facts(text: str) -> list[object]:
    return list(flagkit_parser().parse(text.encode().splitlines(keepends=True), "pr.md"))


def rows(text: str) -> list[Row]:
    return [fact for fact in facts(text) if isinstance(fact, Row)]


def damaged(text: str) -> list[Damaged]:
    return [fact for fact in facts(text) if isinstance(fact, Damaged)]


def short(text: str) -> list[tuple[object, ...]]:
    return [
        (r.key.op, r.key.dtype, r.key.size_key, r.baseline_ms, r.latency_ms) for r in rows(text)
    ]


def table(head: str, *lines: str) -> str:
    rule = "|" + "---|" * (head.count("|") - head.count("\\|") - 1)
    return "\n".join([head, rule, *lines]) + "\n"


PLAIN = table(
    "| op | dtype | Size Detail | Torch Latency (ms) | Gems Latency (ms) | Gems Speedup |",
    "| abs | torch.float16 | [torch.Size([64, 64])] | 0.5 | 0.25 | 2.0x |",
)
ABS = ("abs", "torch.float16", "[[64,64]]", 0.5, 0.25)


def test_every_column_told() -> None:
    assert short(PLAIN) == [ABS]
    assert flagkit_parser().claims(PLAIN.encode(), Path("x"))


@pytest.mark.parametrize(
    "cell",
    [
        r"\[torch.Size(\[64, 64\])\]",
        "`[torch.Size([64, 64])]`",
        "**[torch.Size([64, 64])]**",
        "[torch.Size([64, 64])]<br>",
        r"\[\[64, 64\]\]",
        "[[64,&nbsp;64]]",
    ],
)
def test_sizes_however_dressed(cell: str) -> None:
    assert short(PLAIN.replace("[torch.Size([64, 64])]", cell)) == [ABS]


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("| Shape | Torch (us) | Gems (us) |", "| [[64, 64]] | 500 | 250.0 |"),
        ("| Shape | Torch (µs) | Gems (μs) |", "| [[64, 64]] | 500 µs | **250** |"),
        ("| Shape | PyTorch | FlagGems | Speedup |", "| [[64, 64]] | 0.5ms | 250us | 2x ✅ |"),
        ("| Input Size | Native Time | Triton Time |", "| [[64, 64]] | 0.5 | 0.25 |"),
        ("| Size | baseline latency (ms) | ours latency (ms) |", "| [[64, 64]] | 0.5 | ~0.25 |"),
        ("| Speedup | Gems (ms) | Torch (ms) | Shape |", "| 2.0 | 0.25 | 0.5 | [[64, 64]] |"),
    ],
)
def test_units_and_labels(head: str, cells: str) -> None:
    text = "### `abs`\n\n#### float16\n\n" + table(head, cells)
    assert short(text) == [ABS]


def test_dtype_in_headings() -> None:
    one = table("| Shape | Torch (ms) | Gems (ms) |", "| [[64, 64]] | 0.5 | 0.25 |")
    text = (
        f"# Add `abs` operator\n## Performance\n### float16\n{one}\n**bfloat16**\n{one}\n"
        f"<details><summary>fp32 (us)</summary>\n{one}\n</details>\n### Other\n{one}"
    )
    assert [(r.key.op, r.key.dtype, r.latency_ms) for r in rows(text)] == [
        ("abs", "torch.float16", 0.25),
        ("abs", "torch.bfloat16", 0.25),
        ("abs", "torch.float32", 0.25),
        ("abs", "unknown", 0.25),
    ]


def test_a_unit_in_the_heading() -> None:
    one = table("| Shape | Torch | Gems |", "| [[64, 64]] | 500 | 250 |")
    assert short(f"### abs float16 (us)\n{one}") == [ABS]
    assert [len(damaged(one)), rows(one)] == [1, []]


def test_dtype_in_columns() -> None:
    text = table(
        "| op | shape | fp16 torch (ms) | fp16 gems (ms) | bf16 torch (ms) | bf16 gems (ms) |",
        "| abs | [[64, 64]] | 0.5 | 0.25 | 0.4 | 0.2 |",
    )
    assert short(text) == [ABS, ("abs", "torch.bfloat16", "[[64,64]]", 0.4, 0.2)]


def test_a_header_of_two_levels() -> None:
    text = (
        "| op | Shape | float16 | | | bfloat16 | | |\n|---|---|---|---|---|---|---|---|\n"
        "| | | Torch (ms) | Gems (ms) | Speedup | Torch (ms) | Gems (ms) | Speedup |\n"
        "| abs | [[64, 64]] | 0.5 | 0.25 | 2.0 | 0.4 | 0.2 | 2.0 |\n"
    )
    assert short(text) == [ABS, ("abs", "torch.bfloat16", "[[64,64]]", 0.4, 0.2)]
    assert flagkit_parser().claims(text.encode(), Path("x"))


def test_two_configurations_side_by_side_keep_their_names() -> None:
    text = (
        "| Shape | Default | | Expanded | |\n|---|---|---|---|---|\n"
        "| | Torch (ms) | Gems (ms) | Torch (ms) | Gems (ms) |\n"
        "| 1, 2 | 0.5 | 0.25 | 0.4 | 0.2 |\n"
    )
    assert [r.key.size_key for r in rows(text)] == [
        "1, 2 column=Default",
        "1, 2 column=Expanded",
    ]


def test_other_columns_tell_rows_apart() -> None:
    text = table(
        "| Shape | Reduction | Torch (ms) | Gems (ms) | Gain | Count |",
        "| (64, 64) | mean | 0.5 | 0.25 | 1.5% | 5060 |",
        "| (64, 64) | sum | 0.5 | 0.25 | 1.5% | 3280 |",
    )
    assert [r.key.size_key for r in rows(text)] == [
        "(64, 64) Reduction=mean Count=5060",
        "(64, 64) Reduction=sum Count=3280",
    ]


def test_status_and_missing_cells() -> None:
    text = table(
        "| Status | Shape | Torch (ms) | Gems (ms) |",
        "| SUCCESS | [1] | N/A | 0.25 |",
        "| FAILED | [2] | 0.5 | - |",
        "| ✅ | [3] | 0.5 | OOM |",
        "| ❌ | [4] | 0.5 | ❌ |",
        "| Average | | 0.5 | 0.25 |",
        "| SUCCESS | mean | 0.5 | 0.25 |",
    )
    assert [(r.key.size_key, r.status) for r in rows(text)] == [
        ("[1]", "ok"),
        ("[2]", "failed"),
        ("[3]", "invalid"),
        ("[4]", "failed"),
        ("Average", "ok"),
    ][:4]


def test_what_is_no_latency_is_damage_or_nothing() -> None:
    text = table("| Shape | Torch (ms) | Gems (ms) |", "| [1] | 0.5 | see below |", "| [2] | 0.5 |")
    assert rows(text) == []
    assert len(damaged(text)) == 2
    ratios = table("| Operator | Before | After | Improvement |", "| abs | 1.2 | 1.5 | +23% |")
    assert facts(ratios) == []
    assert not flagkit_parser().claims(ratios.encode(), Path("x"))
    speedups = table("| Op | fp16 speedup | bf16 speedup |", "| abs | 1.2 | 1.5 |")
    assert facts(speedups) == []


def test_mode_of_a_quoted_title() -> None:
    title = "Operator: abs  Performance Test (dtype=torch.float16, mode=cudagraph,level=core)\n\n"
    one = table("| Shape | Torch (ms) | Gems (ms) |", "| [[64, 64]] | 0.5 | 0.25 |")
    assert short(title + one) == [ABS]
    assert (rows(title + one)[0].mode, rows(title + one)[0].level) == ("cudagraph", "core")


def test_quoted_and_piped_text() -> None:
    quoted = "".join(f"> {line}" for line in PLAIN.splitlines(keepends=True))
    assert short(quoted) == [ABS]
    assert short(PLAIN.replace("abs", r"a\|b"))[0][0] == "a|b"


@pytest.mark.parametrize(
    ("heading", "op", "dtype"),
    [
        ("## Add `abs` operator with a kernel", "abs", "unknown"),
        ("# [Operator][X] Add op abs", "abs", "unknown"),
        ("# [X] Add abs operator", "abs", "unknown"),
        ("### abs", "abs", "unknown"),
        ("### abs float16 performance", "abs", "torch.float16"),
        ("## dtype=torch.float16, mode=kernel, level=core", "unknown", "torch.float16"),
        ("**torch.float16**", "unknown", "torch.float16"),
        ("Operator: `abs`", "abs", "unknown"),
        ("## Performance results", "unknown", "unknown"),
        ("## Changes since the last review", "unknown", "unknown"),
    ],
)
def test_headings(heading: str, op: str, dtype: str) -> None:
    one = table("| Shape | Torch (ms) | Gems (ms) |", "| [[64, 64]] | 0.5 | 0.25 |")
    (only,) = rows(f"{heading}\n\n{one}")
    assert (only.key.op, only.key.dtype) == (op, dtype)
    if "mode=" in heading:
        assert (only.mode, only.level) == ("kernel", "core")


def test_a_fraction_that_is_no_result_tells_rows_apart() -> None:
    one = table(
        "| Shape | alpha | Torch (ms) | Gems (ms) | Speedup | GB/s |",
        "| [[64, 64]] | 0.5 | 0.5 | 0.25 | 2.00 | 812.5 |",
        "| [[64, 64]] | 1.5 | 0.6 | 0.30 | 2.00 | 900.1 |",
    )
    assert [row.key.size_key for row in rows(one)] == [
        "[[64, 64]] alpha=0.5",
        "[[64, 64]] alpha=1.5",
    ]
    assert {row.key.occurrence for row in rows(one)} == {0}


def keys(text: str) -> list[str]:
    return [row.key.size_key for row in rows(text)]


def one_row(head: str, cells: str) -> Row | Damaged:
    (fact,) = (fact for fact in facts(table(head, cells)) if not isinstance(fact, Note))
    assert isinstance(fact, Row | Damaged)
    return fact


@pytest.mark.parametrize(
    ("label", "cells"),
    [
        ("dim", ("0", "1")),
        ("scale", ("2x", "4x")),
        ("sparsity", ("50%", "75%")),
        ("sparsity (%)", ("50", "75")),
        ("sparsity ratio", ("0.5", "0.75")),
        ("count", ("3", "4")),
        ("note", ("causal", "full")),
        ("error_mode", ("x", "y")),
        ("type", ("causal", "full")),
        ("Weight Shape", ("[8]", "[9]")),
        ("device", ("A", "B")),
        ("Pass", ("fwd", "bwd")),
        ("gain", ("0.5", "1.5")),
        ("delta", ("1.0", "2.0")),
        ("torch_dtype", ("float16", "float32")),
        ("Triton config", ("a", "b")),
        ("Arg(s)", ("1", "2")),
        ("times", ("1", "2")),
        ("timesteps", ("10", "20")),
        ("flags", ("0", "1")),
        ("duration_mode", ("a", "b")),
        ("base", ("2", "10")),
        ("", ("left", "right")),
    ],
)
def test_every_column_that_is_no_result_names_the_row(label: str, cells: tuple[str, str]) -> None:
    first, second = (f"| [64] | {cell} | 1 | {4 * i + 1} |" for i, cell in enumerate(cells))
    head = f"| Shape | {label} | Torch (ms) | Gems (ms) |"
    one, other = table(head, first, second), table(head, second, first)
    assert len(set(keys(one))) == 2
    by_key = {row.key: row.latency_ms for row in rows(one)}
    assert {row.key: row.latency_ms for row in rows(other)} == by_key


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ("Speedup", "🚀 1.25x"),
        ("Gems vs Torch", "1.25"),
        ("Ratio", "0.5"),
        ("Torch/Gems", "2.0"),
        ("Diff (%)", "-12.5%"),
        ("Δ", "🟢 +3.5%"),
        ("Delta (ms)", "-0.25"),
        ("Max abs error", "1e-3"),
        ("Accuracy", "✅"),
        ("pass", "PASS"),
        ("TFLOPS", "12.5"),
        ("Gems GB/s", "812"),
        ("Throughput", "10 tok/s"),
        ("Best config", "BLOCK=64"),
        ("std (us)", "0.1"),
        ("Triton (ms)", "0.3"),
        ("加速比", "2.0"),
        ("#", "7"),
        ("", "✅"),
    ],
)
def test_a_column_of_results_names_no_row(label: str, cell: str) -> None:
    fact = one_row(f"| Shape | {label} | Torch (ms) | Gems (ms) |", f"| [64] | {cell} | 1 | 2 |")
    assert isinstance(fact, Row)
    assert (fact.key.size_key, fact.latency_ms) == ("[64]", 2)


@pytest.mark.parametrize(
    "label",
    [
        "Gems Latency us",
        "gems_latency_us",
        "Gems time in us",
        "Gems (µs)",
        "gems_us",
        "Gems Latency (usec)",
        "Gems Latency [us/iter]",
        "Gems Latency (us, lower is better)",
        "FlagGems 延迟 (微秒)",
        "fp16 gems us",
    ],
)
def test_units_however_told(label: str) -> None:
    fact = one_row(f"| Shape | {label} |", "| [64] | 20 |")
    assert isinstance(fact, Row)
    assert fact.latency_ms == 0.02


@pytest.mark.parametrize(
    "line",
    [
        "Latency in µs.",
        "All times are in microseconds.",
        "Unit: us",
        "Latency (us):",
        "单位：us",
        "All numbers in `us`.",
        "## Latency (us)\n\n**torch.float16**",
    ],
)
def test_a_unit_told_above(line: str) -> None:
    text = line + "\n\n" + table("| Shape | Torch Latency | Gems Latency |", "| [1] | 10 | 20 |")
    assert [(row.baseline_ms, row.latency_ms) for row in rows(text)] == [(0.01, 0.02)]


def test_a_unit_that_is_not_told_is_the_other_column_s() -> None:
    fact = one_row("| Shape | Torch Latency (us) | Gems Latency |", "| [1] | 10 | 20 |")
    assert isinstance(fact, Row)
    assert (fact.baseline_ms, fact.latency_ms) == (0.01, 0.02)


@pytest.mark.parametrize(
    "label", ["Gems Latency (1e-3 ms)", "Gems Latency x10 us", "Gems Latency us / ms"]
)
def test_a_unit_that_is_not_clear(label: str) -> None:
    fact = one_row(f"| Shape | {label} |", "| [64] | 20 |")
    assert isinstance(fact, Damaged)
    assert "unit" in fact.reason


@pytest.mark.parametrize(
    ("cell", "latency"),
    [
        ("1,234.5", 1234.5),
        ("1,234", 1234.0),
        ("0.25 ms", 0.25),
        ("250 us", 0.25),
        ("0.25 ± 0.01", 0.25),
        ("0.25 (2.0x)", 0.25),
        ("0.25 (-12.5%)", 0.25),
        ("*0.25*", 0.25),
        ("`0.25` ⚠️", 0.25),
        ("<b>0.25</b>", 0.25),
        ("&nbsp;0.25", 0.25),
        ("2.5e-1", 0.25),
        ("N/A", None),
        ("-", None),
        ("", None),
    ],
)
def test_numbers(cell: str, latency: float | None) -> None:
    fact = one_row("| Shape | Torch (ms) | Gems (ms) |", f"| [64] | 1 | {cell} |")
    assert isinstance(fact, Row)
    assert fact.latency_ms == latency


@pytest.mark.parametrize(
    "cell",
    ["1,5", "0,500", "1 234", "<0.05", "-0.05", "0.25 (0.01)", "0.25 / 0.5", "~~0.25~~", "see"],
)
def test_what_is_no_sure_number(cell: str) -> None:
    fact = one_row("| Shape | Torch (ms) | Gems (ms) |", f"| [64] | 1 | {cell} |")
    assert isinstance(fact, Damaged)


BARRED = table("| Shape | Torch (ms) | Gems (ms) |", "| [1] | 1 | 2 |", "| [2] | 1 | 2.25 |")


@pytest.mark.parametrize("cut", range(1, 18))
def test_a_row_that_is_cut_is_damaged(cut: int) -> None:
    text = BARRED[: -1 - cut]
    assert keys(text) == ["[1]"]
    last = text.rsplit("\n", 1)[1]
    assert len(damaged(text)) == bool(last.strip("| "))
    codes = [fact.code for fact in facts(text) if isinstance(fact, Note)]
    assert codes == [*(["incomplete"] if "|" in last else []), "no-title"]


def test_a_row_cut_by_another_line() -> None:
    text = BARRED.replace("2.25 |", "2\n[W] late\n.25 |") + "| [3] | 1 | 3 |\n"
    assert keys(text) == ["[1]", "[3]"]
    assert [fact.source.line for fact in damaged(text) if fact.source] == [4]


def test_text_in_front_of_a_row() -> None:
    text = BARRED.replace("| [2]", "[W] late| [2]")
    assert [keys(text), len(damaged(text))] == [["[1]"], 1]


def test_bytes_that_are_lost() -> None:
    for place in ("[2]", "2.25", "Shape"):
        facts_ = list(
            flagkit_parser().parse(
                BARRED.replace(place, place[:-1] + "\ufffd").encode().splitlines(True), "x"
            )
        )
        wanted = 0 if place == "Shape" else 1
        assert sum(isinstance(fact, Row) for fact in facts_) == wanted
        assert sum(isinstance(fact, Damaged) for fact in facts_) == 2 - wanted


def test_a_table_without_outer_bars() -> None:
    text = "Shape | Torch (ms) | Gems (ms)\n--- | --- | ---\n[1] | 1 | 2\n[2] | 1 | 2.2\n"
    assert keys(text) == ["[1]", "[2]"]
    # Without a line feed its last number may be cut.
    assert keys(text[:-1]) == ["[1]"]
    assert len(damaged(text[:-1])) == 1


def test_a_blank_line_and_a_second_table_below_a_row() -> None:
    text = (
        BARRED.replace("| [2]", "\n| [2]")
        + "| Test | Passed |\n|---|---|\n| abs | yes |\n"
        + "| Size | Torch (us) | Gems (us) |\n|---|---|---|\n| [3] | 1 | 2 |\n"
    )
    assert [(row.key.size_key, row.latency_ms) for row in rows(text)] == [
        ("[1]", 2.0),
        ("[2]", 2.25),
        ("[3]", 0.002),
    ]
    assert damaged(text) == []


@pytest.mark.parametrize(
    "head",
    [
        "| Shape | Before (ms) | After (ms) |",
        "| Shape | Old (us) | New (us) |",
        "| Shape | Gems before (ms) | Gems after (ms) |",
        "| Shape | Gems (ms) | Gems p99 (ms) |",
        "| Shape | Triton-Naive (ms) | Triton-TLE (ms) |",
    ],
)
def test_a_table_of_two_latencies_is_refused(head: str) -> None:
    text = table(head, "| [1] | 1 | 2 |", "| Average | 1 | 2 |")
    assert rows(text) == []
    (only,) = damaged(text)
    assert "which of these columns" in only.reason
    assert flagkit_parser().claims(text.encode(), Path("x"))
    printed = "Operator: abs  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
    assert not flagkit_parser().claims((text + printed).encode(), Path("x"))


def test_a_table_of_other_times_is_none_of_ours() -> None:
    assert facts(table("| Model | TTFT (ms) | TPOT (ms) |", "| a | 1 | 2 |")) == []


def test_latencies_by_dtype_alone() -> None:
    text = table("| Shape | fp16 (ms) | bf16 (ms) |", "| [1] | 1 | 2 |")
    assert [(r.key.dtype, r.latency_ms) for r in rows(text)] == [
        ("torch.float16", 1),
        ("torch.bfloat16", 2),
    ]


@pytest.mark.parametrize("label", ["Operator Name", "op_name", "Name", "Kernel", "Ops", "算子"])
def test_operators_that_are_called_like_sums(label: str) -> None:
    text = table(
        f"| {label} | Shape | Torch (ms) | Gems (ms) |",
        "| max | [1] | 1 | 2 |",
        "| mean | [1] | 1 | 3 |",
        "| abs | [1] | 1 | 4 |",
        "| **Average** | | 1 | 3 |",
        "| Mean | - | 1 | 3 |",
        "| Overall | |",
    )
    assert [row.key.op for row in rows(text)] == ["max", "mean", "abs"]
    assert damaged(text) == []


def test_a_name_is_no_operator_below_a_heading_that_names_one() -> None:
    one = table("| Name | Torch (ms) | Gems (ms) |", "| causal | 1 | 2 |")
    assert [(r.key.op, r.key.size_key) for r in rows(f"### `sdpa`\n{one}")] == [
        ("sdpa", "Name=causal")
    ]


def test_an_argument_that_is_called_like_a_sum() -> None:
    text = table(
        "| Reduction | Shape | Torch (ms) | Gems (ms) |",
        "| mean | [1] | 1 | 2 |",
        "| Geomean | | 1 | 2 |",
        "| ... | ... | ... | ... |",
    )
    assert keys(text) == ["[1] Reduction=mean"]
    assert damaged(text) == []


def test_cells_left_blank_are_those_above() -> None:
    text = table(
        "| op | dtype | Shape | Torch (ms) | Gems (ms) |",
        "| abs | fp16 | [1] | 1 | 2 |",
        "| | | [2] | 1 | 3 |",
        "| | bf16 | [1] | 1 | 4 |",
        "| neg | fp16 | [1] | 1 |",
        "| | | [2] | 1 | 5 |",
        "| | | | 1 | 5 |",
    )
    assert [(r.key.op, r.key.dtype, r.key.size_key) for r in rows(text)] == [
        ("abs", "torch.float16", "[1]"),
        ("abs", "torch.float16", "[2]"),
        ("abs", "torch.bfloat16", "[1]"),
    ]
    assert [fact.source.line for fact in damaged(text) if fact.source] == [6, 7, 8]


def test_lines_that_name_what_is_below() -> None:
    text = table(
        "| Shape | Torch (ms) | Gems (ms) |",
        "| **float16** | | |",
        "| [1] | 1 | 2 |",
        "| **bfloat16** | | |",
        "| [1] | 1 | 3 |",
        "| causal | | |",
        "| [1] | 1 | 4 |",
        "| [2] | | |",
    )
    assert [(r.key.dtype, r.key.size_key, r.status) for r in rows(text)] == [
        ("torch.float16", "[1]", "ok"),
        ("torch.bfloat16", "[1]", "ok"),
        ("torch.bfloat16", "[1] group=causal", "ok"),
        ("torch.bfloat16", "[2] group=causal", "invalid"),
    ]


ONE = table("| Shape | Torch (ms) | Gems (ms) |", "| [1] | 1 | 2 |")


def test_tables_that_look_alike_keep_what_stands_above_them() -> None:
    parts = [f"## abs\n### {name}\n{ONE}\n" for name in ("A", "B")]
    wanted = {"[1] section=A", "[1] section=B"}
    assert set(keys("".join(parts))) == set(keys("".join(reversed(parts)))) == wanted
    assert set(keys(f"Before the change:\n\n{ONE}\nAfter the change:\n\n{ONE}")) == {
        "[1] section=Before the change",
        "[1] section=After the change",
    }


def sections(above: str) -> list[tuple[str, str, str]]:
    """What a row of a table below *above* is told by."""
    return [(r.key.op, r.key.dtype, r.key.size_key) for r in rows(f"# Numbers\n\n{above}\n\n{ONE}")]


BOTH = [
    "**{op}**\n\n**float16**",
    "**float16**\n\n**{op}**",
    "**{op}**\n\nfloat16:",
    "**{op}** (float16)",
    "**{op}**\n\n**Latency comparison**\n\n**float16**",
    "- **{op}**\n\n- **float16**",
    "1. **{op}**\n\n   **float16**",
    "Operator: {op}\n\nDtype: float16",
    "* op: {op}\n* dtype: float16",
    "**Operator:** {op}\n**Dtype:** float16",
    "**Operator**: `{op}`\n\n**dtype**: `float16`",
    "算子：{op}\n\n数据类型：float16",
    "`{op}`\n\n`float16`",
    "<b>{op}</b>\n\n<p><strong>float16</strong></p>",
    "{op}\n======\n\nfloat16\n---",
    "### {op}\n### float16",
    "### {op}\n\nSome text.\n\n### float16",
    "### 1. {op}\n#### 1.1 float16",
]


@pytest.mark.parametrize("above", BOTH)
def test_a_dtype_below_an_operator_leaves_it_in_place(above: str) -> None:
    assert sections(above.format(op="abs")) == [("abs", "torch.float16", "[1]")]
    # Where a table stands between, the next operator begins anew.
    text = "".join(above.format(op=op) + f"\n\n{ONE}\n" for op in ("abs", "mul"))
    assert [(r.key.op, r.key.dtype) for r in rows(text)] == [
        ("abs", "torch.float16"),
        ("mul", "torch.float16"),
    ]


@pytest.mark.parametrize(
    "above",
    [
        "Results of {op}",
        "{op}\n\nUnit: ms",
        "Results of {op}:\n\n```\npytest -s\n```",
        "For {op} we measured this.\n\nSee the table below.",
        "{op}\n<br>",
        "*{op}*\n\n*float16*",
        "[{op}](http://example.com/y)\n\n**float16**",
        "Results of {op}\n\n#### float16",
        "```\nOperator: {op}  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n```",
        "{op}: " + "many words of no use " * 9 + "\n\nAnd more of them.",
    ],
)
def test_rows_of_an_unknown_operator_keep_the_lines_above_them(above: str) -> None:
    (one,), (other,) = (sections(above.format(op=op)) for op in ("abs", "mul"))
    assert one[0] == other[0] == "unknown"
    assert one[2] != other[2]
    assert len(one[2]) < 200


@pytest.mark.parametrize("names", [("abs on H20", "abs on H100"), ("### `abs`", "### `mul`")])
def test_a_table_has_one_key_whatever_else_the_text_holds(names: tuple[str, str]) -> None:
    one, other = (f"{name}\n\n{ONE}\n" for name in names)
    (key,) = (row.key for row in rows(one))
    assert next(row.key for row in rows(one + other)) == key
    assert [row.key for row in rows(other + one)][1] == key


def test_only_what_a_heading_says_beside_the_operator_is_part_of_the_key() -> None:
    for above in ("## abs\n### Performance", "## abs\n\nMeasured twice.", "# Report 3\n## abs"):
        assert keys(f"{above}\n\n{ONE}") == ["[1]"]
    for above in ("## abs\n### On H20", "**abs**\n\n**On H20**"):
        assert keys(f"{above}\n\n{ONE}") == ["[1] section=On H20"]
    column = table("| op | Shape | Torch (ms) | Gems (ms) |", "| abs | [1] | 1 | 2 |")
    assert keys(f"# Report\n\nSome text\n## H20\n{column}\n## Results\n{column}") == [
        "[1] section=H20",
        "[1]",
    ]


def test_a_dtype_that_only_a_caption_tells_keeps_rows_apart() -> None:
    one, other = (keys(f"### abs\n\n- {dtype}\n\n{ONE}") for dtype in ("float16", "float32"))
    assert one == ["[1] section=float16"] != other


def test_a_heading_about_a_text_ends_with_it() -> None:
    text = f"## Add `abs`\n### Support float16\n\nIt was missing.\n\n### Performance\n{ONE}"
    assert [(r.key.op, r.key.dtype) for r in rows(text)] == [("abs", "unknown")]
    text = f"**float16 on H20**\n\n**abs**\n{ONE}"
    assert [(r.key.op, r.key.dtype) for r in rows(text)] == [("abs", "torch.float16")]


def test_modes_and_levels_in_headings() -> None:
    text = f"## abs\n### Kernel mode\n{ONE}\n### Operator mode\n{ONE}\n### Core level\n{ONE}"
    assert [(r.key.op, r.mode, r.level, r.key.size_key) for r in rows(text)] == [
        ("abs", "kernel", "unknown", "[1] section=Kernel mode"),
        ("abs", "operator", "unknown", "[1] section=Operator mode"),
        ("abs", "unknown", "core", "[1] section=Core level"),
    ]
    assert {(r.key.op, r.mode) for r in rows(text[7:])} == {
        ("unknown", "kernel"),
        ("unknown", "operator"),
        ("unknown", "unknown"),
    }


def test_an_operator_is_said_to_be_unknown_once() -> None:
    notes = [fact for fact in facts(f"{ONE}\n{ONE}") if isinstance(fact, Note)]
    assert [(note.code, str(note.source)) for note in notes] == [("no-title", "pr.md:3")]
    assert not [fact for fact in facts(f"### abs\n{ONE}") if isinstance(fact, Note)]


def compared(before: str, after: str) -> tuple[list[float], list[str]]:
    logs = [
        RunLog(rows=number_rows(rows(text)), source=name)
        for text, name in ((before, "a"), (after, "b"))
    ]
    found = pair_rows(*logs, nodes=False)
    return (
        [pair.speedup_percent for pair in found.pairs],
        [one.reason for one in found.unpaired.values()],
    )


def test_two_tables_that_nothing_tells_apart_never_pair_by_their_order() -> None:
    late = ONE.replace("| 1 | 2 |", "| 1 | 5 |")
    for head in ("### abs\n\n", "### abs\n\nBefore:\n\n"):
        one, other = f"{head}{ONE}\n{late}", f"{head}{late}\n{ONE}"
        assert {row.flags for row in rows(one)} == {("several-tables",)}
        for after in (one, other):
            assert compared(one, after) == ([], ["ambiguous"] * 4)
    # Two rows of one key in one table are told by their order, as in a printed one.
    twice = ONE + ONE.splitlines()[-1].replace("2 |", "3 |") + "\n"
    assert compared(f"### abs\n{twice}", f"### abs\n{twice}") == ([0.0, 0.0], [])


STYLES = (
    "**{0}**",
    "### {0}",
    "## {0}",
    "`{0}`",
    "Operator: {0}",
    "{0}",
    "- {0}",
    "Results of {0}",
    "**Operator**: {0}",
    "{0}\n---",
    "<h4>{0}</h4>",
    "*{0}*",
    "### Performance of {0}",
    "### {0} on H20",
    "### `{0}` results",
    "dtype: {0}",
)
BETWEEN = ("", "Some text.", "**Latency**", "### Results", "```\npytest -s\n```", "Unit: ms", "---")
MEASURED = [(op, dtype) for op in ("abs", "mul", "gelu") for dtype in ("float16", "float32")]


@given(
    st.tuples(*(st.sampled_from(part) for part in (STYLES, BETWEEN, STYLES, BETWEEN))),
    st.permutations(MEASURED),
    st.permutations(MEASURED),
    st.integers(1, 6),
)
def test_tables_in_any_order_never_pair_with_another_s(
    style: tuple[str, str, str, str],
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    kept: int,
) -> None:
    def text(measured: list[tuple[str, str]]) -> str:
        op_style, first, dtype_style, second = style
        return "\n\n".join(
            f"{op_style.format(op)}\n\n{first}\n\n{dtype_style.format(dtype)}\n\n{second}\n\n"
            + ONE.replace("| 2 |", f"| {MEASURED.index((op, dtype)) + 2} |")
            for op, dtype in measured
        )

    assert set(compared(text(before), text(after[:kept]))[0]) <= {0.0}


def test_details_and_code_end_what_they_say() -> None:
    text = (
        "## abs\n<details>\n<summary>\n<b>float16</b>\n</summary>\n\n### Results\n"
        f"{ONE}</details>\n\n{ONE}\n"
        "```bash\n# run the benchmark\npytest -s | tee run.log\n```\n"
        "```text\nOperator: neg  Performance Test (dtype=torch.int8, mode=kernel,level=core)\n```\n"
        f"float32:\n{ONE}"
    )
    assert [(r.key.op, r.key.dtype, r.mode) for r in rows(text)] == [
        ("abs", "torch.float16", "unknown"),
        ("abs", "unknown", "unknown"),
        ("abs", "torch.float32", "unknown"),
    ]


def test_supported_dtypes_are_no_dtype() -> None:
    listed = "Supported:\n- float16\n- bfloat16\n"
    for above in (listed, "### float16 / bfloat16\n", "dtypes: fp16, bf16\n"):
        assert [row.key.dtype for row in rows(f"{above}\n{ONE}")] == ["unknown"]


GRID = """\
+-------+------------+-----------+
| Shape | Torch (ms) | Gems (ms) |
+=======+============+===========+
| [1]   | 1          | 2         |
+-------+------------+-----------+
| [2]   | 1          | 2         |
+-------+------------+-----------+
"""


@pytest.mark.parametrize(
    "text",
    [
        "- " + ONE.replace("\n", "\n  "),
        "1. " + ONE.replace("\n", "\n   "),
        "> > " + ONE.replace("\n", "\n> > "),
        "```\n" + ONE + "```\n",
        GRID,
        "| Shape | Torch (ms) | Gems (ms) |\n|-------+------------+-----------|\n| [1] | 1 | 2 |\n",
    ],
)
def test_tables_in_lists_quotes_code_and_text_grids(text: str) -> None:
    assert keys(text) == ["[1]", "[2]"][: text.count("| [")]
    assert damaged(text) == []
    assert flagkit_parser().claims(text.encode(), Path("x"))


TITLE = "Operator: abs  Performance Test (dtype=torch.float16, mode=kernel,level=core)"


@pytest.mark.parametrize(
    "text",
    [
        f"{TITLE}\n\n{ONE}",
        f"> {TITLE}\n>\n> " + ONE.replace("\n", "\n> "),
        f"- {TITLE}\n\n  " + ONE.replace("\n", "\n  "),
        f"{TITLE}\n\n" + ONE.replace("\n|", "\n").replace("|\n", "\n")[1:],
        f"{TITLE}\n\n{GRID}",
    ],
)
def test_a_title_above_a_markdown_table_is_not_a_printed_table(text: str) -> None:
    assert flagkit_parser().claims(text.encode(), Path("x"))
    assert not printed_tables().claims(text.encode(), Path("x"))
    assert {(row.key.op, row.mode) for row in rows(text)} == {("abs", "kernel")}


def test_a_title_below_a_table_of_something_else_is_a_printed_one() -> None:
    others = "+-----+-----+\n| GPU | Fan |\n|=====+=====|\n| 0   | N/A |\n+-----+-----+\n"
    assert printed_tables().claims(f"{others}\n{TITLE}\n".encode(), Path("x"))
    assert not flagkit_parser().claims(f"{others}\n{TITLE}\n".encode(), Path("x"))


def test_the_size_beside_a_size_detail_is_a_status_or_an_older_name() -> None:
    text = "### abs float16\n\n" + table(
        "| Size | Torch Latency (ms) | Gems Latency (ms) | Size Detail |",
        "| SUCCESS | 1 | 2 | [torch.Size([64, 64])] |",
        "| FAILED | 1 | 2 | [torch.Size([65, 64])] |",
        "| 4096 | 1 | 2 | [torch.Size([66, 64])] |",
        "| N/A | 1 | 2 | [torch.Size([67, 64])] |",
        "| 4096 | 1 | 2 | by rows |",
        "| wide | 1 | 2 | [torch.Size([68, 64])] |",
    )
    assert [(row.key.size_key, row.status) for row in rows(text)] == [
        ("[[64,64]]", "ok"),
        ("[[65,64]]", "failed"),
        ("[[66,64]]", "ok"),
        ("[[67,64]]", "ok"),
        ("by rows Size=4096", "ok"),
        ("[torch.Size([68, 64])] Size=wide", "ok"),
    ]


def test_several_baselines() -> None:
    text = table(
        "| Shape | vLLM (ms) | Torch (ms) | FlagGems (ms) | Triton (ms) |",
        "| [1] | 1 | 2 | 3 | 4 |",
    )
    assert short(text) == [("unknown", "unknown", "[1]", 2, 3)]
    text = table(
        "| Shape | Torch eager (ms) | Torch compile (ms) | Gems (ms) |", "| [1] | 1 | 2 | 3 |"
    )
    assert short(text) == [("unknown", "unknown", "[1]", None, 3)]


def test_a_factor_is_no_failure() -> None:
    text = table("| Result | Shape | Torch (ms) | Gems (ms) |", "| 2.0× | [1] | 1 | 2 |")
    assert [row.status for row in rows(text)] == ["ok"]


@pytest.mark.parametrize(
    ("heading", "op"),
    [
        ("# 【X】optimize mean op", "mean"),
        ("### add", "add"),
        ("# Add new operator", "unknown"),
        ("<h3>abs</h3>", "abs"),
        ("## abs | float16", "abs"),
    ],
)
def test_more_headings(heading: str, op: str) -> None:
    assert [row.key.op for row in rows(f"{heading}\n\n{ONE}")] == [op]
