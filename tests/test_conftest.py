"""Absent reference data: skipped, or refused where it is required."""

import pytest

from tests.conftest import skip_or_fail


def test_absent_data_is_skipped_and_fails_only_where_it_is_required(monkeypatch):
    for value, outcome in ((None, pytest.skip), ("0", pytest.skip), ("1", pytest.fail)):
        if value is None:
            monkeypatch.delenv("SIMENGINE_REQUIRE_SHARED", raising=False)
        else:
            monkeypatch.setenv("SIMENGINE_REQUIRE_SHARED", value)
        with pytest.raises(outcome.Exception, match="no robots"):
            skip_or_fail("no robots")
