"""Every built-in backend keeps its contract."""

from __future__ import annotations

import pytest

from flagkit.testing import BackendContract

STICKY = (
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("CUDA error: unspecified launch failure"),
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("cudaErrorIllegalAddress"),
    RuntimeError("CUDA_ERROR_LAUNCH_FAILED"),
    RuntimeError("Triton Error [CUDA]: misaligned address"),
    RuntimeError("CUDA error: out of memory"),
)


class TestCpu(BackendContract):
    @pytest.fixture
    def module(self):
        return "flagkit_cpu"


class TestCuda(BackendContract):
    @pytest.fixture
    def module(self):
        return "flagkit_cuda"

    @pytest.fixture
    def fatal(self):
        return STICKY


class TestMusa(BackendContract):
    @pytest.fixture
    def module(self):
        return "flagkit_musa"

    @pytest.fixture
    def fatal(self):
        renamed = [RuntimeError(str(e).replace("CUDA", "MUSA")) for e in STICKY]
        return (*renamed, RuntimeError("musaErrorAssert"), RuntimeError("MUSA error: GPU hang"))
