"""Flags that disable a part of the physics: the motion is MuJoCo's, and the report tells what does nothing."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.builder.importers.flags import TURNS_OFF, UNSIMULATED
from tests.builder.importers.usd.stages import notes, prim, write_stage

DT, STEPS = 0.002, 500

SCENE = """<mujoco><option timestep="0.002"><flag {flags}/></option>
<worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 .15"><freejoint/><geom size=".1"/></body>
<body pos="2 0 .15"><freejoint/><geom name="a" size=".1" contype="0" conaffinity="0"/></body>
<geom name="b" type="box" size=".1 .1 .01" pos="2 0 0" contype="0" conaffinity="0"/>
<body pos="0 0 2"><joint name="limited" axis="0 1 0" range="-20 20"/><geom size=".05" pos=".3 0 0"/></body>
<body pos="1 0 2"><joint axis="0 1 0" stiffness=".4"/><geom size=".05" pos=".3 0 0"/></body>
<body pos="2 0 2"><joint name="damped" axis="0 1 0" damping=".05"/><geom size=".05" pos=".3 0 0"/></body>
<body pos="3 0 2"><joint axis="0 1 0" frictionloss=".5"/><geom size=".05" pos=".3 0 0"/></body>
<body pos="4 0 2"><joint type="ball" range="0 20"/><geom size=".05" pos=".3 0 0"/></body></worldbody>
<contact><pair geom1="a" geom2="b"/></contact>
<actuator><motor joint="damped" damping=".05"/></actuator></mujoco>"""
ON = ("contact", "limit", "frictionloss", "spring", "damper", "gravity", "equality")


def add_mjcf(tmp_path, text: str, name: str = "scene.xml") -> tuple[sim.ModelBuilder, object]:
    (tmp_path / name).write_text(text)
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of actuators and flags, which are not simulated
        return builder, builder.add_mjcf(tmp_path / name)


def simulate(builder) -> np.ndarray:
    """Coordinates (STEPS, nq) of each step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = builder.finalize(device="cpu", precision="float64")
        solver = sim.solvers.Featherstone(model, "euler", "pyramidal", specialise=False)
        state, after, control = model.state(), model.state(), model.control()
        found = []
        for _ in range(STEPS):
            solver.step(state, after, control, None, DT)
            state, after = after, state
            found.append(np.array(state.joint_q))
    return np.array(found)


def of_mujoco(text: str) -> np.ndarray:
    """The same by MuJoCo, quaternions as x, y, z, w."""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    order = np.arange(m.nq)
    before = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}  # numbers before the quaternion
    for kind, start in zip(m.jnt_type.tolist(), m.jnt_qposadr.tolist(), strict=True):
        if kind in before:
            turn = slice(start + before[kind], start + before[kind] + 4)
            order[turn] = np.roll(order[turn], -1)
    found = []
    for _ in range(STEPS):
        mujoco.mj_step(m, d)
        found.append(d.qpos[order])
    return np.array(found)


@pytest.mark.parametrize(
    "flags", [*((flag,) for flag in (*ON, "constraint")), ("limit", "contact"), ("spring", "damper"), ()]
)
def test_the_motion_is_that_of_mujoco_with_the_same_parts_disabled(flags, tmp_path):
    """Within what both solves leave, 1e-8 relative in MuJoCo and 1e-10 here, over the steps."""
    text = SCENE.format(flags=" ".join(f'{flag}="disable"' for flag in flags))
    np.testing.assert_allclose(simulate(add_mjcf(tmp_path, text)[0]), of_mujoco(text), atol=2e-6)


@pytest.mark.parametrize("flag", ["contact", "limit", "frictionloss", "spring", "damper", "gravity"])
def test_each_of_them_matters_to_the_scene(flag):
    with_it, without = (of_mujoco(SCENE.format(flags=f'{flag}="{word}"')) for word in ("enable", "disable"))
    assert np.abs(with_it - without).max() > 0.1


def test_equalities_that_are_disabled_are_not_active(tmp_path):
    text = """<mujoco><option><flag {}="disable"/></option><worldbody><body name="a"><joint name="j"/><geom size=".1"/>
</body></worldbody><tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
<equality><weld body1="a"/><joint joint1="j"/><tendon tendon1="t"/></equality></mujoco>"""
    for flag, active in (("equality", False), ("constraint", False), ("contact", True)):
        builder, _ = add_mjcf(tmp_path, text.format(flag))
        assert [each.active for each in (*builder.equalities, *builder.tendon_equalities)] == [active] * 3


