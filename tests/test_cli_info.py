"""``simengine info``: summaries and tables stay readable whatever the file holds."""

import pytest

from simengine import cli


def info(capsys, path, text: str) -> list[str]:
    """The lines that are printed of a file of that text."""
    path.write_text(text)
    assert cli.main(["info", str(path), "--trust"]) == 0
    return capsys.readouterr().out.splitlines()


NAMES = """<mujoco model="{model}"><worldbody><body name="a&#10;b"><freejoint name="f&#10;g"/>
<geom name="g&#10;h" size="0.1" colour="red"/><site name="s&#10;t"/></body></worldbody></mujoco>"""


def test_names_with_line_breaks_are_quoted(tmp_path, capsys):
    lines = info(capsys, tmp_path / "scene.xml", NAMES.format(model="two&#10;lines"))
    assert lines[0].startswith(r"'two\nlines': 1 body, 1 joint, 6 degrees of freedom, mass ")
    assert [line.split()[0] for line in lines[2:4]] == ["body", r"'a\nb'"]
    assert [line.split()[0] for line in lines[5:7]] == ["joint", r"'f\ng'"]
    assert r"sites: 's\nt'" in lines
    assert lines[-4].endswith(r"scene.xml ('two\nlines')")
    assert r"[<geom 'g\nh'> line 2]" in lines[-1]


def test_what_has_no_name_or_no_shapes_is_told_in_words(tmp_path, capsys):
    assert info(capsys, tmp_path / "scene.xml", NAMES.format(model=""))[0].startswith("(no name): 1 body")
    line = info(capsys, tmp_path / "robot.urdf", '<robot name="r"><link name="l"/></robot>')[0]
    assert line == "r: 1 body, 1 joint, 0 degrees of freedom, the root link fixed, mass 0 kg, no shapes"


def test_only_the_root_of_a_urdf_is_called_fixed(tmp_path, capsys):
    assert "fixed" not in info(capsys, tmp_path / "scene.xml", NAMES.format(model="m"))[0]


def test_velocity_limits_of_the_file_are_shown(tmp_path, capsys):
    assert cli.main(["info", "arm"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("joint1 "))
    assert row.split()[-3:-1] == ["120", "2.2"]


@pytest.mark.parametrize("name", ["robot.xacro", "robot.urdf.XACRO"])
def test_a_xacro_file_gets_advice(tmp_path, capsys, name):
    (tmp_path / name).write_text("<robot/>")
    assert cli.main(["info", str(tmp_path / name)]) == 2
    assert "is a xacro file, not yet a URDF: run 'xacro FILE.xacro > FILE.urdf' first" in capsys.readouterr().err
