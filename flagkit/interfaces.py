"""What a plug-in's hook returns: one typed object per kind.

Names are a contract; signatures may grow keyword by keyword. A plug-in's module is
imported on the host and, for backends, switches and tuners, inside the benchmark's
process too, where neither click nor rich need be installed: import those inside the
methods that use them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import click

    from flagkit.model import Damaged, Decision, Note, RangeReport, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a backend can run, and if not, why. "Not available" is an answer.

    ``facts`` are what the probe learned (versions, device names), for ``flagkit doctor``.
    """

    ok: bool
    reason: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ok and not self.reason:
            raise ValueError("a backend that cannot run has to say why")


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleGuard:
    """A skip mark of a benchmark that is out of date for a backend.

    ``file`` is the benchmark's file name, ``reason`` the mark's exact reason, ``test`` the
    one function it is stale for (empty: any in the file).
    """

    file: str
    reason: str
    test: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What both sides run on: the benchmark's Python and the environment it gets."""

    python: Path
    device: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSetup:
    """What one arm of a switch changes.

    ``env`` maps variables to values, None unsets. ``python``, ``pythonpath`` (put first)
    and ``gems_root`` replace the target's own where given.
    """

    env: Mapping[str, str | None] = field(default_factory=dict)
    python: Path | None = None
    pythonpath: Sequence[Path] = ()
    gems_root: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchVariable:
    """A variable and the package whose sources must hold its name (empty: not checked)."""

    name: str
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """What a switch takes out of a side's log.

    ``text`` is kept beside it as ``switch.log``, its first 256 KiB, with what does not print
    written out. ``facts`` join those of :meth:`Switch.observe` on their way to
    :meth:`Switch.prove`: up to 200, each of up to 500 characters.
    """

    text: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """A family of devices.

    Host side: :meth:`probe`, :meth:`environ`, :meth:`options`. Agent side, inside the
    benchmark's process: :meth:`device_interface`, :meth:`is_fatal`, :meth:`stale_guards`.
    """

    name: str
    summary: str
    flagtree_prefix: str | None
    """Stands before ``RLC`` in FlagTree's variables: ``""`` for NVIDIA, ``"MUSA"``, ...;
    None where there is no FlagTree."""
    gems_vendor: str | None
    """FlagGems' name of the vendor: ``"nvidia"``, ``"mthreads"``, ...; None: no FlagGems."""

    def probe(self, python: Path) -> Availability:
        """Whether *python* can drive the device. Runs a child with a time limit, never raises."""
        ...

    def environ(self, device: int) -> Mapping[str, str]:
        """The variables that make device number *device* the only visible one."""
        ...

    def device_interface(self) -> ModuleType | None:
        """The device's torch-like module (``Event``, ``Stream``, ``synchronize``); None: host."""
        ...

    def is_fatal(self, exc: BaseException) -> bool:
        """Whether *exc* says that the device's context is dead, so that no later call counts."""
        ...

    def stale_guards(self) -> Sequence[StaleGuard]:
        """Skip marks of FlagGems' benchmark to lift on this backend."""
        ...

    def options(self) -> Sequence[click.Option]:
        """Options named ``--<name>-...``."""
        ...


@runtime_checkable
class TakesOptions(Protocol):
    """What a backend has besides if it has options. Since 0.1."""

    def configured(self, options: Mapping[str, Any]) -> Backend:
        """The backend as *options* make it; this one stays as it is.

        Called first, on the host and again in the benchmark's process, with every option of
        :meth:`Backend.options` by its name without the prefix: as JSON keeps the values, so
        that both get the same. Raises :class:`flagkit.errors.UsageError` for wrong ones.
        """
        ...


class Switch(Protocol):
    """What differs between the sides. ``arms`` are (before, after), by custom off and on."""

    name: str
    summary: str
    arms: tuple[str, str]
    control: bool
    """Whether both arms are meant to be equal, so that any difference is noise."""

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """What *arm* sets. Raises :class:`flagkit.errors.FlagkitError` for wrong options."""
        ...

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """The variables it sets, each with the package that reads it."""
        ...

    def observe(self) -> Mapping[str, str]:
        """Agent side, after the benchmark is imported: what this process says of the switch.

        Journalled; the host passes both sides' facts to :meth:`prove`. Empty: nothing to say.
        """
        ...

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Host side, after the runs: whether both sides really saw their arm."""
        ...

    def options(self) -> Sequence[click.Option]:
        """Options named ``--<name>-...``."""
        ...


@runtime_checkable
class TakesExcerpts(Protocol):
    """What a switch may have besides: its own lines of a side's log. Since 0.1, optional."""

    def excerpt(self, lines: Iterable[bytes], options: Mapping[str, Any]) -> Excerpt | None:
        """Host side, when a side has ended: what in *lines* is the switch's; None: nothing asked.

        *lines* come from whatever the benchmark printed: any bytes, of any number. A line
        over 64 KiB is cut.
        """
        ...


class LogParser(Protocol):
    """One format of benchmark logs."""

    name: str
    summary: str

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a file that starts with *head* (up to 64 KiB) is of this format."""
        ...

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read *lines* as a stream. Any bytes are allowed; nothing is raised for them."""
        ...


class Reporter(Protocol):
    """One way to show reports."""

    name: str
    summary: str
    suffix: str
    """Of the file it makes, ``".csv"``."""

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Pure: equal reports give equal text. Several reports are one campaign."""
        ...

    def options(self) -> Sequence[click.Option]:
        """Options named ``--<name>-...``."""
        ...


class TuningLog(Protocol):
    """What the agent gives a tuner's plug-in to record into and replay from."""

    replaying: bool

    def lookup(
        self,
        tuner: str,
        kernel: str,
        key: str,
        *,
        source_hash: str = "",
        candidates_hash: str = "",
    ) -> Decision | None:
        """The decision recorded on the before side; None: none was, or this side records.

        The hashes are the tuner's own now, and tell tuners of one kernel name apart. A
        decision that another version of the kernel made is not given.
        """
        ...

    def decided(self, decision: Decision, state: str, reason: str = "") -> None:
        """Journal a decision: ``recorded``, ``replayed``, ``rebuilt`` or ``missed``.

        ``reason`` says why a recorded one could not be taken as it stands.
        """
        ...

    def note(self, code: str, text: str) -> None:
        """Journal a remark. ``code`` is for scripts. Each distinct one once."""
        ...

    def used(self, decision: Decision) -> None:
        """A call is about to launch what *decision* chose; noted for the timed call under way."""
        ...

    def tuning(self, tuner: str) -> Any:
        """A context manager around a tuner's own timing.

        Inside it ``do_bench`` is the original, and the generators' states are kept.
        """
        ...


class Tuner(Protocol):
    """How one family of autotuners is recorded and replayed. Lives in the agent."""

    name: str
    summary: str
    modules: tuple[str, ...]
    """Importing any of these is when :meth:`install` is called with it."""

    def install(self, module: ModuleType, log: TuningLog) -> None:
        """Make the tuners in *module* record into, or replay from, *log*."""
        ...
