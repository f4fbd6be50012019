"""Tests that need an accelerator; elsewhere each is skipped with its reason."""

from __future__ import annotations

# A suite for `flagkit ab`, with a pytest.ini of its own; test_known_effect_suite.py looks at it.
collect_ignore = ["known_effect"]
