"""The `euler` integrator against MuJoCo's library: accelerations, contact forces, trajectories."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import simengine as sim
from tests.mujoco_models.importer import Scene

# bodies of no mass stand between the joints of one body
pytestmark = pytest.mark.filterwarnings("ignore:solvers.Featherstone")

HEAP = """<mujoco><option timestep="0.005" impratio="{impratio}"/>
<default><geom condim="{condim}" friction="0.7"/></default>
<worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 .19"><freejoint/><geom type="box" size=".2 .15 .2"/></body>
<body pos="1 0 .09"><freejoint/><geom type="sphere" size=".1"/></body>
<body pos="1.5 0 .1"><freejoint/><geom type="capsule" size=".1 .2" margin=".02"/></body>
<body pos="0.05 0.02 .52"><freejoint/>
 <geom type="box" size=".15 .15 .15" solref=".01 .8" solimp=".8 .99 .01 .4 3"/></body>
<body pos="1.05 0 .27"><freejoint/><geom type="sphere" size=".09" margin=".03" gap=".01"/></body>
</worldbody></mujoco>"""

LIMBS = """<mujoco><option timestep="0.004"/><compiler angle="radian"/><worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .05"/>
 <body pos=".25 0 0">
  <joint type="hinge" axis="0 1 0" range="-.3 .3" limited="true" damping=".3" stiffness="4" springref=".1"
   frictionloss=".2" armature=".02" margin=".05" solreflimit=".01 .7" solimplimit=".5 .9 .1 .3 1"
   solreffriction=".03 1.1" solimpfriction=".8 .9 .1 .5 2"/>
  <geom type="capsule" size=".04" fromto="0 0 0 .3 0 -.2"/>
  <body pos=".3 0 -.2"><joint type="slide" axis="0 0 1" range="-.05 .05" limited="true" damping="2" frictionloss="1"/>
   <joint type="hinge" axis="1 0 0" frictionloss=".1" damping=".1"/><geom type="sphere" size=".08"/></body></body>
 <body pos="-.25 0 0"><joint type="ball" range="0 .5" limited="true" damping=".1" stiffness="2" armature=".01"/>
  <geom type="capsule" size=".04" fromto="0 0 0 -.3 0 -.2"/></body>
</body></worldbody></mujoco>"""


def random_state(scene: Scene, rng, speed: float, spread: float, lower: float = 0.0):
    """MuJoCo at a random state near its reference, its first body up to ``lower`` m lower, with random efforts."""
    mj, data = scene.mj, scene.data
    mujoco.mj_resetData(mj, data)
    data.qvel[:] = rng.normal(size=mj.nv) * speed
    data.qpos[:] += rng.normal(size=mj.nq) * spread
    data.qpos[2] -= rng.uniform(0, lower)
    mujoco.mj_normalizeQuat(mj, data.qpos)
    data.qfrc_applied[:] = rng.normal(size=mj.nv)
    mujoco.mj_forward(mj, data)


def relative(found, wanted) -> float:
    return float(np.abs(np.asarray(found) - wanted).max(initial=0) / (1 + np.abs(wanted).max(initial=0)))


def compare_steps(
    scene: Scene, seed: int, count: int, speed: float, spread: float, least_contacts: int, lower: float = 0.0
) -> None:
    """One step from ``count`` random states with MuJoCo's own contacts: acceleration, forces and next state to 1e-8."""
    rng = np.random.default_rng(seed)
    solver = scene.solver(outputs=("joint_constraint_force",))
    contacts, control, seen = scene.model.contacts(), scene.model.control(), 0
    for _ in range(count):
        random_state(scene, rng, speed, spread, lower)
        if scene.data.ncon > contacts.capacity[0]:
            continue
        state, out = scene.state(), scene.model.state()
        scene.feed_contacts(contacts)
        turn = scene.rates_map()
        control.joint_f = turn.T @ scene.data.qfrc_applied
        solver.step(state, out, control, contacts, scene.dt)
        forces = scene.contact_forces()
        seen += len(forces)
        assert relative(turn @ out.featherstone_qacc, scene.data.qacc) < 1e-8
        assert relative(contacts.force[: len(forces)], forces) < 1e-8
        assert relative(solver.joint_constraint_force, turn.T @ scene.data.qfrc_constraint) < 1e-8
        mujoco.mj_step(scene.mj, scene.data)
        assert relative(out.joint_qd, scene.rates_map().T @ scene.data.qvel) < 1e-8
        assert relative(out.joint_q, scene.coordinates()) < 1e-9
        assert solver.check(out).ok
    assert seen >= least_contacts


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("condim, impratio", [(1, 1), (3, 1), (3, 5)])
def test_contact_forces_of_a_heap_are_mujocos(cone, condim, impratio):
    compare_steps(Scene(HEAP.format(condim=condim, impratio=impratio), cone), 0, 60, 0.7, 0.01, 300)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_limits_friction_springs_and_damping_of_limbs_are_mujocos(cone):
    compare_steps(Scene(LIMBS, cone), 1, 80, 2.0, 0.2, 40)


