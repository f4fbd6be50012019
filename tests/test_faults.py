"""Dead contexts are told by words, in any spelling, and nothing else is."""

from __future__ import annotations

import pytest

from flagkit.faults import mentions

ADVICE = (
    "\nSearch for `cudaErrorStreamCaptureUnsupported' in the runtime's documentation."
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
    "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    "\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
FATAL = [
    "CUDA error: an illegal memory access was encountered",
    "Triton Error [CUDA]: an illegal memory access was encountered",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "cudaErrorIllegalAddress",
    "MUSA error: unspecified launch failure",
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be ...",
    "cudaErrorAssert",
    f"CUDA error: an illegal memory access was encountered{ADVICE}",
    f"CUDA error: device-side assert triggered{ADVICE}",
    "CUDA error: the launch timed out and was terminated",
    "CUDA error: uncorrectable ECC error encountered",
    "CUDA out of memory. Tried to allocate 20.00 GiB",
    "CUDA error: unknown error",
]
HARMLESS = [
    f"CUDA error: operation not permitted when stream is capturing{ADVICE}",
    "",
    "cudaErrorStreamCaptureInvalidated",
    "CUDA error: operation not permitted when stream is capturing",
    "operation failed due to a previous error during capture",
    "Offset increment outside graph capture encountered unexpectedly.",
    "AssertionError: assert 1 == 2",
    "AssertionError assert x",
    "ValueError unknown key",
    "too many resources requested for launch",
    "out of resources: shared memory, Required: 300000, Hardware limit: 232448",
]


@pytest.mark.parametrize("text", FATAL)
def test_fatal(text):
    assert mentions(RuntimeError(text))


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless(text):
    assert not mentions(RuntimeError(text))


def test_the_cause_counts():
    try:
        try:
            raise RuntimeError("device-side assert triggered")
        except RuntimeError as cause:
            raise ValueError("the benchmark failed") from cause
    except ValueError as error:
        assert mentions(error)


def test_a_circle_of_causes_ends():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert not mentions(one)


def test_markers_of_ones_own():
    assert mentions(RuntimeError("ACME_FAULT_7: core stopped"), ["acme fault"])
    assert not mentions(RuntimeError("illegal memory access"), ["acme fault"])
