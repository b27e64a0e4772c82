"""Options of importers are checked before a file is read."""

from __future__ import annotations

import pytest

from simengine.builder.builder import ModelBuilder
from simengine.errors import ModelError


@pytest.mark.parametrize("method", ["add_urdf", "add_mjcf", "add_usd"])
@pytest.mark.parametrize("untrusted", [False, True])
@pytest.mark.parametrize("option", ["xml_limits", "mesh_limits", "untrusted_limits"])
def test_caps_of_another_kind_are_refused_by_name(tmp_path, method, untrusted, option):
    with pytest.raises(ModelError, match="it must be a") as caught:
        getattr(ModelBuilder(), method)(tmp_path / "not read", untrusted=untrusted, **{option: 3})
    assert caught.value.element == f"import, {option}"
