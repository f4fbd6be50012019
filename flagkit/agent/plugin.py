"""The pytest plug-in: ``python -m pytest SUITE -s -p flagkit.agent.plugin``.

Without a configuration from the host (see :mod:`flagkit.agent.config`) the fixture works
and nothing is journalled, so that a suite runs by itself too.
"""

from __future__ import annotations

import gc
import os
import sys
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent.assembly import Assembly
from flagkit.agent.config import AgentConfig
from flagkit.agent.guards import lift
from flagkit.agent.outcomes import one_line
from flagkit.agent.session import Label, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from flagkit.agent.timing import Latency

BUILTIN_MARKS = frozenset(
    ("parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "timeout")
)


class Bench:
    """The fixture ``flagkit_bench``: times a call and gives its latency in ms.

    ``op``, ``dtype`` and ``size_detail`` name the row; without them the operator is the
    test's first own mark, else its name. The number returned carries the call's id.
    Raises what *fn* raises.
    """

    def __init__(self, session: Session, op: str) -> None:
        self._session = session
        self._op = op

    def __call__(
        self,
        fn: Callable[[], Any],
        *,
        op: str = "",
        dtype: str = "unknown",
        size_detail: str = "",
        grad_to_none: Sequence[Any] = (),
    ) -> Latency:
        """Time *fn*; one journalled row."""
        label = Label(op=op or self._op, dtype=dtype, size_detail=size_detail)
        fallback = self._session.fallback
        return self._session.time(
            fn,
            label=label,
            role="row",
            grad_to_none=grad_to_none,
            original_all=partial(fallback, fn, grad_to_none) if fallback else None,
        ).latency

    def regime_line(self, latency: Latency, op: str = "") -> str:
        """The line to print before a table, so that the log alone tells how it was timed."""
        return self._session.regime_line(getattr(latency, "call", None), op or self._op)


class AgentPlugin:
    """Follows the tests of one benchmark process and journals how each ended."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.session = assembly.session
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._deselected: list[pytest.Item] = []

    @pytest.fixture
    def flagkit_bench(self, request: pytest.FixtureRequest) -> Bench:
        """Times a call: ``flagkit_bench(fn, op=..., dtype=..., size_detail=...) -> ms``."""
        own = (m.name for m in request.node.iter_markers() if m.name not in BUILTIN_MARKS)
        return Bench(self.session, next(own, request.node.name))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Tests of a file that do not run are no proof of what is not in it."""
        self._deselected.extend(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Lift the skip marks that are out of date for this backend."""
        guards = self.assembly.stale_guards()
        if not guards:
            return
        lifted, absent = lift(items, guards, self._deselected)
        for text in lifted:
            self.session.note("guard-lifted", text)
        for text in absent:
            self.session.note("guard-absent", text)

    def pytest_collection_finish(self) -> None:
        """Every benchmark module is loaded now; what is alive stays, and is not searched again."""
        self.assembly.collected()
        gc.collect()
        gc.freeze()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that could not be collected is a reason for missing rows."""
        if report.failed:
            self._test_line(report.nodeid, outcome="failed", when="collect", reason=_reason(report))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """One seed per test, fixtures included."""
        self.session.begin(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The test body runs under one stream, so that a backward shares its forward's.

        Garbage is collected before each timed call and not whenever a counter says so: what
        is freed when decides where the allocator puts the next tensor.
        """
        self.session.seed()
        collecting = gc.isenabled()
        gc.disable()
        try:
            with self.assembly.stream():
                return (yield)
        except BaseException as error:
            self.assembly.survived(error)
            raise
        finally:
            if collecting:
                gc.enable()
            if self.session.fatal:
                # Every later call would fail or lie; the next operator has its own process.
                item.session.shouldstop = f"the device is dead: {self.session.fatal}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the phase that decided the test; write it when the test is over."""
        kept = self._outcomes.setdefault(
            report.nodeid, {"outcome": "passed", "when": "call", "reason": "", "seconds": 0.0}
        )
        kept["seconds"] = round(kept["seconds"] + report.duration, 3)
        if report.outcome != "passed" and kept["outcome"] == "passed":
            kept.update(outcome=report.outcome, when=report.when, reason=_reason(report))
        if report.when == "teardown":
            self._test_line(report.nodeid, **self._outcomes.pop(report.nodeid))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """The last line: without it the host knows the process died."""
        self.assembly.finish()
        gc.unfreeze()
        self.session.journal.write({"kind": "end", "exit": int(exitstatus), "time": _now()})
        self.assembly.close()

    def _test_line(self, node: str, **facts: Any) -> None:
        self.session.journal.write({"kind": "test", "node": node, **facts})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Build the session and register what follows the tests."""
    orders = AgentConfig.load(os.environ)
    in_workers = orders is not None and _end_distribution(config)
    assembly = Assembly(orders or AgentConfig())
    plugin = AgentPlugin(assembly)
    config.pluginmanager.register(plugin, "flagkit-agent")
    plugin.session.journal.write(
        {
            "kind": "start",
            "schema": 1,
            "side": assembly.config.side,
            "op": assembly.config.op,
            "backend": assembly.config.backend.name if assembly.config.backend else "",
            "timing": assembly.config.timing,
            "seed": assembly.config.seed,
            "python": sys.version.split()[0],
            "executable": sys.executable,
            "pid": os.getpid(),
            "time": _now(),
        }
    )
    assembly.start()
    if in_workers:
        text = "pytest-xdist was asked for: the tests run one by one in this process instead"
        plugin.session.note("xdist", text)


def _end_distribution(config: pytest.Config) -> bool:
    """Keep pytest-xdist from running the tests in workers, if it was about to.

    Workers would measure at the same time on one device and number their calls alike.
    xdist looks at these options when it is configured, which comes after this.
    """
    if getattr(config.option, "dist", "no") == "no":
        return False
    config.option.dist, config.option.tx = "no", []
    return True


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The message of a failed or skipped phase, on one line."""
    longrepr = report.longrepr
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        text = str(crash.message)
    elif isinstance(longrepr, tuple):
        text = str(longrepr[2])
    else:
        text = str(longrepr or "").strip().rsplit("\n", 1)[-1]
    return one_line(text, 500)
