"""The part of flagkit that runs inside the benchmark's process.

It needs the standard library and pytest (with its pluggy) alone, and touches torch and
triton only once the benchmark has imported them. It measures, journals and lets the
test go on; it never decides a verdict. The host rules.
"""
