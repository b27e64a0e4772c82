"""Poses written onto the prims of a user's stage: what is read back is what was written, whatever units and parents."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import simengine as sim
from simengine.dynamics import eval_fk
from simengine.errors import ModelError
from tests.builder.importers.usd.stages import body, joint, prim, scaled, write_stage


def imported(source, up_axis="Z", **options):
    """A model on the CPU in float64, and the report."""
    builder = sim.ModelBuilder(up_axis=up_axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = builder.add_usd(source, **options)
        return builder.finalize(device="cpu", precision="float64"), report


def moved(model, seed=0):
    """A state with random poses of all bodies."""
    state = model.state()
    rng = np.random.default_rng(seed)
    poses = np.array(state.body_q)
    poses[:, :3] += rng.normal(size=(len(poses), 3))
    turns = rng.normal(size=(len(poses), 4))
    poses[:, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    state.body_q = poses
    return state


def check_round_trip(stage, state, atol=1e-9, up_axis="Z", **options):
    """Poses read back from the stage are those of the state."""
    again, _ = imported(stage, up_axis=up_axis, **options)
    for label, wanted in zip(state.model.body_label, np.array(state.body_q), strict=True):
        found = np.array(again.body_q)[list(again.body_label).index(label)]
        np.testing.assert_allclose(found[:3], wanted[:3], atol=atol, err_msg=label)
        assert abs(abs(found[3:] @ wanted[3:]) - 1.0) < atol, label


ORIENTED = {"xformOp__orient_quatd": "(1, 0, 0, 0)", "xformOp__translate_d3": "(1, 2, 3)"}
MASS = {"physics__mass_float": 1.0, "physics__diagonalInertia_f3": "(0.1, 0.2, 0.3)"}


def rigid(name, order, **attributes):
    return prim("Xform", name, "PhysicsRigidBodyAPI", "PhysicsMassAPI", xformOpOrder_order=order, **MASS, **attributes)


STANDARD = '["xformOp:translate", "xformOp:orient", "xformOp:scale"]'
STAGES = {
    "translations": [body("a", (1, 2, 3)), body("b", (4, 5, 6))],
    "translation, orientation, scale": [rigid("a", STANDARD, xformOp__scale_d3="(1, 2, 3)", **ORIENTED)],
    "no transform": [rigid("a", "[]")],
    "a matrix": [
        rigid(
            "a",
            '["xformOp:transform"]',
            xformOp__transform_matrix4d="((0, 2, 0, 0), (-1, 0, 0, 0), (0, 0, 1, 0), (5, 6, 7, 1))",
        )
    ],
    "angles": [
        rigid(
            "a",
            '["xformOp:rotateXYZ", "xformOp:scale"]',
            xformOp__rotateXYZ_d3="(10, 20, 30)",
            xformOp__scale_d3="(2, 2, 2)",
        )
    ],
    "a scaled and turned parent": [prim("Xform", "p", inside=body("a", (1, 2, 3)) + body("b"), **scaled(2, 2, 2))],
    "an unevenly scaled parent": [
        prim("Xform", "p", inside=rigid("a", STANDARD, xformOp__scale_d3="(1, 1, 1)", **ORIENTED), **scaled(1, 2, 3))
    ],
    "nested bodies": [body("a", (1, 0, 0), inside=body("b", (0, 1, 0), inside=body("c", (0, 0, 1))))],
    "a reset transform": [
        prim(
            "Xform",
            "p",
            inside=rigid("a", '["!resetXformStack!", "xformOp:translate"]', xformOp__translate_d3="(1, 0, 0)"),
            **scaled(3, 3, 3),
        )
    ],
    "mirrored": [rigid("a", '["xformOp:scale"]', xformOp__scale_d3="(-1, 1, 2)")],
}


@pytest.mark.parametrize("case", STAGES)
@pytest.mark.parametrize(("up", "metre"), [("Z", 1.0), ("Y", 0.01)])
def test_what_is_written_is_read_back(tmp_path, case, up, metre):
    stage = Usd.Stage.Open(str(write_stage(tmp_path, *STAGES[case], up=up, metre=metre)))
    model, report = imported(stage)
    state = moved(model)
    scale_before = [np.linalg.svd(np.array(matrix(stage, path))[:3, :3], compute_uv=False) for path in report.bodies]
    assert sim.usd.write(stage, state) == len(report.bodies)
    check_round_trip(stage, state)
    for path, before in zip(report.bodies, scale_before, strict=True):
        after = np.linalg.svd(np.array(matrix(stage, path))[:3, :3], compute_uv=False)
        np.testing.assert_allclose(after, before, rtol=1e-9)


def matrix(stage, path):
    return UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath(path))


def test_usual_operations_are_kept(tmp_path):
    stage = Usd.Stage.Open(str(write_stage(tmp_path, *STAGES["translation, orientation, scale"])))
    model, _ = imported(stage)
    sim.usd.write(stage, moved(model))
    operations = UsdGeom.Xformable(stage.GetPrimAtPath("/a")).GetOrderedXformOps()
    assert [operation.GetOpName() for operation in operations] == [
        "xformOp:translate",
        "xformOp:orient",
        "xformOp:scale",
    ]
    assert operations[2].Get() == Gf.Vec3d(1, 2, 3)


def test_a_reset_transform_stays_reset(tmp_path):
    stage = Usd.Stage.Open(str(write_stage(tmp_path, *STAGES["a reset transform"])))
    model, _ = imported(stage)
    sim.usd.write(stage, moved(model))
    assert UsdGeom.Xformable(stage.GetPrimAtPath("/p/a")).GetResetXformStack()


def test_a_pendulum_on_the_stage_is_where_its_coordinates_put_it(tmp_path):
    path = write_stage(
        tmp_path,
        body("a"),
        body("b"),
        joint("PhysicsFixedJoint", "f", "", "/a"),
        joint("PhysicsRevoluteJoint", "j", "/a", "/b"),
        up="Y",
        metre=0.1,
    )
    stage = Usd.Stage.Open(str(path))
    model, _ = imported(stage)
    state = model.state()
    state.joint_q[0] = 0.5
    eval_fk(model, state)
    sim.usd.write(stage, state)
    turn = np.array(matrix(stage, "/b"))[:3, :3].T
    np.testing.assert_allclose(
        turn, [[1, 0, 0], [0, np.cos(0.5), -np.sin(0.5)], [0, np.sin(0.5), np.cos(0.5)]], atol=1e-9
    )


def test_time_samples_are_written_at_their_time(tmp_path):
    stage = Usd.Stage.Open(str(write_stage(tmp_path, body("a"))))
    model, _ = imported(stage)
    states = [moved(model, seed) for seed in range(3)]
    for number, state in enumerate(states):
        sim.usd.write(stage, state, time=number)
    for number, state in enumerate(states):
        check_round_trip(stage, state, time=float(number))


def test_worlds_prefixes_and_placement(tmp_path):
    path = write_stage(tmp_path, body("a", (1, 0, 0)), up="Y")
    place = sim.transform(p=(5, 6, 7), q=sim.quat_from_axis_angle((0, 0, 1), 0.3))
    template = sim.ModelBuilder()
    template.add_usd(path, label_prefix="robot", xform=place)
    builder = sim.ModelBuilder()
    builder.replicate(template, 3)
    state = moved(builder.finalize(device="cpu", precision="float64"))
    stage = Usd.Stage.Open(str(path))
    sim.usd.write(stage, state, world=2, label_prefix="robot", xform=place)
    again, _ = imported(stage, label_prefix="robot", xform=place)
    np.testing.assert_allclose(again.body_q[0][:3], state.body_q[2][:3], atol=1e-9)
    with pytest.raises(ModelError, match="3 worlds"):
        sim.usd.write(stage, state, world=3, label_prefix="robot")


def test_bodies_that_the_stage_or_the_model_lack_are_told_of(tmp_path):
    model, _ = imported(write_stage(tmp_path, body("a"), body("b")))
    other = Usd.Stage.Open(str(write_stage(tmp_path, body("a"), body("z"), name="other.usda")))
    with pytest.warns(UserWarning, match="/z"):
        assert sim.usd.write(other, model.state()) == 1
    stranger = Usd.Stage.Open(str(write_stage(tmp_path, body("q"), name="stranger.usda")))
    with pytest.raises(ModelError, match="no rigid body of the stage"):
        sim.usd.write(stranger, model.state())


def test_poses_that_are_not_finite_are_refused(tmp_path):
    path = write_stage(tmp_path, body("a"))
    model, _ = imported(path)
    state = model.state()
    state.body_q[0, 1] = np.nan
    with pytest.raises(ModelError, match="'a'"):
        sim.usd.write(Usd.Stage.Open(str(path)), state)


def test_instances_are_refused_by_name(tmp_path):
    copy = prim("Xform", "c", meta="instanceable = true\ninherits = </_w>")
    holder = prim("Xform", "_w", inside=body("a")).replace("def Xform", "class Xform", 1)
    stage = Usd.Stage.Open(str(write_stage(tmp_path, holder, copy)))
    model, _ = imported(stage)
    with pytest.raises(ModelError, match="/c/a is part of an instance"):
        sim.usd.write(stage, model.state())


def test_a_stage_is_needed(tmp_path):
    model, _ = imported(write_stage(tmp_path, body("a")))
    with pytest.raises(ModelError, match=r"Usd\.Stage"):
        sim.usd.write("scene.usda", model.state())


@pytest.mark.parametrize("state", [None, "state", 3])
def test_a_state_is_needed(tmp_path, state):
    with pytest.raises(ModelError, match=r"usd\.write, state"):
        sim.usd.write(Usd.Stage.CreateInMemory(), state)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": "x"},
        {"time": "1"},
        {"time": np.nan},
        {"time": np.inf},
        {"time": (1, 2)},
        {"world": "x"},
        {"world": 0.5},
        {"world": None},
        {"world": -1},
        {"prim_path": 3},
        {"prim_path": "not a path"},
        {"prim_path": ""},
        {"prim_path": "/nowhere"},
        {"label_prefix": 3},
        {"xform": "x"},
    ],
    ids=str,
)
def test_wrong_arguments_are_named_and_nothing_is_written(tmp_path, wrong):
    stage = Usd.Stage.Open(str(write_stage(tmp_path, body("a"))))
    model, _ = imported(stage)
    state, before = moved(model), stage.GetRootLayer().ExportToString()
    with pytest.raises(ModelError) as caught:
        sim.usd.write(stage, state, **wrong)
    assert caught.value.element == f"usd.write, {next(iter(wrong))}"
    assert stage.GetRootLayer().ExportToString() == before
