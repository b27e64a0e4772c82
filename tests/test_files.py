"""New files appear whole, with the modes of any new file, or not at all."""

import os

import pytest

from simengine.errors import AssetError
from simengine.files import write_beside, write_new


@pytest.mark.skipif(os.name != "posix", reason="modes and umask are POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_modes_are_those_of_any_new_file(tmp_path, mask):
    old = os.umask(mask)
    try:
        write_new(tmp_path / "a", lambda file: file.write(b"1"))
        (tmp_path / "plain").write_bytes(b"")
        assert os.umask(mask) == mask
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced, replaced = [], []
    fsync, replace = os.fsync, os.replace

    def note_sync(handle):
        assert os.fstat(handle).st_size == 5  # what was written is no longer in the buffer of Python
        synced.append(True)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", lambda *names: (replaced.append(list(synced)), replace(*names)))
    write_new(tmp_path / "a", lambda file: file.write(b"12345"))
    assert replaced == [[True]]
    assert (tmp_path / "a").read_bytes() == b"12345"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("broken"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "a").write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise error

    with pytest.raises(AssetError if isinstance(error, OSError) else type(error)):
        write_new(tmp_path / "a", fail)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"old")]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    missing = tmp_path / "no" / "a"
    with pytest.raises(AssetError, match=f"{missing}: cannot be written: there is no folder {tmp_path / 'no'}"):
        write_new(missing, lambda file: None)
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(AssetError, match=f"{folder}: cannot be written"):
        write_new(folder, lambda file: None)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_file_beside_is_in_the_same_folder_and_is_not_the_file(tmp_path):
    beside = write_beside(tmp_path / "a", lambda file: file.write(b"1"))
    assert beside.parent == tmp_path
    assert [file.name for file in tmp_path.iterdir()] == [beside.name] != ["a"]
