"""``simengine run``: how long a run is, and what there is to drive and to move."""

import re

import pytest

from simengine import cli

SCENE = """<mujoco>{option}<worldbody><body name="ball" pos="0 0 0.3"><freejoint/><geom size="0.1"/></body></worldbody>
</mujoco>"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a file of a text without stepping; gives the code, the lines printed, the errors, and the simulations."""

    def run_text(name: str, text: str, *arguments):
        simulations = []
        monkeypatch.setattr("simengine.cli_run._simulate", lambda simulation, seconds: simulations.append(simulation))
        (tmp_path / name).write_text(text)
        code = cli.main(["run", str(tmp_path / name), "--trust", "--device", "cpu", *arguments])
        out, err = capsys.readouterr()
        return code, out, err, simulations

    return run_text


def test_a_file_cannot_ask_for_an_endless_frame(run):
    """1/60 s in steps of 1e-9 s are 16,666,667; with a shorter frame, or told how many, it is the user's own wish."""
    text = SCENE.format(option='<option timestep="1e-9"/>')
    code, _, err, simulations = run("scene.xml", text)
    assert (code, simulations) == (2, [])
    assert re.search("the file's step is 1e-09 s: 16,666,667 steps in a frame of 0.0167 s; say .*--substeps.*--dt", err)
    code, _, _, (simulation,) = run("scene.xml", text, "--substeps", "20000")
    assert (code, simulation.substeps) == (0, 20000)
    code, _, _, (simulation,) = run("scene.xml", text, "--dt", "1e-5", "--seconds", "1e-3")
    assert (code, simulation.substeps) == (0, 10_000)


def test_an_mjcf_file_without_a_step_has_that_of_the_format(run):
    """0.002 s: 1/60 s are 9 steps; in 0.004 s there are 2."""
    code, out, _, (simulation,) = run("scene.xml", SCENE.format(option=""))
    assert (code, simulation.substeps) == (0, 9)
    assert "9 steps in a frame, since the format's step, where a file says none, is 0.002 s" in out
    assert run("scene.xml", SCENE.format(option=""), "--dt", "0.004")[3][0].substeps == 2
    code, out, _, (simulation,) = run("robot.urdf", '<robot name="r"><link name="l"/></robot>')
    assert (code, simulation.substeps) == (0, 4)
    assert "format's step" not in out


def test_a_long_run_tells_how_many_steps_are_to_come(run):
    text = SCENE.format(option="")
    out = run("scene.xml", text, "--seconds", "2000", "--substeps", "10")[1]
    assert "1,200,000 steps are to come: 120,000 frames of 10 steps" in out
    assert "to come" not in run("scene.xml", text, "--seconds", "1000", "--substeps", "10")[1]


def test_of_a_file_without_bodies_it_is_said_that_nothing_moves(run):
    code, _, err, _ = run("scene.xml", "<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>")
    assert code == 0
    assert re.fullmatch(r"warning: \S+scene\.xml holds no bodies: nothing moves\n", err)


def test_drives_are_not_told_of_where_nothing_takes_one(run):
    assert "no drives: no joint can have one" in run("scene.xml", SCENE.format(option=""))[1]


def test_a_robot_that_begins_inside_the_ground_is_told_of_with_its_depth(run):
    """A ball of 0.1 m whose middle is at 0.3 m, lowered by 0.5 m."""
    text = SCENE.format(option="")
    code, _, err, _ = run("scene.xml", text, "--height", "-0.5")
    assert code == 0
    assert re.search(r"warning: the robot begins 0\.3 m inside the ground \(shape '\S+' in 'ground'\)", err)
    for quiet in ("--height", "0"), ("--height", "-0.205"), ("--height", "-0.5", "--no-ground"):
        assert "inside the ground" not in run("scene.xml", text, *quiet)[2]


def test_a_robot_that_nothing_holds_on_the_ground_is_told_of_once(run):
    """It has a visual shape alone; to make its drives stiffer would not help."""
    link = '<link name="a">{}<inertial><mass value="1"/><inertia {}/></inertial></link>'
    inertia = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'
    shape = "<{0}><geometry><sphere radius='0.1'/></geometry></{0}>"
    for kind, told in (("visual", True), ("collision", False)):
        text = f'<robot name="r">{link.format(shape.format(kind), inertia)}</robot>'
        code, out, err, _ = run("robot.urdf", text, "--floating")
        assert code == 0
        assert ("no shape of the robot collides: it falls through the ground" in err) == told
        assert ("start pose on the ground" in out) != told and "sags" not in err


def test_floating_is_for_urdf(run):
    code, _, err, _ = run("scene.xml", SCENE.format(option=""), "--floating")
    assert code == 0
    assert "warning: --floating has no effect: it is for URDF" in err


def test_how_the_heaviest_body_ended_is_told(run):
    """Of those that are not fixed to the world; here nothing is stepped."""
    assert "the heaviest body, 'ball', ended 0.300 m high, at 0 m/s" in run("scene.xml", SCENE.format(option=""))[1]
    cart = """<mujoco><worldbody><body name="base"><geom size="1"/>
    <body name="small" pos="0 0 2"><joint/><geom size="0.1"/></body>
    <body name="large" pos="0 0 3"><joint/><geom size="0.2"/></body></body></worldbody></mujoco>"""
    assert "the heaviest body, 'large', ended 3.000 m high, at 0 m/s" in run("arm.xml", cart)[1]
    fixed = '<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>'
    assert "the heaviest body" not in run("fixed.xml", fixed)[1]
