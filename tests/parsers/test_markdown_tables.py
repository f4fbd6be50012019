"""Tables as people put them into pull requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagkit.model import Damaged, Row
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
        "(64, 64) Reduction=mean",
        "(64, 64) Reduction=sum",
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
