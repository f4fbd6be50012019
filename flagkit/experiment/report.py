"""From a run directory to reports, with or without a device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flagkit.compare.evidence import certify
from flagkit.compare.ranges import compare_rounds
from flagkit.compare.tuninglines import decode_tuning
from flagkit.errors import InputError, PluginError, calling
from flagkit.experiment.asrun import notes_of_run
from flagkit.experiment.collect import collect
from flagkit.experiment.excerpts import excerpt_of
from flagkit.experiment.kernelproof import KernelProof, prove
from flagkit.experiment.outputs import check_outputs
from flagkit.experiment.remeasured import as_decided, tuning_notes
from flagkit.experiment.rundir import write_text
from flagkit.experiment.verify import seal
from flagkit.jsonl import read_lines
from flagkit.model import SIDES, Note, RangeReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flagkit.compare.evidence import CertificateSummary
    from flagkit.experiment.rundir import RunDir
    from flagkit.interfaces import Switch
    from flagkit.model import RunLog
    from flagkit.plugins import Registry


def report_operator(
    rundir: RunDir, label: str, registry: Registry, switch: Switch | None
) -> RangeReport:
    """Compare the finished rounds of the operator that the run calls *label*.

    Raises :class:`InputError` where a side is missing, gave no row or ran on something else.
    """
    logs: list[tuple[RunLog, RunLog]] = []
    certificates: list[CertificateSummary] = []
    sides: list[tuple[Path, Path]] = list(rundir.rounds(label))
    if not sides:
        raise InputError(f"{rundir.root}: operator {label!r} has no round that finished")
    campaign = _campaign(rundir)
    notes = [*verify_notes(campaign), *notes_of_run(campaign, sides, label)]
    for round_, (before_dir, after_dir) in enumerate(sides, 1):
        before, after = collect(before_dir, registry), collect(after_dir, registry)
        before, after, certificate = certified(before_dir, after_dir, before, after)
        logs.append((before, after))
        certificates.append(certificate)
        prefix = f"round {round_}: " if len(sides) > 1 else ""
        told = _switch_notes((before_dir, after_dir), (before, after), switch)
        found = [*certificate_notes(certificate), *told]
        notes += [replace(note, text=f"{prefix}{note.text}") for note in found]
        notes += device_notes(before, after)
        notes += tuning_notes((before_dir, after_dir))
        notes += allowed_notes(before, after)
    proofs = [prove(*side) for side in sides]
    control = bool(switch is not None and switch.control)
    report = compare_rounds(logs, label=label, control=control)
    receipts = {
        "before": logs[0][0].receipt or {},
        "after": logs[0][1].receipt or {},
        "certificate": [c.to_json() for c in certificates],
        "kernels": proofs[0].to_json(),
    }
    report = replace(
        report,
        notes=(*report.notes, *proof_notes(proofs), *notes),
        receipts=receipts,
    )
    return check_outputs(report, sides, logs)


def _campaign(rundir: RunDir) -> dict[str, Any]:
    try:
        return rundir.campaign()
    except InputError:
        return {}  # what was found before is not known; what ran is compared all the same


def verify_notes(campaign: Mapping[str, Any]) -> Iterator[Note]:
    """That the check was left out without which a switch that nobody reads goes unnoticed."""
    request = campaign.get("request")
    left_out = isinstance(request, dict) and request.get("verify") is False
    if left_out and not campaign.get("control"):
        text = "nothing checked that what is installed reads the switch's variables (--no-verify)"
        yield Note(code="unverified", text=text)


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
        return as_decided(side, decode_tuning(file))


def certified(
    before_dir: Path, after_dir: Path, before: RunLog, after: RunLog
) -> tuple[RunLog, RunLog, CertificateSummary]:
    """Both sides' rows ruled by what their tuners did and by whether the switch was kept."""
    before, after, certificate = certify(_tuning(before_dir), _tuning(after_dir), before, after)
    return switch_kept(before), switch_kept(after), certificate


def proof_notes(proofs: Sequence[KernelProof]) -> Iterator[Note]:
    """What the kernels prove: once where every round says the same, else round by round.

    That both sides ran the same code is said only where it holds in every round.
    """
    told = [proof.notes() for proof in proofs]
    if all(notes == told[0] for notes in told):
        yield from told[0]
        return
    same = all(proof.same_code for proof in proofs)
    for round_, notes in enumerate(told, 1):
        for note in notes:
            if same or note.code != "same-code":
                yield replace(note, text=f"round {round_}: {note.text}")


