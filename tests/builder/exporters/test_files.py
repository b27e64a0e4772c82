"""Exports appear whole or not at all."""

from __future__ import annotations

import os

import pytest

import simengine as sim
from simengine.builder.exporters import files
from simengine.builder.exporters.files import NewFiles
from simengine.errors import AssetError, ModelError


def test_all_files_appear_with_the_permissions_of_new_files(tmp_path):
    out = NewFiles(tmp_path / "a.xml", (".xml",), "export")
    assert out.add("m.obj", b"mesh") == "a_meshes/m.obj"
    written = out.write(b"main")
    assert written == [str(tmp_path / "a_meshes" / "m.obj"), str(tmp_path / "a.xml")]
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "a.xml").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.xml", "a_meshes", "m.obj", "plain"]


@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_failed_write_leaves_the_old_file_and_nothing_new(tmp_path, monkeypatch, fails_at):
    (tmp_path / "a.xml").write_bytes(b"old")
    calls = []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) > fails_at:
            raise OSError(28, "No space left on device")
        return original(*arguments)

    original = files.write_beside
    monkeypatch.setattr(files, "write_beside", failing)
    out = NewFiles(tmp_path / "a.xml", (".xml",), "export")
    out.add("m.obj", b"mesh")
    with pytest.raises(AssetError, match="No space left"):
        out.write(b"new")
    assert [p.name for p in tmp_path.rglob("*")] == ["a.xml"]
    assert (tmp_path / "a.xml").read_bytes() == b"old"


def export_of(tmp_path, name: str, *meshes: str) -> None:
    out = NewFiles(tmp_path / name, (".xml", ".urdf"), "export")
    names = [out.add(mesh, b"mesh") for mesh in meshes]
    out.write(" ".join(names).encode())


def test_meshes_of_an_older_export_are_removed_and_nothing_else(tmp_path):
    """Ours, named by their content, go once no main file of the folder names them; those of the user stay."""
    one, two, three = (f"m-{digit * 10}.obj" for digit in "123")
    export_of(tmp_path, "a.xml", one, two)
    (tmp_path / "a_meshes" / "mine.obj").write_bytes(b"")
    (tmp_path / "a_meshes" / f"{three}.bak").write_bytes(b"")
    (tmp_path / "copy.urdf").write_bytes(f"a_meshes/{two}".encode())
    export_of(tmp_path, "a.xml", three)
    left = {file.name for file in (tmp_path / "a_meshes").iterdir()}
    assert left == {two, three, "mine.obj", f"{three}.bak"}
    (tmp_path / "copy.urdf").unlink()
    export_of(tmp_path, "a.urdf", one)  # of the same stem: its folder is that of a.xml
    left = {file.name for file in (tmp_path / "a_meshes").iterdir()}
    assert left == {one, three, "mine.obj", f"{three}.bak"}


def test_a_folder_of_meshes_that_is_empty_now_goes_too(tmp_path):
    export_of(tmp_path, "a.xml", "m-0123456789.obj")
    export_of(tmp_path, "a.xml")
    assert os.listdir(tmp_path) == ["a.xml"]


def test_nothing_is_removed_behind_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "m-0123456789.obj").write_bytes(b"")
    (tmp_path / "a_meshes").symlink_to("elsewhere")
    export_of(tmp_path, "a.xml")
    assert os.listdir(tmp_path / "elsewhere") == ["m-0123456789.obj"]


def test_an_old_mesh_that_cannot_be_removed_is_told(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    export_of(tmp_path, "a.xml", "m-0123456789.obj")
    monkeypatch.setattr(files.Path, "unlink", refuse)
    with pytest.warns(UserWarning, match="meshes of an older export stay: Permission denied"):
        export_of(tmp_path, "a.xml")
    assert (tmp_path / "a.xml").read_bytes() == b""


@pytest.mark.parametrize("export", [sim.export_mjcf, sim.export_urdf, sim.export_usd])
def test_a_wrong_path_is_refused(export, tmp_path):
    builder = sim.ModelBuilder()
    with pytest.raises(ModelError, match="it must end in"):
        export(builder, tmp_path / "robot.step")
    with pytest.raises(ModelError, match="it must be a path"):
        export(builder, 7)
    folder = tmp_path / "folder.xml"
    folder.mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        sim.export_mjcf(builder, folder)
    with pytest.raises(AssetError, match="there is no folder"):
        sim.export_mjcf(builder, tmp_path / "missing" / "robot.xml")
    assert os.listdir(tmp_path) == ["folder.xml"]


EXPORTS = [(sim.export_mjcf, "xml"), (sim.export_urdf, "urdf"), (sim.export_usd, "usda")]


@pytest.mark.parametrize(("export", "ending"), EXPORTS)
def test_a_name_that_no_file_can_have_is_refused(export, ending, tmp_path):
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(AssetError, match="null character"):
        export(builder, f"{tmp_path}/a\0b.{ending}")
    with pytest.raises(AssetError, match="cannot be written: File name too long"):
        export(builder, tmp_path / f"{'x' * 300}.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("export", "ending"), EXPORTS)
def test_only_builders_are_exported(export, ending, tmp_path):
    with pytest.raises(ModelError, match="export, builder: is a str; it must be a ModelBuilder"):
        export("x", tmp_path / f"w.{ending}")
    with pytest.raises(ModelError, match="is a Model; it must be a ModelBuilder"):
        export(sim.ModelBuilder().finalize(device="cpu"), tmp_path / f"w.{ending}")
    assert not list(tmp_path.iterdir())
