"""Record logs of every version."""

from __future__ import annotations

import json
from pathlib import Path

from flagkit.model import Damaged, Note, Row
from flagkit.parsers.flaggems_record import flagkit_parser
from flagkit.parsers.stream import Lines

BANNER = "[INFO] Benchmark record logger enabled\n"


def item(**given: object) -> dict[str, object]:
    return {
        "legacy_shape": None,
        "shape_detail": [[64, 64]],
        "latency_base": 0.5,
        "latency": 0.25,
        "speedup": 2.0,
        "accuracy": None,
        "tflops": None,
        "utilization": None,
        **given,
    }


def record(*items: object, op: str = "abs", dtype: str = "torch.float16") -> str:
    value = {"op_name": op, "dtype": dtype, "mode": "kernel", "level": "core", "result": [*items]}
    return f"[INFO] {json.dumps(value)}\n"


def facts(text: str) -> list[Row | Damaged | Note]:
    data = text.encode()
    fast = list(flagkit_parser().parse(Lines([data]), "r.log"))
    slow = list(flagkit_parser().parse(data.splitlines(keepends=True), "r.log"))
    assert repr(fast) == repr(slow)
    return fast


def rows(text: str) -> list[Row]:
    return [fact for fact in facts(text) if isinstance(fact, Row)]


def damaged(text: str) -> list[Damaged]:
    return [fact for fact in facts(text) if isinstance(fact, Damaged)]


def test_a_record() -> None:
    text = BANNER + record(
        item(tflops=0.5, gbps_base=10.0, gbps=20.0),
        item(shape_detail=[[[16]], {"p": float("-inf"), "dtype": "torch.float16"}]),
    )
    first, second = rows(text)
    assert first.key.text() == "abs torch.float16 [[64,64]]"
    assert (first.baseline_ms, first.latency_ms, first.tflops) == (0.5, 0.25, 0.5)
    assert (first.baseline_gbps, first.gbps) == (10.0, 20.0)
    assert (first.mode, first.level, str(first.source)) == ("kernel", "core", "r.log:2")
    assert second.key.size_key == '[[[16]],{"p":-Infinity,"dtype":"torch.float16"}]'


def test_the_first_version_has_fewer_fields() -> None:
    assert len(rows(record(item()))) == 1


def test_impossible_and_failed_rows() -> None:
    text = record(
        item(latency=float("nan")),
        item(latency=float("inf")),
        item(latency=None),
        item(latency="0.25 ms"),
        item(latency=True),
        item(error_msg="out of\nmemory", latency=None),
        item(error_msg=None),
    )
    assert [r.status for r in rows(text)] == ["invalid"] * 5 + ["failed", "ok"]
    assert rows(text)[5].reason == "out of memory"


def test_several_operators_among_other_lines() -> None:
    text = (
        BANNER
        + record(item())
        + "[INFO] NumExpr defaulting to 8 threads.\n"
        + '[INFO] {"event": "loaded"}\n'
        + record(item(), op="relu backward", dtype="torch.float32")
    )
    assert [r.key.op for r in rows(text)] == ["abs", "relu_backward"]


def test_query_mode_is_no_result() -> None:
    text = (
        BANNER
        + "[INFO] {'op_name': 'abs', 'recommended_core_shapes': [(64, 64)], 'shape_desc': 'M'}\n"
        + '[INFO] [\n  {\n    "op_name": "abs",\n    "recommended_core_shapes": [[64, 64]]\n  }\n]\n'
    )
    assert rows(text) == []
    assert damaged(text) == []


def test_glued_records_are_whole() -> None:
    one = record(item()).rstrip("\n")
    assert len(rows(f"late{one}{one}[W] more\n")) == 2


def test_every_truncation_is_one_damaged_record() -> None:
    whole = record(item())
    for end in range(len('[INFO] {"op_name":'), len(whole) - 2):
        text = whole[:end]
        assert rows(text) == []
        assert len(damaged(text)) == 1, text


def test_text_within_a_record() -> None:
    whole = record(item(), item())
    middle = len(whole) // 2
    text = f"{whole[:middle]}[W] late\n{whole[middle:]}"
    assert rows(text) == []
    assert len(damaged(text)) == 1


def test_claims() -> None:
    parser = flagkit_parser()
    assert parser.claims(record(item()).encode(), Path("x"))
    assert parser.claims(BANNER.encode(), Path("x"))
    assert not parser.claims(b"[INFO] hello\n", Path("x"))
