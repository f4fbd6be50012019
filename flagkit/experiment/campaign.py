"""Turns a request into sides that are ready to run. Nothing is measured or written here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit import errors
from flagkit.experiment import sides
from flagkit.experiment.asking import Standpoint
from flagkit.experiment.configuring import configured, plain
from flagkit.experiment.labels import labels
from flagkit.experiment.noswitch import NoSwitch
from flagkit.experiment.sides import SideSpec
from flagkit.interfaces import ArmSetup, Target
from flagkit.model import SIDES
from flagkit.plugins import Kind
from flagkit.suites import BenchTarget, parse_op, resolve
from flagkit.suites.flaggems import flaggems_args, flaggems_suite
from flagkit.suites.folder import folder_suite
from flagkit.suites.hostbench import suite as hostbench_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flagkit.experiment.request import Request, Step
    from flagkit.interfaces import Availability, Switch
    from flagkit.model import Side
    from flagkit.plugins import Registry
    from flagkit.suites import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator and where each side finds its benchmark (they differ between builds).

    ``label`` is its name in this run: another one where files share an operator's name.
    """

    op: str
    label: str
    targets: Mapping[Side, BenchTarget]


class Campaign:
    """A request with its plug-ins loaded, its arms set up and its operators found.

    :param base: the environment both sides start from.

    Raises :class:`flagkit.errors.FlagkitError` for anything that cannot be done.
    """

    def __init__(self, request: Request, registry: Registry, base: Mapping[str, str]) -> None:
        self.request = request
        self.registry = registry
        self.backend = configured(registry, request.backend, request.backend_options)
        self.switch: Switch = registry.switch(request.switch) if request.switch else NoSwitch()
        self.tuners, self.tuner_problems = _tuners(registry)
        self._base = sides.started_elsewhere(base)
        self.answers: dict[Path, Availability] = {}
        with errors.calling("backend", request.backend, "environ"):
            self._device = {**self.backend.environ(request.device)}
            _check_texts(self._device, str)
        target = Target(
            python=request.python, device=request.device, environ={**self._base, **self._device}
        )
        with errors.calling("switch", request.switch, "setup"):
            self.arms: dict[Side, ArmSetup] = {
                side: self.switch.setup(arm, self.backend, request.switch_options, target)
                for side, arm in zip(SIDES, self.switch.arms, strict=True)
            }
            for arm in self.arms.values():
                _check_texts(arm.env, (str, type(None)))

    def operators(self, *, required: bool = True) -> tuple[Operator, ...]:
        """Where each operator's benchmark is.

        With ``required=False``, for a dry run, an operator of a FlagGems checkout that was
        not named is given a path that only shows what is missing.
        """
        suites = {side: self._suite(arm) for side, arm in self.arms.items()}
        missing = [side for side, suite in suites.items() if suite is None]
        if missing and required:
            raise errors.UsageError(
                f"backend {self.backend.name!r} benchmarks FlagGems: name its checkout with "
                "--gems-root DIR, or another suite with --suite PATH"
            )
        if missing:
            return tuple(
                Operator(op=op, label=text, targets=dict.fromkeys(SIDES, _nowhere(op)))
                for text, op in ((text, parse_op(text).op) for text in self.request.ops)
            )
        found = {side: suite for side, suite in suites.items() if suite is not None}
        if not self.request.ops and self.request.gems_root and not self.request.suite:
            raise errors.UsageError(
                'name the operators to run with --ops "OP OP:FILE ..."; FlagGems has hundreds'
            )
        texts = self.request.ops or tuple(found["before"].operators())
        if not texts:
            raise errors.InputError(f"{self.request.suite}: no benchmark was found there")
        return self._labelled(self._targets(text, found) for text in texts)

    def availability(self) -> Availability:
        """Whether the backend can run with this Python. Runs a child for each Python.

        What each answered is kept in ``answers``.
        """
        for side in SIDES:
            python = self.python(side)
            if python not in self.answers:
                with errors.calling("backend", self.request.backend, "probe"):
                    self.answers[python] = self.backend.probe(python)
            answer = self.answers[python]
            if not answer.ok:
                return answer
        return answer

    def python(self, side: Side) -> Path:
        """The interpreter of a side: the arm's own, else the one asked for."""
        return self.arms[side].python or self.request.python

    def spec(self, operator: Operator, step: Step, directory: Path, harness: Path) -> SideSpec:
        """One process: its command and whole environment."""
        arm, target = self.arms[step.side], operator.targets[step.side]
        python = self.python(step.side)
        return SideSpec(
            op=operator.op,
            side=step.side,
            round=step.round,
            arm=self.switch.arms[SIDES.index(step.side)],
            directory=directory,
            python=python,
            command=sides.command(python, target, harness),
            cwd=harness if target.in_package else target.cwd,
            environ=sides.environment(
                self._base,
                backend=self._device,
                arm=arm,
                directory=directory,
                harness=harness,
                allowed=self.request.allow_diff,
            ),
            watch=dict(arm.env),
        )

    def switch_names(self) -> set[str]:
        """What may differ: the switch's variables, and what a `build` arm replaces."""
        names = {name for arm in self.arms.values() for name in arm.env}
        before, after = self.arms["before"], self.arms["after"]
        if tuple(before.pythonpath) != tuple(after.pythonpath):
            names.add("PYTHONPATH")
        if before.python != after.python:
            names.add("python")
        if before.gems_root != after.gems_root:
            names.add("cwd")
        return names

    def environ(self, side: Side) -> dict[str, str]:
        """The environment of a side without its private paths, for looking around in it.

        What the caller has on ``PYTHONPATH`` stays: FlagGems is often run from its source.
        """
        environ = sides.environment(
            self._base,
            backend=self._device,
            arm=self.arms[side],
            directory=Path(),
            harness=Path(),
            allowed=self.request.allow_diff,
        )
        found = {name: v for name, v in environ.items() if name not in sides.PRIVATE}
        inherited = self._base.get("PYTHONPATH", "")
        paths = [*map(str, self.arms[side].pythonpath), *([inherited] if inherited else [])]
        return found | ({"PYTHONPATH": ":".join(paths)} if paths else {})

    def standpoint(self, side: Side) -> Standpoint:
        """From where a side's benchmark is started, for asking what it would import."""
        suite = self._suite(self.arms[side])
        return Standpoint(
            python=self.python(side),
            environ=self.environ(side),
            cwd=suite.cwd if suite else None,
            suite=suite.folder if suite else None,
            args=self.request.bench_args,
        )

    @property
    def across_builds(self) -> bool:
        """Whether the switch is another build: the sides import other code."""
        return bool({"PYTHONPATH", "python", "cwd"} & self.switch_names())

    def modules(self) -> list[str]:
        """Every plug-in module the agent needs."""
        chosen = [self._plugin(Kind.BACKEND), self._plugin(Kind.SWITCH), *self.tuners]
        return [plugin["module"] for plugin in chosen if plugin]

    def _plugin(self, kind: Kind) -> dict[str, str] | None:
        name = self.request.backend if kind is Kind.BACKEND else self.request.switch
        if not name:
            return None
        return {"name": name, "module": self.registry.provider(kind, name).module}

    def agent_config(
        self, spec: SideSpec, replay: Path | None, *, across_builds: bool = False
    ) -> dict[str, Any]:
        """What the agent is told (``flagkit.agent.config``).

        *across_builds*: what is replayed is of another build, though no switch says so.
        """
        request = self.request
        return {
            "schema": 1,
            "side": spec.side,
            "op": spec.op,
            "round": spec.round,
            "backend": {
                **(self._plugin(Kind.BACKEND) or {}),
                "options": plain(request.backend_options),
            },
            "switch": self._plugin(Kind.SWITCH),
            "tuners": self.tuners,
            "directory": str(spec.directory),
            "replay": str(replay) if replay else None,
            "timing": request.timing,
            "seed": request.seed,
            "watch": dict(spec.watch),
            "control": request.control,
            "check": request.check,
            "across_builds": across_builds or self.across_builds,
        }

    def _suite(self, arm: ArmSetup) -> Suite | None:
        request = self.request
        if request.suite is not None:
            return folder_suite(request.suite)
        root = arm.gems_root or request.gems_root
        if root is not None:
            return flaggems_suite(root)
        return hostbench_suite() if self.backend.gems_vendor is None else None

    def _labelled(self, found: Iterable[Mapping[Side, BenchTarget]]) -> tuple[Operator, ...]:
        """What was asked for, each once: two spellings may mean one benchmark."""
        once = {
            (targets["before"].op, *(target.path for target in targets.values())): targets
            for targets in found
        }
        chosen = list(once.values())
        names = labels([(targets["before"].op, targets["before"].path) for targets in chosen])
        return tuple(
            Operator(op=targets["before"].op, label=label, targets=targets)
            for label, targets in zip(names, chosen, strict=True)
        )

    def _targets(self, text: str, suites: Mapping[Side, Suite]) -> dict[Side, BenchTarget]:
        spec = parse_op(text)
        return {side: self._target(spec, suite) for side, suite in suites.items()}

    def _target(self, spec: Any, suite: Suite) -> BenchTarget:
        request, target = self.request, resolve(spec, suite=suite)
        _refuse_shadow(target)
        extra: tuple[str, ...] = ()
        if request.suite is None and not target.in_package:
            extra = flaggems_args(
                request.level, request.dtypes, request.control, self.backend.gems_vendor
            )
        elif request.dtypes or request.level != "core" or request.control != "none":
            raise errors.UsageError(
                f"--level, --dtype and --control are FlagGems' own; {suite.name} has none of them"
            )
        return replace(target, args=(*target.args, *extra, *request.bench_args))


