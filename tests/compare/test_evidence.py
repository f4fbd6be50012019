from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.evidence import CertificateSummary, certify
from flagkit.compare.ranges import compare
from flagkit.compare.tuninglines import decode_tuning

if TYPE_CHECKING:
    from flagkit.model import RunLog

Line = dict[str, Any]


def decision(state: str, key: str, config: Any, call: str = "c1", **more: Any) -> Line:
    named = {"tuner": "triton", "kernel": "gems.mm_kernel", "key": key, "call": call}
    return {"kind": "decision", "state": state, "config": config, **named, **more}


def use(key: str, config: Any, call: str = "c1", **more: Any) -> Line:
    named = {"tuner": "triton", "kernel": "gems.mm_kernel", "key": key, "call": call}
    return {"kind": "use", "config": config, **named, **more}


def launch(config: Any, call: str = "c1", kernel: str = "mm_kernel", **more: Any) -> Line:
    return {"kind": "launch", "kernel": kernel, "config": config, "call": call, **more}


A, B = {"BLOCK": 64, "num_warps": 4}, {"BLOCK": 128, "num_warps": 8}


def journal(make: Any, *calls: str) -> RunLog:
    rows = (make.row(f"[{n}]", call=call, node="t") for n, call in enumerate(calls))
    return make.log(*rows, journalled=True)  # type: ignore[no-any-return]


def ruled(make: Any, before: list[Line], after: list[Line], *calls: str) -> list[str | None]:
    log = journal(make, *(calls or ("c1",)))
    one, two, summary = certify(before, after, log, log)
    assert [row.certificate for row in one.rows] == [row.certificate for row in two.rows]
    assert sum(summary.rows.values()) + summary.uncertain == len(two.rows)
    return [row.certificate for row in two.rows]


def test_equal_launches_are_certified(make: Any) -> None:
    before = [decision("recorded", "k", A), use("k", A)]
    after = [decision("replayed", "k", A), use("k", A, state="replayed")]
    assert ruled(make, before, after) == ["certified"]


def test_a_pre_hook_is_no_part_of_a_choice(make: Any) -> None:
    before = [decision("recorded", "k", {**A, "pre_hook": "one"}), use("k", {**A, "pre_hook": "m"})]
    assert ruled(make, before, [decision("replayed", "k", A), use("k", A)]) == ["certified"]


def test_a_missed_decision_drifts_exactly_the_rows_that_use_it(make: Any) -> None:
    before = [
        use("k1", A),
        decision("recorded", "k2", A, "c2"),
        use("k2", A, "c2"),
        use("k1", A, "c3"),
    ]
    after = [
        decision("missed", "k1", B),
        use("k1", B, state="missed"),
        decision("replayed", "k2", A, "c2"),
        use("k2", A, "c2", state="replayed"),
        use("k1", A, "c3", state="missed"),
    ]
    states = ruled(make, before, after, "c1", "c2", "c3")
    assert states == ["config-drift", "certified", "config-drift"]


def test_another_config_is_drift_and_says_which(make: Any) -> None:
    log = journal(make, "c1")
    before, after, summary = certify([use("k", A)], [use("k", B)], log, log)
    report = compare(before, after, label="x")
    assert not report.pairs
    assert report.ledger.after.drifted == 1
    assert report.unpaired[0].detail == (
        'gems.mm_kernel k: launched {"BLOCK":128,"num_warps":8} against {"BLOCK":64,"num_warps":4}'
    )
    assert summary.rows["config-drift"] == 1


def test_a_use_without_any_record_is_drift(make: Any) -> None:
    assert ruled(make, [], [use("k", A)]) == ["config-drift"]


def test_a_use_recorded_in_another_call_is_certified(make: Any) -> None:
    assert ruled(make, [decision("recorded", "k", A, "c0")], [use("k", A)]) == ["certified"]


def test_rebuilt_configs_are_said(make: Any) -> None:
    before = [decision("recorded", "k", A), use("k", A)]
    after = [decision("rebuilt", "k", A), use("k", A, state="rebuilt")]
    assert ruled(make, before, after) == ["rebuilt"]


