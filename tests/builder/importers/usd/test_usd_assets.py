"""Robots that exist in another format too have the same dynamics; all files of the assets can be simulated."""

from __future__ import annotations

import json
import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.dynamics import eval_bias_force, eval_fk, eval_mass_matrix
from tests.builder.importers.usd.expected import FOLDERS, all_expected


def model_of(read):
    """A model on the CPU in float64 of what ``read`` adds to a builder."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(builder)
        return builder.finalize(device="cpu", precision="float64")


def dynamics(model, names, q, v):
    """Mass matrix and bias in the order of ``names``, joints of one degree of freedom."""
    labels = list(model.joint_label)
    joints = [labels.index(name) for name in names]
    state = model.state()
    for joint, position, rate in zip(joints, q, v, strict=True):
        state.joint_q[model.joint_q_start[joint]] = position
        state.joint_qd[model.joint_qd_start[joint]] = rate
    eval_fk(model, state)
    dofs = [int(model.joint_qd_start[joint]) for joint in joints]
    mass = np.asarray(eval_mass_matrix(model, state))[0]
    return mass[np.ix_(dofs, dofs)], np.asarray(eval_bias_force(model, state))[dofs]


def close(found, wanted):
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-5 * np.abs(two).max())


def test_the_ur5_has_the_dynamics_of_its_urdf(shared):
    assets = shared / "assets"
    urdf = assets / "example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"
    by_urdf = model_of(lambda builder: builder.add_urdf(urdf, package_roots=[assets], filter_overlapping=False))
    by_usd = model_of(lambda builder: builder.add_usd(assets / "derived/ur5_usd/ur5.usda", filter_overlapping=False))
    expected = json.loads(urdf.with_suffix(".expected.json").read_text())["fixed_base"]["state_seed0"]
    names = expected["dof_order"]
    q, v = ([expected[key][name] for name in names] for key in ("q", "v"))
    found = dynamics(by_usd, names, q, v)
    close(found, dynamics(by_urdf, names, q, v))
    close(found, (np.array(expected["M"]), np.array(expected["bias"])))  # by pinocchio


def test_the_xarm7_has_the_dynamics_that_mujoco_gives_its_mjcf(shared):
    """The loops of the gripper are equalities, which play no part in mass matrix and bias."""
    assets = shared / "assets"
    by_usd = model_of(
        lambda builder: builder.add_usd(assets / "derived/xarm7_usd/xarm7.usda", filter_overlapping=False)
    )
    expected = json.loads((assets / "mujoco_menagerie/ufactory_xarm7/xarm7.expected.json").read_text())
    state = expected["state_seed0"]
    found = dynamics(by_usd, expected["dof_names"], state["qpos"], state["qvel"])
    close(found, (np.array(state["M"]), np.array(state["qfrc_bias"])))


def test_the_xarm7_has_the_springs_damping_friction_and_armature_of_its_mjcf(shared):
    assets = shared / "assets"
    expected = json.loads((assets / "mujoco_menagerie/ufactory_xarm7/xarm7.expected.json").read_text())
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_usd(assets / "derived/xarm7_usd/xarm7.usda", filter_overlapping=False)
    found = {joint.label: joint.dofs[0] for joint in builder.joints if len(joint.dofs) == 1}
    assert len(expected["joints"]) == len(found)
    fields = {"damping": "damping", "armature": "armature", "friction": "frictionloss"}
    fields |= {"stiffness": "stiffness", "spring_ref": "springref"}
    for joint in expected["joints"]:  # values of zero are left out there
        for field, name in fields.items():
            wanted = np.ravel(joint.get(name, 0.0))[0]
            assert getattr(found[joint["name"]], field) == pytest.approx(wanted, rel=1e-6), (joint["name"], field)
        np.testing.assert_allclose(
            (found[joint["name"]].limit_lower, found[joint["name"]].limit_upper), joint["range"], rtol=1e-5, atol=1e-9
        )


def test_the_gripper_of_the_xarm7_is_tied_as_in_its_mjcf(shared):
    """The converter writes the leader to newton:mimicJoint alone; MuJoCo's library says what is tied to what."""
    assets = shared / "assets"
    m = mujoco.MjModel.from_xml_path(str(assets / "mujoco_menagerie/ufactory_xarm7/xarm7.xml"))
    (tie,) = np.flatnonzero(m.eq_type == mujoco.mjtEq.mjEQ_JOINT)
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_usd(assets / "derived/xarm7_usd/xarm7.usda", filter_overlapping=False)
    (found,) = [one for one in builder.equalities if one.type == sim.enums.EqualityType.JOINT]
    names = [builder.joints[joint].label for joint in (found.object0, found.object1)]
    assert names == [m.joint(m.eq_obj1id[tie]).name, m.joint(m.eq_obj2id[tie]).name]
    assert found.data[:5] == pytest.approx(m.eq_data[tie][:5])
    assert found.reference == pytest.approx(m.eq_solref[tie])
    assert found.impedance == pytest.approx(m.eq_solimp[tie])


SLOW = ("newton/kamino_joints", "usd-wg/schemaTests")  # for their many files


@pytest.mark.parametrize(
    "folder", [pytest.param(folder, marks=[pytest.mark.slow] if folder in SLOW else []) for folder in FOLDERS]
)
def test_every_file_of_the_assets_can_be_simulated_for_a_step(shared, folder):
    """Without a NaN, or it is refused by name for what the solver does not do yet."""
    simulated = 0
    for path, _ in all_expected(shared / "assets", (folder,)):
        around = {"allow_paths": [shared / "assets" / "usd-wg"], "allow_missing": True} if "usd-wg" in folder else {}
        model = model_of(lambda builder, path=path, around=around: builder.add_usd(path, **around))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = sim.solvers.Featherstone(model, unsupported="warn")
            state, after = model.state(), model.state()
            solver.step(state, after, model.control(), None, dt=1e-3)
        assert np.isfinite(after.body_q).all() and np.isfinite(after.joint_qd).all(), path.name
        simulated += 1
    assert simulated
