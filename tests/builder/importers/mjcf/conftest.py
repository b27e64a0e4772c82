"""MuJoCo's library writes its warnings to a file in the working folder: that is a temporary one here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def temporary_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
