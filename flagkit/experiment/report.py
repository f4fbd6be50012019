"""From a run directory to reports, with or without a device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flagkit.compare.evidence import certify
from flagkit.compare.ranges import compare_rounds
from flagkit.compare.tuninglines import decode_tuning
from flagkit.errors import InputError, PluginError
from flagkit.experiment.collect import collect
from flagkit.experiment.kernelproof import prove
from flagkit.experiment.rundir import write_text
from flagkit.jsonl import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flagkit.compare.evidence import CertificateSummary
    from flagkit.experiment.rundir import RunDir
    from flagkit.interfaces import Switch
    from flagkit.model import Note, RangeReport, RunLog
    from flagkit.plugins import Registry


def report_operator(
    rundir: RunDir, op: str, registry: Registry, switch: Switch | None
) -> RangeReport:
    """Compare the finished rounds of one operator.

    Raises :class:`InputError` where a side is missing or gave no row.
    """
    logs: list[tuple[RunLog, RunLog]] = []
    notes: list[Note] = []
    certificates: list[CertificateSummary] = []
    sides: list[tuple[Path, Path]] = list(rundir.rounds(op))
    if not sides:
        raise InputError(f"{rundir.root}: operator {op!r} has no round that finished")
    for before_dir, after_dir in sides:
        before, after = collect(before_dir, registry), collect(after_dir, registry)
        before, after, certificate = certify(
            _tuning(before_dir),
            _tuning(after_dir),
            before,
            after,
        )
        logs.append((switch_kept(before), switch_kept(after)))
        certificates.append(certificate)
        notes += _switch_notes(before_dir, after_dir, switch)
    proof = prove(*sides[0])
    control = bool(switch is not None and switch.control)
    report = compare_rounds(logs, label=op, control=control)
    receipts = {
        "before": logs[0][0].receipt or {},
        "after": logs[0][1].receipt or {},
        "certificate": [c.to_json() for c in certificates],
        "kernels": proof.to_json(),
    }
    return replace(
        report,
        notes=(*report.notes, *proof.notes(), *_certificate_notes(certificates), *notes),
        receipts=receipts,
    )


def switch_kept(log: RunLog) -> RunLog:
    """*log* with the rows ruled out at whose call the switch was not what the host set."""
    reason = "the benchmark changed the switch's variable before this call"
    return replace(
        log,
        rows=tuple(
            replace(row, certificate="config-drift", reason=reason)
            if "switch-changed" in row.flags
            else row
            for row in log.rows
        ),
    )


def _tuning(side: Path) -> list[Any]:
    path = side / "tuning.jsonl"
    if not path.is_file():
        return []
    with path.open("rb") as file:
        return decode_tuning(file)


def _certificate_notes(certificates: Sequence[CertificateSummary]) -> Iterator[Note]:
    for certificate in certificates:
        yield certificate.note()
        yield from certificate.notes


def _switch_notes(before: Path, after: Path, switch: Switch | None) -> Iterator[Note]:
    """What the switch itself makes of what both processes saw of it."""
    if switch is None:
        return
    facts = [_switch_facts(side / "measurements.jsonl") for side in (before, after)]
    if any(facts):
        yield from switch.prove(facts[0], facts[1])


def _switch_facts(path: Path) -> Mapping[str, str]:
    facts: dict[str, str] = {}
    for line in read_lines(path):
        found = line.get("facts")
        if line.get("kind") == "switch" and isinstance(found, dict):
            facts = {str(name): str(value) for name, value in found.items()}
    return facts


def report_campaign(rundir: RunDir, registry: Registry) -> tuple[list[RangeReport], dict[str, str]]:
    """Every operator's report, and what went wrong with those that have none."""
    campaign = rundir.campaign()
    ops = list(dict.fromkeys(str(step.get("op", "")) for step in _plan(campaign)))
    switch: Switch | None = None
    request: Any = campaign.get("request")
    name = str(request.get("switch", "")) if isinstance(request, dict) else ""
    try:
        switch = registry.switch(name)
    except PluginError:
        switch = None  # the plug-in is not installed here; the rows still stand
    reports, failed = [], {}
    for op in ops:
        try:
            reports.append(report_operator(rundir, op, registry, switch))
        except InputError as error:
            failed[op] = str(error)
    return reports, failed


def _plan(campaign: Mapping[str, Any]) -> list[dict[str, Any]]:
    plan = campaign.get("plan")
    return [step for step in plan if isinstance(step, dict)] if isinstance(plan, list) else []


def write_reports(rundir: RunDir, reports: Sequence[RangeReport], registry: Registry) -> None:
    """Keep ``report.json`` and ``report.md`` in the run directory."""
    for name in ("json", "markdown"):
        reporter = registry.reporter(name)
        text = reporter.render(reports, {})
        write_text(rundir.root / f"report{reporter.suffix}", text)
