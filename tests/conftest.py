"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simengine.runtime import devices


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; where it is absent the test is skipped.

    It fails instead where the environment variable SIMENGINE_REQUIRE_SHARED=1 says that the data must be there.
    """
    folder = Path(__file__).resolve().parent.parent.parent / "shared"
    if not folder.is_dir():
        skip_or_fail(f"the folder of reference data is not at {folder}")
    return folder


def skip_or_fail(absent: str) -> None:
    """Skip the test, saying what reference data is absent; fail where it is required."""
    if os.environ.get("SIMENGINE_REQUIRE_SHARED") == "1":
        pytest.fail(f"{absent}, and SIMENGINE_REQUIRE_SHARED=1 requires it")
    pytest.skip(absent)


@pytest.fixture(params=["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def device(request) -> devices.Device:
    """Every device: the CPU, and the first GPU where there is one."""
    return devices.get_device(request.param)


@pytest.fixture(params=["float32", "float64"])
def precision(request) -> str:
    """Both precisions."""
    return request.param


def pytest_collection_modifyitems(items):
    """Skip what needs a GPU where there is none, saying what is missing."""
    if not any(item.get_closest_marker("gpu") for item in items):
        return
    problem = devices.gpu_problem()
    if problem:
        skip = pytest.mark.skip(reason=f"needs a GPU: {problem}")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(skip)
