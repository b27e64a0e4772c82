"""What all formats share on the way into a builder: gravity, vectors of the scene, and errors that change nothing."""

import math
import warnings

import pytest

import simengine as sim
from tests.builder.importers.usd.stages import HEADER, body, prim

MJCF = """<mujoco><option gravity="0 0 -3" wind="1 2 3" magnetic="0 -0.5 0"/><worldbody>
<body name="a"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
URDF = """<robot name="r"><mujoco><option gravity="0 0 -3" wind="1 2 3" magnetic="0 -0.5 0"/></mujoco><link name="a">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"""
SCENE = prim("PhysicsScene", "scene", physics__gravityMagnitude_float=3.0, mjc__option__wind_d3="(1, 2, 3)",
             mjc__option__magnetic_d3="(0, -0.5, 0)")  # fmt: skip
USD = HEADER.format(up="Z", metre=1.0, kilogram=1.0) + SCENE + body("a")
FILES = {"add_mjcf": ("scene.xml", MJCF), "add_urdf": ("robot.urdf", URDF), "add_usd": ("scene.usda", USD)}
QUARTER = sim.transform((1, 2, 3), sim.quat_from_axis_angle((0, 0, 1), math.pi / 2))  # x becomes y
formats = pytest.mark.parametrize("method", FILES)


def read(tmp_path, method, builder, **options):
    name, text = FILES[method]
    (tmp_path / name).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return getattr(builder, method)(tmp_path / name, **options)


@formats
@pytest.mark.parametrize("axis", [(0, 1, 0), (1, 0, 0), (0, 0, 1)])
def test_gravity_stays_when_the_robot_is_put_somewhere_else(tmp_path, method, axis):
    builder = sim.ModelBuilder()
    xform = sim.transform((0, 0, 1), sim.quat_from_axis_angle(axis, 1.2))
    read(tmp_path, method, builder, xform=xform)
    assert builder.gravity == pytest.approx((0, 0, -3), abs=1e-12)


@formats
def test_a_given_gravity_is_no_other_than_the_files_because_the_robot_is_turned(tmp_path, method):
    builder = sim.ModelBuilder(gravity=-3)
    report = read(tmp_path, method, builder, xform=sim.transform((0, 0, 1), sim.quat_from_axis_angle((1, 0, 0), 1.2)))
    assert not report.warned


@formats
@pytest.mark.parametrize(
    ("up", "gravity", "wind"),
    [("Z", (0, 0, -3), (1, 2, 3)), ("Y", (0, -3, 0), (1, 3, -2)), ("X", (-3, 0, 0), (3, 2, -1))],
)
def test_gravity_wind_and_flux_are_turned_with_the_up_axis(tmp_path, method, up, gravity, wind):
    builder = sim.ModelBuilder(up_axis=up)
    read(tmp_path, method, builder)
    assert builder.gravity == pytest.approx(gravity, abs=1e-12)
    assert builder.options.wind == pytest.approx(wind, abs=1e-12)
    assert builder.options.magnetic == pytest.approx((0, 0, 0.5) if up == "Y" else (0, -0.5, 0), abs=1e-12)


@formats
@pytest.mark.parametrize("untrusted", [False, True])
def test_wind_and_flux_turn_with_what_the_file_holds(tmp_path, method, untrusted):
    builder = sim.ModelBuilder()
    read(tmp_path, method, builder, xform=QUARTER, untrusted=untrusted)
    assert builder.options.wind == pytest.approx((-2, 1, 3), abs=1e-12)
    assert builder.options.magnetic == pytest.approx((0.5, 0, 0), abs=1e-12)


@formats
@pytest.mark.parametrize("untrusted", [False, True])
def test_a_label_that_is_taken_leaves_gravity_as_it_was(tmp_path, method, untrusted):
    builder = sim.ModelBuilder()
    builder.add_body(mass=1, inertia=(1, 1, 1), label="a")
    before = (builder._elements.key(), builder._given_gravity, builder.gravity)
    with pytest.raises(sim.ModelError, match="is taken"):
        read(tmp_path, method, builder, untrusted=untrusted)
    assert (builder._elements.key(), builder._given_gravity, builder.gravity) == before
