"""``simengine convert`` loses nothing that the format holds, and never replaces what it reads."""

import xml.etree.ElementTree as ElementTree

import pytest

from simengine import cli

ROBOT = """<robot name="r">
<link name="a"/>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<limit lower="-1" upper="1" effort="3" velocity="1.25"/></joint>
</robot>"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a robot in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.urdf").write_text(ROBOT)
    return tmp_path


def velocity(file) -> float:
    return float(ElementTree.parse(file).find("joint[@name='j']/limit").get("velocity"))


def test_velocity_limits_are_kept_where_the_format_has_them_and_told_where_not(folder, capsys):
    assert cli.main(["convert", "robot.urdf", "same.urdf"]) == 0
    assert velocity("same.urdf") == 1.25
    assert cli.main(["convert", "robot.urdf", "robot.usda"]) == 0
    assert cli.main(["convert", "robot.usda", "back.urdf"]) == 0
    assert velocity("back.urdf") == pytest.approx(1.25, rel=1e-6)  # USD's numbers are of single precision
    capsys.readouterr()
    assert cli.main(["convert", "robot.urdf", "robot.xml"]) == 0
    assert "velocity limit: 1.25: MJCF has none [joint 'j']" in capsys.readouterr().out


def test_the_file_that_is_read_is_not_replaced_under_any_of_its_names(folder, capsys):
    (folder / "link.urdf").symlink_to("robot.urdf")
    for source, target in (
        ("robot.urdf", "robot.urdf"),
        ("robot.urdf", f"../{folder.name}/robot.urdf"),
        ("robot.urdf", "link.urdf"),
        ("link.urdf", "robot.urdf"),
    ):
        assert cli.main(["convert", source, target]) == 2
        assert capsys.readouterr().err == f"error: OUTPUT: {target!r} is the file that is read; give another name\n"
    assert (folder / "robot.urdf").read_text() == ROBOT


def test_another_file_of_that_name_is_replaced(folder):
    (folder / "other.urdf").write_text("old")
    assert cli.main(["convert", "robot.urdf", "other.urdf"]) == 0
    assert velocity("other.urdf") == 1.25


def test_missing_folders_are_made_and_what_stands_in_their_way_is_told(folder, capsys):
    assert cli.main(["convert", "robot.urdf", "new/deep/robot.xml"]) == 0
    assert (folder / "new" / "deep" / "robot.xml").is_file()
    assert cli.main(["convert", "robot.urdf", "robot.urdf/robot.xml"]) == 2
    assert "error: robot.urdf/robot.xml: cannot be written: no folder robot.urdf: " in capsys.readouterr().err
    assert cli.main(["convert", "nothing.urdf", "never/robot.xml"]) == 2
    assert not (folder / "never").exists()