def test_springs_and_dampers_are_those_that_the_older_flag_disabled(tmp_path):
    builder, report = add_mjcf(tmp_path, SCENE.format(flags='passive="disable"'))
    assert builder.options.disabled == ("spring", "damper")
    assert {(dof.stiffness, dof.damping) for joint in builder.joints for dof in joint.dofs} == {(0.0, 0.0)}
    assert [note.what for note in report.ignored] == ["flag 'spring'", "flag 'damper'"]


def test_the_report_tells_what_a_flag_turned_off_and_what_flags_do_nothing(tmp_path):
    flags = 'contact="disable" limit="enable" override="enable" refsafe="disable" sleep="disable" energy="enable"'
    _, report = add_mjcf(tmp_path, SCENE.format(flags=flags))
    # all nine shapes collide, two of them by the pair, which is left out too
    assert [(note.what, note.reason.rpartition(": ")[2]) for note in report.ignored] == [
        ("flag 'contact'", "10 values of the file")
    ]
    kept = {note.what: note.reason for note in report.kept if note.what.startswith("attribute")}
    assert kept == {f"attribute '{flag}'": UNSIMULATED[flag] for flag in ("refsafe", "override")}


def test_unsupported_raise_refuses_a_flag_that_would_do_nothing_and_no_other(tmp_path):
    text = '<mujoco><option><flag {}/></option><worldbody><geom size=".1"/></worldbody></mujoco>'
    path = tmp_path / "scene.xml"
    path.write_text(text.format('contact="disable" warmstart="disable" multiccd="enable"'))
    sim.ModelBuilder().add_mjcf(path, unsupported="raise", strict=True)
    path.write_text(text.format('eulerdamp="disable"'))
    with pytest.raises(sim.errors.AssetError, match="eulerdamp"):
        sim.ModelBuilder().add_mjcf(path, unsupported="raise")


@pytest.mark.parametrize("flag", TURNS_OFF)
@pytest.mark.parametrize("suffix", [".xml", ".usda"])
def test_what_is_disabled_stays_so_in_what_is_written(flag, suffix, tmp_path):
    builder, _ = add_mjcf(tmp_path, SCENE.format(flags=f'{flag}="disable"'))
    path, again = tmp_path / f"out{suffix}", sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        (sim.export_mjcf if suffix == ".xml" else sim.export_usd)(builder, path)
        (again.add_mjcf if suffix == ".xml" else again.add_usd)(path)
    assert set(again.options.disabled) == set(builder.options.disabled)
    if suffix == ".xml":
        np.testing.assert_allclose(of_mujoco(path.read_text()), simulate(builder), atol=2e-6)


def test_a_flag_is_not_written_where_something_was_added_that_it_would_disable(tmp_path):
    builder, _ = add_mjcf(
        tmp_path,
        '<mujoco><option><flag contact="disable" gravity="disable"/></option><worldbody><body pos="0 0 .3"><freejoint/>'
        '<geom size=".1"/></body></worldbody></mujoco>',
    )
    builder.gravity = (0.0, 0.0, -9.81)
    builder.add_ground_plane()
    builder.add_shape_sphere(builder.add_body((1.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0)), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = sim.export_mjcf(builder, tmp_path / "out.xml")
    assert [note.where for note in report.rewritten if note.what == "flag"] == ["option 'contact'", "option 'gravity'"]
    q = of_mujoco((tmp_path / "out.xml").read_text())[-1]
    assert q[2] < -1.0
    assert q[9] == pytest.approx(0.1, abs=0.01)


def test_the_flags_of_a_stage_disable_the_same(tmp_path):
    scene = prim("PhysicsScene", "s", mjc__flag__contact_bool="false", mjc__flag__gravity_bool="false",
                 mjc__flag__eulerdamp_bool="false", mjc__flag__sleep_bool="false")  # fmt: skip
    ball = prim("Sphere", "ball", "PhysicsCollisionAPI", "PhysicsRigidBodyAPI")
    builder = sim.ModelBuilder()
    with pytest.warns(UserWarning, match="flag 'eulerdamp'"):
        report = builder.add_usd(write_stage(tmp_path, scene, ball))
    assert builder.gravity == (0.0, 0.0, 0.0)
    assert [shape.collides for shape in builder.shapes] == [False]
    assert "flag 'contact'" in notes(report, "ignored")
    assert [note.what for note in report.kept] == ["flag 'eulerdamp'"]
