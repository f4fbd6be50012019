"""What FlagTree's pass prints, taken out of a log. The lines are made, in its format."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.interfaces import TakesExcerpts, Target
from flagkit_cuda import CudaBackend
from flagkit_musa import MusaBackend
from flagkit_rlc import RlcSwitch, trace

ON = {"trace": True}
LOG = b"""\
============ test session starts ============
test_x.py .FLAGTREE_RLC_TRACE phase=1b outcome=reject reason=made-up-fanout op=ttg.convert_layout
FLAGTREE_RLC_TRACE phase=1b outcome=reject reason=made-up-fanout op=ttg.convert_layout
FLAGTREE_RLC_TRACE phase=2 outcome=no-proposal reason=made-up-tail
FLAGTREE_RLC_TRACE phase=2 outcome=accept reason=committed online_ops=3\r
FLAGTREE_RLC_TRACE_REJECTS=1 is set
environ: FLAGTREE_RLC_TRACE
SUCCESS               0.010             0.009               1.08
"""


def taken(log: bytes) -> tuple[str, dict[str, str]]:
    found = RlcSwitch().excerpt(iter(log.splitlines(keepends=True)), ON)
    assert found is not None
    return found.text, dict(found.facts)


def test_lines_are_kept_with_how_often_they_came() -> None:
    text, facts = taken(LOG)
    assert [line.split(maxsplit=1)[0] for line in text.splitlines()] == ["2", "1", "1"]
    assert text.splitlines()[0].endswith(
        "FLAGTREE_RLC_TRACE phase=1b outcome=reject reason=made-up-fanout op=ttg.convert_layout"
    )
    assert facts == {
        "trace lines": "4",
        "trace: reject made-up-fanout (phase 1b)": "2",
        "trace: no-proposal made-up-tail (phase 2)": "1",
        "trace: accept committed (phase 2)": "1",
    }


def test_a_kernel_that_is_named_is_counted_apart() -> None:
    line = b"FLAGTREE_RLC_TRACE phase=2 outcome=reject reason=weak %s=%s\n"
    log = line % (b"kernel", b"one") + line % (b"func", b"two") * 2
    _, facts = taken(log)
    assert facts["trace: one: reject weak (phase 2)"] == "1"
    assert facts["trace: two: reject weak (phase 2)"] == "2"


def test_a_vendor_s_own_marker_counts_too() -> None:
    _, facts = taken(b"FLAGTREE_HCU_RLC_TRACE phase=3 outcome=reject reason=x\n")
    assert facts["trace: reject x (phase 3)"] == "1"


def test_the_note_names_rejects_first() -> None:
    _, after = taken(LOG)
    (note,) = RlcSwitch().prove({"trace lines": "0"}, after)
    assert note.code == "switch"
    assert note.text == (
        "RLC trace before: none; after: 4 lines, 2 reject made-up-fanout (phase 1b), "
        "1 accept committed (phase 2), 1 no-proposal made-up-tail (phase 2)"
    )
    assert note.data["after"]["reject made-up-fanout (phase 1b)"] == 2


def test_many_kinds_are_summed_up() -> None:
    log = b"".join(
        b"FLAGTREE_RLC_TRACE phase=2 outcome=reject reason=r%d n=%d\n" % (n, n)
        for n in range(trace.MOST_LINES + 50)
    )
    text, facts = taken(log)
    assert len(text.splitlines()) == trace.MOST_LINES + 1
    assert text.splitlines()[-1].split() == ["50", "further", "lines,", "not", "kept"]
    assert len(facts) == trace.MOST_KINDS + 2
    (note,) = RlcSwitch().prove(facts, {})
    shown = trace.SHOWN
    rest = trace.MOST_LINES + 50 - shown
    assert f"{rest} of {trace.MOST_KINDS + 1 - shown} other kinds; after: none" in note.text


def test_a_build_that_prints_none_is_said() -> None:
    _, none = taken(b"nothing of it\n")
    (note,) = RlcSwitch().prove(none, none)
    assert note.code == "trace-missing" and "FLAGTREE_RLC_TRACE_REJECTS" in note.text


def test_without_the_option_nothing_is_looked_for() -> None:
    assert isinstance(RlcSwitch(), TakesExcerpts)
    assert RlcSwitch().excerpt(iter([LOG]), {}) is None
    assert RlcSwitch().prove({}, {}) == ()
    assert RlcSwitch().prove({"trace lines": "x", "trace: y": "-1"}, {})[0].code == "trace-missing"


@given(st.lists(st.binary(max_size=200) | st.just(b"FLAGTREE_RLC_TRACE phase=\xff outcome= x=\0")))
def test_any_bytes_are_read(lines: list[bytes]) -> None:
    found = RlcSwitch().excerpt(iter(lines), ON)
    assert found is not None
    assert all(len(line) < trace.LONGEST_LINE + 20 for line in found.text.split("\n"))
    RlcSwitch().prove(found.facts, found.facts)


@pytest.mark.parametrize("backend", [CudaBackend(), MusaBackend()])
def test_the_variable_has_no_vendor_s_prefix(backend) -> None:
    """The pass is one source for all vendors, and reads it by this name alone."""
    target = Target(python=Path("python"))
    off, on = (RlcSwitch().setup(arm, backend, ON, target).env for arm in ("off", "on"))
    assert off["FLAGTREE_RLC_TRACE_REJECTS"] == on["FLAGTREE_RLC_TRACE_REJECTS"] == "1"
    (variable,) = [
        v for v in RlcSwitch().variables(backend, ON) if v.name == "FLAGTREE_RLC_TRACE_REJECTS"
    ]
    assert variable.package == ""