def certificate_notes(certificate: CertificateSummary) -> Iterator[Note]:
    """The certificate, then what is wrong with its records."""
    yield certificate.note()
    yield from certificate.notes


def device_notes(before: RunLog, after: RunLog) -> Iterator[Note]:
    """What both receipts tell of the device and does not agree: its identity, its versions."""
    one, other = (facts_of(log) for log in (before, after))
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            text = f"{name} is {one[name]} before and {other[name]} after"
            yield Note(code="device-differs", text=text)


def allowed_notes(before: RunLog, after: RunLog) -> Iterator[Note]:
    """What a resumed side was measured on that was another when the campaign was begun."""
    for name, log in zip(SIDES, (before, after), strict=True):
        differs = (log.receipt or {}).get("differs")
        if isinstance(differs, list) and differs:
            text = f"run when {', '.join(map(str, differs))} had changed since the campaign began"
            yield Note(code="resumed-differs", text=text, side=name)


def facts_of(log: RunLog) -> dict[str, str]:
    """The facts of a side's receipt that must be the same on the other."""
    receipt = log.receipt or {}
    device, versions = receipt.get("device"), receipt.get("versions")
    start = device.get("start") if isinstance(device, dict) else None
    found = {
        f"device {name}": str(start[name])
        for name in ("uuid", "name")
        if isinstance(start, dict) and start.get(name)
    }
    state = start.get("state") if isinstance(start, dict) else None
    if isinstance(state, dict) and state.get("driver_version"):
        found["device driver"] = str(state["driver_version"])
    if isinstance(versions, dict):
        found |= {str(name): str(version) for name, version in versions.items()}
    return found


def _switch_notes(
    sides: tuple[Path, Path], logs: tuple[RunLog, RunLog], switch: Switch | None
) -> Iterator[Note]:
    """What the switch itself makes of what both processes saw of it, and of what they printed."""
    if switch is None:
        return
    facts = []
    for name, side, log in zip(SIDES, sides, logs, strict=True):
        excerpt, problem = excerpt_of(log.receipt)
        facts.append({**_switch_facts(side / "measurements.jsonl"), **excerpt})
        if problem:
            yield Note(code="excerpt-failed", text=problem, side=name)
    if not any(facts):
        return
    try:
        with calling("switch", switch.name, "prove"):
            yield from list(switch.prove(facts[0], facts[1]))
    except PluginError as error:  # the sides were measured and stand
        yield Note(code="switch-failed", text=str(error))


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
    labels = list(dict.fromkeys(_label(step) for step in _plan(campaign)))
    switch: Switch | None = None
    request: Any = campaign.get("request")
    name = str(request.get("switch", "")) if isinstance(request, dict) else ""
    try:
        switch = registry.switch(name)
    except PluginError:
        switch = None  # the plug-in is not installed here; the rows still stand
    reports, failed = [], {}
    for label in labels:
        try:
            reports.append(report_operator(rundir, label, registry, switch))
        except InputError as error:
            failed[label] = str(error)
            reports.append(empty_report(rundir, label, failed[label]))
    return reports, failed


def empty_report(rundir: RunDir, label: str, problem: str) -> RangeReport:
    """What stands for an operator that could not be compared, so that no report leaves it out."""
    return RangeReport(label=label, incomplete=(problem.replace(f"{rundir.root}/", ""),))


def _plan(campaign: Mapping[str, Any]) -> list[dict[str, Any]]:
    plan = campaign.get("plan")
    return [step for step in plan if isinstance(step, dict)] if isinstance(plan, list) else []


def _label(step: Mapping[str, Any]) -> str:
    return str(step.get("label") or step.get("op", ""))


def write_reports(rundir: RunDir, reports: Sequence[RangeReport], registry: Registry) -> None:
    """Keep ``report.json`` and ``report.md`` in the run directory, and their receipt."""
    names = []
    for name in ("json", "markdown"):
        reporter = registry.reporter(name)
        text = reporter.render(reports, {})
        names.append(f"report{reporter.suffix}")
        write_text(rundir.root / names[-1], text if text.endswith("\n") else f"{text}\n")
    seal(rundir, names)