def _refuse_shadow(target: BenchTarget) -> None:
    """Python looks in the folder it is started in first, before the run's harness."""
    for name in ("flagkit", "flagkit.py"):
        if not target.in_package and (target.cwd / name).exists():
            raise errors.UsageError(
                f"{target.cwd / name} would be imported instead of the code that measures: "
                "run the benchmark from a folder without it"
            )


def _nowhere(op: str) -> BenchTarget:
    root = Path("GEMS_ROOT")
    path = root / "benchmark" / f"test_{op}.py"
    return BenchTarget(op=op, path=path, args=("-m", op), cwd=root, in_package=False)


def _check_texts(environ: Mapping[str, Any], allowed: type | tuple[type, ...]) -> None:
    """A variable's value is text; anything else would fail far from here."""
    for name, value in environ.items():
        if not isinstance(value, allowed):
            raise TypeError(f"the value of {name} is {value!r}, which is no text")


def _tuners(registry: Registry) -> tuple[list[dict[str, str]], list[str]]:
    """Every tuner that loads; a broken one is named and breaks only itself."""
    good, problems = [], []
    for status in registry.check((Kind.TUNER,)):
        if status.problem:
            problems.append(status.problem)
        else:
            good.append({"name": status.provider.name, "module": status.provider.module})
    return good, problems
