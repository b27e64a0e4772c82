"""Compilations in child processes: what goes wrong is told, not raised."""

import errno
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from simengine.runtime import background, cache


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """An empty cache folder of this test's own."""
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})
    return tmp_path / "cache"


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_with_no_room_for_its_folder_is_its_error(monkeypatch):
    monkeypatch.setattr(background, "tempfile", SimpleNamespace(mkdtemp=full))
    compilation = background.Compilation("int x;", "small", "cpu")
    assert compilation.poll() and "No space left" in compilation.error
    compilation.stop()


def test_a_disk_with_no_room_for_its_text_is_its_error_and_leaves_nothing(monkeypatch, place):
    monkeypatch.setattr(Path, "write_text", full)
    compilation = background.Compilation("int x;", "small", "cpu")
    assert compilation.poll() and "No space left" in compilation.error
    assert list(place.iterdir()) == [] and background.running() == 0


def test_a_folder_that_was_removed_meanwhile_is_its_error(place):
    compilation = background.Compilation("no C++ at all", "nonsense", "cpu")
    shutil.rmtree(place)
    while not compilation.poll():
        time.sleep(0.01)
    assert "the process that compiled it ended with code" in compilation.error
