"""Where an operator's benchmark is found.

A suite is a folder of pytest benchmarks; the mark on a test is the operator's name.
Nothing of a suite is imported here.
"""

from __future__ import annotations

from flagkit.suites.finding import BenchTarget, OpSpec, Suite, parse_op, resolve

__all__ = ["BenchTarget", "OpSpec", "Suite", "parse_op", "resolve"]
