from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.model import Pair, Range, RangeReport, Row, RowKey, Unpaired
from flagkit.reporters import text
from flagkit.reporters.csv import CsvReporter
from flagkit.reporters.json import JsonReporter
from flagkit.reporters.layout import Cells, Column, aligned, table
from flagkit.reporters.markdown import MarkdownReporter
from flagkit.reporters.terminal import TerminalReporter

ANY_TEXT = st.text(
    st.characters() | st.sampled_from("|<>`=+-@\t\r\n\x1b\x9b\u202e\u2066\ud800&*_~[]()#"),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.094, "+0.09%"), (-0.43, "-0.43%"), (-0.001, "+0.00%"), (0.0, "+0.00%"), (20653.049, "+20653.05%")],
)  # fmt: skip
def test_percent(value: float, shown: str) -> None:
    assert text.percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.012, "0.012000"), (305.256805, "305.256805"), (2.5e-7, "2.5e-07"), (None, "-"), (float("nan"), "-")],
)  # fmt: skip
def test_milliseconds(value: float | None, shown: str) -> None:
    assert text.milliseconds(value) == shown


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t=", "\r=", " =", "\n="]
)
def test_cells_are_no_formulas(start: str) -> None:
    shown = text.cell(f"{start}1")
    assert shown.startswith(("'", "\\"))
    assert "\t" not in shown


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("gelu_backward", "gelu_backward"),
        ("_log_softmax_", r"\_log_softmax\_"),
        ("[[64,64],0.5]", "[[64,64],0.5]"),
        ("a|b", r"a\|b"),
        ("<script>", "&lt;script&gt;"),
        ("[a](b)", r"[a]\(b)"),
        ("`a`", r"\`a\`"),
        ("# a", r"\# a"),
        ("-1% ~ +1%", r"\-1% ~ +1%"),
        ("~a~", r"\~a\~"),
    ],
)
def test_markdown(given_text: str, shown: str) -> None:
    assert text.markdown(given_text) == shown


@given(ANY_TEXT)
def test_nothing_unseen_is_left(given_text: str) -> None:
    assert text.plain(given_text).isprintable()
    assert text.cell(given_text).isprintable()
    assert text.markdown(given_text).isprintable()
    shown = text.markdown(given_text)
    assert "<" not in shown
    assert "|" not in shown.replace(r"\|", "")
    assert not text.cell(given_text).lstrip().startswith(("=", "+", "-", "@"))


def report(op: str, ms: float) -> RangeReport:
    row = Row(key=RowKey(op=op, dtype=op, size_key=op), status="ok", size_detail=op, latency_ms=ms)
    bad = Row(
        key=RowKey(op=op, dtype=op, size_key=op),
        status="invalid",
        size_detail=op,
        latency_ms=float("nan"),
    )
    return RangeReport(
        label=op,
        pairs=(Pair(before=row, after=row, rounds=(0.0,)),),
        unpaired=(Unpaired(side="before", reason="invalid", row=bad, detail=op),),
        ranges=(
            Range(regime="unknown", rows=1, min_percent=0.0, max_percent=0.0, min_row=0, max_row=0),
        ),
    )


@given(ANY_TEXT, st.floats(min_value=5e-324, max_value=1e308))
def test_every_reporter_takes_any_text(op: str, ms: float) -> None:
    reports = [report(op, ms)]
    shown = TerminalReporter().render(reports, {"width": 80, "color": False})
    assert shown.replace("\n", "").isprintable()
    assert MarkdownReporter().render(reports, {}).replace("\n", "").isprintable()
    data = json.loads(JsonReporter().render(reports, {}), parse_constant=pytest.fail)
    assert data["rows"][0]["before_ms"] == ms
    assert data["unpaired"][0]["latency_ms"] is None
    lines = list(csv.DictReader(io.StringIO(CsvReporter().render(reports, {}))))
    assert float(lines[0]["before_ms"]) == ms
    assert lines[1]["state"] == "invalid"
    for line in lines:
        for value in line.values():
            assert not value.startswith(("=", "@", "\t", "\r"))


@given(st.lists(ANY_TEXT, min_size=1, max_size=5), st.floats(min_value=5e-324, max_value=1e308))
def test_rows_are_written_as_the_standard_library_writes_them(ops: list[str], ms: float) -> None:
    one = report(ops[0], ms)
    several = [replace(one, pairs=tuple(pair for op in ops for pair in report(op, ms).pairs)), one]
    for reports in ([one], several):
        lines = JsonReporter().render(reports, {})
        compact = JsonReporter().render(reports, {"compact": True})
        assert json.loads(lines) == json.loads(compact)
        assert compact == json.dumps(json.loads(compact)) + "\n"
        shown = CsvReporter().render(reports, {})
        again = io.StringIO()
        csv.writer(again, lineterminator="\n").writerows(csv.reader(io.StringIO(shown)))
        assert shown == again.getvalue()
    rows = json.loads(JsonReporter().render(several, {}))["reports"][0]["rows"]
    assert [row["op"] for row in rows] == ops
    table = list(csv.DictReader(io.StringIO(CsvReporter().render(several, {}))))
    assert [line["op"] for line in table][: len(ops)] == [text.cell(op) for op in ops]


@given(st.lists(st.tuples(*[st.text("ab %\u00e9\u4e2d", max_size=4)] * 3), max_size=4))
def test_a_table_set_by_columns_is_the_same(rows: list[tuple[str, str, str]]) -> None:
    columns = [Column("a"), Column("b", number=True), Column("c", shrinks=True)]
    cells = [[row[place] for row in rows] for place in range(3)]
    expected = table(columns, [Cells(row) for row in rows], indent="  ", width=None)
    assert aligned(columns, cells, indent="  ") == expected


def test_an_endless_size_is_cut_where_people_read_it() -> None:
    """A list of a million numbers is the size detail of one of FlagGems' benchmarks."""
    size = f"[[{','.join(map(str, range(200_000)))}]]"
    one = report("list", 1.0)
    row = replace(one.pairs[0].before, key=replace(one.pairs[0].before.key, size_key=size))
    one = replace(
        one,
        pairs=(Pair(before=row, after=row, rounds=(0.0,)),),
        unpaired=(Unpaired(side="before", reason="failed", row=row),),
    )
    for reporter in (TerminalReporter(), MarkdownReporter()):
        shown = reporter.render([one], {})
        assert f"... ({len(size):,} characters)" in shown and len(shown) < 20_000
    assert size in json.dumps(json.loads(JsonReporter().render([one], {})))


def test_json_of_one_and_of_several() -> None:
    one = json.loads(JsonReporter().render([report("a", 1.0)], {}))
    two = json.loads(JsonReporter().render([report("a", 1.0)] * 2, {"compact": True}))
    assert one["schema"] == two["schema"] == 1
    assert two["reports"] == [one, one]
    assert set(one) >= {"schema", "label", "rows", "unpaired", "ledger", "range", "ranges", "notes"}
    assert set(one["range"]) == {
        "regime", "rows", "min_percent", "max_percent", "min_row", "max_row"
    }  # fmt: skip
    assert json.loads(JsonReporter().render([RangeReport(label="x")], {}))["range"] is None
    assert json.loads(JsonReporter().render([], {})) == {"schema": 1, "reports": []}


def test_a_graph_regime_says_what_it_leaves_out() -> None:
    shown = TerminalReporter().render([report("a", 1.0)], {})
    assert "graph rows leave out" not in shown
