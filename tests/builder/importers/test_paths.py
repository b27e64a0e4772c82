"""Files that an asset names: found inside its root, refused outside, whatever the name tries."""

import os
import socket
import sys

import pytest

import simengine as sim
from simengine.builder.importers.paths import MissingFile, PathRules, asset_root, read_file
from simengine.errors import AssetError, ModelError


@pytest.fixture
def tree(tmp_path):
    """outside.stl, workspace/robot/{urdf/robot.urdf, meshes/a.stl}, workspace/other/meshes/b.stl"""
    for name in ("outside.stl", "workspace/robot/urdf/robot.urdf", "workspace/robot/urdf/near.stl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name in ("workspace/robot/meshes/a.stl", "workspace/other/meshes/b.stl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def rules(tree, **options):
    return PathRules(tree / "workspace/robot/urdf/robot.urdf", **options)


def test_a_file_beside_the_asset_is_found(tree):
    assert rules(tree).resolve("near.stl").read_text() == "workspace/robot/urdf/near.stl"
    assert rules(tree).resolve("./x/../near.stl").name == "near.stl"


def test_a_package_above_the_asset_is_found_by_its_name(tree):
    assert rules(tree).resolve("package://robot/meshes/a.stl").read_text() == "workspace/robot/meshes/a.stl"
    assert rules(tree).resolve("model://robot/meshes/a.stl").name == "a.stl"


def test_a_package_elsewhere_needs_its_root(tree):
    with pytest.raises(MissingFile, match="package_roots"):
        rules(tree).resolve("package://other/meshes/b.stl")
    for root in (tree / "workspace", tree / "workspace/other"):
        found = rules(tree, package_roots=[root]).resolve("package://other/meshes/b.stl")
        assert found.read_text() == "workspace/other/meshes/b.stl"


def test_relative_names_may_leave_the_folder_inside_a_ros_package_only(tree):
    with pytest.raises(AssetError, match="outside"):
        rules(tree).resolve("../meshes/a.stl")
    (tree / "workspace/robot/package.xml").write_text("<package/>")
    assert rules(tree).resolve("../meshes/a.stl").name == "a.stl"
    assert asset_root(tree / "workspace/robot/urdf") == tree / "workspace/robot"


@pytest.mark.parametrize(
    "name",
    [
        "../../../outside.stl",
        "{tree}/outside.stl",
        "/etc/passwd",
        "package://robot/../../outside.stl",
        "package://robot/meshes/../../../outside.stl",
        "package://../robot/meshes/a.stl",
        "package://./a.stl",
        "near.stl/../../../../outside.stl",
    ],
)
def test_names_that_lead_outside_are_refused(tree, name):
    with pytest.raises(AssetError) as caught:
        rules(tree).resolve(name.format(tree=tree))
    assert not isinstance(caught.value, MissingFile)


@pytest.mark.parametrize(
    "name, word",
    [
        ("file:///etc/passwd", "package://"),
        ("http://example.org/a.stl", "package://"),
        ("https://example.org/a.stl", "package://"),
        ("file:near.stl", "package://"),
        ("C:/near.stl", "drive"),
        ("C:near.stl", "drive"),
        ("..\\near.stl", "backslash"),
        ("\\\\server\\share\\a.stl", "backslash"),
        ("%2e%2e/%2e%2e/outside.stl", "percent"),
        ("near%2Estl", "percent"),
        ("near.stl\0.png", "control"),
        ("near\n.stl", "control"),
    ],
)
def test_other_schemes_and_spellings_are_refused(tree, name, word):
    with pytest.raises(AssetError, match=word) as caught:
        rules(tree).resolve(name)
    assert not isinstance(caught.value, MissingFile)


def test_the_user_may_allow_more(tree):
    assert rules(tree, allow_paths=[tree]).resolve("../../../outside.stl").read_text() == "outside.stl"
    assert rules(tree, allow_paths=True).resolve(f"{tree}/outside.stl").read_text() == "outside.stl"
    assert rules(tree, allow_paths=tree / "workspace").resolve("../meshes/a.stl").name == "a.stl"
    with pytest.raises(AssetError, match="outside"):
        rules(tree, allow_paths=tree / "workspace").resolve("../../../outside.stl")
    with pytest.raises(ModelError, match="not a folder"):
        rules(tree, allow_paths=[tree / "nowhere"])


def test_a_link_out_of_the_root_is_refused_and_one_inside_is_followed(tree):
    folder = tree / "workspace/robot/urdf"
    (folder / "inside.stl").symlink_to("near.stl")
    (folder / "escape.stl").symlink_to(tree / "outside.stl")
    (folder / "up").symlink_to(tree)
    assert rules(tree).resolve("inside.stl").name == "near.stl"
    for name in ("escape.stl", "up/outside.stl"):
        with pytest.raises(AssetError, match="outside") as caught:
            rules(tree).resolve(name)
        assert not isinstance(caught.value, MissingFile)


def test_a_missing_file_suggests_a_name(tree):
    with pytest.raises(MissingFile, match=r"did you mean 'near\.stl'"):
        rules(tree).resolve("nearr.stl")
    (tree / "workspace/robot/urdf/dangling.stl").symlink_to("gone.stl")
    with pytest.raises(AssetError):
        rules(tree).resolve("dangling.stl")


def test_a_name_that_differs_in_case_is_refused_with_the_right_one(tree):
    with pytest.raises(AssetError, match=r"there is 'near\.stl'") as caught:
        rules(tree).resolve("Near.STL")
    assert not isinstance(caught.value, MissingFile)
    with pytest.raises(AssetError, match="there is 'meshes'"):
        rules(tree).resolve("package://robot/Meshes/a.stl")


def test_the_home_folder_is_no_package(tree, monkeypatch):
    monkeypatch.setenv("HOME", str(tree / "workspace/robot"))
    monkeypatch.setenv("USERPROFILE", str(tree / "workspace/robot"))
    with pytest.raises(MissingFile, match="package 'robot'"):
        rules(tree).resolve("package://robot/meshes/a.stl")
    with pytest.raises(MissingFile, match="package 'workspace'"):
        rules(tree).resolve("package://workspace/other/meshes/b.stl")


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and sockets in the file system")
def test_special_files_are_refused_at_once(tree, monkeypatch):
    folder = tree / "workspace/robot/urdf"
    os.mkfifo(folder / "pipe.stl")
    (folder / "folder.stl").mkdir()
    monkeypatch.chdir(folder)  # the whole path may be too long for an address
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.stl")
        for name in ("pipe.stl", "folder.stl", "socket.stl"):
            with pytest.raises(AssetError, match="regular file"):
                rules(tree).resolve(name)
            with pytest.raises(AssetError):
                read_file(folder / name, 100)
    with pytest.raises(AssetError, match="regular file"):
        read_file("/dev/zero", 100)


def test_reading_is_capped(tree):
    path = tree / "outside.stl"
    assert read_file(path, 11) == b"outside.stl"
    with pytest.raises(AssetError, match="cap"):
        read_file(path, 10)
    with pytest.raises(AssetError, match="cannot be opened"):
        read_file(tree / "gone", 10)


@pytest.mark.parametrize("add", ["add_urdf", "add_mjcf", "add_usd"])
def test_a_file_in_a_folder_that_is_not_there_is_told_as_absent(add, tmp_path):
    with pytest.raises(AssetError, match="gone/robot.urdf.*No such file"):
        getattr(sim.ModelBuilder(), add)(tmp_path / "gone" / "robot.urdf")