@pytest.mark.parametrize("name", ["mjw_humanoid", "gym_ant"])
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_step_of_a_robot_is_mujocos(shared, name, cone):
    compare_steps(Scene((shared / "peers/scenes" / f"{name}.xml").read_text(), cone), 2, 40, 1.0, 0.15, 40, lower=0.6)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_second_of_trajectory_is_mujocos(cone):
    """Spheres and a capsule thrown on a plane, 250 steps, our own contacts: positions to 1e-9."""
    scene = Scene(
        """<mujoco><option timestep="0.004"/><default><geom friction="0.6"/></default>
        <worldbody><geom type="plane" size="0 0 1"/>
        <body pos="0 0 .3"><freejoint/><geom type="sphere" size=".1"/></body>
        <body pos=".5 0 .2"><freejoint/><geom type="sphere" size=".08"/></body>
        <body pos="1.5 .3 .25" euler="0 80 10"><freejoint/><geom type="capsule" size=".1 .2"/></body>
        </worldbody></mujoco>""",
        cone,
    )
    scene.data.qvel[:] = np.random.default_rng(3).normal(size=scene.mj.nv)
    mujoco.mj_forward(scene.mj, scene.data)
    solver = scene.solver(tolerance=1e-13)
    state, other, control, touched = scene.state(), scene.model.state(), scene.model.control(), 0
    for _ in range(250):
        solver.step(state, other, control, None, scene.dt)
        state, other = other, state
        mujoco.mj_step(scene.mj, scene.data)
        touched += scene.data.ncon
    assert touched > 250
    assert np.abs(state.joint_q - scene.coordinates()).max() < 1e-9


def test_a_second_of_a_falling_ant_is_mujocos(shared):
    """In the air and on the floor, by our own contacts: positions to 1e-9."""
    scene = Scene((shared / "peers/scenes/gym_ant.xml").read_text(), "pyramidal")
    mujoco.mj_forward(scene.mj, scene.data)
    solver = scene.solver(tolerance=1e-13)
    state, other, control = scene.state(), scene.model.state(), scene.model.control()
    for _ in range(round(1 / scene.dt)):
        solver.step(state, other, control, None, scene.dt)
        state, other = other, state
        mujoco.mj_step(scene.mj, scene.data)
    assert scene.data.ncon > 0
    assert np.abs(state.joint_q - scene.coordinates()).max() < 1e-9


def test_float32_is_near_float64(shared):
    results = []
    for precision in ("float32", "float64"):
        scene = Scene((shared / "peers/scenes/mjw_humanoid.xml").read_text(), precision=precision)
        rng = np.random.default_rng(5)
        random_state(scene, rng, 1.0, 0.1)
        solver, out = scene.solver(), None
        state, out = scene.state(), scene.model.state()
        solver.step(state, out, scene.model.control(), None, scene.dt)
        results.append(sim.to_numpy(out.joint_qd).astype(float))
    assert np.abs(results[0] - results[1]).max() < 1e-3 * np.abs(results[1]).max()
