"""Tests that need an accelerator; elsewhere each is skipped with its reason."""

from __future__ import annotations

# Suites for `flagkit ab`, each with a pytest.ini of its own; test_known_effect_suite.py and
# test_rlc_standin_suite.py look at them.
collect_ignore = ["known_effect", "rlc_standin"]
