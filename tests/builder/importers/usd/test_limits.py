"""Caps are whole numbers."""

from __future__ import annotations

from dataclasses import fields

import pytest

from simengine.builder.importers.usd.limits import UsdLimits
from simengine.errors import ModelError


@pytest.mark.parametrize("value", [1.5, "3", None, True, -1, float("nan")])
@pytest.mark.parametrize("cap", [field.name for field in fields(UsdLimits)])
def test_caps_that_are_no_whole_numbers_are_refused_by_name(cap, value):
    with pytest.raises(ModelError) as caught:
        UsdLimits(**{cap: value})
    assert caught.value.element == f"UsdLimits, {cap}"