def test_rows_without_tuned_kernels(make: Any) -> None:
    plain = [launch({"num_warps": 4, "shared": 1}, kernel="fill")]
    other = [launch({"num_warps": 4, "shared": 99}, kernel="fill")]
    assert ruled(make, [], []) == ["no-tuner"]
    assert ruled(make, plain, other) == ["no-tuner"]


def test_heuristics_are_covered_by_what_was_launched(make: Any) -> None:
    assert ruled(make, [launch({"num_warps": 4})], [launch({"num_warps": 8})]) == ["config-drift"]
    assert ruled(make, [launch(A, kernel="a")], [launch(B, kernel="b")]) == ["no-tuner"]


def test_a_cache_before_the_tuner_is_covered_by_what_was_launched(make: Any) -> None:
    recorded = [decision("recorded", "k", A, "c0")]
    replayed = [decision("missed", "k", B, "c0")]

    def seen(block: int) -> Line:
        return launch({"num_warps": 4}, constexprs={"BLOCK": block, "other": block})

    assert ruled(make, [*recorded, seen(64)], [*replayed, seen(128)]) == ["config-drift"]
    assert ruled(make, [*recorded, seen(64)], [*replayed, seen(64)]) == ["certified"]


def test_rows_that_no_call_stands_for_have_no_certificate(make: Any) -> None:
    log = make.log(make.row())
    _, after, summary = certify([use("k", A)], [use("k", A)], log, log)
    assert after.rows[0].certificate is None
    assert summary.uncertain == 1
    assert ruled(make, [use("k", A)], []) == [None]


def test_the_counts(make: Any) -> None:
    before = [decision("recorded", key, A) for key in ("k1", "k2", "k3", "k1")] + [use("k1", A)]
    after = [decision("replayed", "k1", A), use("k1", A), decision("missed", "k2", A, "c9")]
    log = journal(make, "c1")
    summary = certify(before, after, log, log)[2]
    note = summary.note()
    assert note.code == "certificate"
    assert note.text == ("3 decisions recorded, 1 replayed, 1 missed, 1 unused; rows: 1 certified")
    assert note.data["rows"]["certified"] == 1
    json.dumps(summary.to_json())


def test_foreign_and_cut_lines_are_named_and_never_raise(make: Any) -> None:
    whole = json.dumps(use("k", A)).encode()
    lines = decode_tuning(
        [whole, b"\n", b'{"kind":"use","tun', b"[1]", b'{"kind":"other"}', b"\xff"]
    )
    log = journal(make, "c1")
    summary = certify(lines, lines, log, log)[2]
    assert [(note.code, note.side) for note in summary.notes] == [
        ("tuning-damaged", "before"),
        ("tuning-foreign", "before"),
        ("tuning-damaged", "after"),
        ("tuning-foreign", "after"),
    ]
    assert summary.notes[0].text == "tuning record: 2 lines cut short or damaged, ignored"


def test_a_key_decided_twice_and_another_source_are_said(make: Any) -> None:
    before = [decision("recorded", "k", A, source_hash="1"), decision("recorded", "k", B)]
    after = [decision("replayed", "k", A, source_hash="2")]
    log = journal(make, "c1")
    codes = [note.code for note in certify(before, after, log, log)[2].notes]
    assert codes == ["tuning-ambiguous", "kernel-source-differs"]


ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
ANY_LINE = ANY_VALUE | st.fixed_dictionaries(
    {"kind": st.sampled_from(["decision", "use", "launch"])},
    optional={
        name: ANY_VALUE
        for name in ("tuner", "kernel", "key", "config", "call", "state", "constexprs")
    },
)


@given(st.lists(ANY_LINE, max_size=6), st.lists(ANY_LINE, max_size=6))
def test_any_lines_give_a_summary(make: Any, before: list[Any], after: list[Any]) -> None:
    log = journal(make, "c1", "")
    assert isinstance(certify(before, after, log, log)[2], CertificateSummary)
