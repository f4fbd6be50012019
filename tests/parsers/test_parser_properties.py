"""What holds for any log: nothing raises, nothing is half-read, both roads agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.model import Damaged, Note, Row
from flagkit.parsers import (
    flaggems_json,
    flaggems_record,
    flaggems_table,
    flagkit_journal,
    markdown,
)
from flagkit.parsers.dirt import shown
from flagkit.parsers.stream import Lines, utf8_blocks

if TYPE_CHECKING:
    from flagkit.interfaces import LogParser

PARSERS = [
    module.flagkit_parser()
    for module in (flaggems_json, flaggems_record, flaggems_table, flagkit_journal, markdown)
]
MADE = sorted((Path(__file__).parents[1] / "data" / "synthetic").glob("*.log"))
SEEDS = [path.read_bytes() for path in MADE]

names = st.sampled_from(["gelu", "gelu_backward", "mm", "to_copy_torch.a_to_b", "index_.amax"])
dtypes = st.sampled_from(["torch.float16", "torch.bfloat16", "torch.uint8", "None"])
sizes = st.lists(st.integers(0, 10**6), max_size=4).map(lambda size: f"torch.Size({size})")
extras = st.sampled_from(
    ["1", "-1", "None", "True", "0.5", "1e-05", "inf", "torch.float16", "'sum'"]
)
lists = st.lists(sizes | extras, max_size=5).map(lambda parts: f"[{', '.join(parts)}]")
details = st.one_of(lists, lists.map(lambda text: f"({text}, {{'dim': 1, 'out': {text}}})"))
latencies = st.none() | st.floats(1e-6, 1e6).map(lambda value: round(value, 6))
extra_cells = st.lists(st.floats(0, 1e6), max_size=3)
measurements = st.tuples(details, latencies, latencies, extra_cells)
tables = st.lists(st.tuples(names, dtypes, st.lists(measurements, max_size=6)), max_size=4)


def cell(value: float | None, digits: int) -> str:
    return f"{'N/A' if value is None else f'{value:.{digits}f}':>20}"


def printed(
    made: list[tuple[str, str, list[tuple[str, float | None, float | None, list[float]]]]],
) -> str:
    out = []
    for op, dtype, rows in made:
        out.append(f"\nOperator: {op}  Performance Test (dtype={dtype}, mode=kernel,level=core)\n")
        out.append(
            "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup"
            "          Size Detail\n" + "-" * 95 + "\n"
        )
        for detail, base, gems, more in rows:
            cells = cell(base, 6) + cell(gems, 6) + cell(1.0, 3)
            cells += "".join(cell(value, 3) for value in more)
            out.append(f"{'SUCCESS':<10}{cells}{'':10}{detail}\n")
        out.append("\n")
    return "".join(out)


def read(parser: LogParser, data: bytes) -> list[Row | Damaged | Note]:
    return list(parser.parse(data.splitlines(keepends=True), "x.log"))


def table_rows(data: bytes) -> list[Row]:
    return [f for f in read(flaggems_table.flagkit_parser(), data) if isinstance(f, Row)]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@given(data=st.binary(max_size=400))
def test_any_bytes(parser: LogParser, data: bytes) -> None:
    parser.claims(data, Path("x.log"))
    read(parser, data)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@given(data=st.data())
def test_spoilt_logs(parser: LogParser, data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS))
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(len(seed), start + 80)))
    junk = data.draw(st.binary(max_size=20) | st.sampled_from([b"\r", b"\x1b[K", b"\0", b"\n"]))
    read(parser, seed[:start] + junk + seed[end:])


@given(tables)
def test_printed_tables_are_read_back(made: list) -> None:  # type: ignore[type-arg]
    found = table_rows(printed(made).encode())
    wanted = [
        (op, dtype, detail, gems, base)
        for op, dtype, rows in made
        for detail, base, gems, _ in rows
    ]
    assert [
        (r.key.op, r.key.dtype, r.size_detail, r.latency_ms, r.baseline_ms) for r in found
    ] == wanted


@given(
    tables,
    st.integers(1, 300),
    st.lists(st.sampled_from([b"\r\n", b"noise\n", b"\n", b".\n"]), max_size=4),
)
def test_both_roads_agree(made: list, size: int, noise: list[bytes]) -> None:  # type: ignore[type-arg]
    data = b"".join([*noise, printed(made).encode(), *noise, printed(made).encode()])
    parser = flaggems_table.flagkit_parser()
    slow = read(parser, data)
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    assert repr(list(parser.parse(Lines(blocks), "x.log"))) == repr(slow)


@given(st.sampled_from(SEEDS), st.integers(1, 100))
def test_both_roads_agree_on_dirt(seed: bytes, size: int) -> None:
    parser = flaggems_table.flagkit_parser()
    whole = b"".join(utf8_blocks(seed, lambda _: b""))
    blocks = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert repr(list(parser.parse(Lines(blocks), "x.log"))) == repr(read(parser, whole))


def numbers_and_keys(rows: list[Row]) -> set[tuple[str, str, str, float | None]]:
    return {(r.key.op, r.key.dtype, r.key.size_key, r.latency_ms) for r in rows}


@given(tables, st.data())
def test_cut_and_glued_lines_make_no_new_rows(made: list, data: st.DataObject) -> None:  # type: ignore[type-arg]
    whole = printed(made).encode()
    known = numbers_and_keys(table_rows(whole))
    known |= {("unknown", "unknown", key, latency) for _, _, key, latency in known}
    at = data.draw(st.integers(0, len(whole)))
    junk = data.draw(st.sampled_from([b"", b"[W] late\n", b"\n", b" 10%|##  |\r", b"\x1b[0m"]))
    for spoilt in (whole[:at], whole[at:], whole[:at] + junk + whole[at:], whole[:at] + whole):
        assert numbers_and_keys(table_rows(spoilt)) <= known


@given(tables, st.data())
def test_a_lost_newline_loses_rows_openly(made: list, data: st.DataObject) -> None:  # type: ignore[type-arg]
    whole = printed(made).encode()
    ends = [at for at, byte in enumerate(whole) if byte == 10]
    if not ends:
        return
    at = data.draw(st.sampled_from(ends))
    spoilt = whole[:at] + whole[at + 1 :]
    assert numbers_and_keys(table_rows(spoilt)) <= numbers_and_keys(table_rows(whole))


@given(st.binary(max_size=200))
def test_what_is_shown_is_one_line_each(data: bytes) -> None:
    line = data.replace(b"\n", b"")
    for text in shown(line):
        assert "\x1b" not in text or not text.isascii()
        assert "\r" not in text


def test_a_cursor_sent_far_out_costs_nothing() -> None:
    assert len(shown(b"\x1b[999999999Cx")[0]) < 1 << 17
    assert len(shown(b"\x1b[1;999999999Hx" * 50)[-1]) < 1 << 17


LONG = 1 << 16
HOSTILE = [
    b"|" * LONG,
    b"| " * LONG,
    b" " * LONG,
    b"-" * LONG,
    b"| a " * 20_000 + b"|\n" + b"|-" * 20_000 + b"|\n",
    b"\x1b[" + b"1" * LONG,
    b"\x1b[1K" * LONG,
    b"\x1b]0;" * LONG,
    b"ab\r" * LONG,
    b"a\b" * LONG,
    b"FAILED " + b"[" * LONG,
    b"FAILED a.py::" + b"[]" * LONG,
    b"1 a, " * LONG,
    b"Operator: x  Performance Test (" * 20_000,
    b"Operator " * LONG,
    b"SUCCESS   " * 30_000,
    b"SUCCESS" + b" " * LONG + b"0.5",
    b"BENCHMARK_DIRECT_NO_CUDAGRAPH " + b"a" * LONG + b'="' * LONG,
    b"[flagkit] regime: " + b"op=" * LONG,
    b"**" * LONG + b"\n" + b"__a" * LONG + b"*",
    b"<summary>" * LONG,
    b'[INFO] {"op_name":' * 20_000,
    b'{"op_name":"' * 50_000,
    b'{"kind":' * LONG,
    b"{" * LONG,
    b"[" * LONG,
    b"#\n" * LONG,
    b"1024" + b" " * LONG + b"x",
    b"SUCCESS               0.012345            0.012000               1.029          "
    + b"[" * LONG,
    b"SUCCESS               0.012345            0.012000               1.029          ["
    + b"1" * LONG
    + b"x]",
]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@pytest.mark.parametrize("data", HOSTILE, ids=lambda data: repr(data[:16]))
def test_hostile_lines_cost_little(parser: LogParser, data: bytes) -> None:
    """Nothing to assert: work that grows faster than the line would not end."""
    legacy = b"Operator mv Performance Test (torch.float16)\n"
    for text in (data, legacy + data, b"x|y\n" + data + b"\n|--|--|\n" + data):
        parser.claims(text[: 1 << 16], Path("x.log"))
        read(parser, text)
